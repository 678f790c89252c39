#!/usr/bin/env bash
# The jar: build/java/sidbeam.jar, with the native libraries inside, and build/java/javadoc; and both, with the sources,
# as a repository of Maven's: build/java/maven.
# bindings/java/build.sh [BUILD]   a CMake build folder of this repository (default: build/release)
# Plain javac and jar, not Maven: Maven fetches its compiler, jar and surefire plugins from a registry, and this build
# runs without a network. Needs swig and a JDK of 17 or later (Debian: swig openjdk-17-jdk-headless).
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${1:-build/release}
out=build/java
log=$out/build.log
mkdir -p $out
: >"$log"
trap 'status=$?; [ $status = 0 ] || tail -n 40 "$log" >&2' EXIT

# Configures a folder that is not configured yet, as the preset "release" does. Each command has a redirection of its
# own: one around the group would also swallow the trap's message when the group fails.
[ -e "$build/CMakeCache.txt" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >>"$log" 2>&1
cmake "$build" -DSIDBEAM_JAVA=ON >>"$log" 2>&1
cmake --build "$build" --target sidbeam_java >>"$log" 2>&1
components=(runtime)
if grep -q '^SIDBEAM_RUNNER:BOOL=ON' "$build/CMakeCache.txt"; then
  cmake --build "$build" --target sidbeam_runner >>"$log" 2>&1
  components+=(runner)
fi
simdjson=
if grep -q '^SIDBEAM_IMPORT:BOOL=ON' "$build/CMakeCache.txt"; then
  cmake --build "$build" --target sidbeam_import >>"$log" 2>&1
  components+=(import)
  # The jar brings the library that the importers need, under the name that they ask for.
  simdjson=$(ldd "$build/bindings/import/libsidbeam_import.so.1" |
    sed -nE 's/.*libsimdjson\.so\.[0-9]+ => (\S+).*/\1/p')
fi

version=$(sed -nE 's/#define SIDBEAM_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)/\2/p' include/sidbeam/base.h | paste -sd .)
generated=$build/bindings/java/generated/io/sidbeam
native=$out/classes/io/sidbeam/linux-$(uname -m)
rm -rf $out/classes
mkdir -p "$native"
sources=(bindings/java/src/main/java/module-info.java bindings/java/src/main/java/io/sidbeam/*.java "$generated"/*.java)
javac --release 17 -Xlint:all -Werror -d $out/classes "${sources[@]}" >>"$log" 2>&1
# As they are installed, without the run paths of the build; stripped: the jar is for running, and symbols would be most
# of its bytes.
rm -rf $out/installed
for component in "${components[@]}"; do
  cmake --install "$build" --component "$component" --prefix $out/installed --strip >>"$log" 2>&1
done
find $out/installed -name 'libsidbeam*.so.[0-9]' -exec cp {} "$native/" \;
strip --strip-unneeded -o "$native/libsidbeam_java.so" "$build/bindings/java/libsidbeam_java.so"
[ -z "$simdjson" ] || cp "$simdjson" "$native/"
# The same files make the same jars where a release names their date.
dated=()
[ -z "${SOURCE_DATE_EPOCH:-}" ] || dated=(--date "$(date --utc --date "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)")
printf '%s\n' 'Implementation-Title: sidbeam' "Implementation-Version: $version" >$out/manifest
jar --create "${dated[@]}" --file $out/sidbeam.jar.new --manifest $out/manifest -C $out/classes . >>"$log" 2>&1
mv $out/sidbeam.jar.new $out/sidbeam.jar
javadoc -quiet -Xdoclint:all -Werror -notimestamp -d $out/javadoc --release 17 "${sources[@]}" >>"$log" 2>&1

# The layout of a repository of Maven's: artifacts by their coordinates.
maven=$out/maven/io/sidbeam/sidbeam/$version
rm -rf $out/maven
mkdir -p "$maven"
cp $out/sidbeam.jar "$maven/sidbeam-$version.jar"
cp bindings/java/pom.xml "$maven/sidbeam-$version.pom"
jar --create "${dated[@]}" --file "$maven/sidbeam-$version-javadoc.jar" -C $out/javadoc . >>"$log" 2>&1
jar --create "${dated[@]}" --file "$maven/sidbeam-$version-sources.jar" -C bindings/java/src/main/java . \
  -C "$build/bindings/java/generated" io >>"$log" 2>&1
for file in "$maven"/*; do
  sha1sum <"$file" | cut -d ' ' -f 1 >"$file.sha1"
done
