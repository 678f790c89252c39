#!/usr/bin/env bash
# Compares with symbols.txt: the functions that the headers declare, the entries of the table in api.h, and, if a
# library is given, its exports.
#   check_symbols.sh INCLUDE_FOLDER [LIBRARY]
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
export LC_ALL=C
golden=$(dirname "${BASH_SOURCE[0]}")/symbols.txt
headers=$1/sidbeam

# compare WHAT LIST   standard input is what WHAT has
compare() {
  diff -u --label symbols.txt --label "$1" "$2" - || { echo "$1 and tests/abi/symbols.txt differ" >&2; exit 1; }
}

sort -c "$golden"
# Inline functions belong to the headers; dlpack.h holds nothing else.
inline='s/^static inline .*\b(sidbeam_[a-z0-9_]+)\($/\1/p;s/^static inline .*\b(sidbeam_[a-z0-9_]+)\(.*/\1/p'
find "$headers" -name '*.h' ! -name dlpack.h -exec cat {} + | grep -v 'static inline' |
  grep -oE '\bsidbeam_[a-z0-9_]+\(' | tr -d '(' | sort -u | grep -vxF "$(sed -nE "$inline" "$headers"/*.h)" |
  compare "functions of the headers" "$golden"
sed -n '/^typedef struct sidbeam_api {/,/^} sidbeam_api;/p' "$headers/api.h" |
  sed -nE 's/^  [a-z][a-z0-9_ *]*\(\*([a-z0-9_]+)\).*/sidbeam_\1/p' | sort -u |
  compare "the table of api.h" <(grep -vx sidbeam_get_api "$golden")
[ $# -lt 2 ] ||
  nm --dynamic --defined-only "$2" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u |
  compare "exports of $(basename "$2")" "$golden"
echo "$(wc -l <"$golden") functions: headers, table${2:+, library} agree"
