#!/usr/bin/env bash
# Latency by offered load: the runner with model (a) of ../requests, 60 tokens and 50 beams, and CTranslate2 behind the
# same queue. Writes results/load.json and its figures, prints the table of README.md.
#   bash tests/bench/load/run.sh [BUILD]      default build/release; seven and a half minutes on an idle machine
# BENCH_PYTHON: with ctranslate2 and, where build/bench/models is not there yet, torch, transformers and tokenizers
# (default python3). LOAD_SECONDS: of each load (default 7). SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
build=${1:-build/release}
python=${BENCH_PYTHON:-python3}
models=build/bench/models
lines=build/bench/load.lines
results=tests/bench/results
export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
mkdir -p build/bench
[ -d "$models/a" ] || "$python" tests/bench/requests/models.py "$models"
rm -f "$lines"
load() { cut -d ' ' -f 1 /proc/loadavg; }
before=$(load)
# CTranslate2 with its heap kept, as in ../requests/run.sh.
heap_kept="GLIBC_TUNABLES=glibc.malloc.mmap_threshold=8589934592:glibc.malloc.trim_threshold=17179869184"
"$build/tests/bench/bench_load" --table load_models --model "$models/a" --seconds "${LOAD_SECONDS:-7}" --json "$lines" \
  --rival "exec env $heap_kept '$python' tests/bench/load/rival.py '$models/a' 50"
"$python" tests/bench/document.py --build "$build" --lines "$lines" --output $results/load.json \
  --load "$before" "$(load)"
"$python" tests/bench/plot.py $results/load.json
"$python" tests/bench/load/table.py $results/load.json
