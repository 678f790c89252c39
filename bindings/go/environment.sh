# What the scripts of the Go binding share. Sourced, in the repository's root, after build is set. Installs that build
# to build/go/prefix, moved, and lets Go find it. SPDX-License-Identifier: Apache-2.0
work=$PWD/build/go
prefix=$work/prefix # without a space: go 1.19 reads no quoting in what pkg-config --libs says

fail() {
  printf '%s: %s\n' "$0" "$*" >&2
  exit 1
}

# quietly COMMAND ...   shows what it prints only when it fails
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "failed: $*"; }; }

# in_folder FOLDER COMMAND ...
in_folder() { (cd "$1" && shift && "$@"); }

install_library() {
  mkdir -p "$work"
  rm -rf "$work/first" "$prefix"
  quietly cmake --install "$build" --prefix "$work/first"
  mv "$work/first" "$prefix"
  local libraries
  libraries=$(dirname "$(find "$prefix" -name libsidbeam.so.1 | head -n 1)")
  export PKG_CONFIG_PATH=$libraries/pkgconfig LD_LIBRARY_PATH=$libraries
  export GOCACHE=$work/cache GOPROXY=off GOFLAGS=-mod=readonly GOWORK=off
  # Go decides by its own files alone what to compile again: this one changes with the headers.
  CGO_CFLAGS="-g -O2 -DSIDBEAM_HEADERS=$(cat "$prefix"/include/sidbeam/*.h | sha256sum | cut -c 1-16)"
  export CGO_CFLAGS
}

# The model that tests run, where the library was built with the runner and its tests.
find_model() {
  [ -d "$build/tests/bindings" ] || return 0
  quietly cmake --build "$build" --target shared_cases
  [ ! -e "$LD_LIBRARY_PATH/libsidbeam_runner.so.1" ] || export SIDBEAM_MODEL=$build/tests/bindings/tiny_model
}
