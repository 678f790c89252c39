#!/usr/bin/env bash
# Every test there is: installs what is missing on Debian 12, builds, tests, and stops at the first stage that fails.
# Writes to build/ only; what has not changed is not built again.
#   bash tests/run.sh          all stages
#   bash tests/run.sh quick    format, release build, its tests
# SIDBEAM_JOBS sets how many processes run at a time (default: cores); SIDBEAM_FUZZ_SECONDS how long each fuzz target
# runs (20). SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. samples/install_packages.sh

jobs=${SIDBEAM_JOBS:-$(nproc)}
fuzz_seconds=${SIDBEAM_FUZZ_SECONDS:-20}
logs=build/logs
summary=()
passed=0

# stage NAME WHAT FUNCTION   runs the function with its output in a log
stage() {
  local name=$1 what=$2 begin=$SECONDS log=$logs/$1.log
  printf '== %-9s %s ... ' "$name" "$what"
  # Not as a condition: that would switch off `set -e` within the function.
  set +e
  (set -e; "$3") >"$log" 2>&1 </dev/null
  local status=$?
  set -e
  if [ $status != 0 ]; then
    printf 'FAILED after %d s\n' $((SECONDS - begin))
    tail -n 60 "$log"
    printf '\n%s failed (status %d); its whole log is %s\n' "$name" $status "$log"
    exit 1
  fi
  local tests skipped facts=
  tests=$(sed -nE 's/.* tests failed out of ([0-9]+)$/\1/p' "$log" | tail -n 1)
  skipped=$(grep -c '\*\*\*Skipped' "$log" || true)
  if [ -n "$tests" ]; then
    passed=$((passed + tests - skipped))
    facts="$((tests - skipped)) passed, $skipped skipped"
  elif tests=$(sed -nE 's/(.*[^0-9])?([0-9]+) (tests? )?(passed|successful).*/\2/p' "$log" | paste -sd +) && [ -n "$tests" ]; then
    passed=$((passed + tests))
    facts="$((tests)) passed"
  fi
  printf '%d s%s\n' $((SECONDS - begin)) "${facts:+: $facts}"
  summary+=("$(printf '%-9s %5d s  %s' "$name" $((SECONDS - begin)) "$facts")")
}

# build PRESET OPTION ...   all of it, or the caller's $targets
build() {
  local preset=$1 launcher=()
  shift
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
      -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
  fi
  cmake --preset "$preset" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "${launcher[@]}" "$@"
  cmake --build --preset "$preset" -j "$jobs" ${targets:+--target $targets} -- --quiet
}

sources() { # NUL-separated: C and C++ files of the folders given, without what SWIG wrote
  find "$@" -path '*/internal/native' -prune -o \( -name '*.c' -o -name '*.cc' -o -name '*.h' \) -print0 | sort -z
}

format() {
  local wrong
  wrong=$(sources include runtime bindings samples tests | xargs -0 clang-format --dry-run 2>&1 |
    sed -nE 's/^([^: ]+):[0-9]+:.*/\1/p' | sort -u)
  [ -z "$wrong" ] || { printf 'clang-format -i would change:\n%s\n' "$wrong"; return 1; }
}

release() {
  build release -DSIDBEAM_TESTS=ON
  ctest --preset release -j "$jobs"
}

asan() {
  build asan-ubsan
  UBSAN_OPTIONS=print_stacktrace=1 ctest --preset asan-ubsan -j "$jobs" -LE slow
}

# TSan of g++ 12 cannot place its shadow where the kernel randomises more address bits than it knows: switch that off
# for these processes where we may.
tsan() {
  local fixed=()
  if setarch "$(uname -m)" -R true 2>/dev/null; then fixed=(setarch "$(uname -m)" -R); fi
  local targets="capi_threads capi_step_threads test_flat_threads unit_tests"
  build tsan -DSIDBEAM_CLI=OFF -DSIDBEAM_SAMPLES=OFF
  "${fixed[@]}" ctest --preset tsan -j "$jobs" -L threads --no-tests=error
}

fuzz() {
  build fuzz -DSIDBEAM_FUZZ_SECONDS="$fuzz_seconds"
  ctest --test-dir build/fuzz -j "$jobs" --output-on-failure --no-tests=error
}

# A file that passed is not looked at again until it, a header or the rules change. jax_ffi.cc wants JAX's headers, and is
# compiled by the tests of the stacks.
tidy() {
  local common file stamp
  mkdir -p build/tidy
  common=$( (cat .clang-tidy; sources include runtime bindings samples | grep -z '\.h$' | xargs -0 cat) | sha256sum)
  sources runtime bindings samples | grep -z '\.cc*$' | grep -zv '/jax_ffi\.cc$' | while IFS= read -r -d '' file; do
    stamp=build/tidy/$( (echo "$common"; cat "$file") | sha256sum | cut -c 1-32)
    [ -e "$stamp" ] || printf '%s\0%s\0' "$file" "$stamp"
  done | xargs -0 -r -n 2 -P "$jobs" bash -c \
    'clang-tidy --quiet -p build/release --extra-arg=-Wno-unknown-warning-option "$0" && touch "$1"'
}

memory() {
  valgrind --quiet --leak-check=full --error-exitcode=1 build/release/samples/minimal
}

install_stage() { bash tests/install/run.sh build/release; }

# Each uses build/release, and adds to it what its language needs.
python_stage() { bash bindings/python/test.sh build/release; }
java_stage() { bash bindings/java/test.sh build/release; }
go_stage() { bash bindings/go/test.sh build/release; }

readme_stage() {
  local library
  library=$(find "build/install/moved prefix" -name libsidbeam.so.1 | head -n 1)
  python3 tests/install/readme.py README.md build/readme "build/install/moved prefix" "$(dirname "$library")" build/release
}

services_stage() {
  local service
  for service in samples/service-*/test.sh; do bash "$service" build/release; done
}

# Heavy, and so last of the languages: what pip cannot bring is skipped, and said.
stacks_stage() { bash tests/stacks/run.sh build/release; }

install_packages $build_packages $test_packages $language_packages
mkdir -p "$logs"
stage format "sources are as clang-format leaves them" format
stage release "release build and all tests" release
if [ "${1:-all}" != quick ]; then
  stage install "consumers of a moved installation and of Debian packages, the C tests on it, README" install_stage
  stage python "the Python package, in the build tree and as a wheel" python_stage
  stage java "the Java library" java_stage
  stage go "the Go module" go_stage
  stage readme "README.md in Python, Java and Go" readme_stage
  stage services "the services of samples/, reloaded under load" services_stage
  stage stacks "PyTorch, transformers, JAX, vLLM and SGLang" stacks_stage
  stage valgrind "the smallest program under valgrind" memory
  stage asan "address and undefined-behaviour sanitizers, all but slow tests" asan
  stage tsan "thread sanitizer, tests of threads" tsan
  stage fuzz "fuzz targets, $fuzz_seconds s each" fuzz
  stage tidy "clang-tidy" tidy
fi
printf '\nAll passed:\n'
printf '  %s\n' "${summary[@]}"
printf '\n%d passed, 0 failed\n' "$passed"
