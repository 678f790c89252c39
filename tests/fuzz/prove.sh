#!/usr/bin/env bash
# Shows that the fuzz targets find known faults: puts a fault of faults/ back into the tree, and demands that the target
# named in the patch's first line fails within its short run, with the words of that line.
#   bash tests/fuzz/prove.sh [NAME ...]    all patches, or those named; each target must pass without them first
#   bash tests/fuzz/prove.sh --one         the patch that HEAD's hash chooses, patched only: what CI runs, right after
#                                          the unpatched targets have passed there
# The first line of a patch is "TARGET finds: REGEX"; the next ones describe the fault. The tree itself is not changed:
# an overlay that only this process sees lies over it and over build/fuzz, so that only what a patch touches is compiled
# again. Where overlays are not allowed, a copy of the tree in build/prove is built, once from nothing.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD

# build TARGET ...
build() {
  local launcher=() log
  log=$(mktemp)
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  { cmake --preset fuzz "${launcher[@]}" &&
    cmake --build --preset fuzz -j "${SIDBEAM_JOBS:-$(nproc)}" --target make_corpus "$@" -- --quiet; } >"$log" 2>&1 ||
    { tail -n 40 "$log"; rm "$log"; return 1; }
  rm "$log"
}

# short_run TARGET   the one of CTest
short_run() { ctest --test-dir build/fuzz/tests/fuzz -R "^$1\$" --output-on-failure --no-tests=error; }

first_line() { head -n 1 "tests/fuzz/faults/$1.patch"; }
target_of() { first_line "$1" | cut -d ' ' -f 1; }
phrase_of() { first_line "$1" | cut -d ' ' -f 3-; }

# patched NAME   in a tree that may be changed
patched() {
  local target phrase log
  target=$(target_of "$1") phrase=$(phrase_of "$1") log=$(mktemp)
  patch -s -p1 <"tests/fuzz/faults/$1.patch" || { echo "the patch does not fit"; return 1; }
  build "$target" || return 1
  if short_run "$target" >"$log" 2>&1 || ! grep -qE -- "$phrase" "$log"; then
    printf 'NOT FOUND: %s\n' "$phrase"
    tail -n 40 "$log"
    rm "$log"
    return 1
  fi
  sed -nE 's/^stat::number_of_executed_units: */found, inputs: /p' "$log"
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
  local target status=0 folder
  [ -e "tests/fuzz/faults/$1.patch" ] || { echo "no fault $1 in tests/fuzz/faults" >&2; return 2; }
  target=$(target_of "$1")
  if [ -z "${ready[$target]:-}" ]; then
    build "$target" || return 1
    if [ "$checks_unpatched" = 1 ]; then
      short_run "$target" >build/prove.log 2>&1 ||
        { echo "$target fails without a fault: see build/prove.log"; return 1; }
    fi
    ready[$target]=1
  fi
  printf '%-24s %-13s ' "$1" "$target"
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
if [ "${1:-}" = --one ]; then
  checks_unpatched=0
  hash=$(git rev-parse --short=8 HEAD 2>/dev/null || echo 0)
  names=("${names[$((16#${hash:0:8} % ${#names[@]}))]}")
elif [ $# -gt 0 ]; then
  names=("$@")
fi
failed=0
for name in "${names[@]}"; do prove "$name" || failed=1; done
exit $failed
