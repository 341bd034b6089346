#!/usr/bin/env bash
# A GPU beside a TPU: dense layers, a convolution (as the product that im2col makes of it), LSTM steps and attention
# scores, at several batch sizes. Writes each as XLA HLO text, simulates it on both, prints times and shares of the peak.
set -euo pipefail
cd "$(dirname "$0")/.."
heddle=${HEDDLE:-./heddle}
gpu=${GPU:-h100-sxm} gpu_peak=${GPU_PEAK:-989e12}
tpu=${TPU:-tpu-v6e} tpu_peak=${TPU_PEAK:-918e12}
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

product() {  # ROWS DEPTH COLUMNS
    cat <<END
HloModule product
ENTRY main {
  x = bf16[$1,$2]{1,0} parameter(0)
  w = bf16[$2,$3]{1,0} parameter(1)
  ROOT y = bf16[$1,$3]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
END
}

lstm() {  # BATCH: four steps of 1,024 units
    echo "HloModule lstm"
    echo "ENTRY main {"
    echo "  w = bf16[1024,4096]{1,0} parameter(0)"
    echo "  h0 = bf16[$1,1024]{1,0} parameter(1)"
    echo "  c0 = bf16[$1,1024]{1,0} parameter(2)"
    for step in 1 2 3 4; do
        before=$((step - 1))
        echo "  g$step = bf16[$1,4096]{1,0} dot(h$before, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
        echo "  i$step = bf16[$1,1024]{1,0} slice(g$step), slice={[0:$1], [0:1024]}"
        echo "  f$step = bf16[$1,1024]{1,0} slice(g$step), slice={[0:$1], [1024:2048]}"
        echo "  o$step = bf16[$1,1024]{1,0} slice(g$step), slice={[0:$1], [2048:3072]}"
        echo "  u$step = bf16[$1,1024]{1,0} slice(g$step), slice={[0:$1], [3072:4096]}"
        echo "  is$step = bf16[$1,1024]{1,0} logistic(i$step)"
        echo "  fs$step = bf16[$1,1024]{1,0} logistic(f$step)"
        echo "  os$step = bf16[$1,1024]{1,0} logistic(o$step)"
        echo "  ut$step = bf16[$1,1024]{1,0} tanh(u$step)"
        echo "  iu$step = bf16[$1,1024]{1,0} multiply(is$step, ut$step)"
        echo "  fc$step = bf16[$1,1024]{1,0} multiply(fs$step, c$before)"
        echo "  c$step = bf16[$1,1024]{1,0} add(fc$step, iu$step)"
        echo "  ct$step = bf16[$1,1024]{1,0} tanh(c$step)"
        echo "  h$step = bf16[$1,1024]{1,0} multiply(os$step, ct$step)"
    done
    echo "  ROOT r = (bf16[$1,1024]{1,0}, bf16[$1,1024]{1,0}) tuple(h4, c4)"
    echo "}"
}

scores() {  # BATCH: 8 heads of 128, 512 tokens
    cat <<END
HloModule scores
ENTRY main {
  q = bf16[$1,8,512,128]{3,2,1,0} parameter(0)
  k = bf16[$1,8,512,128]{3,2,1,0} parameter(1)
  ROOT s = bf16[$1,8,512,512]{3,2,1,0} dot(q, k), lhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_batch_dims={0,1}, rhs_contracting_dims={3}
}
END
}

microseconds() {  # FILE DEVICE
    "$heddle" simulate "$1" --hardware "$2" --no-out --json | sed -n 's/^  "device_busy_us": \(.*\),$/\1/p'
}

row() {  # NAME BATCH FLOP: reads the program
    cat > "$folder/program.hlo"
    local on_gpu on_tpu
    on_gpu=$(microseconds "$folder/program.hlo" "$gpu")
    on_tpu=$(microseconds "$folder/program.hlo" "$tpu")
    awk -v n="$1" -v b="$2" -v f="$3" -v g="$on_gpu" -v t="$on_tpu" -v gp="$gpu_peak" -v tp="$tpu_peak" \
        'BEGIN { printf "| %s | %d | %.1f | %.1f %% | %.1f | %.1f %% |\n", n, b, g, 100 * f / (g * 1e-6 * gp), t, 100 * f / (t * 1e-6 * tp) }'
}

echo "| | batch | $gpu, us | of its peak | $tpu, us | of its peak |"
echo "|---|---|---|---|---|---|"
for batch in ${BATCHES:-8 64 512 4096}; do
    product "$batch" 4096 4096 | row "dense 4096 x 4096" "$batch" "$((2 * batch * 4096 * 4096))"
done
for batch in ${IMAGES:-1 4}; do
    rows=$((batch * 28 * 28))
    product "$rows" 1152 256 | row "convolution 3 x 3, 128 to 256 channels, 28 x 28" "$batch" "$((2 * rows * 1152 * 256))"
done
for batch in ${BATCHES:-8 64 512}; do
    lstm "$batch" | row "LSTM, 4 steps of 1024 units" "$batch" "$((4 * 2 * batch * 1024 * 4096))"
done
for batch in ${SEQUENCES:-1 4}; do
    scores "$batch" | row "attention scores, 8 heads of 128, 512 tokens" "$batch" "$((2 * batch * 8 * 512 * 512 * 128))"
done
