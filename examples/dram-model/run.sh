#!/usr/bin/env bash
# Builds the DRAM model and runs the same kernel on Heddle's own DRAM and on it: run.sh [options of heddle kernel]
set -euo pipefail
cd "$(dirname "$0")/../.."
heddle=${HEDDLE:-./heddle}
cmake -S examples/dram-model -B build/dram-model -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build build/dram-model >/dev/null
"$heddle" kernel examples/kernels/saxpy/launch.yaml --hardware h100-sxm "$@"
"$heddle" kernel examples/kernels/saxpy/launch.yaml --hardware examples/dram-model/my-memory.yaml --allow-programs "$@"
