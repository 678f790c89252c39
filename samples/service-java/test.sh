#!/usr/bin/env bash
# Tests of what is the service's own; tests/services holds it to its contract. Prints one line when green.
#   samples/service-java/test.sh [BUILD]   a CMake build folder of this repository, with the runner and the tests
# (default: build/release)
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=build/java
build=${1:-build/release}
bash bindings/java/build.sh "$build"
bash samples/service-java/build.sh
rm -rf $out/service-test-classes $out/service-test
mkdir -p $out/service-test-classes $out/service-test
javac --release 17 -Xlint:all,-classfile -Werror -d $out/service-test-classes \
  -cp "$out/service-classes:$out/sidbeam.jar:$out/libraries/*" samples/service-java/test/*.java
cmake --build "$build" --target shared_cases >>$out/build.log 2>&1
for test in JsonTest FiltersTest VersionsTest; do
  java -ea -cp "$out/service.jar:$out/service-test-classes" service.$test $out/service-test \
    "$build/tests/bindings/tiny_model"
done
echo "service-java: all passed"
