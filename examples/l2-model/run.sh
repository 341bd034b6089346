#!/usr/bin/env bash
# Builds the L2 model and runs the same kernel on Heddle's own L2 and on it: run.sh [options of heddle kernel].
# EXTRA_LATENCY=200 run.sh makes every access of the model 200 cycles longer.
set -euo pipefail
cd "$(dirname "$0")/../.."
heddle=${HEDDLE:-./heddle}
cmake -S examples/l2-model -B build/l2-model -DCMAKE_BUILD_TYPE=Release -DEXTRA_LATENCY="${EXTRA_LATENCY:-0}" >/dev/null
cmake --build build/l2-model >/dev/null
"$heddle" kernel examples/kernels/saxpy/launch.yaml --hardware h100-sxm "$@"
"$heddle" kernel examples/kernels/saxpy/launch.yaml --hardware examples/l2-model/my-cache.yaml --allow-programs "$@"
