# Installs what Debian 12 lacks to build and test sidbeam; sourced by quickstart.sh and tests/run.sh.
# SPDX-License-Identifier: Apache-2.0

build_packages="g++ cmake ninja-build pkg-config libflatbuffers-dev flatbuffers-compiler libxxhash-dev libhwy-dev
  libcli11-dev libsimdjson-dev nlohmann-json3-dev"
test_packages="ccache libgtest-dev clang lld libclang-rt-14-dev clang-tidy clang-format abigail-tools python3 valgrind
  dpkg-dev file lintian g++-aarch64-linux-gnu qemu-user-static"
language_packages="swig python3-dev python3-venv python3-numpy python3-pytest python3-hypothesis python3-pandas
  openjdk-17-jdk-headless junit5 maven libmaven-compiler-plugin-java libnetty-java libgoogle-gson-java golang-go
  golang-opentelemetry-otel-dev systemd curl"
site_packages="doxygen python3-bs4 python3-myst-parser python3-sphinx sphinx-basic-ng"

missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
  done
}

# install_packages PACKAGE ...   does nothing if all are there or SIDBEAM_PACKAGES=skip says that they came another way
install_packages() {
  [ "${SIDBEAM_PACKAGES:-}" = skip ] && return
  local missing as_root=
  missing=$(missing_packages "$@" | tr '\n' ' ')
  [ -z "$missing" ] && return
  if ! grep -qs '^ID=debian$' /etc/os-release || ! command -v apt-get >/dev/null; then
    echo "This is not Debian. Install what these Debian 12 packages hold, then run again with" \
      "SIDBEAM_PACKAGES=skip:" >&2
    echo "  $(echo $*)" >&2
    exit 1
  fi
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "These packages are missing, and installing them needs root or sudo: $missing" >&2
      exit 1
    fi
    as_root=sudo
  fi
  echo "== Installing packages: $missing"
  $as_root apt-get update -qq
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}
