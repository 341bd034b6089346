#!/usr/bin/env bash
# Runs a script of examples/, at a size that takes seconds, and looks for what examples/README.md says that one sees.
#   check_example.sh HEDDLE SOURCE_TREE NAME
set -euo pipefail
export HEDDLE=$1
examples=$2/examples
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
: >"$folder/table"

fail() { echo "$1"; cat "$folder/table"; exit 1; }
run() { "$examples/$1.sh" "${@:2}" >"$folder/table"; }
# rows FIELD: that column of a Markdown table without its head, numbers alone.
rows() { awk -F'|' -v field="$1" '/^\|/ && ++n > 2 { print $(field + 1) + 0 }' "$folder/table"; }
rising() { sort -g -c 2>/dev/null; }
within() { awk -v v="$2" -v low="$3" -v high="$4" 'BEGIN { exit !(v >= low && v <= high) }' || fail "$1: $2 is not within $3 and $4"; }

case $3 in
collectives)
    run collectives
    # Bandwidth grows with size; nccl-tests on a DGX H100 reach 360 (rings) to 480 GB/s (in the switch) for large messages.
    rows 3 | rising || fail "bus bandwidth does not grow with size"
    within "bus bandwidth of 512 MiB" "$(rows 3 | tail -1)" 330 490
    grep -q "all ranks have the same bits: yes" "$folder/table" || fail "ranks differ in their sums"
    ;;
explore-what-to-buy)
    run explore-what-to-buy "$folder"
    # of WORKLOAD KEY: that parameter of the fastest design of the front, and the largest of all designs of the front.
    of() { "$HEDDLE" explore export "$folder/$1" | awk -F, -v key="$2" '
        NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i; next }
        $column["front"] == 1 && (best == "" || $column["time [us]"] + 0 < best) { best = $column["time [us]"] + 0; fastest = $column[key] }
        $column["front"] == 1 && $column[key] + 0 > most { most = $column[key] + 0 }
        END { print '"$3"' }'; }
    # The sum wants stacks and no tensor cores, the product the reverse.
    within "stacks of the fastest design for the sum" "$(of stream hbm.stacks fastest)" 6 6
    within "most tensor cores on the sum's front" "$(of stream tensor.macs_per_cycle.f16 most)" 512 512
    within "tensor cores of the fastest design for the product" "$(of product tensor.macs_per_cycle.f16 fastest)" 2048 2048
    within "most stacks on the product's front" "$(of product hbm.stacks most)" 2 5
    ;;
gpu-beside-tpu)
    LAYERS=dense SEQUENCES= TPUS=tpu-v4 run gpu-beside-tpu
    # Larger batches use more of the peak, on both.
    rows 4 | rising || fail "the GPU's share of its peak does not grow with the batch"
    rows 6 | rising || fail "the TPU's share of its peak does not grow with the batch"
    ;;
maxtext)
    ROWS=v6e-8b run maxtext
    within "simulated over published" "$(rows 7)" 0.8 1.25
    ;;
sm-count)
    run sm-count
    # Twice the SMs help a quarter of an H100; then the step is launches, which no SM makes shorter.
    within "33 over 66 SMs" "$(awk 'NR == 2 { a = $2 } NR == 3 { print a / $2 }' "$folder/table")" 1.15 2
    within "66 over 132 SMs" "$(awk 'NR == 3 { a = $2 } NR == 4 { print a / $2 }' "$folder/table")" 0.97 1.15
    ;;
zoo-table)
    MODELS=mlp run zoo-table
    # 989 TFLOP/s of an H100 beside 197 of a TPU v5e.
    within "TPU v5e over H100" "$(awk -v gpu="$(rows 2)" -v tpu="$(rows 6)" 'BEGIN { print tpu / gpu }')" 2 6
    ;;
*)
    fail "no such example"
    ;;
esac
