#!/usr/bin/env bash
# The tests and the benchmark of the CUDA backend on this machine's GPU, in calls that each end inside 600 s. Needs
# CUDA 12 or later, CMake and a C++20 compiler, unless programs are carried; PyTorch and Triton for the rivals. Fetches
# nothing.
#   bash tests/gpu/run.sh tests      what may be captured, the tests, compute-sanitizer
#   bash tests/gpu/run.sh bench      the benchmark, how attention is best spread, then the rivals
#   bash tests/gpu/run.sh profile    where the kernels of a step spend their time, by Nsight Compute
# Each leaves NAME.tar.gz (every log, every measurement), NAME.json and NAME.txt. The archive is made anew after each
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
case $what in tests | bench | profile) ;; *) sed -n '5,7s/^# *//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;; esac
export PATH=$PATH:${CUDA_PATH:-/usr/local/cuda}/bin PYTHONDONTWRITEBYTECODE=1
python=${GPU_PYTHON:-python3} output=${GPU_OUTPUT:-build/gpu/results} bin=build/gpu
folder=$(mktemp -d) && logs=$folder/$what
end=$((SECONDS + ${GPU_SECONDS:-530})) most=${GPU_PART_SECONDS:-600}
failed=0 ran=0
declare -A began limit running  # of each part: the second it began at, its limit in seconds; of those that run: process
mkdir -p "$output" "$logs"
touch "$logs/parts.tsv" "$logs/parts.txt" "$logs/lines.jsonl"

# dependencies.sh has written down which commit it was; a copy elsewhere may have another in its repository, or none.
commit=$(cat "${SIDBEAM_DEPS:-.}/COMMIT" 2>/dev/null ||
  git describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null || echo unknown)

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

# begin NAME SECONDS COMMAND ...   starts a program or an exported function, its output in a log
begin() {
  local name=$1 seconds
  seconds=$(least "$2" "$(left)")
  shift 2
  began[$name]=$SECONDS limit[$name]=$seconds
  [ "$seconds" -gt 0 ] || return 0
  # In the background, since bash runs a trap only once a command in the foreground has ended.
  timeout -k 5 "$seconds" bash -c '"$@" && status=0 || status=$?; echo $SECONDS >"$0"; exit $status' \
    "$folder/$name.seconds" "$@" >"$logs/$name.log" 2>&1 </dev/null &
  running[$name]=$!
}

# await NAME   says how a part that was begun went; 77 is "skipped". Returns 0, said in full, since a bare return in a
# trap gives the status from before the trap.
await() {
  local name=$1 seconds=${limit[$1]} status=0 log=$logs/$1.log words=
  if [ "$seconds" -le 0 ]; then
    failed=1
    ended "$name" 'LEFT OUT' 0 'no time left'
    return
  fi
  wait "${running[$name]}" || status=$?
  unset "running[$name]"
  seconds=$(cat "$folder/$name.seconds" 2>/dev/null || echo $((SECONDS - began[$name])))
  words=$(tail -n 1 "$log" | tr -d '\t\r' | cut -c 1-100)
  case $status in
    0) ran=1; ended "$name" ok $seconds "$words"; return 0 ;;
    77) ended "$name" skipped $seconds "${words#skipped: }"; return 0 ;;
    124 | 137) ran=1; ended "$name" 'TOO SLOW' $seconds "ended by its limit of ${limit[$name]} s" ;;
    *) ran=1; ended "$name" FAILED $seconds "status $status" ;;
  esac
  failed=1
  tail -n 25 "$log" | sed 's/^/    /'
}

# part NAME SECONDS COMMAND ...   one by itself
part() {
  begin "$@"
  await "$1"
}

# However this ends: what there is goes into the results.
finish() {
  local status=$? note='' name
  trap - EXIT
  trap '' TERM INT HUP
  for name in "${!running[@]}"; do
    if ! kill "${running[$name]}" 2>/dev/null; then await "$name"; continue; fi  # it had ended
    wait "${running[$name]}" || true
    ended "$name" KILLED $((SECONDS - began[$name])) 'run.sh was ended from outside'
    status=1
  done
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
  export gpu_programs
  export -f build_programs
  part build 420 build_programs $bin "$architecture"
  [ $failed = 0 ] || exit 1
  ran=0  # building says nothing about a GPU
}

# begin_sanitizer TOOL
begin_sanitizer() {
  begin "sanitizer-$1" 120 compute-sanitizer --tool "$1" --error-exitcode 1 "$bin/tests/gpu/gpu_differential" \
    --cases 12 --seed 3 --seconds 20 --no-shrink
}

# What decides about the others comes first and alone. The others share the GPU: they take most of their time on the
# processor, and nothing here is timed.
run_tests() {
  local tool runner sanitizers=''
  local core='capture graphs sampling speculation log-sum-exp differential cuda-host'
  local of_runner='attention draft draft_refusals forward head hidden hidden_refusals lane shared_kv speculate tree'
  part capture-probe 30 "$bin/tests/gpu/gpu_capture_probe"
  begin capture 60 "$bin/tests/gpu/gpu_capture"
  begin graphs 120 "$bin/tests/gpu/gpu_graphs"
  begin sampling 120 "$bin/tests/gpu/gpu_sampling" --cases 200
  begin speculation 120 "$bin/tests/gpu/gpu_speculation"
  begin log-sum-exp 120 "$bin/tests/gpu/gpu_log_sum_exp"
  begin differential 150 "$bin/tests/gpu/gpu_differential" --cases 4000 --seed 1 --seconds 60 --coverage --no-shrink
  begin cuda-host 60 "$bin/samples/cuda_host"
  runner="$bin/runtime/runner/libsidbeam_runner_cuda.so.1"
  for tool in $of_runner; do
    begin "runner-$tool" 120 env SIDBEAM_RUNNER_CUDA_LIBRARY="$runner" "$bin/tests/gpu/runner/gpu_runner_$tool"
  done
  if command -v compute-sanitizer >/dev/null; then sanitizers='memcheck racecheck initcheck synccheck'; fi
  for tool in $sanitizers; do begin_sanitizer "$tool"; done
  for tool in $core; do await "$tool"; done
  for tool in $of_runner; do await "runner-$tool"; done
  for tool in $sanitizers; do await "sanitizer-$tool"; done
  [ -n "$sanitizers" ] || ended sanitizers 'left out' 0 'compute-sanitizer is not there'
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

# time_requests PROGRAM ARGUMENT ...   each model of the request benchmark
time_requests() {
  "$1" "$models/a" a 60 "${@:2}" && "$1" "$models/b" b 200 "${@:2}" && "$1" "$models/c" c 200 "${@:2}"
}
models=$folder/models
export models
export -f time_requests

# The rivals last, warmed once nothing of ours is timed any more.
run_bench() {
  local budget
  local requests=tests/gpu/bench/requests_rival.py torch=1
  "$python" -c 'import torch, transformers; assert torch.cuda.is_available()' 2>/dev/null || torch=0
  part bench 240 "$bin/tests/gpu/bench/gpu_bench" --cases tests/gpu/bench/cases.txt --json "$logs/lines.jsonl"
  if [ $torch = 1 ]; then
    part request-models 60 "$python" $requests models "$models"
    part requests 90 env SIDBEAM_RUNNER_CUDA_LIBRARY="$bin/runtime/runner/libsidbeam_runner_cuda.so.1" \
      bash -c 'time_requests "$@"' requests "$bin/tests/gpu/bench/gpu_requests" --json "$logs/lines.jsonl"
  fi
  part attention-times 100 "$bin/tests/gpu/runner/gpu_runner_times" --seconds 90 --json "$logs/attention_times.jsonl"
  part attention-fit 20 fit_attention "$logs/attention_times.jsonl" "$logs/attention_plan_table.inc"
  if [ $torch = 0 ]; then
    ended rivals 'left out' 0 "$python has no transformers, or no PyTorch that sees a GPU"
    return
  fi
  part requests-rival 90 "$python" $requests time "$models" --json "$logs/lines.jsonl"
  part warm-rivals 150 warm_rivals
  budget=$(($(left) - 30))
  part rivals 600 "$python" tests/gpu/bench/rivals.py --json "$logs/lines.jsonl" --budget $((budget > 10 ? budget : 10))
}

# profile TABLE   counters of each kernel, and how often its lines and instructions were found waiting
profile() {
  ncu --clock-control none --cache-control none --graph-profiling node --set full \
    --kernel-name 'regex:(step|row|finish)_kernel' --launch-count 12 --force-overwrite -o "$folder/$1" \
    "$bin/tests/gpu/bench/gpu_bench" --cases tests/gpu/bench/profile.txt --only "$1" --replays 1 &&
    ncu --import "$folder/$1.ncu-rep" --page details >"$logs/$1.details.txt" &&
    { ncu --import "$folder/$1.ncu-rep" --page source --csv --print-source cuda,sass ||
      ncu --import "$folder/$1.ncu-rep" --page source --csv; } | gzip >"$logs/$1.source.csv.gz"
}
export folder logs bin
export -f profile

run_profile() {
  local table
  for table in small medium large; do part "profile-$table" 150 profile $table; done
}

get_programs
"run_$what"
if [ $failed = 1 ]; then exit 1; fi
if [ $ran = 0 ]; then exit 77; fi
