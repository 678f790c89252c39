#!/usr/bin/env bash
# All tests of the Go binding and its samples, against an installation of what BUILD built, moved afterwards.
#   bindings/go/test.sh [BUILD]   default: build/release
# Needs golang-go (1.19), gcc, pkg-config and swig (4.1); adds to BUILD the shared cases and the CUDA plugin for the
# emulator, where its tests are configured. Writes to build/go, asks no network. SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$(realpath "${1:-build/release}")
. bindings/go/environment.sh

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
  wrong=$(gofmt -l bindings/go samples/go)
  [ -z "$wrong" ] || fail "gofmt -w would change $wrong"
  in_folder bindings/go quietly go vet ./...
  in_folder samples/go quietly go vet ./...
}

# Twice: with the race detector and cgo's full check of pointers; and without, to count allocations.
package_tests() {
  if [ -d "$build/tests/bindings" ]; then
    local targets=(shared_cases sidbeam_cuda_emulated arrow_specimen)
    if [ -n "${SIDBEAM_MODEL:-}" ]; then
      targets+=(sidbeam_runner_cuda_emulated)
      export SIDBEAM_RUNNER_CUDA_LIBRARY=$build/tests/gpu/runner/libsidbeam_runner_cuda_emulated.so
    fi
    quietly cmake --build "$build" --target "${targets[@]}"
    export SIDBEAM_CASES=$build/tests/bindings/cases.txt
    export SIDBEAM_ARROW_SPECIMEN=$build/tests/bindings/libarrow_specimen.so
    export SIDBEAM_CUDA_EMULATED=$build/tests/gpu/libsidbeam_cuda_emulated.so
  else
    echo "$build was configured without tests: the shared cases and those of devices are skipped"
  fi
  local tags=()
  [ -n "${SIDBEAM_MODEL:-}" ] || tags=(-tags norunner)
  in_folder bindings/go quietly env GODEBUG=cgocheck=2 go test -race -count=1 "${tags[@]}" ./...
  in_folder bindings/go quietly go test -count=1 "${tags[@]}" ./...
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

minimal() {
  local got
  got=$(in_folder samples/go go run ./minimal) || fail "samples/go/minimal"
  [ "$got" = "$recommended" ] || fail "samples/go/minimal: expected $recommended, got $got"
}

install_library
find_model
generated
formatted
package_tests
stranger
minimal
echo "Go: all passed"
