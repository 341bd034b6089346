#!/usr/bin/env bash
# scripts/tidy.sh [FOLDER...]: clang-tidy, with the checks of .clang-tidy, over the sources of the folders (default: all rooms).
# Needs a configured build (BUILD, default: build). JOBS: processes (default: 2). Prints findings; exit code 1 when there are any, 2 when
# clang-tidy could not do its work.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build}
[ -f "$build/compile_commands.json" ] || { echo "no $build/compile_commands.json: cmake --preset release" >&2; exit 2; }
command -v run-clang-tidy >/dev/null || { echo "run-clang-tidy is missing: apt-get install clang-tidy" >&2; exit 2; }
[ $# -gt 0 ] || set -- isa models workloads sim validation
folders=$(IFS='|'; echo "${*%/}")

# Sources that are compiled twice, for two sets of vector instructions, are read once: as they are compiled last, for the wider one.
database=$(mktemp -d)
trap 'rm -rf "$database"' EXIT
python3 - "$build/compile_commands.json" "$database/compile_commands.json" <<'PYTHON'
import json, sys
commands = {entry["file"]: entry for entry in json.load(open(sys.argv[1]))}
json.dump(list(commands.values()), open(sys.argv[2], "w"))
PYTHON

status=0
run-clang-tidy -p "$database" -quiet -j "${JOBS:-2}" "^$PWD/($folders)/.*\.cpp\$" >"$database/output" 2>"$database/errors" || status=$?
# Rooms are folders of links in the build: a header's own path is what follows.
findings=$(sed 's/\x1b\[[0-9;]*m//g' "$database/output" | grep -E ': (warning|error):' |
    sed -E "s|$PWD/||g; s|^[^:]*/rooms/[^/]*/||" | sort -u) || true
[ -z "$findings" ] || { echo "$findings"; exit 1; }
[ $status = 0 ] || { tail -n 20 "$database/errors" >&2; echo "clang-tidy failed (exit code $status)" >&2; exit 2; }
