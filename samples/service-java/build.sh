#!/usr/bin/env bash
# Builds the service: build/java/service.jar, to be run beside build/java/sidbeam.jar, which bindings/java/build.sh
# makes, and build/java/libraries.
# SIDBEAM_JARS: the folder of Netty 4.1 and Gson (/usr/share/java). Debian 12: libnetty-java libgoogle-gson-java.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=build/java
libraries=(gson netty-{buffer,codec,codec-http,common,handler,resolver,transport})
rm -rf $out/service-classes $out/libraries
mkdir -p $out/service-classes $out/libraries
for name in "${libraries[@]}"; do
  cp -L "${SIDBEAM_JARS:-/usr/share/java}/$name.jar" $out/libraries/
done
# No -Werror: javac warns of sun.misc.Signal, the only way for a JVM to reload on SIGHUP, and that warning has no
# switch.
javac --release 17 -Xlint:all,-classfile -d $out/service-classes -cp "$out/sidbeam.jar:$out/libraries/*" \
  samples/service-java/service/*.java >$out/service.log 2>&1 || { cat $out/service.log >&2; exit 1; }
{ echo 'Class-Path: sidbeam.jar'; printf '  libraries/%s.jar\n' "${libraries[@]}"; } >$out/service.manifest
jar --create --file $out/service.jar.new --main-class service.Server --manifest $out/service.manifest \
  -C $out/service-classes .
mv $out/service.jar.new $out/service.jar
