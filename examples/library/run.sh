#!/usr/bin/env bash
# Installs Heddle's library into a folder and builds and runs the program of this one on it: run.sh [build folder of Heddle]
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/heddle" >"$work/log" || { cat "$work/log"; exit 1; }
cmake -S examples/library -B "$work/program" -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/heddle" >"$work/log" || { cat "$work/log"; exit 1; }
cmake --build "$work/program" >"$work/log" || { cat "$work/log"; exit 1; }
# The hardware files of the installation, as for a program that knows of no source tree.
HEDDLE_HARDWARE_PATH=$work/heddle/share/heddle/hardware "$work/program/own_memory"
