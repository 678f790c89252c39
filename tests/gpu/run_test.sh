#!/usr/bin/env bash
# A test of run.sh itself, with programs, a GPU and a sanitizer that are shell scripts: a part that fails, one that is
# over its limit and an end from outside each leave an archive of everything so far.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/gpu/programs.sh

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/path" "$folder/deps/programs/cuda"
mkfifo "$folder/never" "$folder/begun"
export SIDBEAM_DEPS=$folder/deps GPU_OUTPUT=$folder/output TMPDIR=$folder PATH=$folder/path:$PATH
echo 0123abcd >"$folder/deps/COMMIT"
echo 90-real >"$folder/deps/programs/ARCHITECTURE"
sources_hash >"$folder/deps/programs/SOURCES"

# script FILE LINE
script() {
  mkdir -p "$(dirname "$1")"
  printf '#!/bin/sh\n%s\n' "$2" >"$1"
  chmod +x "$1"
}
# program NAME LINE   what one of the programs does, except that all of them run on this machine
program() { script "$folder/deps/programs/$1" "[ \"\$*\" = no_such_test ] || { $2; }"; }
restore() {
  local file
  for file in $gpu_programs; do program "$file" 'echo fine'; done
}

# expect STATUS WHAT [VARIABLE=VALUE ...]   run.sh WHAT must exit so; what it prints is in $folder/log
expect() {
  local wanted=$1 what=$2 status=0
  shift 2
  env "$@" bash tests/gpu/run.sh "$what" >"$folder/log" 2>&1 || status=$?
  [ $status = "$wanted" ] || fail "exit status $status, expected $wanted"
}
fail() {
  cat "$folder/log"
  echo "run_test.sh: $1" >&2
  exit 1
}
# holds FILE TEXT   a file of the archive (all of it is read: grep -q would end before tar, which then fails)
holds() {
  tar -xzOf "$GPU_OUTPUT/tests.tar.gz" "tests/$1" | grep -F -- "$2" >/dev/null ||
    fail "the archive's $1 does not hold '$2'"
}
says() { grep -qE -- "$1" "$folder/log" || fail "its output does not hold '$1'"; }

script "$folder/path/nvidia-smi" 'echo 9.0'
script "$folder/path/git" 'exit 1'  # no repository
# shellcheck disable=SC2016
script "$folder/path/compute-sanitizer" 'echo "with $2"'

all_is_well() {
  restore
  expect 0 tests
  for part in capture-probe graphs sampling speculation log-sum-exp differential cuda-host; do
    holds $part.log fine
  done
  for tool in memcheck racecheck initcheck synccheck; do holds sanitizer-$tool.log "with $tool"; done
  holds tests.json '"commit": "0123abcd"'
  [ "$(ls -A "$GPU_OUTPUT")" = "$(printf 'tests.%s\n' json tar.gz txt)" ] || fail "files: $(ls -A "$GPU_OUTPUT")"
}

a_part_that_fails_stops_no_other() {
  restore
  program tests/gpu/gpu_graphs 'echo half; echo done >&2; exit 3'
  expect 1 tests
  says '^graphs +FAILED .* status 3$'
  says '^    done$'
  holds graphs.log half
  holds sanitizer-synccheck.log 'with synccheck'
  holds tests.json '"part": "graphs", "status": "FAILED"'
}

a_part_over_its_limit_stops_no_other() {
  restore
  program tests/gpu/gpu_log_sum_exp "echo began; read -r _ <$folder/never"
  expect 1 tests GPU_PART_SECONDS=5
  says '^log-sum-exp +TOO SLOW .* ended by its limit of 5 s$'
  says '^    began$'
  holds log-sum-exp.log began
  holds differential.log fine
}

without_time_the_rest_is_left_out() {
  restore
  program tests/gpu/gpu_capture_probe "read -r _ <$folder/never"
  expect 1 tests GPU_SECONDS=1
  holds tests.json '"part": "graphs", "status": "LEFT OUT"'
}

# begin_and_kill SIGNAL   once the second part runs
begin_and_kill() {
  restore
  program tests/gpu/gpu_graphs "echo began; echo >$folder/begun; read -r _ <$folder/never"
  rm -rf "$GPU_OUTPUT"
  GPU_PART_SECONDS=60 bash tests/gpu/run.sh tests >"$folder/log" 2>&1 &
  local running=$! status=0
  read -r _ <"$folder/begun"
  kill -"$1" $running
  wait $running || status=$?
  [ $status != 0 ] || fail "exit status 0 after SIG$1"
}

an_end_from_outside_is_reported() {
  begin_and_kill TERM
  says '^graphs +KILLED'
  holds capture-probe.log fine
  holds graphs.log began
  holds tests.json '"part": "graphs", "status": "KILLED"'
}

after_an_end_without_warning_what_was_finished_is_there() {
  begin_and_kill KILL 2>/dev/null
  echo >"$folder/never"  # what it left running
  holds capture-probe.log fine
  holds parts.tsv "$(printf 'capture-probe\tok')"
}

a_profile_holds_what_the_profiler_says_of_each_table() {
  restore
  script "$folder/path/ncu" 'echo "profiler: $*"'
  expect 0 profile
  for table in small medium large; do
    for page in 'details.txt details' 'source.csv.gz source'; do
      tar -xzOf "$GPU_OUTPUT/profile.tar.gz" "profile/$table.${page% *}" |
        { case $page in *gz*) gunzip ;; *) cat ;; esac; } | grep "profiler: .*page ${page#* }" >/dev/null ||
        fail "the archive's $table.${page% *} does not hold what the profiler says"
    done
  done
  script "$folder/path/ncu" 'exit 9'
  expect 1 profile
  says '^profile-large +FAILED .* status 9$'
}

without_a_gpu_it_says_that_nothing_ran() {
  for file in $gpu_programs; do program "$file" 'echo skipped: no CUDA device; exit 77'; done
  script "$folder/path/compute-sanitizer" 'exit 77'
  script "$folder/path/nvidia-smi" 'exit 9'
  expect 77 tests
  says 'NOTHING HAS RUN'
  holds tests.json '"status": "skipped"'
}

programs_of_another_gpu_or_source_are_not_used() {
  restore
  script "$folder/path/nvidia-smi" 'echo 10.0'
  script "$folder/path/nvcc" 'exit 1'
  script "$folder/path/cmake" 'echo "$@"; exit 1'
  expect 1 tests
  says 'are for 90-real, this GPU is 100-real: built anew'
  holds build.log -DCMAKE_CUDA_ARCHITECTURES=100-real
  script "$folder/path/nvidia-smi" 'echo 9.0'
  echo 0 >"$folder/deps/programs/SOURCES"
  expect 1 tests
  says 'are of other sources: built anew'
}

expect 2 ''
expect 2 all
all_is_well
a_part_that_fails_stops_no_other
a_part_over_its_limit_stops_no_other
without_time_the_rest_is_left_out
an_end_from_outside_is_reported
after_an_end_without_warning_what_was_finished_is_there
a_profile_holds_what_the_profiler_says_of_each_table
without_a_gpu_it_says_that_nothing_ran
programs_of_another_gpu_or_source_are_not_used
echo passed
