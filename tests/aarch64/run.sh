#!/usr/bin/env bash
# AArch64 on this machine: cross-compiles the library and the runner, runs unit tests under qemu-user, and compares what
# steps and models give with what they give here, bit for bit (step_bits.cc, model_bits.cc).
#   bash tests/aarch64/run.sh [BUILD]
# BUILD: a release build of this machine's (build/release); the one for AArch64 is build/aarch64.
# SIDBEAM_AARCH64=all: all unit tests, which takes minutes more
# Debian 12: g++-aarch64-linux-gnu, qemu-user-static. SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
here=$(realpath "${1:-build/release}")
there=$PWD/build/aarch64
jobs=${SIDBEAM_JOBS:-$(nproc)}
launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
cross=(-G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/tests/aarch64/toolchain.cmake" "${launcher[@]}")

# Debian has GoogleTest as source, too.
if [ ! -f "$there/googletest/installed/lib/libgtest.a" ]; then
  cmake -S /usr/src/googletest -B "$there/googletest" -DBUILD_GMOCK=OFF -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$there/googletest/installed" -DCMAKE_INSTALL_LIBDIR=lib "${cross[@]}"
  cmake --build "$there/googletest" -j "$jobs" --target install
fi
tests=(unit_tests runner_tests runner_draft_tests)
[ "${SIDBEAM_AARCH64:-}" != all ] || tests+=(unit_thread_tests)
cmake -S . -B "$there" -DCMAKE_BUILD_TYPE=Release -DSIDBEAM_TESTS=ON -DSIDBEAM_PRECOMPILE=ON -DCMAKE_UNITY_BUILD=ON \
  -DSIDBEAM_CUDA=OFF -DSIDBEAM_CLI=OFF -DSIDBEAM_IMPORT=OFF -DSIDBEAM_SAMPLES=OFF -DSIDBEAM_RUNNER=ON \
  -DGTest_DIR="$there/googletest/installed/lib/cmake/GTest" "${cross[@]}"
cmake --build "$there" -j "$jobs" --target "${tests[@]}" step_bits model_bits -- --quiet

emulator=(qemu-aarch64-static -L /usr/aarch64-linux-gnu)
# Left out are those that take longest here and have no kernels of their own.
left_out=RunnerRelaxed*:RunnerSpeculation*:RunnerDamaged*:RunnerDraft.*:RunnerChildren*:EverySchedule*
left_out+=:Live*:IndexRules*:IndexVerifyPlain*
[ "${SIDBEAM_AARCH64:-}" != all ] || left_out=
for program in "${tests[@]}"; do
  "${emulator[@]}" "$there/tests/unit/$program" --gtest_filter="-$left_out" --gtest_brief=1
done

cmake --build "$here" -j "$jobs" --target step_bits model_bits -- --quiet
compare() { # compare PROGRAM ARGUMENT ...
  local name=$1
  shift
  "$here/tests/aarch64/$name" "$@" >"$there/$name.here"
  "${emulator[@]}" "$there/tests/aarch64/$name" "$@" >"$there/$name.there"
  diff "$there/$name.here" "$there/$name.there" || { echo "$name: other bits on AArch64"; exit 1; }
  echo "$name: $(wc -l <"$there/$name.here") passed"
}
compare step_bits 100
compare model_bits
