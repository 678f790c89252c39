#!/usr/bin/env bash
# From a fresh Debian 12 to recommendations: installs what is missing, builds the library, the sidbeam command and the
# samples, and runs the main job on real data if it finds any (see samples/recommend.cc), else on made-up data.
# Writes to build/ only. It may be run again: finished work is not repeated.
#   bash samples/quickstart.sh [FOLDER or FILE.index.json]
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. samples/install_packages.sh

say() { printf '\n== %s\n' "$*"; }
# Shows a command as one would type it, then runs it.
show() {
  printf '\n$ %s\n' "$*"
  "$@"
}

install_packages $build_packages

say "Building the library, the command and the samples in build/release"
# A tree that the tests configured is left alone; a new one is made without tests, which need more packages.
mkdir -p build/quickstart
[ -f build/release/build.ninja ] || cmake --preset release -DSIDBEAM_TESTS=OFF >build/quickstart/configure.log 2>&1 ||
  { cat build/quickstart/configure.log >&2; exit 1; }
cmake --build --preset release --target sidbeam sidbeam_cli sidbeam_minimal sidbeam_recommend \
  $([ -t 1 ] || echo -- --quiet)

data=${1:-${SIDBEAM_DATA:-../shared/data}/minionerec}
catalogue=$data
[ -d "$data" ] && catalogue=$(find "$data" -name '*.index.json' | sort | head -n 1)
sidbeam=build/release/bindings/cli/sidbeam

say "The command line: a catalogue becomes an index, the index answers"
if [ -n "$catalogue" ] && [ -e "$catalogue" ]; then
  show "$sidbeam" build --input "$catalogue" --output build/quickstart/catalogue.sidx
else
  [ $# -gt 0 ] && { echo "$1: no such file or folder" >&2; exit 1; }
  show "$sidbeam" synth --items 20000 --levels 3 --codes 256 --skew zipf --output build/quickstart/catalogue.npy
  show "$sidbeam" build --input build/quickstart/catalogue.npy --codes 256 --output build/quickstart/catalogue.sidx
fi
show "$sidbeam" inspect build/quickstart/catalogue.sidx
show "$sidbeam" lookup build/quickstart/catalogue.sidx --item 0

say "The library: recommendations, with the constraint (trie) and without (none)"
if [ -n "$catalogue" ] && [ -e "$catalogue" ]; then
  show build/release/samples/recommend "$data"
else
  show build/release/samples/recommend --made-up
fi

cat <<END

== Next
  build/release/samples/minimal             the smallest program on the library: samples/minimal.c
  $sidbeam --help   everything the command does
  include/sidbeam/sidbeam.h                 the manual, beginning with a complete program
  bash tests/run.sh                         every test
END
