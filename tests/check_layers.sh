#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Trainyard authors
# SPDX-License-Identifier: Apache-2.0
#
# check_layers.sh [ROOT]: who may include and link whom, and the conventions a compiler does not
# check. Prints "file:line: rule: what was found" for each violation and exits 1 when there is one.
# A rule is one call at the end of this file; check_layers_selftest.sh plants a violation of each.
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"

violations=0

# Everything that is written by hand. Build folders are not looked into.
files="$(find engine app ui tests resources packaging .ci -type f 2> /dev/null | sort
         find . -maxdepth 1 -type f | sed 's|^\./||' | sort)"
sources="$(grep -E '\.(h|cpp|cu|cuh|inc)$' <<< "$files" || true)"
cmake="$(grep -E '(CMakeLists\.txt|\.cmake)$' <<< "$files" || true)"

# found RULE: reports each "file:line:text" of the standard input.
found() {
    local hit
    while IFS= read -r hit; do
        printf '%s: %s: %s\n' "$(cut -d: -f1,2 <<< "$hit")" "$1" "$(cut -d: -f3- <<< "$hit" | sed 's/^ *//')"
        violations=$((violations + 1))
    done
}

# paths LIST PATHS EXCEPT: the lines of LIST that match PATHS but not EXCEPT.
paths() {
    grep -E "$2" <<< "$1" | if [[ -n "$3" ]]; then grep -vE "$3"; else cat; fi || true
}

# no_line RULE PATTERN PATHS [EXCEPT [ALLOWED]]: no source whose path matches PATHS (but not EXCEPT)
# has such a line, unless the line matches ALLOWED. Comments are looked at too.
no_line() {
    local where
    mapfile -t where < <(paths "$sources" "$3" "${4:-}")
    ((${#where[@]})) || return 0
    found "$1" < <(grep -HnE "$2" "${where[@]}" | if [[ -n "${5:-}" ]]; then grep -vE "$5"; else cat; fi)
}

# no_include RULE PATTERN PATHS [EXCEPT [ALLOWED]]: the same for what stands behind #include < or ".
no_include() {
    no_line "$1" "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($2)" "${@:3}"
}

# no_link RULE PATTERN PATHS: no target_link_libraries() or find_package() names such a thing.
no_link() {
    local where
    mapfile -t where < <(paths "$cmake" "$3" "")
    ((${#where[@]})) || return 0
    found "$1" < <(awk '
        /(target_link_libraries|find_package) *\(/ { command = ""; first = FNR; inside = 1 }
        inside {
            sub(/#.*/, "")
            command = command " " $0
            if (/\)/) { gsub(/ +/, " ", command); print FILENAME ":" first ":" command; inside = 0 }
        }' "${where[@]}" | grep -E ":[0-9]+:.*($2)")
}

# Quoted includes start at the repository's root and are there; only generated files (moc, lists that
# CMake writes) have no folder.
check_included_files() {
    local hit file line included
    while IFS=: read -r file line hit; do
        [[ "$hit" =~ \"([^\"]*)\" ]] || continue
        included="${BASH_REMATCH[1]}"
        if [[ "$included" =~ ^([a-z0-9_]+\.(moc|inc)|moc_[a-z0-9_]+\.cpp)$ || -f "$included" ]]; then
            continue
        fi
        found "quoted includes are paths from the root" <<< "$file:$line:$hit"
    done < <(xargs -r grep -HnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' <<< "$sources")
}

# thing.cpp includes thing.h before anything else, so that each header is whole by itself.
check_own_header_first() {
    local file header first
    while IFS= read -r file; do
        header="${file%.cpp}.h"
        [[ "$file" == *.cpp && -f "$header" ]] || continue
        first="$(grep -nE -m1 '^[[:space:]]*#[[:space:]]*include' "$file" || true)"
        [[ "$first" == *"\"$header\""* ]] ||
            found "a source includes its own header first" <<< "$file:${first:-1:no include}"
    done <<< "$sources"
}

# A header whose opening comment says "Internal to FOLDER." is included from that folder only.
check_internal_headers() {
    local header folder escaped
    while IFS=: read -r header folder; do
        [[ -n "$header" ]] || continue
        folder="$(sed -E 's/.*Internal to ([a-z_/]+[a-z]).*/\1/' <<< "$folder")"
        escaped="${header//./\\.}"
        no_include "this header is internal to $folder" "$escaped\"" . "^$folder/"
    done < <(grep -E '\.h$' <<< "$sources" | xargs -r grep -HE -m1 '^// .*Internal to [a-z]+')
}

# Two lines of copyright and licence in everything that takes comments, #pragma once in headers.
check_headers_of_files() {
    local files_with_comments
    found "headers have #pragma once" < <(
        grep -E '\.h$' <<< "$sources" | xargs -r grep -LxF '#pragma once' | sed 's/$/:1:/')
    mapfile -t files_with_comments < <(
        grep -E '(\.(h|cpp|cu|cuh|cmake|sh|py|supp)|CMakeLists\.txt|^run|^test|^\.ci/run)$' <<< "$files")
    found "sources open with the two SPDX lines" < <(awk '
        FNR <= 3 { opening[FILENAME] = opening[FILENAME] $0 "\n" }
        END {
            for (name in opening)
                if (opening[name] !~ /SPDX-FileCopyrightText: 2026 The Trainyard authors\n.*SPDX-License-Identifier: Apache-2.0\n/)
                    print name ":1:"
        }' "${files_with_comments[@]}")
}

plan_half='^engine/(base|spec|graph|plan|program)/'
run_time='(runtime|backend|comm|data|optim|checkpoint|profile|agent)'
product='^(engine|app|ui)/'

no_include "the engine has no Qt" 'Q[A-Za-z]+[/>"]' '^engine/'
no_include "the engine knows nothing above it" '(app|ui)/' '^engine/'
no_include "app/ knows nothing of ui/" 'ui/' '^app/'
no_include "the product knows nothing of its tests" 'tests/' "$product"
no_include "what all agree on does not know the run-time half" "engine/$run_time/" "$plan_half"
no_include "app/ and ui/ do not know the engine's run-time half" "engine/$run_time/" '^(app|ui)/'
no_include "engine/base knows only itself" '(engine|app|ui)/[^b]' '^engine/base/'
no_include "engine/spec knows only base" 'engine/(graph|plan|program)/' '^engine/spec/'
no_include "engine/graph knows only base and spec" 'engine/(plan|program)/' '^engine/graph/'
no_include "parts of the run-time half do not know what runs them" 'engine/(runtime|agent)/' \
    '^engine/(backend|comm|data|optim|checkpoint)/' '' 'engine/runtime/rank_protocol\.h'
no_include "only the agent knows the agent" 'engine/agent/' '^engine/' '^engine/agent/'

no_include "app/ uses Qt Core only" 'Qt([ABD-Z][A-Za-z]*|Con[A-Za-z]*)/' '^app/'
no_include "app/ uses Qt Core only" \
    'Q(Widget|Gui|Paint|Pixmap|Image|Icon|Color|Font|Application|MainWindow|Dialog|MessageBox|Palette|Pen|Brush|Action|Svg|Sql|Network|Tcp|Ssl)' \
    '^app/'
no_include "only app/store speaks SQL" '(sqlite3|app/store/sqlite)' "$product" '^app/store/'
no_include "only app/hosts speaks SSH" 'libssh/' "$product" '^app/hosts/'
no_include "JSON stays out of headers" 'nlohmann/' "$product.*\.h$" '^engine/(spec/json_reader\.h$|agent/)' \
    'nlohmann/json_fwd\.hpp'
no_include "ui/ leaves JSON to the layers below" 'nlohmann/' '^ui/'
no_include "only backend/cpu uses oneDNN" '(oneapi/)?dnnl|oneapi/' "$product" '^engine/backend/cpu/'
no_include "only backend/reference uses Eigen" 'Eigen/' "$product" '^engine/backend/reference/'
no_include "only engine/comm uses Gloo" 'gloo/' "$product" '^engine/comm/'
no_include "only backend/cuda and comm/nccl use CUDA" '(cuda|cublas|cudnn|nccl|nvml)[A-Za-z_0-9]*\.h' "$product" \
    '^engine/(backend/cuda|comm/nccl)/'

no_link "the engine has no Qt" 'Qt[56]' '^engine/'
no_link "the engine knows nothing above it" 'SQLite|ssh|trainyard_(app|ui)' '^engine/'
no_link "what all agree on stands alone" \
    'target_link_libraries *\(trainyard_plan .*(Eigen|dnnl|gloo|CUDA|ZLIB|trainyard_(engine|backend|comm|data|optim|runtime|agent))' \
    '^engine/'
no_link "app/ uses Qt Core only" 'Qt6::([ABD-Z]|Con)|COMPONENTS.* (Gui|Widgets|Svg|Sql|Network)' '^app/'
no_link "app/ and ui/ do not know the engine's run-time half" \
    "trainyard_(engine|cuda|$run_time)|dnnl|gloo|Eigen" '^(app|ui)/'
no_link "app/ knows nothing of ui/" 'trainyard_ui' '^app/'
no_link "ui/ leaves SQL, SSH and JSON to the layers below" 'SQLite|ssh|nlohmann' '^ui/'

no_line "product includes use quotes" '#[[:space:]]*include[[:space:]]*<(engine|app|ui|tests)/' .
no_line "no nested event loops" 'QEventLoop|processEvents' '^(app|ui|tests)/'
no_line "tests wait for events, they do not sleep" \
    'sleep_(for|until)|[^a-z]u?sleep\(|nanosleep|q(Sleep|Wait)\(' '^tests/'
no_line "collaborators come by constructor" 'static [A-Za-z_:]+ ?[&*] ?(instance|getInstance)\(' "$product"
no_line "tests are no friends" 'friend (class|struct) .*Te?st' "$product"
no_line "numbers are read and written by base/number_text.h" \
    '(^|[^a-zA-Z_])(stod|stof|strtod|strtof|atof|setlocale)\(' "$product"
no_line "sources do not include sources" '#[[:space:]]*include.*\.cpp[">]' . '' '"moc_[a-z0-9_]+\.cpp"'

found "tests link the product, they do not compile it" < <(
    paths "$cmake" '^tests/' '' | xargs -r grep -HnE '(\.\./|SOURCE_DIR\}/)(engine|app|ui)/[a-z_/]*\.cpp')
# Written in pieces, so that this line is no such place itself.
machine='(^|[^[:alnum:]_.~/-])/(wo''rk|ho''me/[a-z]+|ro''ot|t''mp)/[[:alnum:]_]'
found "no paths of one machine" < <(
    grep -vE '\.(png|svg|ico|gz|ts|qm)$' <<< "$files" | tr '\n' '\0' | xargs -0 -r grep -HnE "$machine")

check_included_files
check_own_header_first
check_internal_headers
check_headers_of_files

if ((violations)); then
    printf '%d violations; the layers are in ARCHITECTURE.md, the conventions in STYLE.md.\n' "$violations"
    exit 1
fi
printf '%d files keep to the layers and conventions.\n' "$(wc -l <<< "$files")"
