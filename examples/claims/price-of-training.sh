#!/usr/bin/env bash
# What a training run costs on A100 and on TPU v4 at list prices. docs/claims.md explains the numbers.
set -euo pipefail
cd "$(dirname "$0")/../.."
heddle=${HEDDLE:-./heddle} tokens=${TOKENS:-2e12}

field() { sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" | head -1; }

row() { # what, options
    local what=$1
    shift
    local answer
    answer=$("$heddle" simulate llama2-7b --option sequence=4096 "$@" --micro-batch 1 --ignore-memory --json)
    awk -v what="$what" -v s="$(field step_s <<<"$answer")" -v b="$(field batch <<<"$answer")" -v p="$(field price_per_step_usd <<<"$answer")" \
        -v n="$(field devices <<<"$answer")" -v t="$tokens" -v flops="$(field flops_per_device <<<"$answer")" 'BEGIN {
            steps = t / (b * 4096)
            printf "| %s | %d | %.2f s | %.0f | %.1f | %.0f USD |\n", what, n, s, flops / 1e12, steps * s / 86400, steps * p }'
}
printf '| devices | number | step | model TFLOP/s each | days | price |\n|---|---|---|---|---|---|\n'
row "A100 80 GB at 4.10 USD" --cluster dgx-a100 --data 64 --micro-batches 16 --zero 1 --recompute selective
row "TPU v4 at 3.22 USD" --cluster tpu-v4-slice --data 64 --micro-batches 16 --zero 1 --recompute selective --kernels simulated
