#!/usr/bin/env bash
# Makes internal/native/native.go and native_wrap.c from ../sidbeam.i with SWIG 4.1. They are committed, so that users
# need no SWIG; bindings/go/test.sh fails where they differ from what this makes.
#   bindings/go/generate.sh [FOLDER]   FOLDER: where they go, internal/native if not given
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
folder=$(realpath "${1:-$(dirname "${BASH_SOURCE[0]}")/internal/native}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
swig -go -cgo -intgosize 64 -I. -I../include -package native -outdir "$folder" -o "$folder/native_wrap.c" sidbeam.i

# SWIG declares a slice's elements as void*. For a void*, cgo checks at every call whether the whole Go object around it
# holds Go pointers, and panics if so, although the slice, an array within a struct, holds numbers alone. A char* cannot
# hold any: no check.
slice='struct { void\* array; intgo len; intgo cap; } _goslice_;'
sed -i "s/^typedef $slice/typedef ${slice/void/char}/" "$folder/native.go"
grep -q '{ char\* array; intgo len' "$folder/native.go" ||
  { echo "generate.sh: SWIG declares slices in another way" >&2; exit 1; }
gofmt -w "$folder/native.go"
