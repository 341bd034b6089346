#!/usr/bin/env bash
# "A model of a trillion parameters would take 512 GPUs about three years." How long it takes here, and what the sentence assumes.
# docs/claims.md explains the numbers.
set -euo pipefail
cd "$(dirname "$0")/../.."
heddle=${HEDDLE:-./heddle} tokens=450e9 batch=1536 sequence=2048

field() { sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" | head -1; }

# The trillion of Narayanan et al., 2021: 128 blocks of width 25,600 with 160 heads.
model="gpt3-175b --option layers=128 --option hidden=25600 --option heads=160 --option vocabulary=51200"
row() { # what, GPUs, options of the plan
    local what=$1 gpus=$2
    shift 2
    local answer seconds
    answer=$("$heddle" simulate $model --cluster dgx-a100 "$@" --ignore-memory --json)
    seconds=$(field step_s <<<"$answer")
    awk -v what="$what" -v gpus="$gpus" -v s="$seconds" -v t=$tokens -v b=$batch -v q=$sequence -v flops="$(field flops_per_device <<<"$answer")" \
        -v fits="$(field fits <<<"$answer")" 'BEGIN {
            days = t / (b * q) * s / 86400
            printf "| %s | %s | %.1f s | %.0f | %.0f days (%.1f years) | %s |\n", what, gpus, s, flops / 1e12, days, days / 365, fits == "true" ? "yes" : "no" }'
}
printf '| devices | number | step | model TFLOP/s each | %s tokens | fits |\n|---|---|---|---|---|---|\n' $tokens
row "A100 80 GB" 512 --tensor 8 --pipeline 64 --micro-batches $batch --recompute full
row "A100 80 GB" 3072 --tensor 8 --pipeline 64 --data 6 --micro-batches $((batch / 6)) --recompute full
row "V100 32 GB, 150 GB/s of NVLink, 12.5 GB/s a GPU" 512 --hardware v100-sxm --cluster-set "inside.bandwidth=150 GB/s" \
    --cluster-set "nic.bandwidth=12.5 GB/s" --option type=f16 --tensor 8 --pipeline 64 --micro-batches $batch --recompute full
