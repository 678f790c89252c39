// A draft head's file: its shape determines which weights it has, in the same way for writer and reader.
// schemas/README.md describes the file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runner/math/matrix.h"
#include "schemas/draft_head_generated.h"
#include "sidbeam/draft.h"

namespace sidbeam::runner {

inline constexpr int32_t kMostWidth = 65536;  // of hidden states and embeddings
inline constexpr uint64_t kWeightAlignment = 64;

struct DraftShape {
  int32_t levels = 0, hidden = 0;
  int32_t embedding = 0;  // 0 without a transition
  int32_t input = 0, transition = 0;
  Dtype dtype = Dtype::kF32;
  int32_t codes[SIDBEAM_MAX_LEVELS] = {};
  std::string codebook;

  int64_t head_columns() const { return int64_t{hidden} * (input == SIDBEAM_DRAFT_INPUT_BOTH ? 2 : 1); }
  bool is_recurrent() const {
    return transition == SIDBEAM_DRAFT_TRANSITION_RNN || transition == SIDBEAM_DRAFT_TRANSITION_GRU;
  }
  // Rows of a transition's matrices.
  int64_t gates() const { return int64_t{hidden} * (transition == SIDBEAM_DRAFT_TRANSITION_GRU ? 3 : 1); }
};

// What a section holds; a bias has one row.
struct WeightSpec {
  format::WeightKind kind = format::WeightKind::None;
  int32_t level = 0;
  int64_t rows = 0, columns = 0;
  bool optional = false;

  uint64_t bytes(Dtype dtype) const { return static_cast<uint64_t>(rows * columns * dtype_bytes(dtype)); }
};

struct WeightSection {
  format::WeightKind kind = format::WeightKind::None;
  int32_t level = 0;
  bool required = true;
  uint64_t offset = 0, length = 0, checksum = 0;
};

// All weights that a head of this shape can have, in file order.
std::vector<WeightSpec> weights_of(const DraftShape& shape);
const char* weight_name(format::WeightKind kind);
// The first element that a head must not have, -1: none. All are finite, except a bias of -inf, whose code is never
// found.
int64_t first_unfit_weight(format::WeightKind kind, const Tensor& weights);
uint64_t weight_checksum(const void* data, uint64_t bytes);
uint64_t aligned(uint64_t offset);

struct DraftHeader {
  DraftShape shape;
  uint64_t file_bytes = 0;
  std::vector<WeightSection> sections;
};

// Preamble and FlatBuffer. Its length does not depend on offsets and checksums.
std::vector<uint8_t> encode_draft_header(const DraftHeader& header);
// Checks everything except the weights themselves: afterwards every section lies in the file and has the length that
// the shape says. Throws CORRUPT and UNSUPPORTED.
DraftHeader decode_draft_header(std::span<const uint8_t> file);
// The checksum of every section, and that all other bytes after the header are zero. Throws CORRUPT.
void check_weights(const DraftHeader& header, std::span<const uint8_t> file);

}  // namespace sidbeam::runner
