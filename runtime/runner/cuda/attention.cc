// Attention for hosts that have their own model: sidbeam_attention_run() and its like on a CUDA device.
// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/attention.h"

#include <algorithm>
#include <cmath>

#include "runner/cuda/attention_plan.h"
#include "runner/cuda/device.h"
#include "runner/cuda/memory.h"
#include "runner/cuda/permute.h"
#include "runner/cuda/plugin.h"
#include "sidbeam/rows.h"
#include "support/cuda/check.h"
#include "support/cuda/range.h"
#include "support/error.h"
#include "support/guard.h"

namespace sidbeam::runner::cuda {
namespace {

using sidbeam::cuda::check;
using sidbeam::cuda::check_address;
using sidbeam::cuda::check_stream;
using sidbeam::cuda::Range;

constexpr int64_t kMostQueries = INT32_MAX;  // rows times heads
constexpr int kPartsAtOnce = 32;
constexpr int64_t kPermuteBytes = 48 * 1024, kSectorBytes = 32;

AttentionShape shape_of(const sidbeam_attention_args& args, const Device& device) {
  if (args.kv_dtype != args.dtype)
    fail(SIDBEAM_INVALID_ARGUMENT, "args.kv_dtype is %d, expected that of the queries on CUDA, %d", args.kv_dtype,
         args.dtype);
  if (args.rows > kMostQueries / args.heads)
    fail(SIDBEAM_INVALID_ARGUMENT, "args.rows is %lld, expected at most %lld of %d heads on CUDA",
         static_cast<long long>(args.rows), static_cast<long long>(kMostQueries / args.heads), args.heads);
  return {args.dtype, args.heads, args.kv_heads, args.head_dim, args.depth, device.processors};
}

// Where the parts of a workspace are.
struct Places {
  int64_t parts = 0, statistics = 0, sums = 0, bytes = 0;
  int64_t unshared_partials = 0;  // the first of them
};

Places places_of(const AttentionShape& shape, int64_t requests, int64_t rows) {
  Places places;
  places.unshared_partials = most_items(shape, requests, rows) * attention_tile_rows(shape.dtype);
  const int64_t partials = places.unshared_partials + rows * shape.heads;
  int64_t sums = 0;
  if (__builtin_mul_overflow(partials, shape.head_dim * int64_t{sizeof(float)}, &sums))
    fail(SIDBEAM_INVALID_ARGUMENT, "args: the workspace of these shapes overflows");
  places.statistics = aligned_up((requests + 1) * int64_t{sizeof(SharedPart)});
  places.sums = places.statistics + aligned_up(partials * kStatistics * int64_t{sizeof(float)});
  places.bytes = places.sums + aligned_up(sums);
  return places;
}

// Descriptors of the requests, in the order they have on the device.
class Parts {
 public:
  Parts(const AttentionShape& shape, const sidbeam_attention_args& args) : shape_(shape), args_(args) {}

  // The next one.
  SharedPart next(int64_t request) {
    SharedPart part;
    part.first_row = args_.row_offsets[request];
    part.first_item = items;
    const int64_t length = args_.shared_lengths != nullptr ? args_.shared_lengths[request] : 0;
    const int64_t rows = args_.row_offsets[request + 1] - part.first_row;
    cut_keys(shape_, attention_tile_rows(shape_.dtype), least_items(shape_, plan_of(length, shape_.depth)), rows,
             length, part);
    if (length > 0) {
      part.keys = args_.shared_keys[request];
      part.values = args_.shared_values[request];
      part.bias = args_.shared_bias != nullptr ? args_.shared_bias[request] : nullptr;
      part.bias_head_stride = length;
    }
    items += items_of(shape_, part);
    longest = std::max(longest, length);
    merged = merged || part.splits > 1 || shape_.depth > 0;
    return part;
  }
  SharedPart end() const {
    SharedPart part;
    part.first_row = args_.rows;
    part.first_item = items;
    return part;
  }

  int64_t items = 0, longest = 0;
  bool merged = false;

 private:
  const AttentionShape& shape_;
  const sidbeam_attention_args& args_;
};

void describe(Parts& parts, int64_t requests, SharedPart* out, cudaStream_t stream) {
  SharedPart some[kPartsAtOnce];
  for (int64_t done = 0; done <= requests; done += kPartsAtOnce) {
    const int64_t count = std::min<int64_t>(kPartsAtOnce, requests + 1 - done);
    for (int64_t i = 0; i < count; ++i) some[i] = done + i < requests ? parts.next(done + i) : parts.end();
    check(launch_describe(some, count, out + done, stream), "launch attention");
  }
}

AttentionView view_of(const sidbeam_attention_args& args, const Places& places) {
  auto* workspace = static_cast<uint8_t*>(args.workspace);
  AttentionView view;
  view.dtype = args.dtype;
  view.heads = args.heads;
  view.kv_heads = args.kv_heads;
  view.head_dim = args.head_dim;
  view.depth = args.depth;
  view.scale = args.scale != 0.0F ? args.scale : 1.0F / std::sqrt(static_cast<float>(args.head_dim));
  view.parts = reinterpret_cast<const SharedPart*>(workspace + places.parts);
  view.requests = args.requests;
  view.queries = args.queries;
  view.query_stride = args.query_stride != 0 ? args.query_stride : int64_t{args.heads} * args.head_dim;
  view.unshared_keys = args.unshared_keys;
  view.unshared_values = args.unshared_values;
  view.unshared_slots = args.unshared_length;
  view.ancestors = args.ancestors;
  view.ancestor_bias = args.ancestor_bias;
  view.output = args.output;
  view.log_sum_exp = args.log_sum_exp;
  view.statistics = reinterpret_cast<float*>(workspace + places.statistics);
  view.sums = reinterpret_cast<float*>(workspace + places.sums);
  return view;
}

void run(const sidbeam_attention_args& args) {
  const Range range("sidbeam attention");
  const Device& device = device_of(args.device_id);
  const AttentionShape shape = shape_of(args, device);
  if (args.rows == 0) return;
  const Current current(device);
  check_stream(device.id, args.stream);
  check_address(device.id, args.queries, "args.queries");
  check_address(device.id, args.output, "args.output");
  check_address(device.id, args.workspace, "args.workspace");
  const Places places = places_of(shape, args.requests, args.rows);
  if (args.workspace_bytes < places.bytes || reinterpret_cast<uintptr_t>(args.workspace) % kArrayAlignment != 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "args.workspace has %lld bytes at %p, expected %lld at a multiple of %lld",
         static_cast<long long>(args.workspace_bytes), args.workspace, static_cast<long long>(places.bytes),
         static_cast<long long>(kArrayAlignment));
  const auto stream = static_cast<cudaStream_t>(args.stream);
  AttentionView view = view_of(args, places);
  Parts parts(shape, args);
  describe(parts, args.requests, const_cast<SharedPart*>(view.parts), stream);
  const StageBlocks blocks = blocks_of(shape, plan_of(parts.longest, shape.depth), parts.items, args.rows * args.heads);
  if (blocks.unshared > 0) view.unshared_partials = places.unshared_partials;
  check(launch_attention(view, blocks, parts.merged, stream), "launch attention");
}

// The widest words that rows are made of, and a sector of a row, or less where beams are many, to a block.
void permute(const sidbeam_attention_permute_args& args) {
  const Range range("sidbeam permute");
  const Device& device = device_of(args.device_id);
  const Current current(device);
  check_stream(device.id, args.stream);
  check_address(device.id, args.unshared_keys, "args.unshared_keys");
  check_address(device.id, args.unshared_values, "args.unshared_values");
  check_address(device.id, args.parents, "args.parents");
  const int64_t element = args.kv_dtype == SIDBEAM_DTYPE_F32 ? 4 : 2;
  const int64_t row_bytes = int64_t{args.kv_heads} * args.head_dim * element;
  const auto is_of = [&](const void* address) { return reinterpret_cast<uintptr_t>(address) % 4 == 0; };
  const int64_t word = row_bytes % 4 == 0 && is_of(args.unshared_keys) && is_of(args.unshared_values) ? 4 : 2;
  PermuteView view;
  view.keys = args.unshared_keys;
  view.values = args.unshared_values;
  view.parents = args.parents;
  view.requests = args.requests;
  view.depth = args.depth;
  view.beams = args.beams;
  view.request_stride = args.request_stride != 0 ? args.request_stride : int64_t{args.beams} * args.depth;
  view.row_words = row_bytes / word;
  view.words_of_block =
      static_cast<int32_t>(std::clamp<int64_t>(kPermuteBytes / (args.beams * word), 1, kSectorBytes / word));
  view.blocks_of_row = static_cast<int32_t>((view.row_words + view.words_of_block - 1) / view.words_of_block);
  check(launch_permute(view, static_cast<int32_t>(word), static_cast<cudaStream_t>(args.stream)),
        "launch a permutation");
}

}  // namespace

sidbeam_status attention_workspace(const sidbeam_attention_args* args, int64_t* bytes, sidbeam_error* err) {
  return guarded(
      err, [&] { *bytes = places_of(shape_of(*args, device_of(args->device_id)), args->requests, args->rows).bytes; });
}

sidbeam_status attention_run(const sidbeam_attention_args* args, sidbeam_error* err) {
  return guarded(err, [&] { run(*args); });
}

sidbeam_status attention_permute(const sidbeam_attention_permute_args* args, sidbeam_error* err) {
  return guarded(err, [&] { permute(*args); });
}

}  // namespace sidbeam::runner::cuda
