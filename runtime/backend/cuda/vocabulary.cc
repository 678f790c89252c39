// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/vocabulary.h"

#include "support/cuda/check.h"

namespace sidbeam::cuda {

VocabularyBlock::VocabularyBlock(const VocabularyView& given, Layout& layout)
    : given_(given),
      columns_at_(layout.add<LevelColumns>(given.levels)),
      maps_at_(layout.bytes()),
      columns_(given.columns, given.columns + given.levels) {
  int64_t codes = 0;
  for (int32_t level = 0; level < given.levels; ++level) codes += given.map_codes[level];
  layout.add<int32_t>(codes);
}

const LevelColumns* VocabularyBlock::copy_to(uint8_t* base, cudaStream_t stream) {
  auto* maps = reinterpret_cast<int32_t*>(base + maps_at_);
  for (int32_t level = 0; level < given_.levels; ++level) {
    LevelColumns& columns = columns_[static_cast<size_t>(level)];
    if (columns.map == nullptr) continue;
    check(cudaMemcpyAsync(maps, columns.map, static_cast<size_t>(given_.map_codes[level]) * sizeof *maps,
                          cudaMemcpyHostToDevice, stream),
          "copy a vocabulary to the device");
    columns.map = maps;
    maps += given_.map_codes[level];
  }
  check(cudaMemcpyAsync(base + columns_at_, columns_.data(), columns_.size() * sizeof columns_[0],
                        cudaMemcpyHostToDevice, stream),
        "copy a vocabulary to the device");
  return reinterpret_cast<const LevelColumns*>(base + columns_at_);
}

}  // namespace sidbeam::cuda
