#!/usr/bin/env bash
# NEZHA's decode beside its products: measures, writes results/draft.json, and its tables in README.md.
#   bash tests/bench/draft.sh [BUILD]      default build/release, with its target bench_draft built; a minute
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${1:-build/release}
results=tests/bench/results/draft.json
lines=$(mktemp)
trap 'rm "$lines"' EXIT
load() { cut -d ' ' -f 1 /proc/loadavg; }
before=$(load)
"$build/tests/bench/bench_draft" --table all --json "$lines"
python3 tests/bench/document.py --build "$build" --lines "$lines" --output $results --load "$before" "$(load)"
python3 tests/bench/draft_table.py $results tests/bench/README.md
