#!/usr/bin/env bash
# The request benchmark: the runner beside CTranslate2 (its heap kept, and as it comes), ONNX Runtime and transformers,
# on one thread, in turns; CPU time, since other programs share the machine. Writes results/requests.json.
#   bash tests/bench/requests/run.sh [BUILD]      default build/release; seven minutes on an idle machine
# BENCH_PYTHON: with torch, transformers, tokenizers, ctranslate2 and onnxruntime (default python3).
# EXPORT_PYTHONPATH: folders with onnx and transformers before 5, which the export for ONNX Runtime needs; without
# build/bench/models/a/beam_search.onnx it is left out. REQUESTS_ROUNDS: default 3. REQUESTS_SMALL=1: without model (c).
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
build=${1:-build/release}
python=${BENCH_PYTHON:-python3}
models=build/bench/models
lines=build/bench/requests.lines
ours=$build/tests/bench/requests/bench_requests
heap_kept=glibc.malloc.mmap_threshold=8589934592:glibc.malloc.trim_threshold=17179869184
rounds=$(seq "${REQUESTS_ROUNDS:-3}")
export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
mkdir -p build/bench
[ -d "$models/c" ] || "$python" tests/bench/requests/models.py "$models"
onnx=$models/a/beam_search.onnx
if [ ! -f "$onnx" ] && [ -n "${EXPORT_PYTHONPATH:-}" ]; then
  PYTHONPATH=$EXPORT_PYTHONPATH:${PYTHONPATH:-} "$python" tests/bench/requests/export_onnx.py "$models/a"
fi
[ -f "$onnx" ] || echo "no $onnx: ONNX Runtime is left out"
: >"$lines.all"
load=$(cut -d ' ' -f 1 /proc/loadavg)

rivals() { "$python" tests/bench/requests/rivals.py "$@" >>"$lines.all"; }

# in_turns MODEL POSITIONS BEAMS BATCH REPEATS RIVAL ...
in_turns() {
  local model=$1 positions=$2 beams=$3 batch=$4 repeats=$5 round rival
  shift 5
  for round in $rounds; do
    echo "$model: batch $batch, $beams beams ($round)"
    local case=("$models/$model" "$model" "$positions" "$beams" "$batch")
    "$ours" "${case[@]}" --repeats "$repeats" >>"$lines.all"
    "$ours" "${case[@]}" --repeats "$repeats" --valid >>"$lines.all"
    for rival in "$@"; do
      case $rival in
        kept) GLIBC_TUNABLES=$heap_kept rivals ctranslate2 "${case[@]}" --repeats "$repeats" ;;
        shipped) rivals ctranslate2 "${case[@]}" --repeats "$repeats" ;;
        int8) GLIBC_TUNABLES=$heap_kept rivals ctranslate2 "${case[@]}" --repeats "$repeats" --int8 ;;
        onnx) if [ -f "$onnx" ]; then rivals onnxruntime "${case[@]}" --repeats "$repeats"; fi ;;
        transformers) rivals transformers "${case[@]}" --repeats 2 ;;
      esac
    done
  done
}

in_turns a 60 20 1 9 kept int8 onnx
in_turns a 60 50 1 9 kept shipped int8 onnx transformers
in_turns a 60 200 1 5 kept shipped int8
in_turns a 60 50 8 3 kept onnx
in_turns a 60 200 8 2 kept
in_turns b 200 50 1 5 kept shipped transformers
in_turns b 200 200 1 3 kept shipped
in_turns b 200 50 8 2 kept
[ -n "${REQUESTS_SMALL:-}" ] || in_turns c 200 50 1 1 kept
"$python" tests/bench/requests/table.py "$lines.all" "$lines"
"$python" tests/bench/document.py --build "$build" --lines "$lines" --output tests/bench/results/requests.json \
  --load "$load" "$(cut -d ' ' -f 1 /proc/loadavg)"
