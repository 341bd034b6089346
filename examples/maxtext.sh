#!/usr/bin/env bash
# Training of large transformers on TPUs, simulated beside what MaxText reports: tokens per second and chip, and the share of
# the peak (MFU, by MaxText's count of operations, in which a causal mask hides nothing).
#
# One chip's share of the batch goes through one block and through two; the difference is a block, the rest of the first run
# the embedding, head and loss. What other chips would send is taken as hidden behind the products, as MaxText's schedules
# aim at; so the simulation says how fast the chip would be without waiting for others. The optimizer's share of a chip of
# hundreds is left out.
#
#   ROWS="v5e-16b v6e-8b" examples/maxtext.sh
set -euo pipefail
cd "$(dirname "$0")/.."
heddle=${HEDDLE:-./heddle}

# name -> device, layers, options of a block, what is computed again, published tokens per second and chip, source
block() {
    case $1 in
    v5e-16b) echo "tpu-v5e 32 6 2048 4096 64 64 28672 32000 full 120" "AI-Hypercomputer/maxtext, MaxText/configs/v5e: 256 chips, 61.1 %" ;;
    v5e-32b) echo "tpu-v5e 32 4 2048 8192 64 64 28672 32000 full 132" "AI-Hypercomputer/maxtext, MaxText/configs/v5e: 256 chips, 66.9 %" ;;
    v6e-8b) echo "tpu-v6e 32 3 8192 4096 32 8 14336 128256 mlp 413.4" "AI-Hypercomputer/tpu-recipes, Llama3.1-8B-MaxText/v6e-8" ;;
    *) echo "no row $1" >&2 && exit 2 ;;
    esac
}

simulated() {  # LAYERS DEVICE BATCH SEQUENCE HIDDEN HEADS KEY_HEADS WIDTH VOCABULARY RECOMPUTE
    "$heddle" simulate llama2-7b --hardware "$2" --batch "$3" --sequence "$4" --option layers="$1" --option hidden="$5" \
        --option heads="$6" --option key_heads="$7" --option head_dim=128 --option feed_forward="$8" \
        --option vocabulary="$9" --option recompute="${10}" --option optimizer=sgd --ignore-memory --no-out --json
}

printf '| model | device | published TFLOP/s | published MFU | simulated TFLOP/s | simulated MFU | simulated / published |\n'
printf '|---|---|---|---|---|---|---|\n'
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for row in ${ROWS:-v5e-16b v5e-32b v6e-8b}; do
    read -r device layers batch sequence hidden heads key_heads width vocabulary again published _ <<<"$(block "$row")"
    recompute=$again
    [[ $again != mlp ]] || recompute=none
    for count in 1 2; do
        simulated $count "$device" "$batch" "$sequence" "$hidden" "$heads" "$key_heads" "$width" "$vocabulary" "$recompute" \
            >"$folder/$count.json"
    done
    python3 - "$folder" "$row" "$device" "$layers" "$batch" "$sequence" "$hidden" "$heads" "$key_heads" "$width" "$vocabulary" \
        "$again" "$published" <<'PYTHON'
import json, sys

folder, row, device, *numbers, again, published = sys.argv[1:]
layers, batch, sequence, hidden, heads, key_heads, width, vocabulary = map(int, numbers)
published = float(published)
one, two = (json.load(open(f"{folder}/{n}.json")) for n in (1, 2))
block = two["device_busy_us"] - one["device_busy_us"]
rest = one["device_busy_us"] - block
if again == "mlp":
    # MaxText keeps what enters a block, queries, keys, values and the attention's projection; the backward pass computes
    # the attention and the first two products of the MLP again.
    def per_op(kind, shape):
        for op in one["ops"]:
            if op["kind"] == kind and shape in op["name"] and op["phase"] == "forward":
                return op["time_us"] / op["count"]
        raise SystemExit(f"no op {kind} {shape}")
    block += per_op("attention", "") + 2 * per_op("matmul", f"{batch * sequence}x{width}x{hidden}")
weights = hidden * 128 * (2 * heads + 2 * key_heads) + 3 * hidden * width
per_token = layers * (6 * weights + 12 * sequence * heads * 128) + 6 * vocabulary * hidden
peak = {"tpu-v5e": 197e12, "tpu-v5p": 459e12, "tpu-v6e": 918e12}[device]
seconds = (layers * block + rest) * 1e-6
rate = per_token * batch * sequence / seconds
print(f"| {row} | {device} | {published:.0f} | {100e12 * published / peak:.1f} % | {rate / 1e12:.0f} "
      f"| {100 * rate / peak:.1f} % | {rate / 1e12 / published:.2f} |")
PYTHON
done
