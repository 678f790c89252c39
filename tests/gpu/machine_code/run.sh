#!/usr/bin/env bash
# Checks the machine code of a release build's CUDA plugins; see check.py and check_runner.py, whose arguments may
# follow. Takes NVIDIA's
# disassembler from the toolkit or, into build/cuda-tools, from PyPI. Ends with 77 where the build has no plugin.
#   bash tests/gpu/machine_code/run.sh [BUILD] [--write]
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

build=build/release
case ${1:-} in '' | --*) ;; *) build=$1; shift ;; esac
library=$(find "$build/runtime" -name 'libsidbeam_cuda.so.*' -type f 2>/dev/null | head -n 1 || true)
if [ -z "$library" ]; then
  echo "skipped: $build has no libsidbeam_cuda.so, expected a build with nvcc"
  exit 77
fi

# PyPI has them from CUDA 13.2 on; they read what older compilers made.
tools=build/cuda-tools
if ! command -v cuobjdump >/dev/null || ! command -v nvdisasm >/dev/null; then
  bin=$(echo $tools/lib/python3*/site-packages/nvidia/cu13/bin)
  if [ ! -x "$bin/nvdisasm" ]; then
    python3 -m venv $tools
    $tools/bin/pip install -q nvidia-cuda-cuobjdump==13.2.78 nvidia-cuda-nvdisasm==13.2.78
    bin=$(echo $tools/lib/python3*/site-packages/nvidia/cu13/bin)
  fi
  export PATH=$PATH:$bin
fi
export PATH=$PATH:${CUDA_PATH:-/usr/local/cuda}/bin

# As the plugin is compiled (runtime/backend/cuda/plugin.cmake).
choices=$build/runtime/choices.cubin
nvcc -cubin -arch=sm_90 -std=c++20 -O3 -fmad=false --expt-relaxed-constexpr -Iruntime -Iinclude \
  -o "$choices" tests/gpu/machine_code/choices.cu
status=0
python3 tests/gpu/machine_code/check.py "$library" "$choices" "$@" || status=1
runner=$(find "$build/runtime" -name 'libsidbeam_runner_cuda.so.*' -type f 2>/dev/null | head -n 1 || true)
if [ -n "$runner" ]; then python3 tests/gpu/machine_code/check_runner.py "$runner" "$@" || status=1; fi
exit $status
