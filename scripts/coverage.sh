#!/usr/bin/env bash
# scripts/coverage.sh [FOLDER...]: line coverage of the rooms (default: isa models workloads sim), of the folders in them, and the files
# below 70 % with the lines that no test reached, after tests of a build that counts:
#   cmake --preset coverage && cmake --build build-coverage && ctest --test-dir build-coverage -j 4 -E '^robustness:'
# (tests of full disks and limited files cut off the counts themselves).
# BUILD: that build (default: build-coverage). Counts add up from run to run; `find build-coverage -name '*.gcda' -delete` forgets them.
# Exit code 1 when a room is below 85 %. The counts of every line are left in BUILD/coverage.json.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build-coverage}
[ -n "$(find "$build" -name '*.gcda' -print -quit 2>/dev/null)" ] || {
    echo "no counts in $build: cmake --preset coverage, build it and run its tests first" >&2
    exit 2
}
command -v gcovr >/dev/null || { echo "gcovr is missing: apt-get install gcovr" >&2; exit 2; }
[ $# -gt 0 ] || set -- isa models workloads sim
folders=$(IFS='|'; echo "${*%/}")
gcovr --root . --object-directory "$build" --filter "($folders)/" --gcov-ignore-parse-errors -j "${JOBS:-2}" \
    --json "$build/coverage.json" "$build" 2> >(grep -v -e "^(WARNING)" -e "^\s" >&2)  # branches counted below zero
python3 - "$build/coverage.json" <<'PYTHON'
import collections, json, os, re, sys
files = collections.defaultdict(collections.Counter)
for f in json.load(open(sys.argv[1]))["files"]:
    # Headers are named by the folder of links that they were found through.
    name = re.sub(r"^.*/rooms/[^/]+/", "", f["file"])
    for line in f["lines"]:
        if not line["gcovr/noncode"] and not line["gcovr/excluded"]: files[name][line["line_number"]] += line["count"]
rooms, folders = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(lambda: [0, 0])
for name, lines in files.items():
    reached = sum(count > 0 for count in lines.values())
    for group, key in (rooms, name.split("/")[0]), (folders, os.path.dirname(name)):
        group[key][0] += reached
        group[key][1] += len(lines)
def show(name, reached, lines):
    print(f"{name:58} {reached:6} of {lines:6} lines  {100 * reached / lines:5.1f} %")
for group in rooms, folders:
    for name in sorted(group):
        show(name, *group[name])
    print()
def ranges(numbers):
    parts = []
    for n in numbers:
        if parts and n == parts[-1][1] + 1: parts[-1][1] = n
        else: parts.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
for name, lines in sorted(files.items()):
    reached = sum(count > 0 for count in lines.values())
    if lines and reached < 0.7 * len(lines):
        show(name, reached, len(lines))
        print("    not reached:", ranges(sorted(n for n, count in lines.items() if count == 0)))
sys.exit(any(reached < 0.85 * lines for reached, lines in rooms.values()))
PYTHON
