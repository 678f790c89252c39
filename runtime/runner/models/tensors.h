// The tensors of a model by the names that transformers gives them, whatever prefix the checkpoint has, an adapter's
// changes merged; read in pieces, so that a file is never in memory beside what is packed of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "runner/formats/adapter.h"
#include "runner/formats/checkpoint.h"
#include "runner/formats/config.h"
#include "runner/math/matrix.h"
#include "support/memory.h"

namespace sidbeam::runner {

// Rows of a tensor of a model.
struct StoredRows {
  std::string name;
  const Checkpoint* from = nullptr;
  Weights weights;
  int64_t first = 0, rows = 0, columns = 0;
  Dtype dtype = Dtype::kF32;      // as stored; F64 counts as f32
  std::optional<LowRank> change;  // to be added; pieces are f32 then
};

class ModelTensors {
 public:
  // All of them outlive it; adapter: nullptr for none. A piece has about piece_bytes, and at least a row. Throws
  // Failure: IO_ERROR, CORRUPT, UNSUPPORTED.
  ModelTensors(const Allocator& allocator, const Checkpoint& checkpoint, const Adapter* adapter,
               const ModelConfig& config, int64_t piece_bytes);

  bool has(const std::string& name) const;
  // As a piece of it is; f32 where there is no such tensor, which whoever reads it is told.
  Dtype type_of(const std::string& name) const;
  // Whether it is a tensor of its own, not the embedding. Throws CORRUPT where it can be neither.
  bool has_output_layer(const ModelConfig& config) const;
  // Rows [first, first + rows) of a tensor of [of, columns], or a vector of one row. Throws as Checkpoint::tensor().
  StoredRows rows(const std::string& name, int64_t of, int64_t columns, int64_t first, int64_t rows);
  StoredRows matrix(const std::string& name, int64_t rows, int64_t columns) {
    return this->rows(name, rows, columns, 0, rows);
  }
  StoredRows vector(const std::string& name, int64_t size) { return find(name, {size}, 0, 1, size); }

  // Calls use(first row of the piece, piece) for all of them. Throws where an element is not finite (CORRUPT), or
  // `held` has no room for it (INVALID_ARGUMENT).
  template <class Use>
  void read(const StoredRows& stored, Dtype held, const Use& use) {
    const int64_t step = std::max<int64_t>(1, piece_bytes_ / std::max<int64_t>(1, stored.columns * 4));
    for (int64_t row = 0; row < stored.rows; row += step)
      use(row, piece(stored, held, row, std::min(step, stored.rows - row)));
  }

  int64_t parameters() const { return parameters_; }
  // The checkpoint's tensors that were not asked for, by name, rising; without those that transformers ignores, too.
  // Throws UNSUPPORTED where an adapter's were not.
  std::vector<std::string> left() const;

 private:
  void find_prefix(const ModelConfig& config);
  void check_copies(const ModelConfig& config) const;
  // The first element at which two tensors of the checkpoint, of one shape, differ; -1: none.
  int64_t first_difference(const Weights& a, const Weights& b) const;
  // Throws UNSUPPORTED where an adapter changes one of two layers that are one.
  void check_tied() const;
  std::string name_in_file(const std::string& name) const;
  StoredRows find(const std::string& name, std::initializer_list<int64_t> shape, int64_t first, int64_t rows,
                  int64_t columns);
  // Room for so many elements, until the next call.
  std::byte* raw(int64_t elements, StoredType type);
  Tensor piece(const StoredRows& stored, Dtype held, int64_t row, int64_t rows);
  void read_factor(const Factor& factor, int64_t first, int64_t n, float* out);
  void read_down(const LowRank& change, int64_t columns);
  void read_up(const LowRank& change, int64_t row, int64_t rows);
  void add_change(const StoredRows& stored, int64_t row, int64_t rows);
  [[noreturn]] void refuse(const StoredRows& stored, float value, int64_t row, int64_t column) const;

  const Allocator allocator_;  // a copy: what it is made of may be a temporary
  const Checkpoint& checkpoint_;
  const Adapter* adapter_;
  std::string outer_;  // before every name
  bool inner_ = true;  // a decoder's names begin with "model.", as its whole model's do
  bool encodes_;
  std::vector<std::string> read_, read_of_adapter_;  // names in the files
  Buffer<std::byte> raw_;
  Buffer<float> wide_;
  std::vector<float> down_, up_;  // of the tensor, and of the rows, that are read
  int64_t piece_bytes_, parameters_ = 0;
};

}  // namespace sidbeam::runner
