#!/usr/bin/env bash
# Where a user of samples/recommend has every item, its search under rules finds none, and ends.
#   recommend_all_seen.sh PROGRAM
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
export LC_ALL=C
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT

echo '{"1": ["<a_0>", "<b_0>"], "2": ["<a_0>", "<b_1>"], "3": ["<a_1>", "<b_0>"]}' >"$data/few.index.json"
for item in 1 2 3; do printf '[]\titem %d\t%d\n' $item $item; done >"$data/few.items.tsv"
echo '{"user": "w", "history": [[0, 0], [0, 1]], "target": [1, 0]}' >"$data/few.valid.jsonl"
cat >"$data/few.test.jsonl" <<'LINES'
{"user": "has all", "history": [[0, 0], [0, 1], [1, 0]], "target": [0, 1]}
{"user": "has one", "history": [[0, 0]], "target": [0, 1]}
LINES
out=$("$1" "$data" --beams 3)
# On average one SID a query: none of the first user's, two of the second's.
pattern='^is excluded +0[.]0 % .* 1[.]0$'
grep -qE "$pattern" <<<"$out" || { printf 'expected one SID a query, found\n%s\n' "$out"; exit 1; }
