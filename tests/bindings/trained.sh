#!/usr/bin/env bash
# What the trained model of samples/train finds, by `sidbeam run`, for the tests of the services.
#   tests/bindings/trained.sh BUILD FOLDER
# Writes to FOLDER made_up.sidx and, of history 13,18,26 with 1 and 3 tokens per position, group1.txt and group3.txt:
# lines "ITEM SCORE", three of them. That model has not learnt the second form: the numbers have to agree all the same.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$1 folder=$2
cmake --build "$build" --target sidbeam_cli sidbeam_recommend
mkdir -p "$folder"
"$build/samples/recommend" --made-up --write "$folder"
"$build/bindings/cli/sidbeam" build --input "$folder/made_up.index.json" --output "$folder/made_up.sidx"
for group in 1 3; do
  "$build/bindings/cli/sidbeam" run samples/train/made_up "$folder/made_up.sidx" --history 13,18,26 --start-tokens 192 \
    --offsets 0,64,128 --normalize level --group $group --beams 50 --json | python3 -c '
import json, sys
(request,) = json.load(sys.stdin)["requests"]
items = [(item, beam["score"]) for beam in request["beams"] for item in beam["items"]]
for item, score in items[:3]:
    print(item, score)' >"$folder/group$group.txt"
done
