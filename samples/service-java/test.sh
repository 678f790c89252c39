#!/usr/bin/env bash
# The service's test: services of its own on loopback, loaded while their index is replaced. Prints three lines when
# green.
# samples/service-java/test.sh [BUILD]   a CMake build folder of this repository, with the runner and the tests
# (default: build/release)
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=build/java
build=${1:-build/release}
bash bindings/java/build.sh "$build"
bash samples/service-java/build.sh
rm -rf $out/service-test-classes $out/service-test
mkdir -p $out/service-test-classes
javac --release 17 -Xlint:all -Werror -d $out/service-test-classes -cp $out/sidbeam.jar:$out/service.jar \
  samples/service-java/test/*.java
cmake --build "$build" --target shared_cases >>$out/build.log 2>&1
bash tests/bindings/trained.sh "$build" $out/trained >>$out/build.log 2>&1 || { tail $out/build.log >&2; exit 1; }
for test in test.ServiceTest test.RulesTest test.ChangesTest test.LiveTest service.FiltersTest service.VersionsTest; do
  java -cp $out/sidbeam.jar:$out/service.jar:$out/service-test-classes $test $out/service-test \
    "$build/tests/bindings/tiny_model" $out/trained
done
