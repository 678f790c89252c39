#!/usr/bin/env bash
# What a step costs through each language, compared with C: runs the benches of the languages that are built in turns,
# and prints the table. The setting is in README.md; the languages are built by their bindings/LANGUAGE/test.sh.
#   bash tests/bindings/overhead.sh [--rounds N] [--json LINES]
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

build=$PWD/build/release rounds=5 json=()
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) rounds=${2:?--rounds wants a number}; shift ;;
    --json) json=(--json "${2:?--json wants a file}"); shift ;;
    *) echo "overhead.sh: expected --rounds N or --json LINES, got '$1'" >&2; exit 2 ;;
  esac
  shift
done

# Runs a language's bench; each fails if the language is not built.
bench_c() { "$build/tests/bindings/bench_calls"; }
bench_python() { PYTHONPATH=$build/bindings/python/package build/python/venv/bin/python bindings/python/bench.py; }
bench_java() { java -cp build/java/sidbeam.jar bindings/java/bench/BenchCalls.java; }
bench_go() {
  local libraries
  libraries=$(dirname "$(find "$PWD/build/go/prefix" -name libsidbeam.so.1 | head -n 1)")
  cd bindings/go
  PKG_CONFIG_PATH=$libraries/pkgconfig LD_LIBRARY_PATH=$libraries GOCACHE=$PWD/../../build/go/cache GOPROXY=off \
    GOWORK=off \
    go run ./internal/overhead
}

built() {
  case $1 in
    c) [ -x "$build/tests/bindings/bench_calls" ] ;;
    python) [ -d "$build/bindings/python/package" ] && [ -x build/python/venv/bin/python ] ;;
    java) [ -e build/java/sidbeam.jar ] && command -v java >/dev/null ;;
    go) [ -d build/go/prefix ] && [ -d bindings/go/internal/overhead ] && command -v go >/dev/null ;;
  esac
}

mkdir -p build/bench
results=$(mktemp build/bench/overhead.XXXXXX)
trap 'rm -f "$results"' EXIT
languages=()
for language in c python java go; do
  if built $language; then
    languages+=($language)
  else
    echo "missing $language" >>"$results"
  fi
done
for ((round = 0; round < rounds; ++round)); do
  for language in "${languages[@]}"; do ("bench_$language") >>"$results"; done
done
PYTHONDONTWRITEBYTECODE=1 python3 tests/bench/overhead.py "${json[@]}" "$results"
