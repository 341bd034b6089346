#!/usr/bin/env bash
# The claims of docs/claims.md, run, beside what was published.
#   check_claims.sh HEDDLE SOURCE_TREE
set -euo pipefail
export HEDDLE=$1
cd "$2/examples/claims"

column() { awk -F'|' -v row="$1" -v column="$2" 'NR > 2 && ++n == row { gsub(/^ +/, "", $(column + 1)); print $(column + 1) + 0 }' <<<"$table"; }
within() { # what, value, lowest, highest
    awk -v v="$2" -v low="$3" -v high="$4" 'BEGIN { exit !(v >= low && v <= high) }' || { echo "$1: $2 is not within $3 and $4"; echo "$table"; exit 1; }
}

table=$(./one-trillion.sh)
# Narayanan et al., 2021, section 5.1: 84 days on 3,072 A100; by their formula (8 T P / n X) 512 at the same rate take 1.4 years.
within "days on 3,072 A100" "$(column 2 5)" $((84 * 88 / 100)) 94
within "days on 512 A100" "$(column 1 5)" 400 520
within "days on 512 V100" "$(column 3 5)" 1000 2000

table=$(./switch-transformer.sh)
# Fedus et al., 2022, table 1 on 32 TPU v3: 1,600 examples a second without experts, 1,000 at capacity 1.0, 860 at 2.0.
within "T5-base over Switch-base" "$(awk -v a="$(column 1 4)" -v b="$(column 2 4)" 'BEGIN { print a / b }')" 1.1 1.8
within "capacity 1.0 over 2.0" "$(awk -v a="$(column 2 4)" -v b="$(column 4 4)" 'BEGIN { print a / b }')" 1.1 1.3
within "tokens dropped by Zipf 0.5" "$(column 5 5)" 10 25

table=$(./price-of-training.sh)
within "price on TPU v4 over A100" "$(awk -v a="$(column 2 6)" -v b="$(column 1 6)" 'BEGIN { print a / b }')" 0.7 1
