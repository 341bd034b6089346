#!/usr/bin/env bash
# How long does a person wait for what they type? Prints a table of commands with the processor seconds that each takes, all its processes together, from an
# empty cache of kernels but where the row says otherwise.
#   benchmarks/patience.sh [HEDDLE [README.md]]
# With a file, writes the table between the marks of patience there.
set -euo pipefail
tree=$(cd "$(dirname "$0")/.." && pwd)
heddle=${1:-$tree/heddle}
page=${2:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HEDDLE_PROGRESS=off HEDDLE_CACHE="$folder/cache"

# A product of 4096 in single precision, by a kernel of 32 x 32 tiles.
sed -e "s|module: .*|module: $tree/examples/kernels/sgemm/sgemm.ptx|" -e 's/\[100, 72\]\|\[72, 90\]\|\[100, 90\]/[4096, 4096]/' \
    -e 's/grid: .*/grid: [128, 128]/' -e 's/{s32: 100}, {s32: 90}, {s32: 72}/{s32: 4096}, {s32: 4096}, {s32: 4096}/' -e '/^compare:/,$d' \
    "$tree/examples/kernels/sgemm/launch.yaml" >"$folder/sgemm.yaml"

rows=""
TIMEFORMAT='%U %S'
# measure TEXT COMMAND...: adds a row.
measure() {
    local text=$1 spent
    shift
    spent=$({ time "$@" >"$folder/out" 2>"$folder/err" || { tail -n 3 "$folder/err" >&2; exit 1; }; } 2>&1)
    rows+="| $text | $(awk '{printf "%.1f", $1 + $2}' <<<"$spent") |"$'\n'
}
step=("$heddle" simulate gpt2-small --batch 8 --sequence 1024 --hardware h100-sxm --sample)
measure '`heddle gemm 8192 8192 8192 --type bf16 --hardware h100-sxm`' "$heddle" gemm 8192 8192 8192 --type bf16 --hardware h100-sxm
measure '`heddle kernel` of an SGEMM, 4096 x 4096 x 4096, `--hardware rtx-a6000 --sample`' "$heddle" kernel "$folder/sgemm.yaml" --hardware rtx-a6000 --sample
measure '`heddle simulate gpt2-small --batch 8 --sequence 1024 --hardware h100-sxm --sample`' "${step[@]}" --out "$folder/step"
measure 'the same with another size of L2, `--set l2.size=60MiB`' "${step[@]}" --set l2.size=60MiB --out "$folder/changed"
measure 'the same once more, all kernels known' "${step[@]}" --out "$folder/again"
table=$'| command | processor seconds |\n|---|---|\n'"$rows"
printf '%s' "$table"
[ -z "$page" ] || TABLE=$table python3 - "$page" <<'END'
import os, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
marked = re.sub(r"(<!-- patience: [^\n]*-->\n).*?(<!-- end of patience -->)", lambda m: m[1] + os.environ["TABLE"] + m[2], text, flags=re.S)
if marked == text and "<!-- patience:" not in text:
    sys.exit(f"{sys.argv[1]}: no marks of patience are there")
open(sys.argv[1] + ".new", "w", encoding="utf-8").write(marked)
os.replace(sys.argv[1] + ".new", sys.argv[1])
END
