#!/usr/bin/env bash
# The papers' tables in small, on real data: trains what models are not there yet, measures, writes results/papers.json,
# its figures, and its tables in README.md.
#   bash tests/bench/papers/run.sh [BUILD]      default build/release, with its target sidbeam_python built
# BENCH_PYTHON: with what samples/train/requirements.txt names, of the version that the build's Python has (default
# python3). PAPERS_MODELS: where models are kept (build/papers/models; some 45 minutes of processor time to make them
# all). PAPERS_DATA: the catalogues (../shared/data/minionerec). PAPERS_TABLES: those tables alone.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
build=${1:-build/release}
python=${BENCH_PYTHON:-python3}
models=${PAPERS_MODELS:-build/papers/models}
data=${PAPERS_DATA:-../shared/data/minionerec}
results=tests/bench/results
lines=build/papers/lines
export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$build/bindings/python/package
mkdir -p build/papers
rm -f "$lines"
industrial=$data/Industrial_and_Scientific.index.json office=$data/Office_Products.index.json
# The ablations have one catalogue, as in NEZHA's paper.
nice -n 15 "$python" tests/bench/papers/models.py "$industrial" --models "$models"
nice -n 15 "$python" tests/bench/papers/models.py "$office" --models "$models" --names nezha,code_by_code
load() { cut -d ' ' -f 1 /proc/loadavg; }
before=$(load)
"$python" tests/bench/papers/tables.py "$industrial" "$office" --models "$models" --json "$lines" \
  ${PAPERS_TABLES:+--tables "$PAPERS_TABLES"}
"$python" tests/bench/document.py --build "$build" --lines "$lines" --output $results/papers.json \
  --load "$before" "$(load)"
"$python" tests/bench/plot.py $results/papers.json
"$python" tests/bench/papers/readme.py $results/papers.json tests/bench/README.md
