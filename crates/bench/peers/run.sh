#!/bin/bash
# Runs every peer that build.sh has built, one after another, and prints their lines: crates/bench/peers/run.sh [--quick]
# SIDING_PEERS names the folder of the executables (otherwise target/peers). A peer that fails does not stop the rest.
set -uo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
folder="${SIDING_PEERS:-$here/../../../target/peers}"
status=0
for name in rte_hash rte_fib rte_acl learn learn_latency dpdk_swx bmv2; do
    if [ -x "$folder/peer-$name" ]; then
        "$folder/peer-$name" "$@" || status=1
    else
        echo "skipped $name: no $folder/peer-$name; crates/bench/peers/build.sh makes it where the project is installed" >&2
    fi
done
exit "$status"
