#!/usr/bin/env bash
# The files of a release, by runtime/release.sh of this tree as it is now: the same in a second folder; refused where
# they would be wrong; and each of them used where nothing else of this tree, and no compiler, is.
#   tests/install/release.sh
# What is compiled comes out of the compiler's cache where that has it; SIDBEAM_RELEASE_COMPILE=twice compiles anew in
# the second folder (with SIDBEAM_CUDA=OFF: what nvcc makes depends on the folder).
# SIDBEAM_RELEASE_ISOLATE=no leaves out what needs an empty root. SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tree=$PWD
work=$PWD/build/release_files
here=tests/install
. $here/empty_root.sh
recommended=$'item 2  score -7.215\nitem 1  score -8.215'  # what samples/minimal.* print
version=$(sed -nE 's/#define SIDBEAM_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)/\2/p' include/sidbeam/base.h | paste -sd .)

say() { printf -- '-- %s\n' "$*"; }
fail() {
  printf 'tests/install/release.sh: %s\n' "$*" >&2
  exit 1
}

# prints EXPECTED COMMAND ...
prints() {
  local got
  got=$("${@:2}") || fail "$2: exit status $?"
  [ "$got" = "$1" ] || fail "${*:2}: expected $1, got $got"
}

# refuses TEXT COMMAND ...   it fails, and says so
refuses() {
  local got
  ! got=$("${@:2}" 2>&1) || fail "${*:2}: expected to fail"
  [[ "$got" == *"$1"* ]] || fail "${*:2}: expected '$1', got $got"
}

# A clone of the tree as it is now, with what is not committed yet as a commit of its own.
snapshot() {
  rm -rf "$1"
  git clone --quiet --shared "$tree" "$1"
  git -C "$1" rm -r -q --cached .
  find "$1" -mindepth 1 -maxdepth 1 ! -name .git -exec rm -r {} +
  git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$1" 2>/dev/null || true
  git -C "$1" add --all
  GIT_AUTHOR_DATE='2020-01-01T00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00Z' git -C "$1" -c user.name=test \
    -c user.email=test@sidbeam.invalid commit --quiet --allow-empty --message snapshot
}

refusals() {
  say "another version and a changed tree are refused"
  refuses "usage: bash runtime/release.sh VERSION [FOLDER]" bash "$clone/runtime/release.sh"
  refuses "include/sidbeam/base.h has version $version, not 9.9.9" bash "$clone/runtime/release.sh" 9.9.9
  sed -i "s/<version>$version</<version>9.9.9</" "$clone/bindings/java/pom.xml"
  refuses "bindings/java/pom.xml has version 9.9.9, not $version" bash "$clone/runtime/release.sh" "$version"
  git -C "$clone" checkout --quiet .
  touch "$clone/new"
  refuses "the tree differs from its commit: ?? new" bash "$clone/runtime/release.sh" "$version"
  rm "$clone/new"
  mkdir "$work/mine"
  refuses "$work/mine is there, and is no release" bash "$clone/runtime/release.sh" "$version" "$work/mine"
  mv "$work/mine" "$work/mine.work"
  refuses "mine.work is there, and is no build of a release" bash "$clone/runtime/release.sh" "$version" "$work/mine"
  rmdir "$work/mine.work"
  [ ! -e "$clone/build" ] || fail "a refusal left files"
}

twice() {
  say "two releases, in two folders"
  bash "$clone/runtime/release.sh" "$version" "$out" | sed --unbuffered 's/^/   /'
  local again=$work/somewhere/else anew=()
  [ "${SIDBEAM_RELEASE_COMPILE:-}" != twice ] || anew=(CCACHE_RECACHE=1)
  env "${anew[@]}" bash "$clone/runtime/release.sh" "$version" "$again" | sed --unbuffered 's/^/   /'
  diff "$out/SHA256SUMS" "$again/SHA256SUMS" || fail "the second release has other bytes"
  (cd "$out" && sha256sum --quiet --strict --check SHA256SUMS) || fail "SHA256SUMS"
  rm -rf "$again" "$again.work"
}

# Besides the sums themselves, every file is in them.
listed() {
  [ "$(cd "$out" && find . -type f ! -name SHA256SUMS | wc -l)" = "$(wc -l <"$out/SHA256SUMS")" ] ||
    fail "SHA256SUMS: expected every file of $out"
}

debian_packages() {
  say "Debian packages in an empty root"
  mkdir "$root/packages"
  cp "$out"/*.deb "$root/packages/"
  rm -f "$root"/packages/libsidbeam-dev*
  in_root "$root" sh -c 'dpkg --install /packages/*.deb' >"$work/dpkg.log" 2>&1 ||
    { cat "$work/dpkg.log"; fail "dpkg --install"; }
  cp "$work/minimal" "$root/root/"
  prints "$recommended" in_root "$root" /root/minimal
  prints "1 SID, 1 item" quickstart /usr/bin/sidbeam
  in_root "$root" sh -c 'dpkg --purge $(dpkg-query --show --showformat "\${Package} " "*sidbeam*" libsimdjson14)' \
    >>"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log"; fail "dpkg --purge"; }
}

# quickstart COMMAND   builds an index of one item in the root and prints what is in it
quickstart() {
  printf '{"item": 7, "sid": [1, 2, 3]}\n' >"$root/root/a.jsonl"
  in_root "$root" "$1" build --input /root/a.jsonl --output /root/a.sidx --codes 16,16,16 >"$work/build.log" &&
    in_root "$root" "$1" inspect --json /root/a.sidx |
    python3 -c 'import json, sys; i = json.load(sys.stdin); print(i["sids"], "SID,", i["items"], "item")'
}

wheels() {
  say "the wheel in an empty root"
  mkdir "$root/wheels"
  cp "$out"/sidbeam-*.whl "$root/wheels/"
  "$out.work/tools/bin/pip" download --quiet --only-binary :all: --dest "$root/wheels" 'numpy>=1.22'
  in_root "$root" python3 -m venv /venv
  in_root "$root" /venv/bin/pip install --quiet --no-index --find-links /wheels sidbeam
  cp samples/minimal.py "$root/root/"
  prints "$recommended" in_root "$root" /venv/bin/python /root/minimal.py
  prints "1 SID, 1 item" quickstart /venv/bin/sidbeam
}

# The plugin is found where its wheel puts it, and is of the library's build: then the driver is what is missing.
cuda_wheel() {
  local upload='import sidbeam; sidbeam.Index.build([[0, 1]], codes=[2, 2]).upload()'
  if [ ! -e "$out/sidbeam_cu13-$version-py3-none-manylinux_2_28_x86_64.whl" ]; then
    say "no CUDA plugin: left out"
    return
  fi
  say "the wheel of the CUDA plugin beside it"
  cp "$out"/sidbeam_cu13-*.whl "$root/wheels/"
  refuses "the CUDA plugin libsidbeam_cuda.so.1 is missing" in_root "$root" /venv/bin/python -c "$upload"
  in_root "$root" /venv/bin/pip install --quiet --no-index --no-deps --find-links /wheels sidbeam-cu13
  refuses "no NVIDIA driver is installed" in_root "$root" /venv/bin/python -c "$upload"
  [[ $(in_root "$root" /venv/bin/pip show sidbeam-cu13) == *"Requires: nvidia-cublas, sidbeam"* ]] ||
    fail "sidbeam-cu13 requires something else"
}

jar() {
  say "the jar in an empty root, without a JDK"
  local name=sidbeam-$version.jar java
  java=$(cd "$root" && ls usr/lib/jvm/*/bin/java | head -n 1)
  cp "$out/maven/io/sidbeam/sidbeam/$version/$name" "$root/root/"
  javac -d "$root/root" -cp "$root/root/$name" samples/Minimal.java
  prints "$recommended" in_root "$root" "/$java" -cp "/root/$name:/root" Minimal
  refuses 'this jar is not for linux-aarch64' in_root "$root" "/$java" -Dos.arch=aarch64 -cp "/root/$name:/root" Minimal
}

# With Go and C, which cgo needs, and neither SWIG nor anything of this tree.
go_module() {
  say "the Go module by GOPROXY=file://, with the library of the packages"
  local module=$work/go package
  mkdir -p "$module/bin" "$module/library"
  for program in go gcc as ld pkg-config; do ln -s "$(command -v $program)" "$module/bin/"; done
  for package in "$out"/libsidbeam*.deb; do dpkg-deb --extract "$package" "$module/library"; done
  cp samples/go/minimal/main.go "$module/"
  printf 'module stranger\n\ngo 1.19\n\nrequire sidbeam.io/sidbeam v%s\n' "$version" >"$module/go.mod"
  local libraries=$module/library/usr/lib/x86_64-linux-gnu
  (cd "$module" && env --ignore-environment PATH="$module/bin" HOME="$module/home" \
    GOPROXY="file://$out/go" GONOSUMDB=sidbeam.io GOFLAGS=-mod=mod GOCACHE="$module/cache" \
    PKG_CONFIG_PATH="$libraries/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$module/library" go build -o minimal .) ||
    fail "go build"
  prints "$recommended" env LD_LIBRARY_PATH="$libraries" "$module/minimal"
}

# No file names the folder in which it was built.
nameless() {
  say "no file names the folder of its build"
  local file unpacked=$work/unpacked
  for file in "$out"/*.whl "$out"/maven/io/sidbeam/sidbeam/"$version"/*.jar; do
    python3 -m zipfile -e "$file" "$unpacked/$(basename "$file")"
  done
  for file in "$out"/*.deb; do dpkg-deb --extract "$file" "$unpacked/$(basename "$file")"; done
  if grep -rlF "$work" "$unpacked"; then fail "these files name $work"; fi
}

# What wheels and jars load asks for no newer glibc, and for no newer C++ runtime than GCC 8's, than such systems have.
old_systems() {
  say "wheels and jars ask for nothing newer than glibc 2.28"
  local file versions limit newest count=0
  while read -r file; do
    versions=$(objdump -T "$file" | grep -oE '[A-Z]+_[0-9.]+' | sort -u)
    for limit in GLIBC_2.28 GLIBCXX_3.4.25 CXXABI_1.3.11; do
      newest=$(printf '%s\n' "$limit" "$versions" | grep "^${limit%%_*}_" | sort -V | tail -n 1)
      [ "$newest" = $limit ] || fail "$file asks for $newest"
    done
    count=$((count + 1))
  done < <(grep -rlaP '^\x7fELF' "$work"/unpacked/*.whl "$work"/unpacked/*.jar)
  [ $count -ge 10 ] || fail "$count libraries in wheels and jars, expected 10 or more"
}

bill_of_materials() {
  say "what is inside: the libraries that are, and where"
  python3 - "$out/sidbeam-$version.cdx.json" <<'PROGRAM' || fail "the bill of materials"
import json, sys
listed = json.load(open(sys.argv[1]))["components"]
parts = {part["name"]: {kept["value"] for kept in part["properties"]} for part in listed}
old = "the libraries of wheels and jars"
expected = {"flatbuffers": "libsidbeam.so.1", "highway": "libsidbeam.so.1", "xxhash": "libsidbeam.so.1",
            "simdjson": "libsimdjson.so.14", "nlohmann-json3": "libsidbeam_runner.so.1", "cli11": "sidbeam",
            "gcc-12": old, "glibc": old}
wrong = {name: parts.get(name) for name, file in expected.items() if file not in parts.get(name, ())}
assert not wrong, f"expected {expected}, got {wrong}"
PROGRAM
}

rm -rf "$work"
mkdir -p "$work"
clone=$work/clone
out=$work/files
snapshot "$clone"
refusals
twice
listed
nameless
old_systems
bill_of_materials
go_module
if [ "${SIDBEAM_RELEASE_ISOLATE:-}" != no ]; then
  can_isolate || fail "no empty root (SIDBEAM_RELEASE_ISOLATE=no leaves out what needs one)"
  root=$work/root
  make_root "$root" python3-venv openjdk-17-jre-headless libstdc++6 libsimdjson14
  cc samples/minimal.c -I include -o "$work/minimal" "$work/go/library/usr/lib/x86_64-linux-gnu/libsidbeam.so.1"
  debian_packages
  wheels
  cuda_wheel
  jar
fi
say "done"
