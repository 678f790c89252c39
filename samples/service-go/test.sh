#!/usr/bin/env bash
# Tests of the service, with a load generator while its index is replaced, under Go's race detector.
#   samples/service-go/test.sh [BUILD]   default: build/release
# Needs what bindings/go/test.sh needs, except SWIG. SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$(realpath "${1:-build/release}")
. bindings/go/environment.sh

install_library
find_model
if [ -n "${SIDBEAM_MODEL-}" ]; then
  export SIDBEAM_TRAINED=$work/trained
  quietly bash tests/bindings/trained.sh "$build" "$SIDBEAM_TRAINED"
fi
wrong=$(gofmt -l samples/service-go)
[ -z "$wrong" ] || fail "gofmt -w would change $wrong"
in_folder samples/service-go quietly go vet ./...
in_folder samples/service-go quietly env GODEBUG=cgocheck=2 go test -race -count=1 ./...
echo "service-go: all passed"
