#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Trainyard authors
# SPDX-License-Identifier: Apache-2.0
#
# check_layers_selftest.sh: proves that check_layers.sh finds what it is there to find. It makes a
# small tree that is clean and must pass, then plants at least one violation of each rule; the check
# must report each with its file and its rule, and nothing else.
set -euo pipefail

check="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/check_layers.sh"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

spdx() {
    printf '%s SPDX-FileCopyrightText: 2026 The Trainyard authors\n' "$1"
    printf '%s SPDX-License-Identifier: Apache-2.0\n' "$1"
}

# put PATH TEXT: a file that opens as it should.
put() {
    mkdir -p "$(dirname "$1")"
    case "$1" in
    *.h) { spdx //; printf '#pragma once\n%b\n' "$2"; } > "$1" ;;
    *.cpp) { spdx //; printf '%b\n' "$2"; } > "$1" ;;
    *) { spdx '#'; printf '%b\n' "$2"; } > "$1" ;;
    esac
}

clean_tree() {
    rm -rf "$folder/tree"
    mkdir -p "$folder/tree"
    cd "$folder/tree"
    put engine/base/result.h ''
    put engine/spec/experiment.h '#include "engine/base/result.h"'
    put engine/spec/json_reader.h '// Internal to engine/spec.\n#include <nlohmann/json.hpp>'
    put engine/spec/experiment.cpp '#include "engine/spec/experiment.h"\n#include "engine/spec/json_reader.h"'
    put engine/plan/plan.h '#include "engine/graph/graph.h"'
    put engine/agent/agent.h '#include "engine/runtime/executor.h"\n#include <nlohmann/json.hpp>'
    put tests/support/support.h ''
    put engine/graph/graph.h '#include "engine/spec/experiment.h"'
    put engine/data/dataset.h '#include "engine/spec/experiment.h"'
    put engine/runtime/executor.h '#include "engine/data/dataset.h"'
    put engine/backend/cpu/linear.cpp '#include <oneapi/dnnl/dnnl.hpp>'
    put engine/CMakeLists.txt 'target_link_libraries(trainyard_plan PUBLIC trainyard_compiler)'
    put app/store/sqlite.h '#include <sqlite3.h>\n#include <QString>\n#include <QtCore/QObject>'
    put app/store/run_store.h '#include "app/store/sqlite.h"'
    put app/CMakeLists.txt 'target_link_libraries(trainyard_app\n  PUBLIC Qt6::Core\n  PRIVATE SQLite::SQLite3)'
    put ui/main_window.h '#include "app/store/run_store.h"\n#include <QtWidgets/QWidget>'
    put ui/CMakeLists.txt 'target_link_libraries(trainyard_ui PUBLIC trainyard_app Qt6::Widgets)'
    put tests/graph/tst_graph.cpp '#include "engine/graph/graph.h"\n#include "tst_graph.moc"'
    put tests/graph/CMakeLists.txt 'trainyard_test(graph LABELS unit LIBRARIES trainyard_plan)'
}

clean_tree
if ! output="$("$check" "$folder/tree")"; then
    printf 'The clean tree does not pass:\n%s\n' "$output"
    exit 1
fi

# plant PATH TEXT RULE: puts a file with one violation of RULE, or adds it to one that is there.
expected=()
plant() {
    if [[ -f "$1" ]]; then
        printf '%b\n' "$2" >> "$1"
    else
        put "$1" "$2"
    fi
    expected+=("$1: $3")
}

plant engine/base/planted1.cpp '#include <QString>' "the engine has no Qt"
plant engine/agent/planted2.cpp '#include <QtCore/QString>' "the engine has no Qt"
plant engine/plan/planted3.cpp '#include "app/store/run_store.h"' "the engine knows nothing above it"
plant app/store/planted4.cpp '#include "ui/main_window.h"' "app/ knows nothing of ui/"
plant ui/planted5.cpp '#include "tests/support/support.h"\n' "the product knows nothing of its tests"
plant engine/plan/planted6.cpp '#include "engine/data/dataset.h"' "what all agree on does not know the run-time half"
plant app/planted7.cpp '#include "engine/runtime/executor.h"' "app/ and ui/ do not know the engine's run-time half"
plant ui/planted8.h '#include "engine/data/dataset.h"' "app/ and ui/ do not know the engine's run-time half"
plant engine/base/planted9.cpp '#include "engine/spec/experiment.h"' "engine/base knows only itself"
plant engine/spec/planted10.cpp '#include "engine/graph/graph.h"' "engine/spec knows only base"
plant engine/graph/planted11.cpp '#include "engine/plan/plan.h"' "engine/graph knows only base and spec"
plant engine/data/planted12.cpp '#include "engine/runtime/executor.h"' \
    "parts of the run-time half do not know what runs them"
plant engine/runtime/planted13.cpp '#include "engine/agent/agent.h"' "only the agent knows the agent"
plant app/planted14.cpp '#include <QtWidgets/QWidget>' "app/ uses Qt Core only"
plant app/planted15.cpp '#include <QtConcurrent/QtConcurrent>' "app/ uses Qt Core only"
plant app/planted16.cpp '#include <QColor>' "app/ uses Qt Core only"
plant app/run/planted17.cpp '#include <sqlite3.h>' "only app/store speaks SQL"
plant ui/planted18.cpp '#include "app/store/sqlite.h"' "only app/store speaks SQL"
plant ui/planted19.cpp '#include <libssh/libssh.h>' "only app/hosts speaks SSH"
plant app/planted20.h '#include <nlohmann/json.hpp>' "JSON stays out of headers"
plant ui/planted21.cpp '#include <nlohmann/json.hpp>' "ui/ leaves JSON to the layers below"
plant engine/backend/planted22.cpp '#include <dnnl.hpp>' "only backend/cpu uses oneDNN"
plant engine/backend/planted23.cpp '#include <Eigen/Core>' "only backend/reference uses Eigen"
plant engine/runtime/planted24.cpp '#include <gloo/context.h>' "only engine/comm uses Gloo"
plant engine/backend/planted25.cpp '#include <cuda_runtime.h>' "only backend/cuda and comm/nccl use CUDA"
plant engine/graph/planted26.cpp '#include "engine/spec/json_reader.h"' "this header is internal to engine/spec"
plant engine/data/CMakeLists.txt 'target_link_libraries(trainyard_data\n  PUBLIC Qt6::Core)' "the engine has no Qt"
plant engine/data/CMakeLists.txt 'target_link_libraries(a PUBLIC trainyard_app)' "the engine knows nothing above it"
plant engine/CMakeLists.txt 'target_link_libraries(trainyard_plan PUBLIC\n  ZLIB::ZLIB)' \
    "what all agree on stands alone"
plant app/CMakeLists.txt 'target_link_libraries(trainyard_app PUBLIC Qt6::Core\n  Qt6::Gui)' "app/ uses Qt Core only"
plant app/cli/CMakeLists.txt 'target_link_libraries(a PRIVATE trainyard_runtime)' \
    "app/ and ui/ do not know the engine's run-time half"
plant app/CMakeLists.txt 'target_link_libraries(trainyard_app PUBLIC trainyard_ui)' "app/ knows nothing of ui/"
plant ui/CMakeLists.txt 'target_link_libraries(trainyard_ui PRIVATE SQLite::SQLite3)' \
    "ui/ leaves SQL, SSH and JSON to the layers below"
plant ui/planted27.cpp '#include <app/store/run_store.h>' "product includes use quotes"
plant engine/plan/planted28.cpp '#include "plan.h"' "quoted includes are paths from the root"
plant engine/runtime/executor.cpp '#include <vector>\n#include "engine/runtime/executor.h"' \
    "a source includes its own header first"
plant ui/planted29.cpp 'void f() { QCoreApplication::processEvents(); }' "no nested event loops"
plant tests/planted30.cpp 'void f() { QTest::qWait(50); }' "tests wait for events, they do not sleep"
plant app/planted31.h 'struct A { static A& instance(); };' "collaborators come by constructor"
plant app/planted32.h 'struct A { friend class TestA; };' "tests are no friends"
plant app/planted33.cpp 'double f(const char* t) { return std::stod(t); }' \
    "numbers are read and written by base/number_text.h"
plant tests/planted34.cpp '#include <engine.cpp>' "sources do not include sources"
plant tests/a/CMakeLists.txt 'add_executable(a ../../app/a.cpp)' "tests link the product, they do not compile it"
plant tests/planted35.cpp "const char* kFile = \"/ho""me/anna/data\";" "no paths of one machine"

printf '#pragma once\n' > engine/base/bare.h
expected+=("engine/base/bare.h: sources open with the two SPDX lines")
spdx // > engine/base/twice.h
expected+=("engine/base/twice.h: headers have #pragma once")

output="$("$check" "$folder/tree")" && status=0 || status=$?
reported="$(sed -nE 's/^([^ :]+):[0-9]+: ([^:]+):.*/\1: \2/p' <<< "$output" | sort)"
if ! diff <(printf '%s\n' "${expected[@]}" | sort) - <<< "$reported" || ((status != 1)); then
    printf 'Planted (<) and reported (>) violations differ, or the exit status %d is not 1.\n' "$status"
    exit 1
fi
printf 'Each of %d planted violations was reported, and nothing else.\n' "${#expected[@]}"
