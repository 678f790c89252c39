#!/usr/bin/env bash
# The papers' tables in small, on real data: trains what models are not there yet, measures, writes results/papers.json
# and results/speculation.json (AtSpeed's, of Industrial), their figures, and their tables in README.md.
#   bash tests/bench/papers/run.sh [BUILD]      default build/release, with its target sidbeam_python built
# BENCH_PYTHON: with what samples/train/requirements.txt names, of the version that the build's Python has (default
# python3). PAPERS_MODELS: where models are kept (build/papers/models; some 55 minutes of processor time to make them
# all). PAPERS_DATA: the catalogues (../shared/data/minionerec). PAPERS_TABLES: those tables of papers.json alone.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
build=${1:-build/release}
python=${BENCH_PYTHON:-python3}
models=${PAPERS_MODELS:-build/papers/models}
data=${PAPERS_DATA:-../shared/data/minionerec}
bench=tests/bench
export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$build/bindings/python/package
industrial=$data/Industrial_and_Scientific.index.json office=$data/Office_Products.index.json
load() { cut -d ' ' -f 1 /proc/loadavg; }

# measure NAME COMMAND ...   runs a program that appends to build/papers/NAME, and makes NAME.json of it. (What git has
# stays as it is until all is measured, so that every file names the commit.)
measure() {
  local name=$1 before
  shift
  rm -f "build/papers/$name"
  before=$(load)
  "$@"
  "$python" $bench/document.py --build "$build" --lines "build/papers/$name" --output "build/papers/$name.json" \
    --load "$before" "$(load)"
}
# finish NAME PROGRAM   makes it the results, draws its figures, and lets the program write its tables in README.md
finish() {
  mv "build/papers/$1.json" $bench/results/
  "$python" $bench/plot.py "$bench/results/$1.json"
  "$python" "$2" "$bench/results/$1.json" $bench/README.md
}
rounds=("$python" "$bench/speculation/run.py" "$industrial" --work "$models/speculation"
  --lines build/papers/speculation)

mkdir -p build/papers
# The ablations have one catalogue, as in NEZHA's paper.
nice -n 15 "$python" $bench/papers/models.py "$industrial" --models "$models"
nice -n 15 "$python" $bench/papers/models.py "$office" --models "$models" --names nezha,code_by_code
[ -n "${PAPERS_TABLES:-}" ] || nice -n 15 "${rounds[@]}" --only train
measure papers "$python" $bench/papers/tables.py "$industrial" "$office" --models "$models" --json build/papers/papers \
  ${PAPERS_TABLES:+--tables "$PAPERS_TABLES"}
[ -n "${PAPERS_TABLES:-}" ] || measure speculation "${rounds[@]}"
finish papers $bench/papers/readme.py
[ -n "${PAPERS_TABLES:-}" ] || finish speculation $bench/speculation/table.py
