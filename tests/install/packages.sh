# Debian packages: makes them from a built tree, checks their metadata, unpacks them beside each other, and uses the
# result as an installation. Sourced by run.sh. Nothing is installed on this machine: dpkg-deb -x, not dpkg -i.
# SPDX-License-Identifier: Apache-2.0

make_packages() {
  say "Debian packages: names, versions, what they depend on"
  packages=$PWD/build/packages
  rm -rf "$packages"
  cpack --config "$build/CPackConfig.cmake" -B "$packages" >"$work/packages.log" 2>&1 ||
    { tail -n 20 "$work/packages.log"; fail "cpack"; }
  rm -rf "$packages/_CPack_Packages"
  root=$work/packages
  mkdir "$root"
}

# package NAME DEPENDS   a package of that name, which depends on all of the words; it is unpacked into $root
package() {
  local file depends word
  file=$(echo "$packages/$1"_*.deb)
  [ -e "$file" ] || fail "no package $1 in $packages"
  depends=$(dpkg-deb --field "$file" Depends)
  for word in $2; do
    [[ " $depends" == *" $word "* ]] || fail "$1 depends on '$depends', expected $word among it"
  done
  [ "$(dpkg-deb --field "$file" Package)" = "$1" ] || fail "$file is not $1"
  dpkg-deb --extract "$file" "$root"
  [ -s "$root/usr/share/doc/$1/copyright" ] || fail "$1 has no copyright"
}

# Whether apt would install them on this Debian.
installable() {
  apt-get install --simulate --no-install-recommends -o Debug::NoLocking=1 "$packages"/*.deb >"$work/apt.log" 2>&1 ||
    { tail -n 20 "$work/apt.log"; fail "apt would not install the packages"; }
}

check_policy() {
  if ! command -v lintian >/dev/null; then
    say "lintian is not installed: left out"
    return
  fi
  say "lintian finds no error"
  local found
  found=$(lintian --allow-root --fail-on error "$packages"/*.deb 2>&1) || { echo "$found"; fail "lintian"; }
}

unpacked_consumers() {
  prefix=$root/usr
  libraries=$(dirname "$(find "$prefix/lib" -name libsidbeam.so.1)")
  rm -rf "$work/consumer" "$work/minimal"
  cmake_consumer
  pkg_config_consumer
  installed_command
}

check_packages() {
  if ! command -v dpkg-deb >/dev/null; then
    say "no dpkg-deb: packages are left out"
    return
  fi
  make_packages
  package libsidbeam1 "libc6 libstdc++6"
  package libsidbeam-dev libsidbeam1
  [ ! -e "$libraries/libsidbeam_runner.so.1" ] || package libsidbeam-runner1 libsidbeam1
  [ ! -e "$libraries/libsidbeam_import.so.1" ] || package libsidbeam-import1 libsidbeam1
  [ ! -x "$prefix/bin/sidbeam" ] || package sidbeam-tools "libsidbeam1 libc6"
  [ ! -e "$libraries/libsidbeam_cuda.so.1" ] || package libsidbeam-cuda1 "libsidbeam1 libc6"
  installable
  check_policy
  unpacked_consumers
}
