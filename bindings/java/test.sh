#!/usr/bin/env bash
# All tests of the Java library: JUnit, on the jar that build.sh makes. Quiet when green.
# bindings/java/test.sh [BUILD]   a CMake build folder of this repository (default: build/release)
# Debian: openjdk-17-jdk-headless swig junit5 maven libmaven-compiler-plugin-java. SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${1:-build/release}
out=build/java
log=$out/test.log
export LC_ALL=C.UTF-8 # tests give files names whose letters need such a locale
bash bindings/java/build.sh "$build"
trap 'status=$?; [ $status = 0 ] || tail -n 80 "$log" >&2' EXIT
: >$log

names=(junit-jupiter-api junit-jupiter-engine junit-platform-{commons,console,engine,launcher,reporting}
  opentest4j opentest4j-reporting-{events,schema} apiguardian-api picocli)
libraries=$(printf '/usr/share/java/%s.jar:' "${names[@]}")
rm -rf $out/test-classes $out/stub
mkdir -p $out/test-classes $out/stub
javac -encoding UTF-8 --release 17 -Xlint:all,-processing,-path,-try -Werror -d $out/test-classes \
  -cp "$out/sidbeam.jar:$libraries" \
  bindings/java/src/test/java/io/sidbeam/*.java >>$log 2>&1

# A library with all the names, but of another ABI.
cp "$build/bindings/java/libsidbeam_java.so" $out/stub/
{
  echo 'unsigned sidbeam_abi_version(void) { return 99; }'
  echo 'const char* sidbeam_version(void) { return "9.9.9"; }'
  nm -D --undefined-only $out/stub/libsidbeam_java.so |
    sed -nE '/ sidbeam_(abi_)?version/d; s/.* (sidbeam_[a-z_]+)(@.*)?$/void \1(void) {}/p'
} >$out/stub/stub.c
echo 'SIDBEAM_1 { global: *; };' >$out/stub/stub.map
cc -shared -fPIC -Wl,-soname,libsidbeam.so.1 -Wl,--version-script=$out/stub/stub.map \
  -o $out/stub/libsidbeam.so.1 $out/stub/stub.c >>$log 2>&1

# The folder of the native part as it is installed: both libraries side by side.
mkdir -p $out/native
cp "$build/bindings/java/libsidbeam_java.so" "$build/runtime/libsidbeam.so.1" $out/native/
cases=$build/tests/bindings/cases.txt
cmake --build "$build" --target shared_cases >>$log 2>&1
model=
if [ -e "$build/runtime/runner/libsidbeam_runner.so.1" ]; then
  model=$build/tests/bindings/tiny_model
  cp "$build/runtime/runner/libsidbeam_runner.so.1" $out/native/
fi
[ ! -e "$build/bindings/import/libsidbeam_import.so.1" ] ||
  cp "$build/bindings/import/libsidbeam_import.so.1" $out/native/
targets=(sidbeam_cuda_emulated sidbeam_java_emulated arrow_specimen)
if [ -n "$model" ]; then
  targets+=(sidbeam_runner_cuda_emulated)
  export SIDBEAM_RUNNER_CUDA_LIBRARY=$build/tests/gpu/runner/libsidbeam_runner_cuda_emulated.so
fi
cmake --build "$build" --target "${targets[@]}" >>$log 2>&1

# Tests forget objects, and say so themselves where that matters.
java -Xcheck:jni -Dsidbeam.leaks=off -cp "$out/sidbeam.jar:$out/test-classes:$libraries" \
  -Dsidbeam.test.jar=$out/sidbeam.jar \
  -Dsidbeam.test.classes=$out/test-classes -Dsidbeam.test.native=$out/native -Dsidbeam.test.stub=$out/stub \
  -Dsidbeam.test.cases="$cases" -Dsidbeam.test.model="$model" \
  -Dsidbeam.test.plugin="$build/tests/gpu/libsidbeam_cuda_emulated.so" \
  -Dsidbeam.test.arrow="$build/tests/bindings/libarrow_specimen.so" \
  -Dsidbeam.test.emulated="$build/bindings/java/libsidbeam_java_emulated.so" \
  org.junit.platform.console.ConsoleLauncher --scan-classpath $out/test-classes \
  --disable-banner --fail-if-no-tests --reports-dir $out/reports "${@:2}" >>$log 2>&1
! grep -m 5 -E '^(WARNING|FATAL ERROR) in native method' $log

# Maven finds the library in the repository that build.sh made, without a network: its plugin is Debian's.
if [ -d /usr/share/maven-repo/org/apache/maven/plugins/maven-compiler-plugin ] && command -v mvn >/dev/null; then
  rm -rf $out/stranger
  mkdir -p $out/stranger/src/main/java
  cp bindings/java/src/test/maven/pom.xml $out/stranger/
  cp samples/Minimal.java $out/stranger/src/main/java/
  mvn --offline --batch-mode --quiet -Daether.offline.protocols=file -Dmaven.repo.local=$PWD/$out/stranger/m2 \
    -Dsidbeam.version="$(basename $out/maven/io/sidbeam/sidbeam/*)" \
    -Dsidbeam.repository="file://$PWD/$out/maven" -f $out/stranger/pom.xml compiler:compile >>$log 2>&1
  java -cp "$(find $out/stranger/m2 -name 'sidbeam-*.jar'):$out/stranger/target/classes" Minimal >$out/stranger/said
  printf 'item 2  score -7.215\nitem 1  score -8.215\n' | cmp - $out/stranger/said >>$log 2>&1
else
  echo "Java: Maven and its compiler plugin are missing, so their test is left out" >&2
fi
sed -nE 's/.*\[ *([0-9]+) tests (successful|failed) *\].*/\1 \2/p' $log
