#!/usr/bin/env bash
# Builds and runs every test program of the runtime, with each compiler that is there, optimised and under sanitizers.
# Usage: rt/tests/run.sh [--quick] [test_name...]
# With --quick each test runs once optimised and once under each sanitizer: of two compilers the second one optimises.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

flags=(-std=gnu11 -pthread -Wall -Wextra -Werror -I "$here/..")
declare -A modes=(
    [optimised]="-O2"
    [sanitized]="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
    [vectors]="-O1 -g -march=native -fsanitize=address,undefined -fno-sanitize-recover=all"
    [scalar]="-O1 -g -DSD_SCALAR -fsanitize=address,undefined -fno-sanitize-recover=all"
    [threads]="-O1 -g -fsanitize=thread"
)
# Programs of what is written twice, with and without vector instructions.
vectored=" test_exact test_flow test_lpm "
# Programs with threads, for ThreadSanitizer.
threaded=" test_async test_epoch test_exact test_flow test_ternary test_lpm_threads test_concurrent test_shard "

quick=false
if [ "${1:-}" = --quick ]; then
    quick=true
    shift
fi
tests=("$@")
if [ ${#tests[@]} -eq 0 ]; then
    for source in "$here"/test_*.c; do
        tests+=("$(basename "$source" .c)")
    done
fi

# Flags of a mode are several words.
run_one() {
    local compiler=$1 test=$2 mode=$3 start=$SECONDS
    shift 3
    "$compiler" "$@" -o "$out/$test-$compiler-$mode" || return 255
    "$out/$test-$compiler-$mode" || { echo "$test ($compiler, $mode): FAILED"; return 255; }
    echo "$test ($compiler, $mode): ok, $((SECONDS - start)) s with its compilation"
}
export -f run_one
export out

has_both=false
if command -v gcc >/dev/null && command -v clang >/dev/null; then
    has_both=true
fi
jobs=()
n_compilers=0
for compiler in gcc clang; do
    command -v "$compiler" >/dev/null || continue
    n_compilers=$((n_compilers + 1))
    for test in "${tests[@]}"; do
        for mode in optimised sanitized vectors scalar threads; do
            [[ $quick = false || $mode = optimised || $n_compilers = 1 ]] || continue
            [[ $quick = false || $mode != optimised || $n_compilers = 2 || $has_both = false ]] || continue
            [[ $mode != vectors || $vectored == *" $test "* ]] || continue
            [[ $mode != scalar || $vectored == *" $test "* ]] || continue
            [[ $mode != threads || $threaded == *" $test "* ]] || continue
            jobs+=("$compiler $test $mode ${flags[*]} ${modes[$mode]} $here/$test.c")
        done
    done
done
if [ "$n_compilers" -eq 0 ]; then
    echo "neither gcc nor clang is there" >&2
    exit 1
fi
# The first that fails ends all.
printf '%s\n' "${jobs[@]}" | xargs -P "$(nproc)" -L 1 bash -c 'run_one "$@"' run_one
