#!/usr/bin/env bash
# How fast is `heddle run --time none`? Prints the host's time of an empty launch, the rate of a copy against memcpy's, and the time of a kernel against that
# which `heddle kernel --functional` takes for it.
#   benchmarks/virtual_gpu.sh [HEDDLE]
set -euo pipefail
tree=$(cd "$(dirname "$0")/.." && pwd)
heddle=${1:-$tree/heddle}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HEDDLE_PROGRESS=off
cc -O2 "$tree/benchmarks/virtual_gpu.c" -o "$folder/virtual_gpu" -ldl
saxpy=$tree/examples/kernels/saxpy/saxpy.ptx
count=$((48 << 20))
"$heddle" run --hardware h100-sxm --time none -- "$folder/virtual_gpu" "$saxpy" saxpy $count 256
# One launch and three: their difference is that of two kernels, without what comes before and behind.
for repetitions in 1 3; do
    cat >"$folder/$repetitions.yaml" <<END
module: $saxpy
buffers:
  x: {type: f32, count: $count, fill: {constant: 0}}
  y: {type: f32, count: $count, fill: {constant: 0}}
launches:
  - entry: saxpy
    grid: $((count / 256))
    block: 256
    repetitions: $repetitions
    arguments: [{s32: $count}, {f32: 2.5}, x, y]
END
done
timed() {
    local start=$EPOCHREALTIME
    "$heddle" kernel "$folder/$1.yaml" --hardware h100-sxm --functional >/dev/null
    awk -v from="$start" -v to="$EPOCHREALTIME" 'BEGIN {printf "%.3f", to - from}'
}
timed 1 >/dev/null
awk -v one="$(timed 1)" -v three="$(timed 3)" 'BEGIN {printf "the same kernel by heddle kernel --functional %.3f s\n", (three - one) / 2}'
