// Shares calls among threads: an item is some rows of a call and the heads that read one KV head, with which all keys
// are read once. SPDX-License-Identifier: Apache-2.0
#include "runner/attention/attention.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "runner/attention/kernels.h"
#include "sidbeam/base.h"
#include "support/portable_math.h"

namespace sidbeam::runner {
namespace {

constexpr int64_t kMostRows = 4096;  // of an item; with more rows the keys are read once more

int64_t rows_of_item(const AttentionPlan& plan) { return std::clamp<int64_t>(plan.rows, 1, kMostRows); }

// A thread's scratch.
struct Scratch {
  KernelScratch kernels{};
  PackedHead packed{};
  float* output = nullptr;  // [group, rows, dims]
  float* sum = nullptr;     // [group, rows]
  float* largest = nullptr;

  // Without memory only counts.
  static int64_t carve(const AttentionPlan& plan, float* memory, Scratch& out) {
    const HeadShape& shape = plan.shape;
    const int64_t dims = shape.dims(), rows = shape.group() * rows_of_item(plan);
    int64_t used = 0;
    const auto take = [&](float*& part, int64_t floats) {
      if (memory != nullptr) part = memory + used;
      used += (floats + 15) / 16 * 16;
    };
    take(out.kernels.scores, kTileRows * kKeyBlock);
    take(out.kernels.queries, kTileRows * dims);
    take(out.kernels.row, dims);
    if (plan.packs) {
      take(out.packed.keys, kKeyBlock * shape.head_dim);
      take(out.packed.values, kKeyBlock * dims);
      out.packed.value_stride = kKeyBlock;
    }
    take(out.output, rows * dims);
    take(out.sum, rows);
    take(out.largest, rows);
    return used;
  }
};

// Rows [first, first + count) of a call and the query heads of one KV head.
struct Item {
  const AttentionCall* call;
  int32_t kv_head;
  int64_t first, count;
};

class ItemRun {
 public:
  ItemRun(const AttentionPlan& plan, const Item& item, const Scratch& scratch)
      : plan_(plan),
        call_(*item.call),
        item_(item),
        scratch_(scratch),
        kernels_(attention_kernels_of(plan.workers.target)) {}

  // Returns the bytes of keys and values that it read.
  int64_t run() const {
    const int64_t states = plan_.shape.group() * item_.count;
    std::fill_n(scratch_.output, states * plan_.shape.dims(), 0.0F);
    std::fill_n(scratch_.sum, states, 0.0F);
    std::fill_n(scratch_.largest, states, -std::numeric_limits<float>::infinity());
    const int64_t bytes = attend_shared() + attend_ancestors();
    finish();
    return bytes;
  }

 private:
  int32_t first_head() const { return item_.kv_head * plan_.shape.group(); }

  HeadRows rows_of(int32_t in_group) const {
    const HeadShape& shape = plan_.shape;
    const int64_t head = first_head() + in_group, from = in_group * item_.count;
    return {item_.count,
            shape.head_dim,
            shape.dims(),
            plan_.scale,
            call_.queries + item_.first * call_.query_stride + head * shape.head_dim,
            call_.query_stride,
            scratch_.output + from * shape.dims(),
            scratch_.sum + from,
            scratch_.largest + from};
  }

  int64_t attend_shared() const {
    const int64_t first_position = call_.first_position + item_.first;
    int64_t length = call_.shared != nullptr ? call_.shared->length : call_.shared_length;
    if (call_.causal) length = std::min(length, first_position + item_.count);
    for (int64_t from = 0; from < length; from += kKeyBlock) {
      KeyBlock block = block_at(from, std::min(kKeyBlock, length - from));
      block.causal = call_.causal;
      block.first_visible = first_position + 1 - from;
      for (int32_t g = 0; g < plan_.shape.group(); ++g) {
        const int64_t head = first_head() + g;
        if (call_.shared_bias != nullptr) block.bias = call_.shared_bias + head * call_.shared_bias_stride + from;
        if (call_.relative_bias != nullptr) {
          block.row_bias = call_.relative_bias + head * call_.relative_bias_stride + from - first_position;
          block.row_bias_stride = -1;
        }
        kernels_.attend_shared(rows_of(g), block, scratch_.kernels);
      }
    }
    return length * bytes_of_position(call_.shared != nullptr ? SIDBEAM_DTYPE_F32 : call_.shared_rows.dtype);
  }

  // Of the keys and values of one head.
  int64_t bytes_of_position(int32_t dtype) const {
    return int64_t{2} * plan_.shape.head_dim * (dtype == SIDBEAM_DTYPE_F32 ? 4 : 2);
  }

  KeyBlock block_at(int64_t from, int64_t count) const {
    const HeadShape& shape = plan_.shape;
    KeyBlock block{};
    block.count = count;
    if (call_.shared != nullptr) {
      block.keys = call_.shared->head_keys(item_.kv_head) + from * shape.head_dim;
      block.values = call_.shared->head_values(item_.kv_head) + from * HeadShape::kPanel;
      block.value_stride = call_.shared->capacity;
      return block;
    }
    kernels_.pack(scratch_.packed, shape.head_dim, 0, count, call_.shared_rows.at(from, item_.kv_head, shape.head_dim));
    if (call_.shared_bias != nullptr) clear_masked(from, count);
    block.keys = scratch_.packed.keys;
    block.values = scratch_.packed.values;
    block.value_stride = scratch_.packed.value_stride;
    return block;
  }

  // Packs zeros where a bias of -inf hides a key from all heads of the KV head, as on CUDA: NaN plus -inf is NaN, and
  // so is 0 times NaN.
  void clear_masked(int64_t from, int64_t count) const {
    constexpr int64_t kPanel = HeadShape::kPanel;
    const HeadShape& shape = plan_.shape;
    for (int64_t i = 0; i < count; ++i) {
      bool masked = true;
      for (int32_t g = 0; g < shape.group() && masked; ++g)
        masked = call_.shared_bias[(first_head() + g) * call_.shared_bias_stride + from + i] ==
                 -std::numeric_limits<float>::infinity();
      if (!masked) continue;
      float* const key = scratch_.packed.keys + i / kPanel * kPanel * shape.head_dim + i % kPanel;
      for (int64_t k = 0; k < shape.head_dim; ++k) key[k * kPanel] = 0.0F;
      for (int64_t k = 0; k < shape.dims(); k += kPanel)
        std::fill_n(scratch_.packed.values + k * scratch_.packed.value_stride + i * kPanel, kPanel, 0.0F);
    }
  }

  int64_t attend_ancestors() const {
    if (call_.depth == 0) return 0;
    const HeadShape& shape = plan_.shape;
    AncestorRows ancestors{call_.ancestors + item_.first * call_.depth, call_.depth,
                           call_.unshared.at(0, item_.kv_head, shape.head_dim), nullptr};
    for (int32_t g = 0; g < shape.group(); ++g) {
      if (call_.ancestor_bias != nullptr)
        ancestors.bias = call_.ancestor_bias + (first_head() + g) * call_.ancestor_bias_stride;
      kernels_.attend_ancestors(rows_of(g), ancestors, scratch_.kernels);
    }
    const int64_t entries = item_.count * call_.depth;
    const int64_t none = std::count(ancestors.ancestors, ancestors.ancestors + entries, -1);
    return (entries - none) * bytes_of_position(call_.unshared.dtype);
  }

  void finish() const {
    for (int32_t g = 0; g < plan_.shape.group(); ++g) {
      const HeadRows rows = rows_of(g);
      const int64_t head = first_head() + g;
      kernels_.finish(rows, call_.output + item_.first * call_.output_stride + head * plan_.shape.head_dim,
                      call_.output_stride);
      for (int64_t r = 0; r < rows.count && call_.log_sum_exp != nullptr; ++r) {
        call_.log_sum_exp[(item_.first + r) * plan_.shape.heads + head] = log_sum_exp(rows.largest[r], rows.sum[r]);
      }
    }
  }

  static float log_sum_exp(float largest, float sum) {
    if (sum == 0.0F) return -std::numeric_limits<float>::infinity();
    if (!(sum > 0.0F)) return sum;  // NaN
    return static_cast<float>(static_cast<double>(largest) + portable_log(static_cast<double>(sum)));
  }

  const AttentionPlan& plan_;
  const AttentionCall& call_;
  const Item& item_;
  const Scratch& scratch_;
  const AttentionKernels& kernels_;
};

// The items of a call, numbered: the parts of its rows for KV head 0, then for 1, ...
struct Items {
  std::span<const AttentionCall> calls;
  int32_t kv_heads;
  int64_t rows;  // of a part, at most

  int64_t parts(const AttentionCall& call) const { return (call.rows + rows - 1) / rows; }
  int64_t count() const {
    int64_t sum = 0;
    for (const AttentionCall& call : calls) sum += parts(call) * kv_heads;
    return sum;
  }
  Item at(int64_t i) const {
    const AttentionCall* call = calls.data();
    while (i >= parts(*call) * kv_heads) i -= parts(*call++) * kv_heads;
    const int64_t first = i % parts(*call) * rows;
    return {call, static_cast<int32_t>(i / parts(*call)), first, std::min(rows, call->rows - first)};
  }
};

// Parts of whole tiles, so many that every thread gets some.
int64_t rows_of_part(const AttentionPlan& plan, std::span<const AttentionCall> calls) {
  const int64_t most = rows_of_item(plan), width = plan.workers.width();
  const int64_t heads = plan.shape.kv_heads * static_cast<int64_t>(calls.size());
  if (width == 1 || heads >= 4 * width) return most;
  int64_t rows = 0;
  for (const AttentionCall& call : calls) rows = std::max(rows, call.rows);
  const int64_t parts = (4 * width + heads - 1) / heads;
  const int64_t tiles = (rows + parts * kTileRows - 1) / (parts * kTileRows);
  return std::clamp<int64_t>(tiles * kTileRows, 1, most);
}

}  // namespace

int64_t AttentionPlan::scratch_floats() const {
  Scratch scratch;
  return Scratch::carve(*this, nullptr, scratch) * workers.width();
}

int64_t attend(const AttentionPlan& plan, std::span<const AttentionCall> calls, float* scratch) {
  const Items items{calls, plan.shape.kv_heads, rows_of_part(plan, calls)};
  const int64_t count = items.count(), per_thread = plan.scratch_floats() / plan.workers.width();
  std::atomic<int64_t> next{0}, bytes{0};
  plan.workers.split(std::min(plan.workers.width(), count), 1, [&](int64_t thread, int64_t end) {
    for (; thread < end; ++thread) {
      Scratch own;
      Scratch::carve(plan, scratch + thread * per_thread, own);
      for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
        bytes.fetch_add(ItemRun(plan, items.at(i), own).run(), std::memory_order_relaxed);
      }
    }
  });
  return bytes;
}

}  // namespace sidbeam::runner
