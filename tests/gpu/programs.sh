# The programs that run.sh runs: building them, carrying them to another machine, and whether carried ones are of these
# sources and for this GPU. Sourced in the repository's root. SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# FILE of each, in a build folder, and what it needs.
gpu_programs="tests/gpu/gpu_capture_probe tests/gpu/gpu_capture tests/gpu/gpu_graphs tests/gpu/gpu_log_sum_exp
  tests/gpu/gpu_sampling tests/gpu/gpu_speculation tests/gpu/gpu_differential tests/gpu/bench/gpu_bench
  tests/gpu/bench/gpu_requests samples/cuda_host
  tests/gpu/runner/gpu_runner_attention tests/gpu/runner/gpu_runner_draft
  tests/gpu/runner/gpu_runner_draft_refusals tests/gpu/runner/gpu_runner_forward
  tests/gpu/runner/gpu_runner_head tests/gpu/runner/gpu_runner_hidden tests/gpu/runner/gpu_runner_hidden_refusals
  tests/gpu/runner/gpu_runner_lane tests/gpu/runner/gpu_runner_shared_kv
  tests/gpu/runner/gpu_runner_speculate tests/gpu/runner/gpu_runner_times tests/gpu/runner/gpu_runner_tree"
gpu_libraries="runtime/libsidbeam.so.1 runtime/libsidbeam_cuda.so.1 runtime/runner/libsidbeam_runner_cuda.so.1"

# As CMAKE_CUDA_ARCHITECTURES: machine code for this GPU, or for 9.0 where there is none, and no PTX.
gpu_architecture() {
  local capability
  capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1) || true
  [[ $capability =~ ^[0-9]+\.[0-9]+$ ]] || capability=9.0
  echo "${capability/./}-real"
}

# build_programs FOLDER ARCHITECTURE   GPU_LINES=1: with the lines of the sources, for `run.sh profile`
build_programs() {
  local generator=()
  if command -v ninja >/dev/null; then generator=(-G Ninja); fi
  cmake -S . -B "$1" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DSIDBEAM_CUDA=ON -DSIDBEAM_TESTS=gpu \
    -DSIDBEAM_CLI=OFF -DSIDBEAM_SAMPLES=ON -DSIDBEAM_WERROR=OFF -DCMAKE_CUDA_ARCHITECTURES="$2" \
    -DCMAKE_CUDA_FLAGS="${GPU_LINES:+-lineinfo}" \
    -DCMAKE_BUILD_RPATH_USE_ORIGIN=ON -DSIDBEAM_DEPS="${SIDBEAM_DEPS:+$(realpath "$SIDBEAM_DEPS")}" \
    -DCMAKE_PREFIX_PATH="${SIDBEAM_DEPS:+$(realpath "$SIDBEAM_DEPS")/nlohmann}" &&
    # shellcheck disable=SC2046  # a word for each
    cmake --build "$1" -j "$(nproc)" --target sidbeam_cuda_host \
      $(for program in $gpu_programs; do case $program in tests/*) basename "$program" ;; esac; done)
}

# A hash of all that the programs are made of.
sources_hash() {
  find CMakeLists.txt include runtime schemas samples/cuda_host.cu samples/CMakeLists.txt tests/CMakeLists.txt \
    tests/*.h tests/unit/models.h tests/unit/model_runs.h tests/differential tests/oracle \
    tests/speculation tests/bench tests/gpu \
    -type f \
    \( -name '*.c' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' -o -name '*.h' -o -name '*.fbs' -o -name '*.map' \
    -o -name '*.cmake' -o -name CMakeLists.txt \) -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum |
    cut -c 1-32
}

# carry_programs BUILD ARCHITECTURE FOLDER   as they are in BUILD, stripped, with CUDA's runtime
carry_programs() {
  local file
  rm -rf "$3"
  mkdir -p "$3/cuda"
  for file in $gpu_programs $gpu_libraries; do
    mkdir -p "$3/$(dirname "$file")"
    strip -o "$3/$file" "$(realpath "$1/$file")"
  done
  cp -L "$(ldd "$1/tests/gpu/gpu_graphs" | sed -nE 's/.*libcudart.* => (.*) \(.*/\1/p')" "$3/cuda/"
  echo "$2" >"$3/ARCHITECTURE"
  sources_hash >"$3/SOURCES"
}

# fits FOLDER ARCHITECTURE   whether carried programs can be used; says why not
fits() {
  local status=0
  [ -e "$1/ARCHITECTURE" ] || return 1
  if [ "$(cat "$1/ARCHITECTURE")" != "$2" ]; then
    echo "the programs in $1 are for $(cat "$1/ARCHITECTURE"), this GPU is $2: built anew"
  elif [ "$(cat "$1/SOURCES")" != "$(sources_hash)" ]; then
    echo "the programs in $1 are of other sources: built anew"
  else
    LD_LIBRARY_PATH=$1/cuda "$1/tests/gpu/gpu_graphs" no_such_test >/dev/null 2>&1 || status=$?
    case $status in 0 | 77) return 0 ;; esac
    echo "the programs in $1 do not run on this machine: built anew"
  fi
  return 1
}
