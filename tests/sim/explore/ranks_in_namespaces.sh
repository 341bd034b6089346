#!/usr/bin/env bash
# Runs a command as several MPI ranks on two "machines": network namespaces with an address and a host name each, joined by a virtual
# cable. Usage: ranks_in_namespaces.sh RANKS COMMAND...; exit code 77: not permitted here.
set -euo pipefail
ranks=$1
shift
[ "$(id -u)" -eq 0 ] && command -v ip >/dev/null && command -v mpirun >/dev/null || exit 77
first=heddle-a-$$ second=heddle-b-$$
scratch=$(mktemp -d)
cleanup() {
    ip netns delete "$first" 2>/dev/null || true
    ip netns delete "$second" 2>/dev/null || true
    rm -rf "$scratch"
}
trap cleanup EXIT
ip netns add "$first" 2>/dev/null && ip netns add "$second" 2>/dev/null || exit 77
ip link add name cable netns "$first" type veth peer name cable netns "$second" 2>/dev/null || exit 77
for side in "$first 10.77.0.1" "$second 10.77.0.2"; do
    set -- ${side} "$@"
    ip -n "$1" address add "$2/24" dev cable
    ip -n "$1" link set cable up
    ip -n "$1" link set lo up
    shift 2
done
# What Open MPI takes for ssh: HOST COMMAND...
cat >"$scratch/agent" <<AGENT
#!/bin/sh
shift
exec ip netns exec $second unshare --uts sh -c "hostname $second; \$*"
AGENT
chmod +x "$scratch/agent"
# Open MPI's plugins keep memory to the end, which is no leak of ours.
ip netns exec "$first" unshare --uts sh -c 'hostname "$0"; exec "$@"' "$first" \
    mpirun --allow-run-as-root --bind-to none -x ASAN_OPTIONS=detect_leaks=0 --host "10.77.0.1:$(((ranks + 1) / 2)),10.77.0.2:$((ranks / 2))" -n "$ranks" \
    --mca plm_rsh_agent "$scratch/agent" --mca btl tcp,self --mca pml ob1 \
    --mca oob_tcp_if_include 10.77.0.0/24 --mca btl_tcp_if_include 10.77.0.0/24 "$@"
