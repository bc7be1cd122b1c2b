# SPDX-FileCopyrightText: 2026 The Trainyard authors
# SPDX-License-Identifier: Apache-2.0
#
# Speeds up the build where the tools are there; nothing depends on them.

find_program(TRAINYARD_CCACHE ccache)
if(TRAINYARD_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # Precompiled headers are cached only where their definitions may be taken from the sources. What
    # is not in the cache is not preprocessed twice: the compiler says which headers it has read.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 "${TRAINYARD_CCACHE}")
endif()

find_program(TRAINYARD_MOLD mold)
if(TRAINYARD_MOLD)
    add_link_options(-fuse-ld=mold)
endif()
