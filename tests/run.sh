#!/usr/bin/env bash
# Every test there is: installs what is missing on Debian 12, builds, tests, and stops at the first stage that fails.
# Writes to build/ only; what has not changed is not built again.
#   bash tests/run.sh            all stages
#   bash tests/run.sh quick      format, release build, its tests
#   bash tests/run.sh tidy-all   release build, clang-tidy on every file
# Each stage is followed by its seconds of wall clock and of CPU time (its processes', user and system).
# SIDBEAM_JOBS                 processes at a time (default: cores)
# SIDBEAM_CUDA_ARCHITECTURES   architectures that the CUDA plugin is compiled for here, as CMAKE_CUDA_ARCHITECTURES (90:
#                              9.0 and its PTX; the build that users make has 8.0, 9.0, 10.0 and PTX)
# SIDBEAM_TIDY                 share: the files of the last commits and a twenty-fourth of the rest (default); all: as
#                              tidy-all does
# SIDBEAM_TIDY_COMMITS         how many commits are the last ones (10)
# CCACHE_DIR                   the compiler cache (build/ccache); other variables of ccache are kept too
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. samples/install_packages.sh

jobs=${SIDBEAM_JOBS:-$(nproc)}
logs=build/logs
summary=()
passed=0

# One cache for all builds, with paths relative to this folder: a clone elsewhere finds what this one compiled, and the
# wheel what the release build did. It relies on the dependencies that the compiler notes. Preprocessing first, to find
# other sources of the same text, costs a cold build minutes and finds nothing.
export CCACHE_DIR=${CCACHE_DIR:-$PWD/build/ccache} CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_DEPEND=1
export CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros,include_file_mtime,include_file_ctime}
# Packages come over the network.
export PIP_RETRIES=${PIP_RETRIES:-10} PIP_DEFAULT_TIMEOUT=${PIP_DEFAULT_TIMEOUT:-60}

# cpu_time   sets $cpu to the seconds that the processes started here and ended have taken
cpu_time() {
  local user system
  times >"$logs/times"
  { read -r _; read -r user system; } <"$logs/times"
  cpu=$((${user%m*} * 60 + ${system%m*} * 60))
  user=${user#*m} system=${system#*m}
  cpu=$((cpu + ${user%%.*} + ${system%%.*}))
}

# stage NAME WHAT FUNCTION   runs the function with its output in a log
stage() {
  local name=$1 what=$2 begin=$SECONDS log=$logs/$1.log cpu cpu_before
  cpu_time
  cpu_before=$cpu
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
  elif tests=$(sed -nE 's/(.*[^0-9])?([0-9]+) (tests? )?(passed|successful).*/\2/p' "$log" | paste -sd +) &&
    [ -n "$tests" ]; then
    passed=$((passed + tests))
    skipped=$(sed -nE 's/.* ([0-9]+) skipped.*/\1/p' "$log" | paste -sd +)
    facts="$((tests)) passed, $((skipped)) skipped"
  fi
  cpu_time
  printf '%d s, %d s of CPU time%s\n' $((SECONDS - begin)) $((cpu - cpu_before)) "${facts:+: $facts}"
  summary+=("$(printf '%-9s %5d s %5d s  %s' "$name" $((SECONDS - begin)) $((cpu - cpu_before)) "$facts")")
  # What this machine lacks, as its stage's script tells it.
  local line
  while read -r line; do summary+=("          $line"); done < <(grep -aE 'skipped: |(are skipped|left out)$' "$log")
}

# build PRESET OPTION ...   builds all, or the caller's $targets
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
  python3 tests/line_width.py
  python3 tests/bindings/names.py
  bash tests/fuzz/prove.sh --fit
}

release_build() {
  build release -DSIDBEAM_TESTS=ON -DSIDBEAM_PRECOMPILE=ON \
    -DCMAKE_CUDA_ARCHITECTURES="${SIDBEAM_CUDA_ARCHITECTURES:-90}"
}

release() {
  release_build
  ctest --preset release -j "$jobs"
}

# One build for this stage and for fuzz: the fuzzer wants clang's. Without the benchmarks, which run what the other
# tests do.
asan() {
  build fuzz
  UBSAN_OPTIONS=print_stacktrace=1 ctest --preset fuzz -j "$jobs" -LE 'slow|fuzz|bench-quick'
}

# TSan of g++ 12 cannot place its shadow where the kernel randomises more address bits than it knows: switch that off
# for these processes where we may.
tsan() {
  local fixed=()
  if setarch "$(uname -m)" -R true 2>/dev/null; then fixed=(setarch "$(uname -m)" -R); fi
  local targets="capi_threads capi_step_threads capi_rules_threads capi_catalog_threads test_flat_threads"
  targets+=" unit_thread_tests"
  targets+=" runner_thread_tests capi_runner_callbacks capi_runner_draws capi_runner_queue capi_runner_results"
  targets+=" capi_runner_shared_kv capi_runner_speculate capi_runner_versions"
  # The first has no threads, the second is not built here.
  local without='^unit\.IndexVerify\.EveryByte|^bindings\.flat_runner'
  build tsan -DSIDBEAM_CLI=OFF -DSIDBEAM_SAMPLES=OFF
  "${fixed[@]}" ctest --preset tsan -j "$jobs" -L threads -E "$without" --no-tests=error
}

fuzz() {
  ctest --preset fuzz -j "$jobs" -L fuzz --no-tests=error
  bash tests/fuzz/prove.sh --one
}

tidy() {
  local what=()
  [ "${SIDBEAM_TIDY:-share}" = share ] || what=(all)
  python3 tests/tidy.py build/release "${what[@]}"
}

memory() {
  valgrind --quiet --leak-check=full --error-exitcode=1 build/release/samples/minimal
}

install_stage() { bash tests/install/run.sh build/release; }

# Each uses build/release, and adds to it what its language needs.
python_stage() { bash bindings/python/test.sh build/release; }
java_stage() { bash bindings/java/test.sh build/release; }
go_stage() { bash bindings/go/test.sh build/release; }

# Of what the release build compiled, with the same CUDA architectures.
packages_stage() {
  SIDBEAM_CUDA_ARCHITECTURES="${SIDBEAM_CUDA_ARCHITECTURES:-90}" bash tests/install/release.sh
  bash tests/install/recipes.sh vcpkg
}

# 77: without nvcc there is no plugin.
machine_stage() { bash tests/gpu/machine_code/run.sh build/release || [ $? = 77 ]; }

aarch64_stage() { bash tests/aarch64/run.sh build/release; }

readme_stage() {
  local library readme
  library=$(find "build/install/moved prefix" -name libsidbeam.so.1 | head -n 1)
  for readme in $(python3 tests/install/blocks.py --run); do
    python3 tests/install/readme.py $readme build/readme "build/install/moved prefix" "$(dirname "$library")" \
      build/release
  done
}

site_stage() {
  python3 tests/install/blocks.py
  python3 bindings/site/test_site.py
  bash bindings/site.sh build/release
}

services_stage() {
  local service
  for service in samples/service-*/test.sh; do bash "$service" build/release; done
  bash tests/deploy/run.sh
  bash tests/services/run.sh build/release
}

# Heavy, so it comes last of the languages: what pip cannot bring is skipped, and reported.
stacks_stage() { bash tests/stacks/run.sh build/release; }

what=${1:-all}
case $what in all | quick | tidy-all) ;; *) sed -n '4,6s/^# *//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;; esac
install_packages $build_packages $test_packages $language_packages $site_packages
# Where python3 is a script that looks for one (pyenv's), that takes eight times as long to start as the one it finds.
PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
mkdir -p "$logs"
if [ "$what" = tidy-all ]; then
  SIDBEAM_TIDY=all
  stage release "release build" release_build
  stage tidy "clang-tidy, every file" tidy
else
  stage format "sources are as clang-format leaves them, lines end at 120 columns, the faults of proofs fit" format
  stage release "release build and all tests" release
fi
if [ "$what" = all ]; then
  stage machine "machine code of the CUDA kernels" machine_stage
  stage install "consumers of a moved installation and of Debian packages, the C tests on it, README" install_stage
  stage python "the Python package, in the build tree and as a wheel" python_stage
  stage java "the Java library" java_stage
  stage go "the Go module" go_stage
  stage packages "the files of a release: made twice, each used where nothing else is; vcpkg's port" packages_stage
  stage readme "READMEs in Python, Java and Go" readme_stage
  stage site "the documentation's site: comments, links, code blocks" site_stage
  stage services "the services of samples/, reloaded under load" services_stage
  stage stacks "PyTorch, transformers, JAX, vLLM and SGLang" stacks_stage
  stage aarch64 "AArch64 under qemu-user, the same bits as here" aarch64_stage
  stage valgrind "the smallest program under valgrind" memory
  stage asan "address and undefined-behaviour sanitizers of clang, all but slow tests" asan
  stage tsan "thread sanitizer, tests of threads" tsan
  stage fuzz "fuzz targets, a short run of each, and one proof that they find" fuzz
  stage tidy "clang-tidy, ${SIDBEAM_TIDY:-share} of the files" tidy
fi
cpu_time
printf '\nAll passed (wall clock, CPU time):\n'
printf '  %s\n' "${summary[@]}"
printf '  %-9s %5d s %5d s\n' all $SECONDS $cpu
printf '\n%d passed, 0 failed\n' "$passed"
