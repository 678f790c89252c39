#!/usr/bin/env bash
# Tests of what is the service's own, under Go's race detector; tests/services holds it to its contract.
#   samples/service-go/test.sh [BUILD]   default: build/release
# Needs what bindings/go/test.sh needs, except SWIG. SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$(realpath "${1:-build/release}")
. bindings/go/environment.sh

install_library
find_model
wrong=$(gofmt -l samples/service-go)
[ -z "$wrong" ] || fail "gofmt -w would change $wrong"
in_folder samples/service-go quietly go vet ./...
in_folder samples/service-go quietly env GODEBUG=cgocheck=2 go test -race -count=1 ./...
traced="without OpenTelemetry, which is not installed"
debian=/usr/share/gocode/src/go.opentelemetry.io/otel # golang-opentelemetry-otel-dev: several modules in one tree
if [ -d $debian ]; then
  rm -rf "$work/otel"
  cp -r $debian "$work/otel"
  printf 'module go.opentelemetry.io/otel\ngo 1.16\n' >"$work/otel/go.mod"
  cp samples/service-go/go.mod "$work/otel.mod"
  echo "require go.opentelemetry.io/otel v0.0.0" >>"$work/otel.mod"
  printf 'replace go.opentelemetry.io/otel => %s\n' "$work/otel" >>"$work/otel.mod"
  in_folder samples/service-go quietly go test -race -count=1 -tags otel -modfile "$work/otel.mod" -run Span .
  traced="with OpenTelemetry"
fi
echo "service-go: all passed, $traced"
