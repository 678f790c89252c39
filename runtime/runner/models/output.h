// Which rows of the output layer a level needs, and which columns its codes then have.
//
// NORMALIZE_FULL: all of them; a code's column is its token. Otherwise the end alone (column 0) and the level's codes
// (code t is column 1 + t); a column without a token is -inf.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sidbeam/runner.h"
#include "support/memory.h"

namespace sidbeam::runner {

struct OutputConfig {
  int32_t levels = 0;
  const int32_t* codes = nullptr;  // [levels] codes per level, the end not counted
  bool variable_length = false;
  int32_t normalization = SIDBEAM_NORMALIZE_FULL;
  const sidbeam_vocabulary* vocabulary = nullptr;  // the token of each code; nullptr: code t is token t
};

class OutputColumns {
 public:
  // Throws INVALID_ARGUMENT where a code's token is not in [0, tokens), a level is missing or the end has no token.
  OutputColumns(const Allocator& allocator, const OutputConfig& config, int64_t tokens);
  OutputColumns(const OutputColumns&) = delete;
  OutputColumns& operator=(const OutputColumns&) = delete;

  int32_t levels() const { return levels_; }
  // NORMALIZE_FULL: every level has all tokens.
  bool full() const { return full_; }
  int64_t columns(int32_t level) const { return columns_[level]; }
  int64_t most_columns() const;
  // Unless full: the token of each of columns(level) columns; -1: none. Levels with the same tokens have the same
  // array.
  const int32_t* tokens(int32_t level) const { return tokens_[level]; }
  // The first level with the same columns.
  int32_t like(int32_t level) const { return like_[level]; }
  // Of the logits, for the session; lives as long as this.
  const sidbeam_vocabulary& vocabulary() const { return vocabulary_; }
  // Of a code, to feed it; -1: none. (In an index that is damaged, what goes on may look like an end.)
  int32_t token(int32_t level, int32_t code) const {
    if (static_cast<uint32_t>(code) >= static_cast<uint32_t>(codes_[level])) return -1;
    return maps_[level] != nullptr ? maps_[level][code] : static_cast<int32_t>(offsets_[level] + code);
  }
  // Of a code, V_l the end, among the columns of the logits; -1: none.
  int64_t column(int32_t level, int32_t code) const {
    if (code == codes_[level]) return vocabulary_.end_column;
    return full_ ? token(level, code) : int64_t{1} + code;
  }
  int64_t memory_bytes() const;

 private:
  void copy_vocabulary(const Allocator& allocator, const OutputConfig& config);
  void check(const OutputConfig& config, int64_t tokens) const;
  void choose(const Allocator& allocator, const OutputConfig& config);

  int32_t levels_ = 0;
  bool full_ = false;
  int32_t codes_[SIDBEAM_MAX_LEVELS] = {};
  int64_t columns_[SIDBEAM_MAX_LEVELS] = {};
  const int32_t* tokens_[SIDBEAM_MAX_LEVELS] = {};
  int32_t like_[SIDBEAM_MAX_LEVELS] = {};
  // The caller's vocabulary, and the offsets of the level's own.
  int64_t offsets_[SIDBEAM_MAX_LEVELS] = {}, map_codes_[SIDBEAM_MAX_LEVELS] = {};
  const int32_t* maps_[SIDBEAM_MAX_LEVELS] = {};
  int64_t end_token_ = -1;
  int64_t level_offsets_[SIDBEAM_MAX_LEVELS] = {};
  Buffer<int32_t> owned_maps_[SIDBEAM_MAX_LEVELS], owned_tokens_[SIDBEAM_MAX_LEVELS];
  sidbeam_vocabulary vocabulary_ = SIDBEAM_VOCABULARY_INIT;
};

// The rows of the output layer that a runner needs, packed: made once per runner, shared by its lanes.
class Output {
 public:
  virtual ~Output() = default;
  const OutputColumns& columns() const { return columns_; }
  virtual int64_t memory_bytes() const = 0;

 protected:
  Output(const Allocator& allocator, const OutputConfig& config, int64_t tokens)
      : columns_(allocator, config, tokens) {}

 private:
  OutputColumns columns_;
};

}  // namespace sidbeam::runner
