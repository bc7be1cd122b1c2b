#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Trainyard authors
# SPDX-License-Identifier: Apache-2.0
#
# install_packages.sh STAGE...: installs what is missing of the stages' packages, saying what and
# why first. Does nothing when all is there. Asks nothing (but sudo may want a password). Where it
# cannot install it says what is needed and goes on if the build tools are there.
set -euo pipefail

list="$(dirname "${BASH_SOURCE[0]}")/debian_packages.txt"

say() { printf '%s\n' "$*" >&2; }

# "reason|packages" of each line of the wanted stages.
groups_of() {
    local stage reason packages wanted
    while IFS='|' read -r stage reason packages; do
        for wanted in "$@"; do
            if [[ "$wanted" == "${stage//[[:space:]]/}" ]]; then
                reason="${reason#"${reason%%[![:space:]]*}"}"
                printf '%s|%s\n' "${reason%"${reason##*[![:space:]]}"}" "$packages"
            fi
        done
    done < <(grep -v '^#' "$list")
}

# Without the tools nothing can be built; with them CMake says what else it misses.
go_on_with_what_is_there() {
    local tool absent=()
    for tool in g++ cmake ninja; do
        command -v "$tool" > /dev/null || absent+=("$tool")
    done
    if ((${#absent[@]})); then
        say "Trainyard cannot be built without: ${absent[*]}."
        exit 1
    fi
    say "Going on with what is there."
    exit 0
}

groups="$(groups_of "$@")"
mapfile -t wanted < <(cut -d'|' -f2 <<< "$groups" | xargs -n1)

if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
    say "This system has no apt-get. Trainyard needs what these Debian packages hold:"
    say "    ${wanted[*]}"
    go_on_with_what_is_there
fi

declare -A installed=()
while read -r state package; do
    [[ "$state" == ii* ]] && installed[$package]=1
done < <(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${wanted[@]}" 2> /dev/null || true)

missing=()
while IFS='|' read -r reason packages; do
    absent=()
    for package in $packages; do
        [[ -v "installed[$package]" ]] || absent+=("$package")
    done
    if ((${#absent[@]})); then
        ((${#missing[@]})) || say "Trainyard needs some Debian packages:"
        say "    $reason: ${absent[*]}"
        missing+=("${absent[@]}")
    fi
done <<< "$groups"
((${#missing[@]})) || exit 0

as_root=()
if [[ "$(id -u)" != 0 ]]; then
    if ! command -v sudo > /dev/null; then
        say "Installing needs root and there is no sudo. Please run as root:"
        say "    apt-get install ${missing[*]}"
        go_on_with_what_is_there
    fi
    as_root=(sudo)
fi

apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@" >&2
}

say "Installing them with apt-get ..."
apt -qq update || say "The package lists could not be refreshed; trying the ones at hand."
if ! apt -qq install --yes --no-install-recommends "${missing[@]}"; then
    say "apt-get could not install the packages; its reason is above. Once that is solved, run this again or run:"
    say "    ${as_root[*]:+${as_root[*]} }apt-get install ${missing[*]}"
    go_on_with_what_is_there
fi
