// Descriptors of attention for rows that the host knows. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "runner/cuda/forward.h"
#include "support/cuda/check.h"

namespace sidbeam::runner::cuda {

// Those of a pass, to be sent.
class Parts {
 public:
  // `parts` is emptied and written; its memory stays for the next pass.
  Parts(const AttentionShape& shape, int32_t tile_rows, std::vector<SharedPart>& parts)
      : shape_(shape), tile_rows_(tile_rows), parts_(parts) {
    parts_.clear();
  }

  // Completes one, which has its keys, values and biases.
  void add(SharedPart part, int64_t rows, int64_t length, int32_t least) {
    part.first_row = rows_;
    part.first_item = items_;
    cut_keys(shape_, tile_rows_, least, rows, length, part);
    rows_ += rows;
    items_ += items_of(shape_, part);
    longest_ = std::max(longest_, length);
    merged_ = merged_ || part.splits > 1;
    parts_.push_back(part);
  }
  PassAttention send(SharedPart* to, cudaStream_t stream) {
    SharedPart end;
    end.first_row = rows_;
    end.first_item = items_;
    const auto count = static_cast<int64_t>(parts_.size());
    parts_.push_back(end);
    sidbeam::cuda::check(launch_describe(parts_.data(), count + 1, to, stream), "launch attention");
    return {to, count, blocks_of(shape_, plan_of(longest_, shape_.depth), items_, rows_ * shape_.heads), merged_};
  }

 private:
  AttentionShape shape_;
  int32_t tile_rows_;
  std::vector<SharedPart>& parts_;
  int64_t rows_ = 0, items_ = 0, longest_ = 0;
  bool merged_ = shape_.depth > 0;
};

}  // namespace sidbeam::runner::cuda
