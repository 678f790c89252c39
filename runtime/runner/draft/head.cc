// SPDX-License-Identifier: Apache-2.0
#include "runner/draft/head.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "support/error.h"
#include "support/mapped_file.h"

namespace sidbeam::runner {
namespace {

using format::WeightKind;

// Weights as they stand in the file; nothing where it has none such.
Tensor tensor_of(const DraftHeader& header, std::span<const uint8_t> file, WeightKind kind, int32_t level) {
  for (const WeightSpec& spec : weights_of(header.shape)) {
    if (spec.kind != kind || spec.level != level) continue;
    for (const WeightSection& section : header.sections) {
      if (section.kind == kind && section.level == level)
        return {file.data() + section.offset, header.shape.dtype, spec.rows, spec.columns};
    }
  }
  return {};
}

// The weights of one level.
struct LevelReader {
  const DraftHeader& header;
  std::span<const uint8_t> file;
  const Allocator& allocator;
  int32_t level;

  Tensor tensor(WeightKind kind) const { return tensor_of(header, file, kind, level); }

  Buffer<float> floats(WeightKind kind) const {
    const Tensor from = tensor(kind);
    Buffer<float> values(allocator, from.outputs * from.inputs);
    widen(from, 0, values.size(), values.data());
    return values;
  }

  // The columns [first, first + count) of a matrix, packed.
  Matrix columns(WeightKind kind, int64_t first, int64_t count) const {
    Tensor from = tensor(kind);
    if (count == from.inputs) return pack_matrix(allocator, from, from.dtype);
    const int64_t size = dtype_bytes(from.dtype);
    Buffer<std::byte> part(allocator, checked_bytes(from.outputs, count * size));
    for (int64_t row = 0; row < from.outputs; ++row)
      std::memcpy(part.data() + row * count * size,
                  static_cast<const std::byte*>(from.data) + (row * from.inputs + first) * size,
                  static_cast<size_t>(count * size));
    from.data = part.data();
    from.inputs = count;
    return pack_matrix(allocator, from, from.dtype);
  }
};

void read_head(const LevelReader& reader, DraftLevel& level) {
  const DraftShape& shape = reader.header.shape;
  if (shape.input != SIDBEAM_DRAFT_INPUT_STATE)
    level.on_hidden = reader.columns(WeightKind::HeadWeight, 0, shape.hidden);
  if (shape.input != SIDBEAM_DRAFT_INPUT_HIDDEN)
    level.on_state = reader.columns(WeightKind::HeadWeight, shape.head_columns() - shape.hidden, shape.hidden);
  level.bias = reader.floats(WeightKind::HeadBias);
}

// moves = embeddings x W_i^T + b_i
void make_moves(const LevelReader& reader, Buffer<float> embeddings, int64_t gates, DraftLevel& level) {
  const Tensor weights = reader.tensor(WeightKind::InputWeight);
  const Matrix input = pack_matrix(reader.allocator, weights, weights.dtype);
  const Buffer<float> bias = reader.floats(WeightKind::InputBias);
  const int64_t codes = reader.header.shape.codes[reader.level], width = reader.header.shape.embedding;
  level.moves = Buffer<float>(reader.allocator, checked_bytes(codes, gates));
  const Workers workers{best_cpu_target(), nullptr};
  multiply(workers, ConstRows(embeddings.data(), codes, width), input, Rows(level.moves.data(), codes, gates),
           bias.size() > 0 ? Start::kBias : Start::kZero, bias.data());
}

void read_transition(const LevelReader& reader, DraftLevel& level) {
  const DraftShape& shape = reader.header.shape;
  Buffer<float> embeddings = reader.floats(WeightKind::Embedding);
  if (!shape.is_recurrent()) {
    level.moves = std::move(embeddings);
    return;
  }
  make_moves(reader, std::move(embeddings), shape.gates(), level);
  const Tensor recurrent = reader.tensor(WeightKind::RecurrentWeight);
  level.recurrent = pack_matrix(reader.allocator, recurrent, recurrent.dtype);
  level.recurrent_bias = reader.floats(WeightKind::RecurrentBias);
}

void fill_info(const DraftHeader& header, DraftHead& head) {
  sidbeam_draft_head_info& info = head.info;
  info.levels = head.shape.levels;
  info.hidden = head.shape.hidden;
  info.embedding = head.shape.embedding;
  info.input = head.shape.input;
  info.transition = head.shape.transition;
  info.dtype = static_cast<int32_t>(head.shape.dtype);
  info.codes = head.shape.codes;
  for (const WeightSection& section : header.sections) {
    if (section.kind <= WeightKind::MAX)  // others are of a newer library
      info.parameters += static_cast<int64_t>(section.length) / dtype_bytes(head.shape.dtype);
  }
  info.file_bytes = static_cast<int64_t>(header.file_bytes);
  for (const DraftLevel& level : head.levels) info.memory_bytes += level.memory_bytes();
  info.codebook = head.shape.codebook.c_str();
}

void check_finite(const DraftHeader& header, std::span<const uint8_t> file) {
  for (const WeightSpec& spec : weights_of(header.shape)) {
    const Tensor tensor = tensor_of(header, file, spec.kind, spec.level);
    const int64_t unfit = first_unfit_weight(spec.kind, tensor);
    if (unfit < 0) continue;
    float value;
    widen(tensor, unfit, 1, &value);
    fail(SIDBEAM_CORRUPT, "%s of level %d is %g at [%lld, %lld], expected finite numbers", weight_name(spec.kind),
         spec.level, static_cast<double>(value), static_cast<long long>(unfit / spec.columns),
         static_cast<long long>(unfit % spec.columns));
  }
}

}  // namespace

int64_t DraftLevel::memory_bytes() const {
  return on_hidden.memory_bytes() + on_state.memory_bytes() + bias.bytes() + moves.bytes() + recurrent.memory_bytes() +
         recurrent_bias.bytes();
}

DraftHead* make_draft_head(std::span<const uint8_t> file, const Allocator& allocator) {
  const DraftHeader header = decode_draft_header(file);
  check_weights(header, file);
  check_finite(header, file);
  auto head = std::make_unique<DraftHead>();
  head->shape = header.shape;
  head->levels.resize(static_cast<size_t>(header.shape.levels));
  const int32_t transitions = header.shape.transition == SIDBEAM_DRAFT_TRANSITION_NONE ? 0 : header.shape.levels - 1;
  for (int32_t l = 0; l < header.shape.levels; ++l) {
    const LevelReader reader{header, file, allocator, l};
    read_head(reader, head->levels[static_cast<size_t>(l)]);
    if (l < transitions) read_transition(reader, head->levels[static_cast<size_t>(l)]);
  }
  fill_info(header, *head);
  return head.release();
}

DraftHead* open_draft_head(const char* path, const Allocator& allocator) {
  const InputFile input = open_file(path);
  // Not mapped: what is checked must be what is packed, and a file that is truncated meanwhile an error.
  Buffer<uint8_t> file(allocator, input.bytes);
  read_file(input, path, 0, file.data(), input.bytes);
  return make_draft_head({file.data(), static_cast<size_t>(input.bytes)}, allocator);
}

}  // namespace sidbeam::runner
