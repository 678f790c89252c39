#!/usr/bin/env bash
# The tests and the benchmark of the CUDA backend on this machine's GPU, in two calls that each end inside 600 s. Needs
# CUDA 12 or later, CMake and a C++20 compiler, unless programs are carried; PyTorch and Triton for the rivals. Fetches
# nothing.
#   bash tests/gpu/run.sh tests      what may be captured, the tests, compute-sanitizer
#   bash tests/gpu/run.sh bench      the benchmark, how attention is best spread, then the rivals
# Both leave NAME.tar.gz (every log, every measurement), NAME.json and NAME.txt. The archive is made anew after each
# part, so that it holds what was finished even where this script is killed.
# SIDBEAM_DEPS  folder that dependencies.sh filled: headers, the commit, perhaps the programs
# GPU_OUTPUT    where results go (build/gpu/results)
# GPU_PYTHON    a Python with torch, triton and numpy (python3)
# GPU_SECONDS   limit of the whole (530); GPU_PART_SECONDS: of a part, where its own is longer
# Exit status: 0; 1 if something failed or was left out; 2 if it was called wrongly or cannot build here; 77 if nothing
# has run, for the lack of a GPU.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/gpu/programs.sh

what=${1:-}
case $what in tests | bench) ;; *) sed -n '5,6s/^# *//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;; esac
export PATH=$PATH:${CUDA_PATH:-/usr/local/cuda}/bin PYTHONDONTWRITEBYTECODE=1
python=${GPU_PYTHON:-python3} output=${GPU_OUTPUT:-build/gpu/results} bin=build/gpu
folder=$(mktemp -d) && logs=$folder/$what
end=$((SECONDS + ${GPU_SECONDS:-530})) most=${GPU_PART_SECONDS:-600}
failed=0 ran=0 running='' running_since=0
mkdir -p "$output" "$logs"
touch "$logs/parts.tsv" "$logs/parts.txt" "$logs/lines.jsonl"

# Where there is no repository, dependencies.sh has written down which commit it was.
commit=$(git describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null ||
  cat "${SIDBEAM_DEPS:-.}/COMMIT" 2>/dev/null || echo unknown)

least() { echo $(($1 < $2 ? $1 : $2)); }
left() { least $((end - SECONDS)) "$most"; }

# ended NAME STATUS SECONDS WORDS   says how a part went, keeps it
ended() {
  printf '%-22s %-9s %4d s  %s\n' "$@" | tee -a "$logs/parts.txt"
  printf '%s\t%s\t%d\t%s\n' "$@" >>"$logs/parts.tsv"
  archive
}

archive() {
  tar -C "$folder" -czf "$output/.$what.tar.gz" "$what"
  mv "$output/.$what.tar.gz" "$output/$what.tar.gz"
}

# part NAME SECONDS COMMAND ...   a program or an exported function, its output in a log; 77 is "skipped"
part() {
  local name=$1 seconds begin=$SECONDS status=0 log=$logs/$1.log words=
  seconds=$(least "$2" "$(left)")
  shift 2
  if [ "$seconds" -le 0 ]; then
    failed=1
    ended "$name" 'LEFT OUT' 0 'no time left'
    return
  fi
  running=$name running_since=$begin  # before it runs: a signal may come as soon as it does
  # In the background, since bash runs a trap only once a command in the foreground has ended.
  timeout -k 5 "$seconds" bash -c '"$@"' part "$@" >"$log" 2>&1 </dev/null &
  wait $! || status=$?
  running=
  words=$(tail -n 1 "$log" | tr -d '\t\r' | cut -c 1-100)
  case $status in
    0) ran=1; ended "$name" ok $((SECONDS - begin)) "$words"; return ;;
    77) ended "$name" skipped $((SECONDS - begin)) "${words#skipped: }"; return ;;
    124 | 137) ran=1 words="ended by its limit of $seconds s"; ended "$name" 'TOO SLOW' $((SECONDS - begin)) "$words" ;;
    *) ran=1; ended "$name" FAILED $((SECONDS - begin)) "status $status" ;;
  esac
  failed=1
  tail -n 25 "$log" | sed 's/^/    /'
}

# However this ends: what there is goes into the results.
finish() {
  local status=$? note=
  trap - EXIT
  trap '' TERM INT HUP
  if [ -n "$running" ]; then
    kill "${!:-}" 2>/dev/null || true
    wait "${!:-}" || true
    ended "$running" KILLED $((SECONDS - running_since)) 'run.sh was ended from outside'
    status=1
  fi
  "$python" tests/gpu/bench/report.py --parts "$logs/parts.tsv" --lines "$logs/lines.jsonl" --commit "$commit" \
    --output "$output/$what.json" 2>&1 | tee "$logs/report.txt" || status=1
  cat "$logs/parts.txt" "$logs/report.txt" >"$output/$what.txt"
  cp "$output/$what.json" "$output/$what.txt" "$logs/" || true
  archive
  rm -rf "$folder"
  if [ $status = 77 ]; then note=', NO GPU: NOTHING HAS RUN ON ONE'; fi
  if [ $status = 1 ]; then note=', SOMETHING FAILED OR WAS LEFT OUT (see above)'; fi
  printf '%s, %d s%s\n' "$output/$what.tar.gz" $SECONDS "$note"
  exit $status
}
trap finish EXIT
trap 'exit 1' TERM INT HUP

# Sets $bin to a folder of programs: those that were carried, or what it builds.
get_programs() {
  local architecture carried=${SIDBEAM_DEPS:-}/programs tool
  architecture=$(gpu_architecture)
  if fits "$carried" "$architecture"; then
    bin=$carried
    export LD_LIBRARY_PATH=$carried/cuda:${CUDA_PATH:-/usr/local/cuda}/lib64  # where cuBLASLt is, which is too large
    return
  fi
  for tool in nvcc cmake c++; do
    command -v $tool >/dev/null ||
      { echo "run.sh: expected $tool in PATH (or, of CUDA, in /usr/local/cuda/bin)" >&2; exit 2; }
  done
  export -f build_programs
  part build 420 build_programs $bin "$architecture"
  [ $failed = 0 ] || exit 1
  ran=0  # building says nothing about a GPU
}

sanitize() { # TOOL
  part "sanitizer-$1" 90 compute-sanitizer --tool "$1" --error-exitcode 1 "$bin/tests/gpu/gpu_differential" \
    --cases 12 --seed 3 --seconds 20 --no-shrink
}

# What decides about the others comes first.
run_tests() {
  local tool
  part capture-probe 30 "$bin/tests/gpu/gpu_capture_probe"
  part capture 30 "$bin/tests/gpu/gpu_capture"
  part graphs 60 "$bin/tests/gpu/gpu_graphs"
  part sampling 60 "$bin/tests/gpu/gpu_sampling" --cases 200
  part speculation 60 "$bin/tests/gpu/gpu_speculation"
  part log-sum-exp 60 "$bin/tests/gpu/gpu_log_sum_exp"
  part differential 110 "$bin/tests/gpu/gpu_differential" --cases 4000 --seed 1 --seconds 60 --coverage --no-shrink
  part cuda-host 30 "$bin/samples/cuda_host"
  for tool in attention draft draft_refusals forward head hidden hidden_refusals lane shared_kv speculate tree; do
    part "runner-$tool" 60 env SIDBEAM_RUNNER_CUDA_LIBRARY="$bin/runtime/runner/libsidbeam_runner_cuda.so.1" \
      "$bin/tests/gpu/runner/gpu_runner_$tool"
  done
  if ! command -v compute-sanitizer >/dev/null; then
    ended sanitizers 'left out' 0 'compute-sanitizer is not there'
    return
  fi
  sanitize memcheck
  sanitize racecheck
  for tool in initcheck synccheck; do
    if [ $((end - SECONDS)) -ge 30 ]; then sanitize $tool; else ended "sanitizer-$tool" 'left out' 0 'no time left'; fi
  done
}

# Compiles for Triton and torch.compile: one process per table. What fails here fails again, and is reported, later.
warm_rivals() {
  local table
  for table in small medium large nv442 text width; do
    "$python" tests/gpu/bench/rivals.py --warm --only $table 2>&1 | sed "s/^/$table: /" || true &
  done
  wait
}
export python
export -f warm_rivals

# fit_attention TIMES TABLE   what runtime/runner/cuda/attention_plan_table.inc would be on this GPU
fit_attention() { "$python" tests/gpu/bench/fit_attention.py "$1" >"$2"; }
export -f fit_attention

# The rivals last, warmed once nothing of ours is timed any more.
run_bench() {
  local budget
  part bench 240 "$bin/tests/gpu/bench/gpu_bench" --cases tests/gpu/bench/cases.txt --json "$logs/lines.jsonl"
  part attention-times 100 "$bin/tests/gpu/runner/gpu_runner_times" --seconds 90 --json "$logs/attention_times.jsonl"
  part attention-fit 20 fit_attention "$logs/attention_times.jsonl" "$logs/attention_plan_table.inc"
  if ! "$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
    ended rivals 'left out' 0 "$python has no PyTorch that sees a GPU"
    return
  fi
  part warm-rivals 150 warm_rivals
  budget=$(($(left) - 30))
  part rivals 600 "$python" tests/gpu/bench/rivals.py --json "$logs/lines.jsonl" --budget $((budget > 10 ? budget : 10))
}

get_programs
"run_$what"
if [ $failed = 1 ]; then exit 1; fi
if [ $ran = 0 ]; then exit 77; fi
