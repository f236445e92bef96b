#!/bin/bash
# Builds the peers that the benchmarks run beside the switch: peer-NAME for every project found on this machine.
# A project that is absent costs a sentence, not a failure.
#
#     crates/bench/peers/build.sh [--bmv2 DIR] [--dpdk-source DIR]
#
#   --bmv2 DIR         a built tree of p4lang/behavioral-model (see README.md for how to build it fast)
#   --dpdk-source DIR  DPDK's sources of the installed version: SWX's compiled pipelines include an internal header
#
# SIDING_PEERS names the folder for the executables (otherwise target/peers). CC and CXX name the compilers.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
out="${SIDING_PEERS:-$here/../../../target/peers}"
bmv2=""
dpdk_source=""
while [ $# -gt 0 ]; do
    case "$1" in
        --bmv2) bmv2="${2:?--bmv2 wants a folder}"; shift 2 ;;
        --dpdk-source) dpdk_source="${2:?--dpdk-source wants a folder}"; shift 2 ;;
        *) echo "usage: build.sh [--bmv2 DIR] [--dpdk-source DIR]" >&2; exit 2 ;;
    esac
done
mkdir -p "$out"
out="$(cd "$out" && pwd)"
flags=(-std=gnu11 -D_GNU_SOURCE -O3 -march=native -Wall -Wextra -DALLOW_EXPERIMENTAL_API)

build_dpdk_libraries() {
    # pkg-config's -march is that of the oldest processor the package runs on; ours comes after it and wins.
    local cflags libs
    read -ra cflags <<<"$(pkg-config --cflags libdpdk)"
    read -ra libs <<<"$(pkg-config --libs libdpdk)"
    for name in "$@"; do
        "${CC:-cc}" "${cflags[@]}" "${flags[@]}" "$here/$name.c" -o "$out/peer-$name" "${libs[@]}"
        echo "built $out/peer-$name"
    done
}

# SWX compiles a pipeline from C that it generates, and that C includes two headers which no package installs.
build_swx_programs() {
    local cflags
    read -ra cflags <<<"$(pkg-config --cflags libdpdk)"
    mkdir -p "$out/peers"
    for program in l2 wire learn; do
        "$out/peer-dpdk_swx" --codegen "$here/$program.spec" "$out/peers/$program.c"
        "${CC:-cc}" "${cflags[@]}" "${flags[@]}" -w -fPIC -shared -I"$dpdk_source/lib/pipeline" \
            "$out/peers/$program.c" -o "$out/peers/$program.so"
        echo "built $out/peers/$program.so"
    done
}

# Links BMv2's libraries, built in place or in the tree's folder build/ as static archives, with its own switch class.
build_bmv2() {
    local tree="$bmv2" archive source jsoncpp libs
    [ -d "$bmv2/build" ] && tree="$bmv2/build"
    local archives=("$tree/src/bm_sim/.libs/libbmsim.a" "$tree/src/BMI/.libs/libbmi.a")
    local switch="$bmv2/targets/simple_switch"
    for archive in "${archives[@]}"; do
        if [ ! -f "$archive" ]; then
            echo "skipped bmv2: no $archive (README.md says how to build BMv2)"
            return
        fi
    done
    read -ra jsoncpp <<<"$(pkg-config --cflags jsoncpp)"
    read -ra libs <<<"$(pkg-config --libs jsoncpp)"
    mkdir -p "$out/peers"
    "$here/bmv2_l2_json.py" >"$out/peers/l2.json"
    # BMv2's headers and sources are not ours to warn about.
    local common=(-std=c++17 -D_GNU_SOURCE -DHAVE_CONFIG_H -O3 -DNDEBUG "${jsoncpp[@]}" -isystem "$switch"
        -isystem "$bmv2/include" -isystem "$tree/include" -isystem "$bmv2/third_party/spdlog")
    for source in simple_switch primitives; do
        "${CXX:-c++}" "${common[@]}" -w -c "$switch/$source.cpp" -o "$out/peers/$source.o"
    done
    "${CXX:-c++}" "${common[@]}" -Wall -Wextra -DBMV2_VERSION="\"$(cat "$bmv2/VERSION")\"" "$here/bmv2.cpp" \
        "$out/peers/simple_switch.o" "$out/peers/primitives.o" -o "$out/peer-bmv2" \
        -Wl,--whole-archive "${archives[@]}" -Wl,--no-whole-archive "${libs[@]}" \
        -lboost_program_options -lpcap -lgmp -lxxhash -ldl -lpthread
    echo "built $out/peer-bmv2"
}

if [ -n "$bmv2" ]; then
    build_bmv2
else
    echo "skipped bmv2: give --bmv2 DIR, a built tree of p4lang/behavioral-model"
fi

if pkg-config --exists libdpdk 2>/dev/null; then
    build_dpdk_libraries rte_hash rte_fib rte_acl learn learn_latency
    if [ -n "$dpdk_source" ]; then
        build_dpdk_libraries dpdk_swx
        build_swx_programs
    else
        echo "skipped dpdk_swx: SWX compiles its pipelines with headers of DPDK's sources; give --dpdk-source DIR"
    fi
else
    echo "skipped rte_hash, rte_fib, rte_acl, learn, learn_latency and dpdk_swx: pkg-config knows no libdpdk (Debian: libdpdk-dev)"
fi
