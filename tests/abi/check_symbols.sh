#!/usr/bin/env bash
# Compares with symbols.txt, or for the other libraries with symbols_runner.txt and symbols_import.txt: the functions
# that the headers declare, the entries of the table for hosts that dlopen, and, if a library is given, its exports.
#   check_symbols.sh core|runner|import INCLUDE_FOLDER [LIBRARY]
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
export LC_ALL=C
headers=$2/sidbeam
case $1 in
  core)
    golden=symbols.txt
    table=api get_api=sidbeam_get_api
    # Inline functions belong to the headers; dlpack.h holds nothing else.
    files=$(find "$headers" -name '*.h' ! -name dlpack.h ! -name 'runner*.h' ! -name attention.h ! -name draft.h \
      ! -name hidden.h ! -name 'import*.h') ;;
  runner)
    golden=symbols_runner.txt
    table=runner_api get_api=sidbeam_runner_get_api
    files=$(find "$headers" -name 'runner*.h' -o -name attention.h -o -name draft.h -o -name hidden.h) ;;
  import)
    golden=symbols_import.txt
    table=import_api get_api=sidbeam_import_get_api
    files=$(find "$headers" -name 'import*.h') ;;
esac
golden=$(dirname "${BASH_SOURCE[0]}")/$golden

# compare WHAT LIST   standard input is what WHAT has
compare() {
  diff -u --label "$(basename "$golden")" --label "$1" "$2" - ||
    { echo "$1 and tests/abi/$(basename "$golden") differ" >&2; exit 1; }
}

sort -c "$golden"
inline='s/^static inline .*\b(sidbeam_[a-z0-9_]+)\($/\1/p;s/^static inline .*\b(sidbeam_[a-z0-9_]+)\(.*/\1/p'
# Comments name functions of other headers.
mapfile -t files <<<"$files"
sed -nE "$inline" "${files[@]}" | sort -u >"${TMPDIR:-/tmp}/inline.$$"
trap 'rm -f "${TMPDIR:-/tmp}/inline.$$"' EXIT
cat "${files[@]}" | perl -0pe 's{/\*.*?\*/}{}gs' | grep -v 'static inline' |
  grep -oE '\bsidbeam_[a-z0-9_]+\(' | tr -d '(' | sort -u | comm -23 - "${TMPDIR:-/tmp}/inline.$$" |
  compare "functions of the headers" "$golden"
sed -n "/^typedef struct sidbeam_$table {/,/^} sidbeam_$table;/p" "$headers/$table.h" |
  sed -nE 's/^  [a-z][a-z0-9_ *]*\(\*([a-z0-9_]+)\).*/sidbeam_\1/p' | sort -u |
  compare "the table of $table.h" <(grep -vx "$get_api" "$golden")
[ $# -lt 3 ] ||
  nm --dynamic --defined-only "$3" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u |
  compare "exports of $(basename "$3")" "$golden"
echo "$(wc -l <"$golden") functions of the $1: headers${3:+ and library} agree"
