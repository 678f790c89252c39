#!/usr/bin/env bash
# Freezes anew, in v1/: the headers, and what abidw sees in them. Only for an ABI version that has not been published:
# afterwards v1/ is what clients out there were compiled against. freeze.py writes abi_v1.inc.
# Debian: abigail-tools. SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
cp ../../include/sidbeam/*.h v1/sidbeam/
library=$(mktemp --suffix=.so)
trap 'rm "$library"' EXIT
cc -std=c11 -g -fPIC -shared -DSIDBEAM_RUNNER -DSIDBEAM_IMPORT -I../../include surface.c -o "$library"
abidw --no-show-locs --no-corpus-path --no-comp-dir-path --no-elf-needed "$library" --out-file v1/surface.abi
