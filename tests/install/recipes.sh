#!/usr/bin/env bash
# The recipes for vcpkg and Conan, each built and used by a program of its own.
#   tests/install/recipes.sh [vcpkg|conan]    both, or one: tests/run.sh tries vcpkg's, which the compiler's cache has;
#                                             Conan's compiles everything once more, without and with the command
# Conan comes from pip. Neither vcpkg nor its registry nor Conan Center is asked: the packages that the recipes require
# are those of the system, for Conan as a profile says, for vcpkg by vcpkg.cmake, which stands in for its functions.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$PWD/build/recipes
recommended=$'item 2  score -7.215\nitem 1  score -8.215'  # what samples/minimal.c prints

say() { printf -- '-- %s\n' "$*"; }
fail() {
  printf 'tests/install/recipes.sh: %s\n' "$*" >&2
  exit 1
}

# quietly COMMAND ...   shows what it prints only when it fails
quietly() { "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; fail "failed: $*"; }; }

vcpkg_port() {
  say "vcpkg's port"
  local launcher=() got
  ! command -v ccache >/dev/null || launcher=(-DCMAKE_{C,CXX}_COMPILER_LAUNCHER=ccache)
  # Two folders below the sources, with the options of tests/run.sh: then the compiler's cache has it.
  quietly cmake -DPORT="$PWD/runtime/release/vcpkg" -DBUILD="$PWD/build/vcpkg" -DPACKAGES="$work/vcpkg" \
    "-DFEATURES=import;runner;tools" \
    "-DOPTIONS=$(IFS=';' && echo "${launcher[*]};-DSIDBEAM_WERROR=ON;-DSIDBEAM_PRECOMPILE=ON")" \
    -P tests/install/vcpkg.cmake
  quietly cmake -S runtime/release/conan/test_package -B "$work/vcpkg_minimal" -G Ninja \
    -DCMAKE_PREFIX_PATH="$work/vcpkg"
  quietly cmake --build "$work/vcpkg_minimal"
  got=$("$work/vcpkg_minimal/minimal")
  [ "$got" = "$recommended" ] || fail "vcpkg: expected $recommended, got $got"
  [ -e "$work/vcpkg/share/sidbeam/LICENSE" ] || fail "vcpkg: no licence"
}

# system_version NAME PACKAGE   a line of a profile: the package is the system's
system_version() { printf '%s/%s\n' "$1" "$(dpkg-query --show --showformat '${source:Upstream-Version}' "$2" |
  sed 's/+.*//')"; }

conan_recipe() {
  say "Conan's recipe"
  export CONAN_HOME=$work/conan
  python3 -m venv "$work/tools"
  quietly "$work/tools/bin/pip" install -q 'conan>=2.4,<3'
  quietly "$work/tools/bin/conan" profile detect
  {
    printf '[platform_requires]\n'
    system_version flatbuffers libflatbuffers-dev
    system_version highway libhwy-dev
    system_version xxhash libxxhash-dev
    system_version nlohmann_json nlohmann-json3-dev
    system_version simdjson libsimdjson-dev
    system_version cli11 libcli11-dev
    printf '[platform_tool_requires]\n'
    system_version flatbuffers flatbuffers-compiler
  } >>"$work/conan/profiles/default"
  local options
  for options in "" "-o sidbeam/*:command=True"; do
    quietly "$work/tools/bin/conan" create runtime/release/conan --no-remote $options
  done
}

case ${1:-} in "" | vcpkg | conan) ;; *) fail "expected vcpkg or conan, got $1" ;; esac
rm -rf "$work"
mkdir -p "$work"
[ "${1:-}" = conan ] || vcpkg_port
[ "${1:-}" = vcpkg ] || conan_recipe
say "done"
