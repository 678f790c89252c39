# An empty Debian for what a release installs: files of packages of this machine, copied into a folder of their own, and
# run as if they were all there is: no network, no other files. Sourced. SPDX-License-Identifier: Apache-2.0

# can_isolate   whether this machine allows it; says what is missing
can_isolate() {
  local program
  for program in dpkg-query apt-cache unshare chroot; do
    command -v $program >/dev/null || { say "no $program: an empty root cannot be had"; return 1; }
  done
  isolated true 2>/dev/null || { say "unshare is not allowed: an empty root cannot be had"; return 1; }
}

isolated() {
  local as_root=()
  [ "$(id -u)" = 0 ] || as_root=(--map-root-user)
  unshare "${as_root[@]}" --mount --net --pid --fork "$@"
}

# make_root ROOT PACKAGE ...   these, all that they depend on, and what is on every Debian
make_root() {
  local root=$1 names name
  shift
  mkdir -p "$root"/{usr/{bin,sbin,lib,lib64},var/lib/dpkg/{info,updates,triggers},dev,proc,tmp,root}
  ln -s usr/bin usr/sbin usr/lib usr/lib64 "$root/"
  names=$(apt-cache depends --recurse --installed --no-{recommends,suggests,conflicts,breaks,replaces,enhances} \
    base-files base-passwd bash coreutils dash debianutils diffutils dpkg findutils grep libc-bin sed "$@" |
    grep '^[a-z0-9]' | sort -u |
    { xargs dpkg-query --show --showformat '${db:Status-Status} ${Package}\n' 2>/dev/null || true; } |
    sed -n 's/^installed //p')
  for name in $names; do
    dpkg-query --listfiles "$name" | grep '^/' | sed 's/^\///; /^\.$/d'
  done | sort -u | tar --create --no-recursion --ignore-failed-read --directory / --files-from - 2>/dev/null |
    tar --extract --keep-directory-symlink --directory "$root"
  dpkg-query --status $names >"$root/var/lib/dpkg/status"
  for name in $names; do
    cp -p /var/lib/dpkg/info/"$name"[:.]* "$root/var/lib/dpkg/info/"
  done
  echo root:x:0:0:root:/root:/bin/sh >"$root/etc/passwd"
  chroot_no_compilers "$root"
}

# in_root ROOT COMMAND ...
in_root() {
  isolated sh -c 'mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && exec chroot "$0" \
    env --ignore-environment PATH=/usr/bin:/usr/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"' "$@"
}

chroot_no_compilers() {
  local found
  found=$(in_root "$1" sh -c 'for name in cc c++ gcc g++ clang cpp as ld swig cmake ninja javac go; do
    command -v $name; done; ls -d /usr/include/*.h 2>/dev/null' || true)
  [ -z "$found" ] || fail "the empty root has $found"
}
