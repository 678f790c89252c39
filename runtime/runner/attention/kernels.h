// Attention's kernels, one table per instruction set; all give the same bits. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runner/attention/shared_kv.h"
#include "support/cpu_target.h"

namespace sidbeam::runner {

inline constexpr int64_t kKeyBlock = 256;  // keys between two steps of the online softmax
inline constexpr int64_t kTileRows = 24;   // rows that meet a panel while it is in the cache

// Rows of one head on their way through the stages.
struct HeadRows {
  int64_t count;
  int32_t head_dim;
  int64_t dims;  // head_dim, rounded up to panels
  float scale;
  const float* queries;  // [count, head_dim], query_stride floats between rows
  int64_t query_stride;
  // The weighted sum of values so far, [count, dims], and that of the weights, both relative to exp(largest).
  float* output;
  float* sum;
  float* largest;
};

// Keys of one KV head, at most kKeyBlock, packed as in PackedHead. Row r sees the first visible(r) of them.
struct KeyBlock {
  const float* keys;
  const float* values;
  int64_t value_stride;
  int64_t count;
  bool causal;
  int64_t first_visible;  // of row 0 where causal; a row sees one more than the row before
  const float* bias;      // [count], or nullptr
  const float* row_bias;  // of row r at row_bias + r * row_bias_stride: [count], or nullptr
  int64_t row_bias_stride;

  int64_t visible(int64_t row) const {
    const int64_t seen = first_visible + row;
    return !causal || seen > count ? count : seen < 0 ? 0 : seen;
  }
};

// The ancestors of HeadRows: positions in keys and values of the KV head.
struct AncestorRows {
  const int32_t* ancestors;  // [count, depth]; -1: none
  int32_t depth;
  KvRows rows;
  const float* bias;  // [depth], or nullptr
};

struct KernelScratch {
  float* scores;   // [kTileRows, kKeyBlock]
  float* queries;  // [kTileRows, dims]
  float* row;      // [dims]
};

struct AttentionKernels {
  // Packs the first head of rows [0, count) as positions [first, first + count).
  void (*pack)(const PackedHead&, int32_t head_dim, int64_t first, int64_t count, const KvRows& rows);
  void (*attend_shared)(const HeadRows&, const KeyBlock&, const KernelScratch&);
  void (*attend_ancestors)(const HeadRows&, const AncestorRows&, const KernelScratch&);
  // Divides by the sums: [count, head_dim], `stride` floats between rows.
  void (*finish)(const HeadRows&, float* output, int64_t stride);
};

const AttentionKernels& attention_kernels_of(CpuTarget target);

}  // namespace sidbeam::runner
