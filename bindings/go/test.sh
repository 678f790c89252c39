#!/usr/bin/env bash
# All tests of the Go binding and its samples, against an installation of what BUILD built, moved afterwards.
#   bindings/go/test.sh [BUILD]   default: build/release
# Needs golang-go (1.19), its race detector's runtime, gcc, pkg-config and swig (4.1). Writes to build/go, asks no network.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${1:-build/release}
work=$PWD/build/go
prefix=$work/prefix # without a space: go 1.19 reads no quoting in what pkg-config --libs says

fail() {
  printf 'bindings/go: %s\n' "$*" >&2
  exit 1
}

# quietly COMMAND ...   shows what it prints only when it fails
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "failed: $*"; }; }

# in_folder FOLDER COMMAND ...
in_folder() { (cd "$1" && shift && "$@"); }

install_library() {
  rm -rf "$work/first" "$prefix"
  quietly cmake --install "$build" --prefix "$work/first"
  mv "$work/first" "$prefix"
  local libraries
  libraries=$(dirname "$(find "$prefix" -name libsidbeam.so.1 | head -n 1)")
  export PKG_CONFIG_PATH=$libraries/pkgconfig LD_LIBRARY_PATH=$libraries
  export GOCACHE=$work/cache GOPROXY=off GOFLAGS=-mod=readonly GOWORK=off
  # Go looks at its own files alone when it decides what to compile again: this changes with the headers.
  CGO_CFLAGS="-g -O2 -DSIDBEAM_HEADERS=$(cat "$prefix"/include/sidbeam/*.h | sha256sum | cut -c 1-16)"
  export CGO_CFLAGS
}

generated() {
  rm -rf "$work/generated"
  mkdir "$work/generated"
  quietly bindings/go/generate.sh "$work/generated"
  local file
  for file in native.go native_wrap.c; do
    quietly diff "bindings/go/internal/native/$file" "$work/generated/$file"
  done
}

formatted() {
  local wrong
  wrong=$(gofmt -l bindings/go samples/go samples/service-go)
  [ -z "$wrong" ] || fail "gofmt -w would change $wrong"
  local module
  for module in bindings/go samples/go samples/service-go; do in_folder $module quietly go vet ./...; done
}

# Twice: with the race detector and cgo's full check of pointers, and without, as allocations are counted.
package_tests() {
  local cases=$PWD/$build/tests/bindings/cases.txt
  if [ -f "$cases" ]; then export SIDBEAM_CASES=$cases; else echo "no shared cases in $build: their test is skipped"; fi
  in_folder bindings/go quietly env GODEBUG=cgocheck=2 go test -race -count=1 ./...
  in_folder bindings/go quietly go test -count=1 ./...
}

recommended=$'item 2  score -7.215\nitem 1  score -8.215' # what samples/minimal.c prints

# A module of somebody else's, elsewhere, that replaces ours by its folder.
stranger() {
  local elsewhere got
  elsewhere=$(mktemp -d)
  cp samples/go/minimal/main.go "$elsewhere"
  printf 'module stranger\n\ngo 1.19\n\nrequire sidbeam.io/sidbeam v0.0.0\n\nreplace sidbeam.io/sidbeam => %s\n' \
    "$PWD/bindings/go" >"$elsewhere/go.mod"
  got=$(in_folder "$elsewhere" go build -o program . && in_folder / "$elsewhere/program") || fail "a module elsewhere"
  rm -r "$elsewhere"
  [ "$got" = "$recommended" ] || fail "a module elsewhere: expected $recommended, got $got"
}

# What README.md shows, on the index that its shell lines make.
readme() {
  [ -x "$prefix/bin/sidbeam" ] || { echo "no command in $build: samples/go/readme is only built"; return; }
  mkdir -p "$work/readme/build"
  in_folder samples/go go build -o "$work/readme/program" ./readme
  local got
  got=$(cd "$work/readme" && "$prefix/bin/sidbeam" synth --items 100000 --levels 3 --codes 256 --skew zipf \
    --output build/readme.npy >log && "$prefix/bin/sidbeam" build --input build/readme.npy --codes 256 \
    --output build/readme.sidx >>log && ./program) || fail "samples/go/readme"
  [ "$got" = "50 beams, all of them items" ] || fail "samples/go/readme: got $got"
}

samples() {
  local got
  got=$(in_folder samples/go go run ./minimal) || fail "samples/go/minimal"
  [ "$got" = "$recommended" ] || fail "samples/go/minimal: expected $recommended, got $got"
  readme
  in_folder samples/service-go quietly env GODEBUG=cgocheck=2 go test -race -count=1 ./...
}

mkdir -p "$work"
install_library
generated
formatted
package_tests
stranger
samples
echo "bindings/go: all passed"
