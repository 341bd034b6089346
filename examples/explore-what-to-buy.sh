#!/usr/bin/env bash
# What should silicon be spent on? The same choices, bandwidth against tensor cores, for a workload that streams and for a matrix
# product: the front of the first buys stacks of HBM, that of the second tensor cores.
set -euo pipefail
cd "$(dirname "$0")/.."
heddle=${HEDDLE:-./heddle}
out=${1:-heddle-explore-what-to-buy}
for workload in stream product; do
    "$heddle" explore "examples/explore/$workload.json" --hardware h100-sxm --graph \
        --set power.governor=false --set host.graph_launch=0us \
        --vary 'hbm.stacks=2..6:2' --link 'hbm.bandwidth = hbm.stacks * 670 GB/s' \
        --vary 'tensor.macs_per_cycle.f16=512..2048:*2' \
        --minimise time,area --out "$out/$workload"
    echo
done
