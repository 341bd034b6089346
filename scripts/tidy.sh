#!/usr/bin/env bash
# scripts/tidy.sh [FOLDER...]: clang-tidy, with the checks of .clang-tidy, over the sources of the folders (default: all rooms).
# Needs a configured build (BUILD, default: build). JOBS: processes (default: 2). Prints findings; exit code 1 when there are any.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build}
[ -f "$build/compile_commands.json" ] || { echo "no $build/compile_commands.json: cmake --preset release" >&2; exit 2; }
command -v run-clang-tidy >/dev/null || { echo "run-clang-tidy is missing: apt-get install clang-tidy" >&2; exit 2; }
[ $# -gt 0 ] || set -- isa models workloads sim validation
folders=$(IFS='|'; echo "${*%/}")
findings=$(run-clang-tidy -p "$build" -quiet -j "${JOBS:-2}" "^$PWD/($folders)/.*\.cpp\$" 2>/dev/null |
    sed 's/\x1b\[[0-9;]*m//g' | grep -E ': (warning|error):' | sed "s|$PWD/||" | sort -u) || true
[ -z "$findings" ] || { echo "$findings"; exit 1; }
