#!/usr/bin/env bash
# What samples/recommend prints of its data is lines that a terminal does not obey.
#   recommend_escapes.sh PROGRAM
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
export LC_ALL=C
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
fail() { printf 'expected %s\n' "$1"; exit 1; }

"$1" --made-up --write "$data"
sed -i $'s/\titem /\t\x1b[31mitem\xc2\x9b /' "$data/made_up.items.tsv"
sed -i 's/"user":"/&\\u001b[2J/' "$data/made_up.test.jsonl"
out=$("$1" "$data" --queries 20 --beams 10)
grep -qF 'user \x1b[2Jtest0, who' <<<"$out" || fail "a user's name, escaped"
[ "$(grep -cF $'\\x1b[31mitem\xc2\\x9b ' <<<"$out")" -gt 9 ] || fail 'titles, escaped'
! grep -qP '[\x01-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' <<<"$out" || fail 'no control characters'
! wrong=$("$1" $'/nowhere/a\x1bb' 2>&1) || fail 'a folder that is missing to be an error'
[ "$wrong" = 'recommend: /nowhere/a\x1bb: expected a folder or a file *.index.json' ] || fail "another text than $wrong"
