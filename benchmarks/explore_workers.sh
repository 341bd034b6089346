#!/usr/bin/env bash
# How well do workers of an exploration share the machine? Runs the same exploration with 1, 2 and 4 workers, then with ranks of MPI
# where mpirun is there, each without the cache of kernels, and prints what each way took and its efficiency.
#   explore_workers.sh HEDDLE [OPTIONS OF heddle explore]     (default: 12 designs of a matrix product on an H100)
#
# Three figures, so that a machine that others use as well says something, too:
#   wall        (time with 1 worker) / (workers * time): what a user waits for; only true on an idle machine
#   busy        (sum of the evaluations' times) / (workers * time): the part in which workers had something to do
#   processor   (processor time with 1 worker) / (processor time): what sharing caches and memory costs
# busy * processor is the efficiency on an idle machine.
set -euo pipefail
heddle=${1:?usage: explore_workers.sh HEDDLE [OPTIONS]}
shift
here=$(cd "$(dirname "$0")/.." && pwd)
[ $# -gt 0 ] || set -- "$here/examples/explore/product.json" --hardware h100-sxm --graph --vary 'clock=1100MHz..2000MHz:90' \
    --minimise time
export HEDDLE_CACHE=off
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Seconds on the clock, seconds of processors, seconds of evaluations.
measure() {
    local name=$1
    shift
    TIMEFORMAT='%R %U %S'
    { time "$@" --out "$folder/$name" >"$folder/$name.log" 2>&1; } 2>"$folder/$name.time" ||
        { cat "$folder/$name.log" >&2; exit 1; }
    local evaluated
    evaluated=$("$heddle" explore export "$folder/$name" --format json --times |
        awk '/"wall_s":/ { sub(/,/, "", $2); sum += $2 } END { print sum }')
    awk -v evaluated="$evaluated" '{ print $1, $2 + $3, evaluated }' "$folder/$name.time"
}
row() {
    printf '%-12s %8s %10s %10s %10s %10s\n' "$@"
}
row workers wall,s processor,s 'wall,%' 'busy,%' 'processor,%'
read -r wall_1 processor_1 evaluated_1 < <(measure j1 "$heddle" explore "$@" -j 1)
row 1 "$wall_1" "$processor_1" 100 "$(awk -v e="$evaluated_1" -v w="$wall_1" 'BEGIN { printf "%.1f", 100 * e / w }')" 100
print() {
    local name=$1 workers=$2 wall=$3 processor=$4 evaluated=$5
    row "$name" "$wall" "$processor" \
        "$(awk -v a="$wall_1" -v n="$workers" -v b="$wall" 'BEGIN { printf "%.1f", 100 * a / n / b }')" \
        "$(awk -v e="$evaluated" -v n="$workers" -v b="$wall" 'BEGIN { printf "%.1f", 100 * e / n / b }')" \
        "$(awk -v a="$processor_1" -v b="$processor" 'BEGIN { printf "%.1f", 100 * a / b }')"
}
for workers in 2 4; do
    read -r wall processor evaluated < <(measure "j$workers" "$heddle" explore "$@" -j "$workers")
    print "$workers" "$workers" "$wall" "$processor" "$evaluated"
done
if command -v mpirun >/dev/null; then
    root=$([ "$(id -u)" -ne 0 ] || echo --allow-run-as-root)
    # shellcheck disable=SC2086
    read -r wall processor evaluated < <(measure mpi4 mpirun $root --oversubscribe --bind-to none -n 4 "$heddle" explore "$@")
    print '4 ranks' 4 "$wall" "$processor" "$evaluated"
fi
for name in j2 j4 mpi4; do
    [ ! -d "$folder/$name" ] || cmp "$folder/j1/exploration.json" "$folder/$name/exploration.json"
done
echo "all of them have the same results, byte for byte"
