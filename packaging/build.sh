#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Trainyard authors
# SPDX-License-Identifier: Apache-2.0
#
# build.sh [TARGET...]: configures the preset "release" when that has not been done and builds into
# build/. TRAINYARD_WERROR=ON in the environment makes warnings errors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

werror="${TRAINYARD_WERROR:-OFF}"
if [[ ! -f build/build.ninja ]] ||
    ! grep -qx "TRAINYARD_WERROR:BOOL=$werror" build/CMakeCache.txt; then
    if ! cmake --preset release --log-level=NOTICE "-DTRAINYARD_WERROR=$werror"; then
        echo "CMake could not prepare the build; what it misses is above (the packages are in packaging/debian_packages.txt)." >&2
        exit 1
    fi
fi

# The largest files take about 1 GiB to compile: more jobs than that would swap.
jobs="$(nproc)"
memory="$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)"
((memory < jobs)) && jobs=$((memory < 1 ? 1 : memory))
exec cmake --build build --parallel "$jobs" ${1:+--target "$@"}
