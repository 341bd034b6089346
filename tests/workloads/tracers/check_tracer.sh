#!/bin/sh
# Records the example models anew and others, and imports them: check_tracer.sh HEDDLE SOURCE. Skips with a line where there is no
# PyTorch; $HEDDLE_PYTHON names the Python to use.
set -e
heddle=$1 source=$2 python=${HEDDLE_PYTHON:-python3}
if ! "$python" -c 'import torch' 2>/dev/null; then
    echo "skipped: $python has no torch"
    exit 0
fi
export OMP_NUM_THREADS=1  # small steps, beside other tests
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PYTHONPATH=$source/workloads/tracers "$python" "$source/workloads/tracers/example_models.py" "$folder"
for step in "$folder"/*.et.gz; do
    "$heddle" trace inspect --json "$step" >"$folder/step.json"
    "$python" - "$folder/step.json" <<'CHECK'
import json, sys
step = json.load(open(sys.argv[1]))
phases = {p["name"] for p in step["phases"]}
assert not step["unknown"], step["unknown"]
assert {"forward", "backward", "optimizer"} <= phases, phases
assert step["total"]["flops"] > 0 and step["peak_memory"]["bytes"] > 0
CHECK
done
echo "the example models recorded and understood"
PYTHONPATH=$source/workloads/tracers "$python" "$source/tests/workloads/tracers/check_steps.py" "$heddle" "$folder"
