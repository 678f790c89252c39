#!/usr/bin/env bash
# Installs what build/release built under build/install, moves the prefix, and uses it as strangers do: find_package in
# C and C++, pkg-config with plain cc, dlopen; then the C tests and the README's snippets against it. Finally does the
# same, in short, with Debian packages.
#   tests/install/run.sh [BUILD_FOLDER]
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${1:-build/release}
work=$PWD/build/install
jobs=${SIDBEAM_JOBS:-$(nproc)}
prefix="$work/moved prefix"  # with a space, as some have
here=tests/install
. $here/packages.sh
recommended=$'item 2  score -7.215\nitem 1  score -8.215'  # what samples/minimal.c prints
strict="-Wall -Wextra -Wpedantic -Werror"

say() { printf -- '-- %s\n' "$*"; }
fail() {
  printf 'tests/install: %s\n' "$*" >&2
  exit 1
}

# prints EXPECTED COMMAND ...
prints() {
  local got
  got=$("${@:2}") || fail "$2: exit status $?"
  [ "$got" = "$1" ] || fail "$2: expected $1, got $got"
}

install_and_move() {
  say "install, then move the prefix"
  rm -rf "$work"
  cmake --install "$build" --prefix "$work/first" >"$work.log" || fail "cmake --install: see $work.log"
  mv "$work/first" "$prefix"
  mv "$work.log" "$work/install.log"
  library=$(find "$prefix" -name libsidbeam.so.1 | head -n 1)
  [ -n "$library" ] || fail "no libsidbeam.so.1 was installed"
  libraries=$(dirname "$library")
}

# check_binary FILE SONAME NEEDS   one that mentions nothing of this machine, and of libraries needs those of the C and
# C++ runtimes and NEEDS (of a regular expression, as lib(NEEDS)) alone
check_binary() {
  local dynamic needed
  dynamic=$(readelf --dynamic "$1")
  grep -q "SONAME.*\[$2\]" <<<"$dynamic" || fail "SONAME: expected $2, got $dynamic"
  if grep -E 'R(UN)?PATH' <<<"$dynamic"; then fail "$2 has a run path"; fi
  needed=$(sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' <<<"$dynamic" |
    grep -vxE "lib(stdc\+\+\.so\.6|gcc_s\.so\.1|m\.so\.6|c\.so\.6|$3)|ld-linux-.*" || true)
  [ -z "$needed" ] || fail "NEEDED of $2: expected the C and C++ runtimes and lib($3), got $needed"
}

check_library() {
  say "the library: SONAME, what it needs, no run path, exports, no path of this tree"
  check_binary "$library" libsidbeam.so.1 ''
  [[ $(readelf --dynamic "$library") == *NODELETE* ]] || fail "the library can be unloaded: -z nodelete is missing"
  bash tests/abi/check_symbols.sh core "$prefix/include" "$library"
  if grep -rlF "$PWD" "$prefix"; then fail "these installed files name the folder that they were built in"; fi
}

# It contains all of CUDA that it needs except the driver, which it looks up itself.
check_plugin() {
  local plugin=$libraries/libsidbeam_cuda.so.1 exports
  [ -e "$plugin" ] || return 0
  say "the CUDA plugin: SONAME, what it needs, exports, of the same build"
  check_binary "$plugin" libsidbeam_cuda.so.1 '(dl|rt|pthread)\.so\.[0-9]+'
  exports=$(nm --dynamic --defined-only "$plugin" | awk '{ print $3 }')
  [ "$exports" = sidbeam_cuda_plugin ] || fail "exports: expected sidbeam_cuda_plugin, got $exports"
  cc -std=c99 $strict -I "$prefix/include" $here/cuda_host.c -o "$work/cuda_host" "$library"
  LD_LIBRARY_PATH=$libraries "$work/cuda_host"
}

check_runner() {
  local runner=$libraries/libsidbeam_runner.so.1 flags
  [ -e "$runner" ] || return 0
  say "the runner: SONAME, what it needs, no run path, exports; pkg-config"
  check_binary "$runner" libsidbeam_runner.so.1 'sidbeam\.so\.1'
  bash tests/abi/check_symbols.sh runner "$prefix/include" "$runner"
  flags=$(PKG_CONFIG_PATH=$libraries/pkgconfig pkg-config --cflags --libs sidbeam-runner)
  eval "cc -std=c11 $strict -DSIDBEAM_RUNNER tests/abi/abi_v1.c -o \"$work/runner_v1\" $flags"
  LD_LIBRARY_PATH=$libraries prints "ABI 1 is as it was, runner_v1.inc" "$work/runner_v1"
}

check_import() {
  local import=$libraries/libsidbeam_import.so.1 flags
  [ -e "$import" ] || return 0
  say "the importers: SONAME, what they need, no run path, exports; pkg-config"
  check_binary "$import" libsidbeam_import.so.1 '(sidbeam\.so\.1|simdjson\.so\.[0-9]+)'
  bash tests/abi/check_symbols.sh import "$prefix/include" "$import"
  flags=$(PKG_CONFIG_PATH=$libraries/pkgconfig pkg-config --cflags --libs sidbeam-import)
  eval "cc -std=c11 $strict -DSIDBEAM_IMPORT tests/abi/abi_v1.c -o \"$work/import_v1\" $flags"
  LD_LIBRARY_PATH=$libraries prints "ABI 1 is as it was, import_v1.inc" "$work/import_v1"
}

check_headers() {
  say "every header alone, twice, as C99 and C++17"
  local header
  for header in "$prefix"/include/sidbeam/*.h; do
    header=sidbeam/$(basename "$header")
    printf '#include <%s>\n#include <%s>\n' "$header" "$header" >"$work/header.c"
    cc -x c -std=c99 $strict -I "$prefix/include" -fsyntax-only "$work/header.c" || fail "$header is not C99"
    c++ -x c++ -std=c++17 $strict -I "$prefix/include" -fsyntax-only "$work/header.c" || fail "$header is not C++17"
  done
}

cmake_consumer() {
  say "find_package, in C and C++"
  cmake -S $here/consumer -B "$work/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DSAMPLES="$PWD/samples" \
    >"$work/consumer.log" || fail "configuring the consumer: see $work/consumer.log"
  cmake --build "$work/consumer" >>"$work/consumer.log" || { cat "$work/consumer.log"; fail "building the consumer"; }
  prints "$recommended" "$work/consumer/consumer_c"
  "$work/consumer/consumer_cxx"
}

# The flags of a prefix with a space reach cc whole only where the shell reads pkg-config's quoting: eval.
pkg_config_consumer() {
  say "pkg-config, plain C99"
  export PKG_CONFIG_PATH="$libraries/pkgconfig"
  local flags
  flags=$(pkg-config --cflags --libs sidbeam)
  eval "cc -std=c99 $strict samples/minimal.c -o \"$work/minimal\" $flags"
  LD_LIBRARY_PATH=$libraries prints "$recommended" "$work/minimal"
}

dlopen_consumer() {
  say "dlopen"
  cc -std=c99 -D_POSIX_C_SOURCE=200809L $strict -I "$prefix/include" samples/dlopen_host.c -o "$work/dlopen_host" -ldl
  if readelf --dynamic "$work/dlopen_host" | grep NEEDED.*sidbeam; then fail "the dlopen host links sidbeam"; fi
  LD_LIBRARY_PATH=$libraries "$work/dlopen_host"
}

installed_command() {
  [ -x "$prefix/bin/sidbeam" ] || return 0
  say "the installed command finds its library"
  local run_path
  run_path=$(readelf --dynamic "$prefix/bin/sidbeam" | sed -nE 's/.*R(UN)?PATH.*\[(.*)\]/\2/p')
  [[ $run_path == '$ORIGIN/'* && $run_path != *:* ]] ||
    fail "run path of the command: expected \$ORIGIN/.., got $run_path"
  "$prefix/bin/sidbeam" --version
}

c_tests() {
  say "the C tests, as a project of their own"
  cmake -S tests/capi -B "$work/capi" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" \
    >"$work/capi.log" || fail "configuring tests/capi: see $work/capi.log"
  cmake --build "$work/capi" -j "$jobs" >>"$work/capi.log" ||
    { tail -n 40 "$work/capi.log"; fail "building tests/capi"; }
  ctest --test-dir "$work/capi" -j "$jobs" --output-on-failure >>"$work/capi.log" ||
    { tail -n 60 "$work/capi.log"; fail "tests/capi"; }
  grep 'tests failed out of' "$work/capi.log"
}

readme_snippets() {
  say "the README's snippets"
  python3 $here/readme.py README.md "$work/readme" "$prefix" "$libraries"
}

install_and_move
check_library
check_headers
check_plugin
check_runner
check_import
cmake_consumer
pkg_config_consumer
dlopen_consumer
installed_command
[ ! -f tests/capi/CMakeLists.txt ] || c_tests
[ ! -f README.md ] || readme_snippets
check_packages
say "done"
