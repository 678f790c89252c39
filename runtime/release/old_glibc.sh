#!/usr/bin/env bash
# Makes a folder for `g++ -BFOLDER -static-libstdc++`, against which programs and libraries are linked as on a system of
# glibc 2.28 (manylinux_2_28): its names and versions, as ziglang of PyPI knows them, and its start code. Objects stay
# those of this system; glibc_2_28.c has the three names that they want beyond it.
#   old_glibc.sh FOLDER ZIG     ZIG: the program of the package
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
folder=$1 zig=$2
rm -rf "$folder"
mkdir -p "$folder/cache"
export ZIG_GLOBAL_CACHE_DIR=$folder/cache ZIG_LOCAL_CACHE_DIR=$folder/cache
# Zig makes them when it first links a program.
echo 'int main(void) { return 0; }' >"$folder/program.c"
"$zig" cc -target x86_64-linux-gnu.2.28 -O2 -fno-sanitize=all -fPIE -pie -o "$folder/cache/program" "$folder/program.c"
for name in Scrt1.o libc_nonshared.a lib{c.so.6,m.so.6,pthread.so.0,dl.so.2,rt.so.1,ld.so.2}; do
  cp "$(find "$folder/cache/o" -name "$name" | head -n 1)" "$folder/"
done
rm -r "$folder/cache" "$folder/program.c"

cc -O2 -fPIC -c "$(dirname "${BASH_SOURCE[0]}")/glibc_2_28.c" -o "$folder/newer.o"
ar rcsD "$folder/libnewer.a" "$folder/newer.o"
rm "$folder/newer.o"
# What -lc and the others find. Threads and dlopen() are in libraries of their own there, and in libc.so.6 here.
echo 'GROUP ( libc.so.6 libc_nonshared.a libnewer.a AS_NEEDED ( libpthread.so.0 libdl.so.2 libld.so.2 ) )' \
  >"$folder/libc.so"
for name in m.so.6 pthread.so.0 dl.so.2 rt.so.1; do ln -s "lib$name" "$folder/lib${name%.*}"; done
