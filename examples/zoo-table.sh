#!/usr/bin/env bash
# A training step of each model of the zoo on a GPU and on TPUs, side by side: time of a step, how much of the peak its
# products reach, what memory it needs. A table in Markdown.
#
#   GPU=h100-sxm TPUS="tpu-v5e" MODELS="mlp gpt2-small" examples/zoo-table.sh
# `heddle trace models` lists all models.
set -euo pipefail
cd "$(dirname "$0")/.."
heddle=${HEDDLE:-./heddle}
gpu=${GPU:-h100-sxm} tpus=${TPUS:-tpu-v5e}
# What each model is asked for, in bf16; others as they are by default.
declare -A options=(
    [mlp]="--batch 4096 --widths 1024,4096,4096,1000 --option type=bf16"
    [gpt2-small]="--batch 8 --option type=bf16 --option vocabulary=50304"  # rows of whole lines, as those who train it ask for
    [bert-base]="--batch 8 --option type=bf16"
    [resnet50]="--batch 32 --option type=bf16"  # on a GPU with channels last, see below
    [vit-b16]="--batch 32 --option type=bf16"
)
models=${MODELS:-mlp gpt2-small bert-base resnet50 vit-b16 lstm}

measure() {  # DEVICE MODEL: cells of the row
    local device=$1 model=$2 sample=""
    [[ $device == tpu-* ]] || sample=--sample
    # PyTorch's memory_format=torch.channels_last; on a TPU images have channels last in any case.
    [[ $model != resnet50 || $device == tpu-* ]] || sample+=" --option layout=nhwc"
    # shellcheck disable=SC2086
    ("$heddle" simulate "$model" ${options[$model]:-} --hardware "$device" $sample --no-out --json || true) |
        python3 -c '
import json, sys
step = json.load(sys.stdin)
if "step_time_us" not in step:
    print("does not fit: %.1f of %.1f GiB" % (step["peak"] / 2**30, step["capacity"] / 2**30), "", "", "", sep=" | ")
    sys.exit()
flops = sum(op["flops"] for op in step["ops"])
waiting = step["division"]["waiting_for_host_us"] / step["step_time_us"]
print("%.2f ms" % (step["step_time_us"] / 1e3), "%.0f TFLOP/s" % (flops / step["step_time_us"] / 1e6),
      "%.1f GiB" % (step["memory"]["peak"] / 2**30), "%.0f %%" % (100 * waiting), sep=" | ")
' || echo "not simulated | | |"
}

printf '| model |'
for device in $gpu $tpus; do printf ' %s, a step | rate | memory | waiting for the host |' "$device"; done
printf '\n|---|'
for device in $gpu $tpus; do printf -- '---|---|---|---|'; done
printf '\n'
for model in $models; do
    printf '| %s |' "$model"
    for device in $gpu $tpus; do printf ' %s |' "$(measure "$device" "$model")"; done
    printf '\n'
done
