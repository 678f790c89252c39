#!/usr/bin/env bash
# Fills a folder for a machine that cannot fetch anything: the third-party headers that a build needs, flatc's output
# for the schema, and the commit that this tree is at. run.sh there takes the folder as SIDBEAM_DEPS, CMake as
# -DSIDBEAM_DEPS=FOLDER.
#   bash tests/gpu/dependencies.sh FOLDER              4 MB
#   bash tests/gpu/dependencies.sh FOLDER --programs   and what run.sh would build there
# GPU_ARCHITECTURE   the GPU that programs are for, as CMAKE_CUDA_ARCHITECTURES (this machine's; 90-real without one)
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/gpu/programs.sh
folder=${1:?usage: bash tests/gpu/dependencies.sh FOLDER [--programs]}

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
rm -rf "$folder/flatbuffers" "$folder/hwy" "$folder/nlohmann" "$folder/schemas" "$folder/programs"
mkdir -p "$folder/schemas" "$folder/nlohmann/include" "$folder/nlohmann/share/cmake"
cp -rLp "$(holder flatbuffers/flatbuffers.h)/flatbuffers" "$(holder hwy/highway.h)/hwy" "$folder/"
# As it is installed, since CMake asks for its package.
nlohmann=$(holder nlohmann/json.hpp)
cp -rLp "$nlohmann/nlohmann" "$folder/nlohmann/include/"
cp -rLp "$nlohmann/../share/cmake/nlohmann_json" "$folder/nlohmann/share/cmake/"
cp -Lp "$(holder xxhash.h)"/xxh*.h "$folder/"
flatc --cpp --scoped-enums -o "$folder/schemas" schemas/*.fbs
cp schemas/*.fbs "$folder/schemas/"
git describe --always --dirty --abbrev=40 --exclude='*' >"$folder/COMMIT"
if [ "${2:-}" = --programs ]; then
  export PATH=$PATH:${CUDA_PATH:-/usr/local/cuda}/bin
  architecture=${GPU_ARCHITECTURE:-$(gpu_architecture)}
  SIDBEAM_DEPS=$(realpath "$folder") build_programs build/gpu "$architecture"
  carry_programs build/gpu "$architecture" "$folder/programs"
fi
du -sh "$folder"
