#!/usr/bin/env bash
# How does the step time fall with the number of SMs? One simulation per size; prints a table.
set -euo pipefail
cd "$(dirname "$0")/.."
heddle=${HEDDLE:-./heddle}
printf '%6s %14s\n' SMs 'step time, us'
for count in 33 66 132; do
    time_us=$("$heddle" simulate mlp --batch 512 --hardware h100-sxm --set sm.count=$count --no-out --json |
        sed -n 's/^  "step_time_us": \(.*\),$/\1/p')
    printf '%6s %14.2f\n' "$count" "$time_us"
done
