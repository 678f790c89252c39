#!/usr/bin/env bash
# Shows that the tests find known faults: puts a fault of faults/ back into the tree, and demands that the test named in
# the patch's first line fails, with the words of that line. The test is a fuzz target in its short run, or, for what
# sanitizers get in the way of, a test in C or of the command in the release build.
#   bash tests/fuzz/prove.sh [NAME ...]    all patches, or those named; each test must pass without them first
#   bash tests/fuzz/prove.sh --one         the patch that HEAD's hash chooses, patched only: what CI runs, right after
#                                          the unpatched tests have passed there
#   bash tests/fuzz/prove.sh --fit         tells which patches do not fit the tree; nothing is built
# The first line of a patch is "TEST finds: REGEX", TEST being its name in CTest; the next ones describe the fault. The
# tree itself is not changed: an overlay that only this process sees lies over it and over its builds, so that only what
# a patch touches is compiled again. Where overlays are not allowed, a copy of the tree in build/prove is built, once
# from nothing.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
seconds=100  # of wall clock for a test in C: what hangs has said before that it fails

first_line() { head -n 1 "tests/fuzz/faults/$1.patch"; }
test_of() { first_line "$1" | cut -d ' ' -f 1; }
phrase_of() { first_line "$1" | cut -d ' ' -f 3-; }

# build TEST   what it runs
build() {
  local launcher=() log preset=release targets=("$1")
  case $1 in
    fuzz_*) preset=fuzz targets+=(make_corpus) ;;
    cli_*) targets=(sidbeam_cli io_faults) ;;
  esac
  log=$(mktemp)
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  { cmake --preset $preset "${launcher[@]}" &&
    cmake --build --preset $preset -j "${SIDBEAM_JOBS:-$(nproc)}" --target "${targets[@]}" -- --quiet; } >"$log" 2>&1 ||
    { tail -n 40 "$log"; rm "$log"; return 1; }
  rm "$log"
}

# run_test TEST   as CTest runs it
run_test() {
  case $1 in
    fuzz_*) ctest --test-dir build/fuzz/tests/fuzz -R "^$1\$" --output-on-failure --no-tests=error ;;
    *) ctest --test-dir build/release -R "^$1\$" --output-on-failure --no-tests=error --timeout $seconds ;;
  esac
}

# finds TEST PHRASE LOG   A fuzz target may run five times, from another seed each: what one misses, five runs from it
# have missed together.
finds() {
  local run runs=1
  case $1 in fuzz_*) runs=5 ;; esac
  for ((run = 1; run <= runs; ++run)); do
    [ $runs = 1 ] || cmake --preset fuzz -DSIDBEAM_FUZZ_SEED=$run >"$3" 2>&1 || return 1
    if ! run_test "$1" >"$3" 2>&1 && grep -qE -- "$2" "$3"; then return 0; fi
  done
  return 1
}

# patched NAME   in a tree that may be changed
patched() {
  local name phrase log
  name=$(test_of "$1") phrase=$(phrase_of "$1") log=$(mktemp)
  patch -s -p1 <"tests/fuzz/faults/$1.patch" || { echo "the patch does not fit"; return 1; }
  build "$name" || return 1
  if ! finds "$name" "$phrase" "$log"; then
    printf 'NOT FOUND: %s\n' "$phrase"
    tail -n 40 "$log"
    rm "$log"
    return 1
  fi
  local inputs
  inputs=$(sed -nE 's/^stat::number_of_executed_units: *//p' "$log")
  echo "found${inputs:+, inputs: $inputs}"
  rm "$log"
}

# in_overlay FOLDER NAME   with what changes in that folder; 125 where there can be none
in_overlay() {
  local own=() scratch status=0
  [ "$(id -u)" = 0 ] || own=(--map-root-user)
  scratch=$(mktemp -d -p "$1")
  mkdir "$scratch/upper" "$scratch/work"
  # shellcheck disable=SC2016
  unshare "${own[@]}" --mount bash -c '
    mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$1" 2>/dev/null || exit 125
    cd "$1" && exec bash tests/fuzz/prove.sh --patched "$3"' overlay "$root" "$scratch" "$2" || status=$?
  chmod -R u+rwx "$scratch"
  rm -rf "$scratch"
  return $status
}

# in_copy NAME   What differs is copied with the time of now: it must be built again.
in_copy() {
  local tree=$root/build/prove file
  mkdir -p "$tree"
  git ls-files -z -co --exclude-standard | while IFS= read -r -d '' file; do
    [ ! -e "$file" ] || cmp -s "$file" "$tree/$file" || { mkdir -p "$tree/${file%/*}"; cp "$file" "$tree/$file"; }
  done
  (cd "$tree" && find . -path ./build -prune -o -type f -printf '%P\0') | while IFS= read -r -d '' file; do
    [ -e "$file" ] || rm "$tree/$file"
  done
  bash "$tree/tests/fuzz/prove.sh" --patched "$1"
}

# prove NAME
prove() {
  local name status=0 folder
  [ -e "tests/fuzz/faults/$1.patch" ] || { echo "no fault $1 in tests/fuzz/faults" >&2; return 2; }
  name=$(test_of "$1")
  if [ -z "${ready[$name]:-}" ]; then
    build "$name" || return 1
    if [ "$checks_unpatched" = 1 ]; then
      run_test "$name" >build/prove.log 2>&1 ||
        { echo "$name fails without a fault: see build/prove.log"; return 1; }
    fi
    ready[$name]=1
  fi
  printf '%-24s %-15s ' "$1" "$name"
  for folder in "${TMPDIR:-/tmp}" /dev/shm; do
    status=0
    in_overlay "$folder" "$1" || status=$?
    [ $status = 125 ] || return $status
  done
  in_copy "$1"
}

if [ "${1:-}" = --patched ]; then
  patched "$2"
  exit
fi
declare -A ready=()
checks_unpatched=1
mapfile -t names < <(cd tests/fuzz/faults && printf '%s\n' *.patch | sed 's/\.patch$//')
if [ "${1:-}" = --fit ]; then
  failed=0
  for name in "${names[@]}"; do
    patch -s -p1 --dry-run <"tests/fuzz/faults/$name.patch" >/dev/null ||
      { echo "tests/fuzz/faults/$name.patch does not fit"; failed=1; }
  done
  exit $failed
elif [ "${1:-}" = --one ]; then
  checks_unpatched=0
  hash=$(git rev-parse --short=8 HEAD 2>/dev/null || echo 0)
  names=("${names[$((16#${hash:0:8} % ${#names[@]}))]}")
elif [ $# -gt 0 ]; then
  names=("$@")
fi
failed=0
for name in "${names[@]}"; do prove "$name" || failed=1; done
exit $failed
