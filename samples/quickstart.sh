#!/usr/bin/env bash
# From a fresh Debian 12 to recommendations: installs what is missing, builds the libraries, the sidbeam command and the
# samples, and runs the main job on real data if it finds any (see samples/recommend.cc), else on made-up data; then on
# made-up data with a trained model.
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

say "Building the libraries, the command and the samples in build/release"
# A tree that the tests configured is left alone; a new one is made without tests, which need more packages.
mkdir -p build/quickstart
[ -f build/release/build.ninja ] || cmake --preset release -DSIDBEAM_TESTS=OFF >build/quickstart/configure.log 2>&1 ||
  { cat build/quickstart/configure.log >&2; exit 1; }
cmake --build --preset release --target sidbeam sidbeam_cli sidbeam_minimal sidbeam_recommend \
  $([ -t 1 ] || echo -- --quiet)

sidbeam=build/release/bindings/cli/sidbeam
recommend=build/release/samples/recommend
made_up=build/quickstart/made_up
"$recommend" --made-up --write $made_up

data=${1:-${SIDBEAM_DATA:-../shared/data}/minionerec}
catalogue=$data
[ -d "$data" ] && catalogue=$(find "$data" -name '*.index.json' | sort | head -n 1)
if [ ! -e "$catalogue" ]; then
  [ $# -gt 0 ] && { echo "$1: no such file, or no *.index.json in it" >&2; exit 1; }
  data=$made_up catalogue=$made_up/made_up.index.json
fi

say "The command line: a catalogue becomes an index, the index answers"
show "$sidbeam" build --input "$catalogue" --output build/quickstart/catalogue.sidx
show "$sidbeam" inspect build/quickstart/catalogue.sidx
show "$sidbeam" lookup build/quickstart/catalogue.sidx --item 0

say "The library: recommendations, with the constraint (trie) and without (none)"
show "$recommend" "$data"

say "The runner: a trained model in this process, alone and with the counts; samples/train made its weights"
show "$recommend" $made_up --model samples/train/made_up

cat <<END

== Next
  build/release/samples/minimal             the smallest program on the library: samples/minimal.c
  $sidbeam --help   everything the command does
  include/sidbeam/sidbeam.h                 the manual, beginning with a complete program
  samples/train/README.md                   to train such a model on histories of your own
  bash tests/run.sh                         every test
END
