#!/usr/bin/env bash
# Beam search of a request in vLLM: its own with sidbeam's plugin, sidbeam.vllm.BeamSearch, and the runner beside it, on
# the same model and prompts. Writes results/vllm.json and its table in README.md.
#   bash tests/bench/vllm_beams.sh [BUILD]   default build/release; after tests/stacks/run.sh, whose environment it uses
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$(realpath "${1:-build/release}")
venv=${SIDBEAM_STACKS_VENV:-build/stacks/venv}
work=$(realpath -m build/bench/vllm)
results=tests/bench/results/vllm.json
lines=$work/lines
export PYTHONPATH=$(realpath "$venv-beside"):$build/bindings/python/package:$work/site
export VLLM_TARGET_DEVICE=cpu VLLM_LOGGING_LEVEL=ERROR HF_HUB_OFFLINE=1 PYTHONPYCACHEPREFIX=$PWD/build/stacks/bytecode
mkdir -p "$work/site"
load() { cut -d ' ' -f 1 /proc/loadavg; }
measure() { "$venv/bin/python" tests/bench/vllm_beams.py "$work" "$@"; }

[ -e "$work/model/config.json" ] || measure make
before=$(load)
rm -f "$lines"
measure runner --json "$lines"
for block in 128 32; do measure engine --block $block --json "$lines"; done
"$venv/bin/python" tests/bench/document.py --build "$build" --lines "$lines" --output $results \
  --load "$before" "$(load)"
"$venv/bin/python" tests/bench/vllm_table.py $results tests/bench/README.md
