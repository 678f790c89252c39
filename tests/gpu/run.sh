#!/usr/bin/env bash
# The tests and the benchmark of the CUDA backend on this machine's GPU: builds, tests, looks for bad accesses and races
# with compute-sanitizer, measures beside the rivals, writes JSON and prints a short table last. Needs CUDA 12 or later,
# CMake and a C++20 compiler; PyTorch and Triton for the rivals. Fetches nothing.
#   bash tests/gpu/run.sh            all, inside eight minutes on 16 cores
#   bash tests/gpu/run.sh tests      no benchmark
#   bash tests/gpu/run.sh bench      no tests
# SIDBEAM_DEPS  folder that dependencies.sh filled, where FlatBuffers, xxHash, Highway or flatc are not installed
# GPU_PYTHON    a Python with torch, triton and numpy (python3)
# GPU_OUTPUT    where results and logs go (build/gpu/results)
# GPU_BUILD_SECONDS  limit of the build's time (400)
# GPU_SECONDS   limit of the whole time, except what the slowest part overruns (450)
# Exit status: 0; 1 if something failed; 2 if it was called wrongly or cannot build here; 77 if all was built, and there
# is no GPU to run it on.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

what=${1:-all}
case $what in
  all | tests | bench) ;;
  *) echo "run.sh: expected tests, bench or nothing, got '$what'" >&2; exit 2 ;;
esac
export PATH=$PATH:${CUDA_PATH:-/usr/local/cuda}/bin
for tool in nvcc cmake c++ "${GPU_PYTHON:-python3}"; do
  command -v "$tool" >/dev/null ||
    { echo "run.sh: expected $tool in PATH (or, of CUDA, in /usr/local/cuda/bin)" >&2; exit 2; }
done

python=${GPU_PYTHON:-python3} output=${GPU_OUTPUT:-build/gpu/results} build=build/gpu
end=$((SECONDS + ${GPU_SECONDS:-450}))
bin=$build/tests/gpu
mkdir -p "$output"
lines=$output/lines.jsonl
: >"$lines"
failed=0
export PYTHONDONTWRITEBYTECODE=1

left() { echo $((end > SECONDS ? end - SECONDS : 1)); }

# part NAME SECONDS COMMAND ...   a program or an exported function; its output in a log; 77 is "skipped"
part() {
  local name=$1 seconds=$2 begin=$SECONDS status=0
  shift 2
  timeout "$seconds" bash -c '"$@"' part "$@" >"$output/$name.log" 2>&1 </dev/null || status=$?
  case $status in
    0) printf '%-24s ok       %4d s  %s\n' "$name" $((SECONDS - begin)) \
      "$(tail -n 1 "$output/$name.log" | cut -c 1-100)" ;;
    77) printf '%-24s skipped  %s\n' "$name" "$(tail -n 1 "$output/$name.log" | sed 's/^skipped: //' | cut -c 1-100)" ;;
    124) printf '%-24s TOO SLOW %4d s\n' "$name" "$seconds" ; failed=1 ;;
    *) printf '%-24s FAILED   (status %d)\n' "$name" $status; tail -n 25 "$output/$name.log"; failed=1 ;;
  esac
  return 0
}

has_gpu() { nvidia-smi -L 2>/dev/null | grep -q '^GPU'; }
has_torch() { "$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; }

configure_and_build() {
  local generator=() architecture=90
  if command -v ninja >/dev/null; then generator=(-G Ninja); fi
  if has_gpu; then architecture=native; fi  # 90: whether it compiles
  cmake -S . -B $build "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DSIDBEAM_CUDA=ON -DSIDBEAM_TESTS=gpu \
    -DSIDBEAM_CLI=OFF -DSIDBEAM_SAMPLES=ON -DSIDBEAM_WERROR=OFF -DCMAKE_CUDA_ARCHITECTURES=$architecture \
    ${SIDBEAM_DEPS:+-DSIDBEAM_DEPS="$SIDBEAM_DEPS"} &&
    cmake --build $build -j "$(nproc)" --target gpu_differential gpu_graphs gpu_log_sum_exp gpu_bench sidbeam_cuda_host
}

export build
export -f has_gpu configure_and_build

# Compiles for Triton and torch.compile while C++ compiles: one process per table.
warm_rivals() {
  local table
  for table in small medium large nv442 text; do
    timeout 200 "$python" tests/gpu/bench/rivals.py --warm --only $table >"$output/warm-$table.log" 2>&1 || true &
  done
  wait
}

sanitize() { # TOOL
  part "sanitizer-$1" 45 compute-sanitizer --tool "$1" --error-exitcode 1 "$bin/gpu_differential" --cases 12 --seed 3 \
    --seconds 15
}

run_tests() {
  part differential 100 "$bin/gpu_differential" --cases 4000 --seed 1 --seconds 50 --coverage
  part graphs 60 "$bin/gpu_graphs"
  part log-sum-exp 60 "$bin/gpu_log_sum_exp"
  part cuda-host 30 "$build/samples/cuda_host"
  if ! command -v compute-sanitizer >/dev/null; then
    echo 'compute-sanitizer is not there: left out'
    return
  fi
  sanitize memcheck
  sanitize racecheck
  sanitize initcheck
  sanitize synccheck
}

# Measurements that were finished within the time are in the results.
run_bench() {
  local budget=$(($(left) - 60))
  part bench $((budget > 60 ? budget : 60)) "$bin/bench/gpu_bench" --cases tests/gpu/bench/cases.txt --json "$lines"
  budget=$(($(left) - 15))
  if has_torch; then
    part rivals $((budget > 20 ? budget + 25 : 45)) "$python" tests/gpu/bench/rivals.py --json "$lines" \
      --budget $((budget > 20 ? budget : 20))
  else
    echo "rivals: $python has no PyTorch that sees a GPU: left out"
  fi
}

warming=
if [ "$what" != tests ] && has_torch; then warm_rivals & warming=$!; fi
has_gpu || echo 'nvidia-smi shows no GPU: only the build says something here'
part build "${GPU_BUILD_SECONDS:-400}" configure_and_build
[ $failed = 0 ] || exit 1
if [ "$what" != bench ]; then run_tests; fi
if [ -n "$warming" ]; then wait $warming; fi
if [ "$what" != tests ]; then run_bench; fi
"$python" tests/gpu/bench/report.py --lines "$lines" --output "$output/results.json"
status=$failed note=
if [ $failed = 1 ]; then
  note=', SOMETHING FAILED (see above)'
elif ! has_gpu; then
  status=77 note=', NO GPU: nothing has run on one'
fi
printf '%s, %d s%s\n' "$output/results.json" $SECONDS "$note"
exit $status
