// SPDX-License-Identifier: Apache-2.0
#include "runner/draft/writer.h"

#include "runner/draft/format.h"
#include "support/error.h"
#include "support/output_file.h"

namespace sidbeam::runner {
namespace {

using format::WeightKind;

struct Array {
  WeightSection section;
  const void* data;
};

void check_transition(const sidbeam_draft_weights& weights, const DraftShape& shape) {
  if (shape.input == SIDBEAM_DRAFT_INPUT_HIDDEN && shape.transition != SIDBEAM_DRAFT_TRANSITION_NONE)
    fail(SIDBEAM_INVALID_ARGUMENT, "weights.transition is %d, expected NONE (%d) with INPUT_HIDDEN, which has no state",
         shape.transition, SIDBEAM_DRAFT_TRANSITION_NONE);
  if (shape.transition == SIDBEAM_DRAFT_TRANSITION_ADD && shape.embedding != shape.hidden)
    fail(SIDBEAM_INVALID_ARGUMENT, "weights.embedding is %d, expected %d, the hidden size, with TRANSITION_ADD",
         weights.embedding, shape.hidden);
}

DraftShape shape_of(const sidbeam_draft_weights& weights) {
  check_range("weights.levels", weights.levels, 1, SIDBEAM_MAX_LEVELS);
  check_range("weights.hidden", weights.hidden, 1, kMostWidth);
  check_range("weights.embedding", weights.embedding, 0, kMostWidth);
  check_range("weights.input", weights.input, SIDBEAM_DRAFT_INPUT_BOTH, SIDBEAM_DRAFT_INPUT_STATE);
  check_range("weights.transition", weights.transition, SIDBEAM_DRAFT_TRANSITION_RNN, SIDBEAM_DRAFT_TRANSITION_NONE);
  check_range("weights.dtype", weights.dtype, SIDBEAM_DTYPE_F32, SIDBEAM_DTYPE_BF16);
  if (weights.codes == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "weights.codes is NULL, expected an array");
  DraftShape shape;
  shape.levels = weights.levels;
  shape.hidden = weights.hidden;
  shape.input = weights.input;
  shape.transition = weights.transition;
  shape.dtype = static_cast<Dtype>(weights.dtype);
  if (shape.transition != SIDBEAM_DRAFT_TRANSITION_NONE)
    shape.embedding = weights.embedding == 0 ? weights.hidden : weights.embedding;
  for (int32_t l = 0; l < shape.levels; ++l) {
    check_range("an entry of weights.codes", weights.codes[l], 1, SIDBEAM_MAX_CODES);
    shape.codes[l] = weights.codes[l];
  }
  if (weights.codebook != nullptr) shape.codebook = weights.codebook;
  check_transition(weights, shape);
  return shape;
}

// The list of arrays of a kind, and what the header calls it.
struct List {
  const void* const* arrays;
  const char* name;
};
List list_of(const sidbeam_draft_weights& weights, WeightKind kind) {
  switch (kind) {
    case WeightKind::HeadWeight:
      return {weights.head_weights, "head_weights"};
    case WeightKind::HeadBias:
      return {weights.head_biases, "head_biases"};
    case WeightKind::Embedding:
      return {weights.embeddings, "embeddings"};
    case WeightKind::InputWeight:
      return {weights.input_weights, "input_weights"};
    case WeightKind::InputBias:
      return {weights.input_biases, "input_biases"};
    case WeightKind::RecurrentWeight:
      return {weights.recurrent_weights, "recurrent_weights"};
    default:
      return {weights.recurrent_biases, "recurrent_biases"};
  }
}

std::vector<Array> arrays_of(const sidbeam_draft_weights& weights, const DraftShape& shape) {
  std::vector<Array> arrays;
  for (const WeightSpec& spec : weights_of(shape)) {
    const List list = list_of(weights, spec.kind);
    if (list.arrays == nullptr || list.arrays[spec.level] == nullptr) {
      if (spec.optional) continue;
      fail(SIDBEAM_INVALID_ARGUMENT, "weights.%s is NULL, or NULL at level %d, expected an array of %lld by %lld",
           list.name, spec.level, static_cast<long long>(spec.rows), static_cast<long long>(spec.columns));
    }
    const void* data = list.arrays[spec.level];
    const int64_t unfit = first_unfit_weight(spec.kind, {data, shape.dtype, spec.rows, spec.columns});
    if (unfit >= 0)
      fail(SIDBEAM_INVALID_ARGUMENT, "weights.%s at level %d is not finite at [%lld, %lld], expected finite numbers",
           list.name, spec.level, static_cast<long long>(unfit / spec.columns),
           static_cast<long long>(unfit % spec.columns));
    const uint64_t bytes = spec.bytes(shape.dtype);
    arrays.push_back({{spec.kind, spec.level, true, 0, bytes, weight_checksum(data, bytes)}, data});
  }
  return arrays;
}

void write_zeros(OutputFile& file, uint64_t bytes) {
  static constexpr uint8_t kZeros[kWeightAlignment] = {};
  if (bytes > 0) file.write(kZeros, static_cast<int64_t>(bytes));
}

}  // namespace

void write_draft_head(const char* path, const sidbeam_draft_weights& weights) {
  DraftHeader header;
  header.shape = shape_of(weights);
  std::vector<Array> arrays = arrays_of(weights, header.shape);
  for (const Array& array : arrays) header.sections.push_back(array.section);
  uint64_t end = encode_draft_header(header).size();
  for (WeightSection& section : header.sections) {
    section.offset = aligned(end);
    end = section.offset + section.length;
  }
  header.file_bytes = aligned(end);
  const std::vector<uint8_t> bytes = encode_draft_header(header);

  OutputFile file(path, weights.allow_attribute_loss != 0);
  file.reserve(static_cast<int64_t>(header.file_bytes));
  file.write(bytes.data(), static_cast<int64_t>(bytes.size()));
  uint64_t written = bytes.size();
  for (size_t i = 0; i < arrays.size(); ++i) {
    const WeightSection& section = header.sections[i];
    write_zeros(file, section.offset - written);
    file.write(arrays[i].data, static_cast<int64_t>(section.length));
    written = section.offset + section.length;
  }
  write_zeros(file, header.file_bytes - written);
  file.sync();
  file.commit();
}

}  // namespace sidbeam::runner
