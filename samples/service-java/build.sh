#!/usr/bin/env bash
# Builds the service: build/java/service.jar, to be run beside build/java/sidbeam.jar, which bindings/java/build.sh
# makes. SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=build/java
rm -rf $out/service-classes
mkdir -p $out/service-classes
# No -Werror: javac warns of sun.misc.Signal, the only way for a JVM to reload on SIGHUP, and that warning has no
# switch.
javac --release 17 -Xlint:all -d $out/service-classes -cp $out/sidbeam.jar samples/service-java/service/*.java \
  >$out/service.log 2>&1 || { cat $out/service.log >&2; exit 1; }
jar --create --file $out/service.jar --main-class service.Service -C $out/service-classes .
