#!/usr/bin/env bash
# The fuzz targets for long: builds them, gives each HOURS of CPU time on all cores, keeps what they find interesting in
# build/fuzz-farm, reduces it at the end and adds the counts to results.json and the table of README.md. Ctrl-C stops
# early and counts what was done; the next run goes on from there. Ends with 1 where a target found something.
#   bash tests/fuzz/farm.sh HOURS [--in-all] [--targets fuzz_files,fuzz_tool] [--lines] [--no-results]
# --in-all counts the hours of results.json too, so that each gets what it lacks. --lines measures, with a second build,
# which lines of runtime/ and bindings/cli the inputs reach. --no-results leaves the files of this folder alone.
# SIDBEAM_JOBS sets how many processes run at a time (default: cores).
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
# build FOLDER OPTION ...
build() {
  local folder=$1
  shift
  cmake --preset fuzz -B "$folder" "${launcher[@]}" "$@" >/dev/null
  cmake --build "$folder" -j "${SIDBEAM_JOBS:-$(nproc)}" \
    --target make_corpus fuzz_files fuzz_tool fuzz_import fuzz_abi fuzz_runner fuzz_numeric fuzz_model fuzz_draft \
    fuzz_arrow fuzz_rules fuzz_catalog -- --quiet
}
build build/fuzz
case " $* " in
  # The counters keep loops from being unrolled that ask for it.
  *" --lines "*)
    build build/fuzz-lines \
      -DCMAKE_CXX_FLAGS="-fprofile-instr-generate -fcoverage-mapping -Wno-error=pass-failed"
    ;;
esac
exec python3 tests/fuzz/farm.py "$@"
