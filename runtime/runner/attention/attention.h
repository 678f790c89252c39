// The one attention primitive: rows attend to one shared KV and to a list of ancestors (xGR's xAttention). It serves
// beams, cross attention, prefill and trees of drafts.
//
// The stages are merged by online softmax. Every element of a result is a chain of fused multiply-adds in a fixed order
// over blocks of keys at fixed places, so that a row's bits depend on no other row, nor on threads or instruction set.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "runner/attention/shared_kv.h"
#include "runner/math/workers.h"
#include "support/memory.h"

namespace sidbeam::runner {

// Rows of one request. A product of query and key is scaled, and then biases are added to it.
struct AttentionCall {
  int64_t rows = 0;
  const float* queries = nullptr;  // [rows, heads, head_dim], query_stride floats between rows
  int64_t query_stride = 0;
  float* output = nullptr;  // [rows, heads, head_dim], output_stride floats between rows; may be the queries
  int64_t output_stride = 0;
  float* log_sum_exp = nullptr;  // [rows, heads], if wanted

  const SharedKv* shared = nullptr;  // nullptr: no shared stage, or the one of shared_rows
  // Instead of `shared`, where the plan packs: rows that are packed block by block as they are read.
  KvRows shared_rows;
  int64_t shared_length = 0;
  const float* shared_bias = nullptr;  // [heads, length], shared_bias_stride floats between heads
  int64_t shared_bias_stride = 0;
  // Prefill: row i is at position first_position + i of the shared KV. Causal rows see keys up to their own.
  // relative_bias[h * relative_bias_stride + key - position] is added; it points at distance 0 of head 0.
  bool causal = false;
  int64_t first_position = 0;
  const float* relative_bias = nullptr;
  int64_t relative_bias_stride = 0;

  // Row r attends to the unshared slots ancestors[r * depth .. + depth), of which -1 are none.
  int32_t depth = 0;
  const int32_t* ancestors = nullptr;
  KvRows unshared;                       // of each slot
  const float* ancestor_bias = nullptr;  // [heads, depth], ancestor_bias_stride floats between heads
  int64_t ancestor_bias_stride = 0;
};

// What calls have in common.
struct AttentionPlan {
  HeadShape shape;
  float scale = 1.0F;
  int64_t rows = 0;    // most rows of a call
  bool packs = false;  // whether calls have shared_rows
  Workers workers;

  int64_t scratch_floats() const;
};

// A row that attends to nothing gives 0, and a log_sum_exp of -inf. `scratch` has scratch_floats() floats, aligned to
// 64 bytes. Allocates nothing. Returns the bytes of keys and values that it read: of the shared ones each once for all
// rows of a thread's share.
int64_t attend(const AttentionPlan& plan, std::span<const AttentionCall> calls, float* scratch);

// A plan with its scratch.
class Attention {
 public:
  Attention(const Allocator& allocator, const HeadShape& shape, float scale, int64_t rows, const Workers& workers)
      : plan_{shape, scale, rows, false, workers}, scratch_(allocator, plan_.scratch_floats()) {}

  void run(std::span<const AttentionCall> calls) { attend(plan_, calls, scratch_.data()); }
  void run(const AttentionCall& call) { run({&call, 1}); }
  int64_t memory_bytes() const { return scratch_.bytes(); }

 private:
  AttentionPlan plan_;
  Buffer<float> scratch_;
};

}  // namespace sidbeam::runner
