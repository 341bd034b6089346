#!/usr/bin/env bash
# 500 designs of a training step of GPT-2 124M: how long do they take, and are the results the same whatever happens on the way?
#   explore_gpt2.sh HEDDLE OUT run NAME [OPTIONS OF heddle explore]     in OUT/NAME, with a cache of kernels of its own; its time
#   explore_gpt2.sh HEDDLE OUT kill NAME [OPTIONS OF heddle explore]    the same, killed (SIGKILL) three times on the way, then resumed
#   explore_gpt2.sh HEDDLE OUT compare NAME NAME...                     are the exports the same, byte for byte?
# What is varied may be given by SMS, L2, STACKS and SEQUENCE; WITHIN are the seconds within which each kill comes (a third of the run).
#   SMS=132 STACKS=4,5 explore_gpt2.sh build/sim/cli/heddle out run few -j 4
set -euo pipefail
usage() {
    sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
[ $# -ge 4 ] || usage
heddle=$1 out=$2 what=$3 name=$4
shift 4
sms=${SMS:-66..264:8} l2=${L2:-25MiB,50MiB,75MiB,100MiB} stacks=${STACKS:-4..8} sequence=${SEQUENCE:-1024}

# Of one number of SMs and one memory all sizes of L2 come near one another, but not at once: they have kernels in common.
export HEDDLE_CACHE="$out/cache-$name"
exploration=("$heddle" explore gpt2-small --batch 1 --sequence "$sequence" --option vocabulary=50304 --hardware h100-sxm
    --vary "sm.count=$sms" --vary "l2.size=$l2" --vary "hbm.stacks=$stacks" --link 'hbm.bandwidth = hbm.stacks * 670 GB/s'
    --minimise time,area --fidelity sampled --out "$out/$name")
start() {
    mkdir -p "$out"
    if [ -e "$out/$name" ] || [ -e "$out/cache-$name" ]; then
        echo "there is a run $name in $out already" >&2
        exit 2
    fi
    mkdir "$out/cache-$name"
}
case $what in
run)
    start
    TIMEFORMAT='%R s on the clock, %U + %S s of processors'
    time "${exploration[@]}" "$@" >"$out/$name.log" 2>&1 || { tail -n 3 "$out/$name.log" >&2; exit 1; }
    tail -n 2 "$out/$name.log"
    ;;
kill)
    start
    within=${WITHIN:-500} resume=()
    for kill in 1 2 3; do
        seconds=$((within / 5 + RANDOM % within))
        set +e
        timeout -s KILL "$seconds" "${exploration[@]}" "$@" "${resume[@]}" >"$out/$name-$kill.log" 2>&1
        status=$?
        set -e
        echo "kill $kill after $seconds s: status $status"
        [ ! -e "$out/$name/exploration.sqlite" ] || resume=(--resume)
    done
    "${exploration[@]}" "$@" "${resume[@]}" >"$out/$name.log" 2>&1 || { tail -n 3 "$out/$name.log" >&2; exit 1; }
    tail -n 2 "$out/$name.log"
    ;;
compare)
    for other in "$@"; do
        for format in json csv statistics; do
            cmp <("$heddle" explore export "$out/$name" --format "$format") <("$heddle" explore export "$out/$other" --format "$format")
        done
        echo "$name and $other have the same results, byte for byte"
    done
    ;;
*)
    usage
    ;;
esac
