#!/usr/bin/env bash
# The service's test: a service of its own on loopback, loaded while its index is replaced. Prints one line when green.
# green. samples/service-java/test.sh [BUILD]   a CMake build folder of this repository (default: build/release)
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=build/java
bash bindings/java/build.sh "${1:-build/release}"
bash samples/service-java/build.sh
rm -rf $out/service-test-classes $out/service-test
mkdir -p $out/service-test-classes
javac --release 17 -Xlint:all -Werror -d $out/service-test-classes -cp $out/sidbeam.jar samples/service-java/test/*.java
java -cp $out/sidbeam.jar:$out/service.jar:$out/service-test-classes test.ServiceTest $out/service-test
