#!/usr/bin/env bash
# Tests of the Python package: the one in the build tree against the oracle, the shared cases and bad input; then a
# wheel in a clean environment. Needs a configured release build; prints one line when all is well.
#   bash bindings/python/test.sh [BUILD]          (default: build/release)
#   bash bindings/python/test.sh [BUILD] quick    without the wheel
# Debian 12: swig python3-dev python3-venv python3-numpy python3-pytest python3-hypothesis; python3-pandas for its
# tests. The wheel asks pip for scikit-build-core and SWIG. PYTHON names another interpreter.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

build=$(realpath "${1:-build/release}")
python=${PYTHON:-/usr/bin/python3}
venv=build/python/venv

# Pytest and Hypothesis from the system if it has them, else from pip.
if [ ! -x $venv/bin/python ]; then "$python" -m venv --system-site-packages $venv; fi
$venv/bin/python -c 'import numpy, pytest, hypothesis' 2>/dev/null || $venv/bin/pip install -q numpy pytest hypothesis
# Arrow's tables and OpenTelemetry come from pip alone, in versions that work with NumPy 1 too; without them their tests
# are skipped.
$venv/bin/python -c 'import pyarrow, polars, deltalake, opentelemetry.sdk, starlette, uvicorn' 2>/dev/null ||
  $venv/bin/pip install -q 'pyarrow<21' polars deltalake opentelemetry-sdk starlette uvicorn ||
  echo "Python: PyArrow, Polars, deltalake or OpenTelemetry could not be installed: their tests are skipped" >&2

cmake -S . -B "$build" -DSIDBEAM_PYTHON=ON -DPython_EXECUTABLE="$python" >build/python/cmake.log 2>&1 ||
  { tail -n 30 build/python/cmake.log; exit 1; }
targets=(sidbeam_python sidbeam_cli shared_cases sidbeam_cuda_emulated)
! grep -q '^SIDBEAM_RUNNER:BOOL=ON' "$build/CMakeCache.txt" || targets+=(sidbeam_runner_cuda_emulated)
cmake --build "$build" --target "${targets[@]}" >build/python/build.log 2>&1 ||
  { tail -n 30 build/python/build.log; exit 1; }

export SIDBEAM_CLI=$build/bindings/cli/sidbeam SIDBEAM_CASES=$build/tests/bindings/cases.txt PYTHONDONTWRITEBYTECODE=1
export SIDBEAM_CUDA_EMULATED=$build/tests/gpu/libsidbeam_cuda_emulated.so
if [ -e "$build/runtime/runner/libsidbeam_runner.so.1" ]; then
  export SIDBEAM_MODEL=$build/tests/bindings/tiny_model
  export SIDBEAM_RUNNER_CUDA_LIBRARY=$build/tests/gpu/runner/libsidbeam_runner_cuda_emulated.so
fi
PYTHONPATH=$build/bindings/python/package $venv/bin/python -m pytest -c bindings/python/pyproject.toml \
  -rs bindings/python/tests \
  >build/python/pytest.log 2>&1 || { cat build/python/pytest.log; exit 1; }

if [ "${2:-}" != quick ]; then bash bindings/python/test_wheel.sh; fi
echo "Python: $(tail -n 1 build/python/pytest.log)"
