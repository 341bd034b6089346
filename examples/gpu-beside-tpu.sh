#!/usr/bin/env bash
# A GPU beside TPUs: training steps (forward and both gradients, in bf16) of a dense layer, a convolution, an LSTM and
# attention, which JAX printed, and of a block of a GPT, at several batch sizes. Prints times and shares of the peak;
# the operations that count are those of products, convolutions and attention.
#
#   GPU=h100-sxm TPUS="tpu-v4 tpu-v6e" LAYERS="dense lstm" HIDDEN=4096 SEQUENCES="1 4" examples/gpu-beside-tpu.sh
set -euo pipefail
cd "$(dirname "$0")/.."
heddle=${HEDDLE:-./heddle}
gpu=${GPU:-h100-sxm} tpus=${TPUS:-tpu-v4 tpu-v6e} hidden=${HIDDEN:-4096}
declare -A peak=([h100-sxm]=989e12 [h200-sxm]=989e12 [a100-sxm]=312e12 [tpu-v3]=123e12 [tpu-v4]=275e12 [tpu-v5e]=197e12
                 [tpu-v5p]=459e12 [tpu-v6e]=918e12)

measure() {  # DEVICE WORKLOAD...: "us share" of the step
    local device=$1
    shift
    local sample=""
    [[ $device == tpu-* ]] || sample=--sample
    "$heddle" simulate "$@" --hardware "$device" $sample --no-out --json | awk -v peak="${peak[$device]}" '
        /"device_busy_us":/ { gsub(/[^0-9.e+-]/, "", $2); busy = $2 }
        /"kind":/ { counts = $0 ~ /"(matmul|attention|attention_grad|convolution.*)"/ }
        /"flops":/ { gsub(/[^0-9.e+-]/, "", $2); if (counts) flops += $2 }
        END { printf "%.1f | %.1f %%", busy, 100 * flops / (busy * 1e-6 * peak) }'
}

row() {  # NAME BATCH WORKLOAD...
    local name=$1 batch=$2 device
    shift 2
    printf '| %s | %s |' "$name" "$batch"
    for device in $gpu $tpus; do printf ' %s |' "$(measure "$device" "$@")"; done
    printf '\n'
}

printf '| forward and backward | batch |'
for device in $gpu $tpus; do printf ' %s, us | of its peak |' "$device"; done
printf '\n|---|---|'
for device in $gpu $tpus; do printf -- '---|---|'; done
printf '\n'
declare -A names=([dense]="dense 4096 x 4096" [convolution]="convolution 3 x 3, 128 to 256 channels, 28 x 28"
                  [lstm]="LSTM, 16 steps of 1024 units" [attention]="attention, 8 heads of 128, 512 tokens")
for layer in ${LAYERS:-dense convolution lstm attention}; do
    for file in $(ls examples/gpu-beside-tpu/"$layer"-*.mlir | sort -V); do
        batch=${file##*-}
        row "${names[$layer]}" "${batch%.mlir}" "$file"
    done
done
for batch in ${SEQUENCES-1 4}; do
    row "GPT block, $hidden wide, with SGD, sequences of 2048" "$batch" gpt --option layers=1 --option hidden="$hidden" \
        --option heads=$((hidden / 128)) --option batch="$batch" --option sequence=2048 --option type=bf16
done
