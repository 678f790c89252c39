#!/usr/bin/env bash
# Fills a folder with the third-party headers that a build needs, and flatc's output for the schema, for a machine that
# lacks them and cannot fetch them. Give the folder to CMake there as -DSIDBEAM_DEPS=FOLDER, or to run.sh as
# SIDBEAM_DEPS.
#   bash tests/gpu/dependencies.sh FOLDER
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=${1:?usage: bash tests/gpu/dependencies.sh FOLDER}

# The folder that holds a header.
holder() {
  local place
  for place in ${CPATH//:/ } /usr/local/include /usr/include; do
    if [ -e "$place/$1" ]; then echo "$place"; return; fi
  done
  echo "dependencies.sh: expected $1 in /usr/include; see samples/install_packages.sh" >&2
  return 1
}

CPATH=${CPATH:-}
rm -rf "$folder/flatbuffers" "$folder/hwy" "$folder/schemas"
mkdir -p "$folder/schemas"
cp -rL "$(holder flatbuffers/flatbuffers.h)/flatbuffers" "$(holder hwy/highway.h)/hwy" "$folder/"
cp -L "$(holder xxhash.h)"/xxh*.h "$folder/"
flatc --cpp --scoped-enums -o "$folder/schemas" schemas/index.fbs
cp schemas/index.fbs "$folder/schemas/"
du -sh "$folder"
