// SPDX-License-Identifier: Apache-2.0
#include "runner/models/output.h"

#include <algorithm>
#include <cstring>

#include "support/error.h"

namespace sidbeam::runner {
namespace {

void check_token(int32_t level, int64_t code, int64_t token, int64_t tokens) {
  if (token < 0 || token >= tokens) {
    fail(SIDBEAM_INVALID_ARGUMENT,
         "vocabulary: code %lld of level %d is token %lld, expected one of the model's, 0 .. %lld",
         static_cast<long long>(code), level, static_cast<long long>(token), static_cast<long long>(tokens - 1));
  }
}

}  // namespace

OutputColumns::OutputColumns(const Allocator& allocator, const OutputConfig& config, int64_t tokens)
    : levels_(config.levels), full_(config.normalization == SIDBEAM_NORMALIZE_FULL) {
  copy_vocabulary(allocator, config);
  check(config, tokens);
  std::copy_n(config.codes, levels_, codes_);
  if (full_) {
    std::fill(columns_, columns_ + levels_, tokens);
    vocabulary_.levels = levels_;
    vocabulary_.offsets = offsets_;
    vocabulary_.maps = maps_;
    vocabulary_.map_codes = map_codes_;
    vocabulary_.end_column = end_token_;
  } else {
    choose(allocator, config);
  }
}

void OutputColumns::copy_vocabulary(const Allocator& allocator, const OutputConfig& config) {
  const sidbeam_vocabulary* given = config.vocabulary;
  if (given == nullptr) return;
  if (given->levels != levels_)
    fail(SIDBEAM_INVALID_ARGUMENT, "vocabulary.levels: %d, expected %d, those of the constraint", given->levels,
         levels_);
  end_token_ = given->end_column;
  if (given->offsets != nullptr) std::copy_n(given->offsets, levels_, offsets_);
  if (given->maps == nullptr) return;
  if (given->map_codes == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "vocabulary.map_codes is NULL, expected one per map");
  for (int32_t level = 0; level < levels_; ++level) {
    if (given->maps[level] == nullptr) continue;
    map_codes_[level] = given->map_codes[level];
    if (map_codes_[level] < config.codes[level])
      fail(SIDBEAM_INVALID_ARGUMENT, "vocabulary.map_codes[%d]: %lld, expected %d or more, the level's codes", level,
           static_cast<long long>(map_codes_[level]), config.codes[level]);
    owned_maps_[level] = Buffer<int32_t>(allocator, map_codes_[level]);
    std::copy_n(given->maps[level], map_codes_[level], owned_maps_[level].data());
    maps_[level] = owned_maps_[level].data();
  }
}

void OutputColumns::check(const OutputConfig& config, int64_t tokens) const {
  for (int32_t level = 0; level < levels_; ++level) {
    if (maps_[level] == nullptr) {
      check_token(level, 0, offsets_[level], tokens);
      check_token(level, config.codes[level] - 1, offsets_[level] + config.codes[level] - 1, tokens);
    } else {
      for (int64_t code = 0; code < map_codes_[level]; ++code)
        if (maps_[level][code] != -1) check_token(level, code, maps_[level][code], tokens);
    }
  }
  if (config.variable_length && end_token_ < 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "vocabulary.end_column: SIDs of variable length need one");
  if (end_token_ >= tokens || end_token_ < -1)
    fail(SIDBEAM_INVALID_ARGUMENT, "vocabulary.end_column: %lld, expected one of the model's tokens, 0 .. %lld, or -1",
         static_cast<long long>(end_token_), static_cast<long long>(tokens - 1));
}

// The end and the level's codes; a level whose list an earlier one has takes that one's.
void OutputColumns::choose(const Allocator& allocator, const OutputConfig& config) {
  for (int32_t level = 0; level < levels_; ++level) {
    columns_[level] = int64_t{1} + config.codes[level];
    Buffer<int32_t> tokens(allocator, columns_[level]);
    tokens[0] = static_cast<int32_t>(end_token_);
    for (int32_t code = 0; code < config.codes[level]; ++code) tokens[1 + code] = token(level, code);
    like_[level] = level;
    for (int32_t earlier = 0; earlier < level && like_[level] == level; ++earlier) {
      if (columns_[earlier] == columns_[level] && std::equal(tokens.begin(), tokens.end(), tokens_[earlier]))
        like_[level] = earlier;
    }
    if (like_[level] == level) owned_tokens_[level] = std::move(tokens);
    tokens_[level] = owned_tokens_[like_[level]].data();
    level_offsets_[level] = 1;
  }
  vocabulary_.levels = levels_;
  vocabulary_.offsets = level_offsets_;
  vocabulary_.end_column = 0;
}

int64_t OutputColumns::most_columns() const { return *std::max_element(columns_, columns_ + levels_); }

int64_t OutputColumns::memory_bytes() const {
  int64_t bytes = 0;
  for (int32_t level = 0; level < levels_; ++level) bytes += owned_maps_[level].bytes() + owned_tokens_[level].bytes();
  return bytes;
}

}  // namespace sidbeam::runner
