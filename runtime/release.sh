#!/usr/bin/env bash
# Makes the files of a release, of the commit that is checked out: wheels, jars, Debian packages, the sources, the Go
# module, a list of what is inside them, and checksums. The same commit gives the same bytes in any folder; the CUDA
# plugins in the same folder, since nvcc puts a number of the folder into names.
#   bash runtime/release.sh VERSION [FOLDER]   FOLDER (build/dist) comes whole or not at all; FOLDER.work has the build
# VERSION is the one of include/sidbeam/base.h. Needs Debian 12 with what tests/run.sh installs, and pip's index.
# SIDBEAM_JOBS                 processes at a time (default: cores)
# SIDBEAM_CUDA_ARCHITECTURES   of the plugin, as CMAKE_CUDA_ARCHITECTURES (default: as users' builds); there is none
#                              without nvcc, or with SIDBEAM_CUDA=OFF
# PYTHON                       what the wheel is for (/usr/bin/python3)
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
umask 022
export TZ=UTC # LC_ALL is set where it matters: ccache would miss what was compiled without it
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf -- '-- %s\n' "$*"; }
fail() {
  printf 'release.sh: %s\n' "$*" >&2
  exit 1
}

# quietly COMMAND ...   shows what it prints only when it fails
quietly() { "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; fail "failed: $*"; }; }

check_version() {
  local header file found
  header=$(sed -nE 's/#define SIDBEAM_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)/\2/p' include/sidbeam/base.h | paste -sd .)
  [ "$version" = "$header" ] || fail "include/sidbeam/base.h has version $header, not $version"
  for file in bindings/java/pom.xml runtime/release/vcpkg/vcpkg.json; do
    found=$(sed -nE 's/^  (<version>|"version": ")([^"<]*).*/\2/p' "$file")
    [ "$version" = "$found" ] || fail "$file has version $found, not $version"
  done
  grep -q "^## \[$version\]" .github/CHANGELOG.md || fail ".github/CHANGELOG.md has no section [$version]"
}

check_tree() {
  local changed
  changed=$(git status --porcelain) || fail "$PWD is no clone"
  [ -z "$changed" ] || fail "the tree differs from its commit: $(head -n 3 <<<"$changed" | paste -sd ' ')"
}

check_folder() {
  [ ! -e "$folder" ] || [ -e "$folder/SHA256SUMS" ] || fail "$folder is there, and is no release"
  [ ! -e "$work" ] || [ -d "$out" ] || fail "$work is there, and is no build of a release"
  [ "$(uname -sm)" = "Linux x86_64" ] || fail "releases are made on Linux x86_64"
}

# All is built from the source archive, in its own folder: nothing else of this tree comes in.
unpack_sources() {
  say "sources"
  rm -rf "$work"
  mkdir -p "$out"
  git archive --format tar --prefix "sidbeam-$version/" HEAD | gzip -9n >"$out/sidbeam-$version.tar.gz"
  tar -x -f "$out/sidbeam-$version.tar.gz" -C "$work"
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
  export SOURCE_DATE_EPOCH
  "${PYTHON:-/usr/bin/python3}" -m venv "$work/tools"
  quietly "$work/tools/bin/pip" install -q --no-compile --no-deps -r runtime/release/requirements.txt
  cd "$work/sidbeam-$version"
  export CC=${CC:-cc} CXX=${CXX:-c++} CCACHE_BASEDIR=$PWD # the cache of tests/run.sh has what was compiled elsewhere
  # CMake would take the folder of the build out of a library when it installs that, but leave a gap of its length.
  options=(-DSIDBEAM_TESTS=OFF -DSIDBEAM_SAMPLES=OFF -DSIDBEAM_WERROR=ON -DSIDBEAM_PRECOMPILE=ON
    -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON
    ${SIDBEAM_CUDA:+-DSIDBEAM_CUDA=$SIDBEAM_CUDA}
    ${SIDBEAM_CUDA_ARCHITECTURES:+-DCMAKE_CUDA_ARCHITECTURES=$SIDBEAM_CUDA_ARCHITECTURES})
  ! command -v ccache >/dev/null || options+=(-DCMAKE_{C,CXX,CUDA}_COMPILER_LAUNCHER=ccache)
}

go_module() {
  say "Go module"
  python3 runtime/release/go_module.py "$version" "$out/go"
}

debian_packages() {
  say "Debian packages"
  quietly cmake --preset release "${options[@]}" -DCMAKE_INSTALL_PREFIX=/usr
  quietly cmake --build build/release -- --quiet
  quietly cpack --config build/release/CPackConfig.cmake -B "$work/packages"
  mv "$work"/packages/*.deb "$out/"
}

# Wheels and jars run on systems of glibc 2.28, so they are linked another time, of the same objects. Stripped: symbols
# would be half of their bytes, and name the folder of the build.
wheel() {
  say "Python wheel"
  bash runtime/release/old_glibc.sh "$work/glibc" "$("$work/tools/bin/python" -c \
    'import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))')"
  export LDFLAGS="-s -B$work/glibc -static-libstdc++ -Wl,--exclude-libs,ALL -Wl,--allow-shlib-undefined"
  local settings=() option
  for option in "${options[@]}"; do settings+=("--config-settings=cmake.define.${option#-D}"); done
  quietly "$work/tools/bin/pip" wheel -v --no-build-isolation --no-deps -w "$work/wheels" "${settings[@]}" \
    --config-settings=cmake.define.SIDBEAM_CUDA=OFF --config-settings=build-dir=../../build/old_glibc bindings/python
  tag_wheel "$work"/wheels/sidbeam-*.whl
}

# tag_wheel FILE [FOREIGN]   puts it into the release, as of manylinux_2_28 if auditwheel finds nothing newer in it, and
# no library of others, or with FOREIGN that one alone
tag_wheel() {
  local shown foreign
  shown=$("$work/tools/bin/auditwheel" show "$1" 2>/dev/null | paste -sd ' ')
  grep -qE 'constrains the platform tag to "manylinux_2_(1[0-9]|2[0-8]|[0-9])_x86_64"' <<<"$shown" ||
    fail "$1: auditwheel says $shown"
  foreign=$(grep -oE 'lib[a-z_A-Z+]+\.so\.[0-9]+' <<<"$shown" | LC_ALL=C sort -u |
    grep -vxE 'lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|sidbeam.*|simdjson)\.so\.[0-9]+' || true)
  [ "$foreign" = "${2:-}" ] || fail "$1 needs $foreign"
  quietly "$work/tools/bin/python" -m wheel tags --remove --platform-tag manylinux_2_28_x86_64 "$1"
  mv "$work"/wheels/*-manylinux_2_28_x86_64.whl "$out/"
}

# What sidbeam-cu13 adds to the package of the other wheel, where the library looks for its plugin.
cuda_wheel() {
  grep -q '^SIDBEAM_CUDA:BOOL=ON' build/release/CMakeCache.txt || { say "no CUDA plugin"; return 0; }
  say "Python wheel of the CUDA plugin"
  quietly cmake build/old_glibc -DSIDBEAM_CUDA=ON
  quietly cmake --build build/old_glibc --target sidbeam_cuda sidbeam_runner_cuda -- --quiet
  quietly "$work/tools/bin/python" runtime/release/cuda_wheel.py "$version" build/old_glibc "$work/wheels"
  tag_wheel "$work"/wheels/sidbeam_cu13-*.whl libcublasLt.so.13 # of the wheel nvidia-cublas
}

jars() {
  say "jars"
  quietly env LC_ALL=C.UTF-8 bash bindings/java/build.sh build/old_glibc
  mkdir "$out/maven"
  cp -r build/java/maven/io "$out/maven/"
}

bill_of_materials() {
  say "what is inside"
  "$work/tools/bin/python" runtime/release/bill_of_materials.py "$version" build/old_glibc \
    >"$out/sidbeam-$version.cdx.json"
}

checksums() { (cd "$out" && find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >"$work/SHA256SUMS") &&
  mv "$work/SHA256SUMS" "$out/"; }

[ $# = 1 ] || [ $# = 2 ] || { sed -n 's/^#  *\(bash runtime.*\)/usage: \1/p' "${BASH_SOURCE[0]}" >&2; exit 2; }
version=$1
folder=$(realpath -m "${2:-build/dist}")
work=$folder.work
out=$work/files
export CMAKE_BUILD_PARALLEL_LEVEL=${SIDBEAM_JOBS:-$(nproc)}
check_version
check_tree
check_folder
unset CFLAGS CXXFLAGS CUDAFLAGS CPPFLAGS LDFLAGS
unpack_sources
go_module
debian_packages
wheel
cuda_wheel
jars
bill_of_materials
checksums
rm -rf "$folder"
mv "$out" "$folder"
say "done: $folder"
