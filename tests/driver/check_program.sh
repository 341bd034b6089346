#!/usr/bin/env bash
# Runs a program of examples/programs on a virtual GPU, and looks for what it should say.
#   check_program.sh HEDDLE NVCC SOURCE_TREE NAME        NVCC may be empty: then what needs it is skipped (exit code 77)
set -euo pipefail
heddle=$1 nvcc=$2 programs=$3/examples/programs name=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export HEDDLE_PROGRESS=off

fail() { echo "$name: $1"; cat out err 2>/dev/null; exit 1; }
build() {
    [ -n "$nvcc" ] || { echo "skipped: there is no nvcc"; exit 77; }
    local options=("${@:3}")
    [ $# -gt 2 ] || options=(-arch=sm_90)
    "$nvcc" -std=c++17 -cudart "${2:-shared}" "${options[@]}" "$programs/$1.cu" -o "$1"
}
# run CODE OPTIONS...: the exit code that the program and the command have.
run() {
    local code=0
    "$heddle" run --hardware h100-sxm "${@:2}" >out 2>err || code=$?
    [ "$code" -eq "$1" ] || fail "exit code $code instead of $1"
}
# link_12 OBJECT PROGRAM: with the runtime of CUDA 12.
libraries=$(dirname "$(readlink -f "$heddle")")/../../driver/lib
link_12() { c++ "$1" "$libraries/libcudart.so.12" -Wl,-rpath-link,"$libraries" -o "$2"; }
says() { grep -q -- "$2" "$1" || fail "$1 does not say: $2"; }

case $name in
vector_add_driver)
    cc "$programs/vector_add_driver.c" -o vector_add_driver -ldl
    run 0 --time none -- ./vector_add_driver
    says out "0 of 100000 sums are wrong"
    [ "$(ls)" = "$(printf 'err\nout\nvector_add_driver')" ] || fail "something was left in the folder"
    run 0 -- ./vector_add_driver
    says out "132 of 132 SMs: 0 of 100000 sums are wrong"
    [ -s heddle-run-vector_add_driver-h100-sxm/summary.json ] || fail "there is no summary"
    says heddle-run-vector_add_driver-h100-sxm/timeline.json '"add'
    # Two runs say the same, but for how long they took.
    mv heddle-run-vector_add_driver-h100-sxm first
    run 0 -- ./vector_add_driver
    for file in kernels.csv timeline.json; do cmp "first/$file" "heddle-run-vector_add_driver-h100-sxm/$file" || fail "$file differs"; done
    ;;
mistakes)
    run 2 -- ./nothing
    says err "cannot run it"
    run 2
    says err "no program is named"
    run 3 --no-out -- sh -c 'exit 3'
    run 137 --no-out -- sh -c 'kill -KILL $$'
    says err "the program was ended by Killed"
    run 2 --hardware tpu-v4 -- true || true
    ;;
vector_add)
    build vector_add
    run 0 --time none -- ./vector_add
    says out "sums: right"
    for mode in none size speed; do
        build vector_add shared -arch=sm_90 --compress-mode=$mode
        run 0 --time none -- ./vector_add 1000
        says out "sums: right"
    done
    run 0 --time distinct --no-out -- ./vector_add 5000
    says err "1 .* launch  *cycle"
    run 0 --time nosuch --no-out -- ./vector_add 5000
    says err "1 of 1 launches were computed and not timed"
    run 2 --time none --json -- ./vector_add
    says err "nothing is timed"
    ;;
static_runtime)
    build vector_add static
    run 2 -- ./vector_add
    says err "link it with .nvcc -cudart shared."
    ;;
machine_code_alone)
    # Of another generation; and of this one, which runs where it can be decoded.
    build vector_add shared -gencode arch=compute_80,code=sm_80
    run 1 --no-out -- ./vector_add
    says err "-gencode arch=compute_90,code=compute_90"
    build vector_add shared -gencode arch=compute_90,code=sm_90
    if "$heddle" run --hardware h100-sxm --no-out -- ./vector_add >out 2>err; then
        says out "sums: right"
    else
        says err "name nvdisasm in HEDDLE_NVDISASM"
    fi
    ;;
through_ptxas)
    # PTX alone, and what ptxas makes of it: the same values, in other cycles. Without ptxas the program is not even started.
    build vector_add shared -gencode arch=compute_90,code=compute_90
    HEDDLE_PTXAS=/nonexistent/ptxas run 2 --through ptxas --no-out -- ./vector_add
    says err "ptxas is not there"
    [ ! -s out ] || fail "the program was started"
    run 2 --through ptxas --code machine --no-out -- ./vector_add
    says err "leave out one of them"
    export HEDDLE_PTXAS="$(dirname "$nvcc")/ptxas" HEDDLE_NVDISASM=/nonexistent/nvdisasm
    [ -x "$HEDDLE_PTXAS" ] || { echo "skipped: there is no ptxas"; exit 77; }
    run 0 --out ptx -- ./vector_add 5000
    run 0 --through ptxas --out machine --save through.hrun -- ./vector_add 5000
    says out "sums: right"
    ! cmp -s ptx/kernels.csv machine/kernels.csv || fail "machine code takes what PTX takes, cycle by cycle"
    "$heddle" simulate through.hrun --hardware h100-sxm --out played >played.out 2>err || fail "the recording does not play"
    cmp machine/kernels.csv played/kernels.csv || fail "the recording runs something else"
    ;;
peers)
    build peers
    run 0 --devices 4 --time none -- ./peers
    says out "4 devices"
    ;;
recording)
    # A program that needs no toolkit, and what it asked for on the same device and on another.
    cc "$programs/vector_add_driver.c" -o vector_add_driver -ldl
    run 0 --out recorded --save add.hrun -- ./vector_add_driver
    says err "recorded: add.hrun"
    play() { "$heddle" simulate "$1" --hardware "$2" --out played >out 2>err; }
    play add.hrun h100-sxm || fail "the recording does not play"
    for file in summary.json kernels.csv timeline.json; do cmp "recorded/$file" "played/$file" || fail "$file differs"; done
    play add.hrun a100-sxm || fail "the recording does not play on another device"
    "$heddle" explore add.hrun --hardware h100-sxm --vary sm.count=66 --out explored >out 2>err || fail "the recording cannot be explored"
    says out "2 designs evaluated, 0 failed"
    # Damage of each kind is one line that names the file.
    size=$(stat -c %s add.hrun)
    for cut in 5 40 $((size / 2)) $((size - 1)); do
        head -c "$cut" add.hrun >cut.hrun
        if play cut.hrun h100-sxm; then fail "a recording of $cut bytes plays"; fi
        [ "$(wc -l <err)" -eq 1 ] || fail "not one line"
        says err "cut.hrun"
    done
    (cat add.hrun; echo more) >long.hrun
    if play long.hrun h100-sxm; then fail "a recording with more behind it plays"; fi
    says err "something follows its end"
    echo mine >mine.hrun
    run 2 --save mine.hrun -- ./vector_add_driver
    says err "it is not replaced"
    [ "$(cat mine.hrun)" = mine ] || fail "a file was replaced"
    ;;
recording_of_all)
    # On the hardware of the recording the results are those of the run, whatever memory steers a kernel and however it got there.
    for program in stencil steered streams graph memory cooperative peers; do
        build "$program"
        run 0 --devices 2 --out "recorded-$program" --save "$program.hrun" -- "./$program"
        "$heddle" simulate "$program.hrun" --hardware h100-sxm --out "played-$program" >out 2>err || fail "the recording of $program does not play"
        for file in summary.json kernels.csv timeline.json; do
            cmp "recorded-$program/$file" "played-$program/$file" || fail "$file of $program differs"
        done
    done
    # Times do not depend on what the cache knows.
    HEDDLE_CACHE=off run 0 --devices 2 --out simulated -- ./steered
    cmp simulated/kernels.csv recorded-steered/kernels.csv || fail "the cache changes times"
    ;;
recording_network)
    [ -n "$nvcc" ] && echo '#include <cublas_v2.h>' | "$nvcc" -x cu -E - >/dev/null 2>&1 || { echo "skipped: there is no cuBLAS to compile against"; exit 77; }
    build network shared -arch=sm_80 -lcublas
    run 0 --out recorded --save network.hrun -- ./network
    for hardware in h100-sxm a100-sxm; do
        "$heddle" simulate network.hrun --hardware $hardware --out "played-$hardware" >out 2>err || fail "it does not play on $hardware"
        "$heddle" run --hardware $hardware --out "run-$hardware" -- ./network >out 2>err || fail "it does not run on $hardware"
        cmp "played-$hardware/kernels.csv" "run-$hardware/kernels.csv" || fail "kernels.csv differs on $hardware"
    done
    ;;
ranges)
    build ranges
    run 0 -- ./ranges
    says out "right"
    for range in forward update; do
        grep -q "\"phase\": *\"$range\"" heddle-run-ranges-h100-sxm/summary.json || fail "no op is in the range $range"
    done
    run 0 --range update --out timed -- ./ranges
    says err "3 of 6 launches were computed and not timed"
    run 2 --range update --time none -- ./ranges
    says err "leave out --range, or --time none"
    run 0 --range nothing --no-out -- ./ranges
    says err "the program marked no range .nothing. by NVTX, so nothing was timed; it marked forward, step, update"
    ;;
blas | blas_complex | blas_lt | network)
    [ -n "$nvcc" ] && echo '#include <cublasLt.h>' | "$nvcc" -x cu -E - >/dev/null 2>&1 || { echo "skipped: there is no cuBLAS to compile against"; exit 77; }
    build "$name" shared -arch=sm_90 -lcublas -lcublasLt
    run 0 --time none -- "./$name"
    says out "right"
    ;;
faults)
    build faults
    while read -r what first then; do
        run 0 --time none -- ./faults "$what"
        says out "$what: $first, then $then"
    done <<END
bounds cudaErrorIllegalAddress cudaErrorIllegalAddress
alignment cudaErrorMisalignedAddress cudaErrorMisalignedAddress
shared cudaErrorIllegalAddress cudaErrorIllegalAddress
trap cudaErrorLaunchFailure cudaErrorLaunchFailure
threads cudaErrorLaunchOutOfResources cudaSuccess
END
    ;;
streams)
    build streams
    run 0 --no-out -- ./streams
    says out "right"
    # Kernels run side by side for longer than the step is: their shares are of all their times.
    says err "share of ops"
    says err "kernel .* 100.0 %"
    ;;
per_thread)
    build per_thread shared -arch=sm_90 --default-stream per-thread
    run 0 --no-out -- ./per_thread
    says out "threads: right"
    ;;
runtime_12)
    cc -c "$programs/runtime_12.c" -o runtime_12.o
    link_12 runtime_12.o runtime_12
    run 0 --time none --no-out -- ./runtime_12
    says out "runtime 12: right"
    ;;
compiled_for_12)
    build vector_add shared -arch=sm_90 -c
    mv vector_add vector_add.o
    link_12 vector_add.o vector_add
    run 0 --no-out -- ./vector_add 5000
    says out "sums: right"
    ;;
stream_values)
    build stream_values shared -arch=sm_90 -lcuda "-L$(dirname "$(dirname "$nvcc")")/lib64/stubs"
    run 0 --no-out -- ./stream_values
    says out "stream values: right"
    ;;
programmatic)
    build programmatic
    run 0 --no-out -- ./programmatic
    says out "programmatic launches, windows, priorities and timers: right"
    says err "the program asked for a preferred size of shared memory, which changes no time here"
    ;;
thrust)
    # The PTX of an older device than that which runs it.
    build thrust shared -arch=sm_80 --extended-lambda
    run 0 --time none -- ./thrust
    says out "algorithms: right"
    ;;
limits)
    cc "$programs/limits.c" -o limits -ldl
    export TMPDIR=$folder/temporary
    mkdir "$TMPDIR"
    # The program's own exit code, whatever it has not tidied up.
    run 7 --no-out -- ./limits streams
    says out "a thousand streams: right"
    run 0 --time none -- ./limits memory
    says out "memory: error 2 after all of what was free"
    run 0 --time none -- ./limits newer
    says out "newer PTX: error 222"
    says err "is newer than this driver"
    run 0 --time none -- ./limits truncated
    says out "truncated fat binary: error 200"
    says err "goes beyond its end"
    run 0 --time none -- ./limits forked
    says out "forked: child 0, parent 5"
    run 134 --time none -- ./limits crash
    says err "the program was ended by Aborted"
    # A kernel that would take minutes is given up with its program.
    code=0
    timeout 20 "$heddle" run --hardware h100-sxm --time none -- ./limits killed >out 2>err || code=$?
    [ "$code" -eq 137 ] || fail "exit code $code instead of 137"
    [ "$(grep -c . err)" -eq 1 ] || fail "not one message"
    # The command itself ended from outside takes its program along.
    "$heddle" run --hardware h100-sxm --time none -- ./limits forever >out 2>err &
    sleep 2
    kill -TERM $!
    wait $! || true
    # Two at once know nothing of one another.
    "$heddle" run --hardware h100-sxm --time none -- ./limits forked >first 2>&1 &
    run 7 --time none -- ./limits streams
    wait $!
    says first "forked: child 0"
    sleep 0.5
    if pgrep -f "$folder/limits|^./limits" >/dev/null; then fail "a process is left behind"; fi
    [ -z "$(ls "$TMPDIR")" ] || fail "a file is left behind"
    ;;
host_work)
    cc "$programs/host_work.c" -o host_work -ldl
    run 0 --no-out -- ./host_work
    says out "between two launches: nothing"
    run 0 --no-out --host-time measured -- ./host_work
    says out "between two launches: the host's work"
    says err "waiting for the host: \(9.*\|100.0\) %"
    run 2 --host-time measured --time none -- ./host_work
    says err "leave out --time none"
    run 2 --host-time measured --save x.hrun -- ./host_work
    says err "a recording does not keep it"
    ;;
late_read)
    build late_read
    for time in none all; do
        run 0 --no-out --time $time -- ./late_read
        says out "right"
    done
    run 0 --no-out --check -- ./late_read
    says err "no barrier orders the two"
    ;;
queries)
    build queries shared -arch=sm_90 -lcuda "-L$(dirname "$(dirname "$nvcc")")/lib64/stubs"
    run 0 --devices 2 --time none --no-out -- ./queries
    says out "queries: right"
    ;;
virtual_memory)
    build virtual_memory shared -arch=sm_90 -lcuda "-L$(dirname "$(dirname "$nvcc")")/lib64/stubs"
    run 0 --no-out -- ./virtual_memory
    says out "virtual memory: right"
    says out "memory that may not be reached: cudaErrorIllegalAddress"
    ;;
monitor)
    cc "$programs/monitor.c" -o monitor -ldl
    run 0 --devices 2 --time none --no-out -- ./monitor
    says out "monitor: right"
    says err "nvmlDeviceGetFanSpeed is not there yet"
    ;;
textures)
    build textures
    run 0 --no-out -- ./textures
    says out "textures and surfaces: right"
    says err "there is no texture object"
    says err "integers are not filtered"
    ;;
fork)
    build vector_add
    run 0 --time none --no-out -- sh -c './vector_add 1000 & ./vector_add 2000 && wait'
    [ "$(grep -c "sums: right" out)" -eq 2 ] || fail "not both processes are right"
    ;;
*)
    build "$name"
    run 0 --no-out -- "./$name"
    says out "right"
    ;;
esac
