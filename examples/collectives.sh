#!/usr/bin/env bash
# Collectives on clusters: how bandwidth grows with size, what an algorithm forced costs, how a network of many nodes does, and sums in the
# algorithm's own order.
#
#   CLUSTER=dgx-a100 examples/collectives.sh
set -euo pipefail
cd "$(dirname "$0")/.."
heddle=${HEDDLE:-./heddle} cluster=${CLUSTER:-dgx-h100}

field() { sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" | head -1; }

printf '| size | us | bus GB/s | algorithm | protocol |\n|---|---|---|---|---|\n'
for size in 8KiB 128KiB 2MiB 32MiB 512MiB; do
    answer=$("$heddle" collective all-reduce $size --cluster "$cluster" --json)
    printf '| %s | %.1f | %.1f | %s | %s |\n' $size "$(field time_us <<<"$answer")" \
        "$(awk -v b="$(field bus_bandwidth <<<"$answer")" 'BEGIN { print b / 1e9 }')" \
        "$(field algorithm <<<"$answer")" "$(field protocol <<<"$answer")"
done
printf '\n64 MiB on 128 nodes:\n'
for algorithm in ring double-tree hierarchical; do
    "$heddle" collective all-reduce 64MiB --cluster "$cluster" --set nodes=128 --algorithm $algorithm | head -2
done
printf '\nA torus of TPUs:\n'
"$heddle" collective all-reduce 64MiB --cluster tpu-v4-slice --type bf16 | head -2
printf '\nSums of 1 MiB of half:\n'
"$heddle" collective all-reduce 1MiB --cluster "$cluster" --algorithm ring --numerics | tail -2
