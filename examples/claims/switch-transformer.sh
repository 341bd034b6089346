#!/usr/bin/env bash
# Switch Transformer: many times the parameters for the same arithmetic per token. What remains of it when tokens travel.
# docs/claims.md explains the numbers.
set -euo pipefail
cd "$(dirname "$0")/../.."
heddle=${HEDDLE:-./heddle}

field() { sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" | head -1; }

row() { # what, options
    local what=$1
    shift
    local answer
    answer=$("$heddle" simulate switch-base-128 --option sequence=512 --option target=114 --cluster dgx-a100 --data 32 --micro-batch 8 "$@" --ignore-memory --json)
    printf '| %s | %.2f | %.1f | %.0f | %s |\n' "$what" \
        "$(awk -v s="$(field step_s <<<"$answer")" 'BEGIN { print 1e3 * s }')" \
        "$(awk -v p="$(field parameters <<<"$answer")" 'BEGIN { print p / 1e9 }')" \
        "$(awk -v s="$(field step_s <<<"$answer")" -v b="$(field batch <<<"$answer")" 'BEGIN { print b / s }')" \
        "$(awk -v d="$(field tokens_dropped <<<"$answer")" 'BEGIN { printf "%.1f %%", 100 * d }')"
}
printf '| model | step, ms | weights of a device, G | examples a second | tokens dropped |\n|---|---|---|---|---|\n'
row "T5-base: no experts" --option every=1000
row "Switch-base, 128 experts, capacity 1.0" --expert 32 --option capacity=1.0
row "the same, capacity 1.25" --expert 32 --option capacity=1.25
row "the same, capacity 2.0" --expert 32 --option capacity=2.0
row "capacity 1.25, experts by Zipf 0.5" --expert 32 --option capacity=1.25 --expert-skew 0.5
row "no limit, experts by Zipf 0.5" --expert 32 --option capacity=0 --expert-skew 0.5
