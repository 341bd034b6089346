#!/usr/bin/env bash
# A capture, made and compared without a GPU: Heddle's own model stands in for one. This tries the tools and says nothing
# about accuracy, hence NOT SILICON on every page. On a machine with a GPU: ./heddle validate gpu
set -euo pipefail
cd "$(dirname "$0")/.."
heddle=${HEDDLE:-./heddle}
capture=${HEDDLE_CAPTURE:-build/validation/capture/heddle-capture}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$heddle" --version >/dev/null # builds both programs where that is still to be done
"$capture" --output "$folder/trial" --device simulator --quick --sections device,kernels >&2
"$heddle" validate kernels --capture "$folder/trial" --allow-simulator "$@"
