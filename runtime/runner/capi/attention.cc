// The ABI edge of attention: checks shapes and pointers, then calls the CPU's functions or the device's.
// SPDX-License-Identifier: Apache-2.0
#include "runner/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "runner/attention/device.h"
#include "runner/attention/permute.h"
#include "runner/capi/first_version.h"
#include "support/arguments.h"
#include "support/strides.h"

namespace sidbeam::runner {
namespace {

using capi::read_struct;
using capi::require;

int64_t dtype_size(int32_t dtype) { return dtype == SIDBEAM_DTYPE_F32 ? 4 : 2; }

void check_device(int32_t type, int32_t id) {
  check_range("args.device_type", type, SIDBEAM_DEVICE_CPU, SIDBEAM_DEVICE_CUDA);
  check_range("args.device_id", id, 0, type == SIDBEAM_DEVICE_CPU ? 0 : INT32_MAX);
}

// What is read of the struct itself.
void check_shape(const sidbeam_attention_args& args) {
  check_device(args.device_type, args.device_id);
  const bool cpu = args.device_type == SIDBEAM_DEVICE_CPU;
  check_range("args.dtype", args.dtype, SIDBEAM_DTYPE_F32, cpu ? SIDBEAM_DTYPE_F32 : SIDBEAM_DTYPE_BF16);
  check_range("args.kv_dtype", args.kv_dtype, cpu ? SIDBEAM_DTYPE_F32 : args.dtype,
              cpu ? SIDBEAM_DTYPE_BF16 : args.dtype);
  check_range("args.heads", args.heads, 1, SIDBEAM_MAX_HEADS);
  check_range("args.kv_heads", args.kv_heads, 1, args.heads);
  if (args.heads % args.kv_heads != 0) {
    fail(SIDBEAM_INVALID_ARGUMENT, "args.heads is %d, expected a multiple of args.kv_heads, %d", args.heads,
         args.kv_heads);
  }
  check_range("args.head_dim", args.head_dim, 1, SIDBEAM_MAX_HEAD_DIM);
  if (!std::isfinite(args.scale)) {
    fail(SIDBEAM_INVALID_ARGUMENT, "args.scale is %g, expected a finite number", static_cast<double>(args.scale));
  }
  check_range("args.depth", args.depth, 0, SIDBEAM_MAX_ANCESTORS);
  check_range("args.requests", args.requests, 0, INT32_MAX);
  check_range("args.rows", args.rows, 0, INT32_MAX);
}

void check_at(const char* name, int64_t i, int64_t value, int64_t lowest, int64_t highest) {
  char what[64];
  std::snprintf(what, sizeof what, "%s[%lld]", name, static_cast<long long>(i));
  check_range(what, value, lowest, highest);
}

void check_request(const sidbeam_attention_args& args, int64_t i) {
  check_at("args.row_offsets", i + 1, args.row_offsets[i + 1], args.row_offsets[i], args.rows);
  if (args.shared_lengths == nullptr) return;
  check_at("args.shared_lengths", i, args.shared_lengths[i], 0, INT32_MAX);
  if (args.shared_lengths[i] == 0) return;
  require(args.shared_keys, "args.shared_keys");
  require(args.shared_values, "args.shared_values");
  if (args.shared_keys[i] != nullptr && args.shared_values[i] != nullptr) return;
  fail(SIDBEAM_INVALID_ARGUMENT, "args.%s[%lld] is NULL, expected %lld positions",
       args.shared_keys[i] == nullptr ? "shared_keys" : "shared_values", static_cast<long long>(i),
       static_cast<long long>(args.shared_lengths[i]));
}

// Host memory, and that pointers are there.
void check_arrays(const sidbeam_attention_args& args) {
  if (args.requests > 0) {
    require(args.row_offsets, "args.row_offsets");
    check_at("args.row_offsets", 0, args.row_offsets[0], 0, 0);
    for (int64_t i = 0; i < args.requests; ++i) check_request(args, i);
  }
  const int64_t rows = args.requests == 0 ? 0 : args.row_offsets[args.requests];
  if (rows != args.rows) {
    fail(SIDBEAM_INVALID_ARGUMENT, "args.rows is %lld, expected %lld, where args.row_offsets end",
         static_cast<long long>(args.rows), static_cast<long long>(rows));
  }
  const int64_t row = int64_t{args.heads} * args.head_dim;
  if (args.query_stride != 0) check_range("args.query_stride", args.query_stride, row, INT32_MAX);
  check_stride("args.query_stride", args.rows, args.query_stride);
  check_range("args.unshared_length", args.unshared_length, 0, INT32_MAX);
  if (args.rows == 0) return;
  require(args.queries, "args.queries");
  require(args.output, "args.output");
  if (args.depth > 0) require(args.ancestors, "args.ancestors");
  if (args.depth == 0 || args.unshared_length == 0) return;
  require(args.unshared_keys, "args.unshared_keys");
  require(args.unshared_values, "args.unshared_values");
}

// On the CPU positions are checked as well.
void check_ancestors(const sidbeam_attention_args& args) {
  for (int64_t i = 0; i < args.rows * args.depth; ++i) {
    if (args.ancestors[i] >= -1 && args.ancestors[i] < args.unshared_length) continue;
    check_at("args.ancestors", i, args.ancestors[i], -1, args.unshared_length - 1);
  }
}

AttentionPlan plan_of(const sidbeam_attention_args& args) {
  const float scale = args.scale != 0.0F ? args.scale : 1.0F / std::sqrt(static_cast<float>(args.head_dim));
  return {{args.heads, args.kv_heads, args.head_dim}, scale, args.rows, true, {best_cpu_target(), nullptr}};
}

int64_t workspace_of(const AttentionPlan& plan) { return plan.scratch_floats() * static_cast<int64_t>(sizeof(float)); }

void check_workspace(const sidbeam_attention_args& args, int64_t bytes) {
  if (args.workspace_bytes < bytes) {
    fail(SIDBEAM_INVALID_ARGUMENT, "args.workspace_bytes is %lld, expected %lld or more",
         static_cast<long long>(args.workspace_bytes), static_cast<long long>(bytes));
  }
  require(args.workspace, "args.workspace");
  if (reinterpret_cast<uintptr_t>(args.workspace) % 64 != 0) {
    fail(SIDBEAM_INVALID_ARGUMENT, "args.workspace is not aligned to 64 bytes");
  }
}

AttentionCall call_of(const sidbeam_attention_args& args, int64_t i) {
  const int64_t first = args.row_offsets[i], row = int64_t{args.heads} * args.head_dim;
  AttentionCall call;
  call.rows = args.row_offsets[i + 1] - first;
  call.query_stride = args.query_stride != 0 ? args.query_stride : row;
  call.queries = static_cast<const float*>(args.queries) + first * call.query_stride;
  call.output_stride = row;
  call.output = static_cast<float*>(args.output) + first * row;
  if (args.log_sum_exp != nullptr) call.log_sum_exp = args.log_sum_exp + first * args.heads;
  const int64_t kv_row = int64_t{args.kv_heads} * args.head_dim;
  if (args.shared_lengths != nullptr && args.shared_lengths[i] > 0) {
    call.shared_rows = {args.shared_keys[i], args.shared_values[i], kv_row, args.kv_dtype};
    call.shared_length = call.shared_bias_stride = args.shared_lengths[i];
    if (args.shared_bias != nullptr) call.shared_bias = args.shared_bias[i];
  }
  call.depth = args.depth;
  call.ancestors = args.ancestors + first * args.depth;
  call.unshared = {args.unshared_keys, args.unshared_values, kv_row, args.kv_dtype};
  call.ancestor_bias = args.ancestor_bias;
  call.ancestor_bias_stride = args.depth;
  return call;
}

void run_on_cpu(const sidbeam_attention_args& args) {
  if (args.rows == 0) return;
  if (args.depth > 0) check_ancestors(args);
  const AttentionPlan plan = plan_of(args);
  check_workspace(args, workspace_of(plan));
  for (int64_t i = 0; i < args.requests; ++i) {
    const AttentionCall call = call_of(args, i);
    attend(plan, {&call, 1}, static_cast<float*>(args.workspace));
  }
}

void check_permute(const sidbeam_attention_permute_args& args) {
  check_device(args.device_type, args.device_id);
  check_range("args.kv_dtype", args.kv_dtype, SIDBEAM_DTYPE_F32, SIDBEAM_DTYPE_BF16);
  check_range("args.kv_heads", args.kv_heads, 1, SIDBEAM_MAX_HEADS);
  check_range("args.head_dim", args.head_dim, 1, SIDBEAM_MAX_HEAD_DIM);
  check_range("args.beams", args.beams, 1, SIDBEAM_MAX_BEAMS);
  check_range("args.depth", args.depth, 0, SIDBEAM_MAX_LEVELS);
  check_range("args.requests", args.requests, 0, INT32_MAX);
  if (args.request_stride != 0) {
    check_range("args.request_stride", args.request_stride, int64_t{args.beams} * args.depth, INT32_MAX);
    check_stride("args.request_stride", args.requests, args.request_stride, int64_t{args.kv_heads} * args.head_dim);
  }
  if (args.requests == 0 || args.depth == 0) return;
  require(args.unshared_keys, "args.unshared_keys");
  require(args.unshared_values, "args.unshared_values");
  require(args.parents, "args.parents");
}

void permute_on_cpu(const sidbeam_attention_permute_args& args) {
  if (args.requests == 0 || args.depth == 0) return;
  for (int64_t i = 0; i < args.requests * args.beams; ++i) {
    if (args.parents[i] < -1 || args.parents[i] >= args.beams) {
      check_at("args.parents", i, args.parents[i], -1, args.beams - 1);
    }
  }
  const int64_t row_bytes = int64_t{args.kv_heads} * args.head_dim * dtype_size(args.kv_dtype);
  const int64_t stride = args.request_stride != 0 ? args.request_stride : int64_t{args.beams} * args.depth;
  for (int64_t i = 0; i < args.requests; ++i) {
    for (void* const array : {args.unshared_keys, args.unshared_values}) {
      permute_rows({static_cast<char*>(array) + i * stride * row_bytes, row_bytes, args.beams, args.depth},
                   args.parents + i * args.beams);
    }
  }
}

}  // namespace
}  // namespace sidbeam::runner

namespace runner = sidbeam::runner;

extern "C" sidbeam_status sidbeam_attention_workspace(const sidbeam_attention_args* args, int64_t* bytes,
                                                      sidbeam_error* err) {
  return sidbeam::guarded(err, [&] {
    const auto given = runner::read_struct(args, "args");
    runner::require(bytes, "bytes");
    runner::check_shape(given);
    if (given.device_type == SIDBEAM_DEVICE_CPU) {
      *bytes = runner::workspace_of(runner::plan_of(given));
      return;
    }
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    sidbeam::check_status(runner::attention_device(given.device_id).workspace(&given, bytes, &error), error);
  });
}

extern "C" sidbeam_status sidbeam_attention_run(const sidbeam_attention_args* args, sidbeam_error* err) {
  return sidbeam::guarded(err, [&] {
    const auto given = runner::read_struct(args, "args");
    runner::check_shape(given);
    runner::check_arrays(given);
    if (given.device_type == SIDBEAM_DEVICE_CPU) return runner::run_on_cpu(given);
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    sidbeam::check_status(runner::attention_device(given.device_id).run(&given, &error), error);
  });
}

extern "C" sidbeam_status sidbeam_attention_permute(const sidbeam_attention_permute_args* args, sidbeam_error* err) {
  return sidbeam::guarded(err, [&] {
    const auto given = runner::read_struct(args, "args");
    runner::check_permute(given);
    if (given.device_type == SIDBEAM_DEVICE_CPU) return runner::permute_on_cpu(given);
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    sidbeam::check_status(runner::attention_device(given.device_id).permute(&given, &error), error);
  });
}
