#!/usr/bin/env bash
# The benchmark: builds a release, runs every table, prints them, writes tests/bench/results/NAME.json and draws its
# figures there.
#   bash tests/bench/run.sh            up to 1e7 SIDs
#   bash tests/bench/run.sh --quick    a minute: everything runs; its figures mean nothing and go to build/bench/
#   bash tests/bench/run.sh --full     1e8 SIDs too, which takes long, most of 24 GiB, and 13 GB in $TMPDIR
#   --name NAME            of the results (default: latest)
#   --tables NAME[,NAME..] only those tables (see --list of bench_step, bench_index, bench_import, bench_attention,
#                          bench_products; pytorch; overhead)
# BENCH_PYTHON names a Python with torch, numpy and transformers (default: python3); what needs one that is not there is
# left out.
# If the machine does something else meanwhile, the figures include that: look at the load averages in the results.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. samples/install_packages.sh

size=() name=latest tables=all output=tests/bench/results
while [ $# -gt 0 ]; do
  case $1 in
    --quick) size=(--quick) output=build/bench ;;
    --full) size=(--full) ;;
    --name) name=${2:?--name wants a name}; shift ;;
    --tables) tables=${2:?--tables wants names}; shift ;;
    *) echo "run.sh: expected --quick, --full, --name NAME or --tables NAMES, got '$1'" >&2; exit 2 ;;
  esac
  shift
done

bin=build/release/tests/bench
python=${BENCH_PYTHON:-python3}
export PYTHONDONTWRITEBYTECODE=1

load() { cut -d ' ' -f 1 /proc/loadavg; }

build() {
  local launcher=()
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  cmake --preset release -DSIDBEAM_TESTS=ON "${launcher[@]}" >build/bench/build.log
  cmake --build --preset release --target bench_step bench_index bench_import bench_attention bench_products \
    bench_calls -- --quiet >>build/bench/build.log
}

wanted() { [ "$tables" = all ] || [[ ",$tables," == *",$1,"* ]]; }

# Those of the tables asked for that a program has.
tables_of() {
  local table found=()
  while read -r table _; do
    if wanted "$table"; then found+=("$table"); fi
  done < <("$1" --list)
  (IFS=,; echo "${found[*]}")
}

run() {
  local program=$1 its
  shift
  its=$(tables_of "$bin/$program")
  if [ -n "$its" ]; then "$bin/$program" --table "$its" "${size[@]}" --json "$lines" "$@"; fi
}

# in_python TABLE MODULE PROGRAM WHAT   a program for a Python that has the module
in_python() {
  wanted "$1" || return 0
  printf '\n%s: %s\n' "$1" "$4"
  if ! "$python" -c "import numpy, torch, $2" 2>/dev/null; then
    echo "PyTorch or $2 not installed: left out"
    return 0
  fi
  local quick=()
  if [ "${size[*]}" = --quick ]; then quick=(--quick); fi
  "$python" "tests/bench/$3" "${quick[@]}" --json "$lines"
}

# Of the languages that their tests have built.
overhead() {
  wanted overhead || return 0
  printf '\n'
  local rounds=5
  if [ "${size[*]}" = --quick ]; then rounds=1; fi
  bash tests/bindings/overhead.sh --rounds $rounds --json "$lines"
}

begin=$SECONDS
mkdir -p build/bench "$output"
install_packages $build_packages $test_packages
build
lines=$(mktemp build/bench/lines.XXXXXX)
files=$(mktemp -d "${TMPDIR:-/tmp}/sidbeam-bench.XXXXXX")
trap 'rm -rf "$lines" "$files"' EXIT
before=$(load)
run bench_step
in_python pytorch torch pytorch_step.py 'the step written in PyTorch, rows of the table static'
in_python after transformers prefix_fn.py 'a Python trie of the allowed items'
run bench_index --dir "$files"
run bench_import --dir "$files"
run bench_attention
OMP_NUM_THREADS=1 run products/bench_products
overhead
printf '\nmachine:\n'
python3 tests/bench/document.py --build build/release --lines "$lines" --output "$output/$name.json" \
  --load "$before" "$(load)"
python3 tests/bench/plot.py "$output/$name.json"
printf '%s after %d s\n' "$output/$name.json" $((SECONDS - begin))
