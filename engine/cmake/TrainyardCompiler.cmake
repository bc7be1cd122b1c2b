# SPDX-FileCopyrightText: 2026 The Trainyard authors
# SPDX-License-Identifier: Apache-2.0
#
# The language level and the warnings that every target of the project is compiled with.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Loops over numbers ask for -O3 themselves; elsewhere it only takes longer to compile.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()
# Everything that is started by name (studio, command line, worker) lies beside each other, built or installed.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

add_library(trainyard_compiler INTERFACE)
target_compile_options(trainyard_compiler INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
    -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align
    # GCC 12 reports impossible overlaps in std::string (https://gcc.gnu.org/PR105651).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(TRAINYARD_WERROR)
    target_compile_options(trainyard_compiler INTERFACE -Werror)
endif()
target_include_directories(trainyard_compiler INTERFACE "${CMAKE_SOURCE_DIR}")
if(TRAINYARD_SANITIZE)
    target_compile_options(trainyard_compiler INTERFACE
        -fsanitize=${TRAINYARD_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
        # Instrumented code looks uninitialised to GCC where it is not (https://gcc.gnu.org/PR105562).
        $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_link_options(trainyard_compiler INTERFACE -fsanitize=${TRAINYARD_SANITIZE})
    target_compile_definitions(trainyard_compiler INTERFACE TRAINYARD_SANITIZED=1)
endif()

# Hardening of the standard library and glibc; costs little and turns silent faults into stops.
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_definitions(trainyard_compiler INTERFACE _GLIBCXX_ASSERTIONS)
elseif(NOT TRAINYARD_SANITIZE)
    target_compile_definitions(trainyard_compiler INTERFACE _FORTIFY_SOURCE=2)
endif()

# Qt's stricter rules, for the targets that use Qt.
add_library(trainyard_qt_rules INTERFACE)
target_compile_definitions(trainyard_qt_rules INTERFACE
    QT_NO_CAST_FROM_ASCII QT_NO_CAST_TO_ASCII QT_NO_URL_CAST_FROM_STRING QT_NO_CAST_FROM_BYTEARRAY
    QT_USE_QSTRINGBUILDER QT_NO_NARROWING_CONVERSIONS_IN_CONNECT QT_NO_FOREACH)
