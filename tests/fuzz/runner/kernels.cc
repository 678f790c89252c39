// Attention, and steps from hidden states. SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "caller.h"

namespace fuzz::abi {
namespace {

constexpr size_t kMostHidden = 2;

std::vector<float> some_floats(World& world, int64_t count) {
  constexpr float kValues[] = {0, -1, 0.5F, 2, -0.25F, 1e-40F, -3, 1};
  std::vector<float> values(static_cast<size_t>(count));
  const int32_t first = world.in(0, 7);
  for (size_t i = 0; i < values.size(); ++i) values[i] = kValues[(static_cast<size_t>(first) + i + i / 5) % 8];
  return values;
}

// One or two requests, some rows, lists of ancestors of some depth.
struct Attention {
  int32_t kv_heads, heads, dim, depth, requests;
  int64_t row, kv_row;
  std::vector<int64_t> lengths, offsets = {0};
  Array<float> queries, keys, values, own_keys, own_values;
  Array<int32_t> ancestors;
  std::vector<const void*> key_pointers, value_pointers;
  sidbeam_attention_args args = SIDBEAM_ATTENTION_ARGS_INIT;

  Attention(World& world, int32_t fault)
      : kv_heads(world.in(1, 2)),
        heads(kv_heads * world.in(1, 2)),
        dim(world.in(1, 20)),
        depth(world.in(0, 3)),
        requests(world.in(1, 2)),
        row(int64_t{heads} * dim),
        kv_row(int64_t{kv_heads} * dim) {
    const int32_t longest = world.in(1, 5), own = world.in(1, 4);
    keys = Array<float>(some_floats(world, longest * kv_row));
    values = Array<float>(some_floats(world, longest * kv_row));
    for (int32_t i = 0; i < requests; ++i) {
      lengths.push_back(world.in(0, longest));
      offsets.push_back(offsets.back() + world.in(0, 3));
      key_pointers.push_back(keys.get());
      value_pointers.push_back(values.get());
    }
    const int64_t rows = offsets.back();
    queries = Array<float>(some_floats(world, rows * row));
    own_keys = Array<float>(some_floats(world, own * kv_row));
    own_values = Array<float>(some_floats(world, own * kv_row));
    std::vector<int32_t> lists = world.numbers(static_cast<size_t>(rows * depth), -1, own - 1);
    if (fault == 1 && !lists.empty()) {
      world.any(lists) = world.flip() ? own : -2;
      world.expected.fails(SIDBEAM_INVALID_ARGUMENT);
    }
    ancestors = Array<int32_t>(lists);
    fill(rows, own);
  }

  void fill(int64_t rows, int64_t own) {
    args.heads = heads;
    args.kv_heads = kv_heads;
    args.head_dim = dim;
    args.depth = depth;
    args.requests = requests;
    args.rows = rows;
    args.row_offsets = offsets.data();
    args.queries = queries.get();
    args.shared_keys = key_pointers.data();
    args.shared_values = value_pointers.data();
    args.shared_lengths = lengths.data();
    args.unshared_keys = own_keys.get();
    args.unshared_values = own_values.get();
    args.unshared_length = own;
    args.ancestors = ancestors.get();
  }
};

void attend(Caller& caller) {
  World& world = caller.world;
  const int32_t fault = world.fault(6);
  Attention attention(world, 0);
  Out<int64_t> bytes(world, 1);
  if (fault == 2) attention.args.heads = world.flip() ? 0 : SIDBEAM_MAX_HEADS + 1;
  if (fault == 3) attention.args.head_dim = world.flip() ? 0 : SIDBEAM_MAX_HEAD_DIM + 1;
  world.expected.fails_if(fault == 2 || fault == 3, SIDBEAM_INVALID_ARGUMENT);
  const In<sidbeam_attention_args> argument(world, attention.args);
  (void)world.attempt([&](sidbeam_error* err) { return ABI(attention_workspace)(argument.get(), bytes.get(), err); });
  Attention second(world, fault);
  int64_t needed = 0;
  FUZZ_CHECK(ABI(attention_workspace)(&second.args, &needed, nullptr) == SIDBEAM_OK && needed >= 0);
  const std::vector<uint8_t> nothing(static_cast<size_t>(needed));
  const Block workspace = block_of(nothing.data(), nothing.size());
  Out<float> output(world, static_cast<size_t>(second.args.rows * second.row));
  Out<float> sums(world, static_cast<size_t>(second.args.rows * second.heads));
  second.args.workspace = workspace.get();
  second.args.workspace_bytes = fault == 4 ? needed - 1 : needed;
  second.args.output = fault == 5 ? nullptr : output.get();
  second.args.log_sum_exp = world.flip() ? sums.get() : nullptr;
  world.expected.fails_if(fault == 4 || fault == 5, SIDBEAM_INVALID_ARGUMENT);
  if (second.args.rows == 0) world.expected.may_succeed();
  const In<sidbeam_attention_args> run(world, second.args);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) { return ABI(attention_run)(run.get(), err); });
  for (int64_t i = 0; status == SIDBEAM_OK && i < second.args.rows * second.row; ++i)
    FUZZ_CHECK(std::isfinite(output[static_cast<size_t>(i)]));
}

void permute(Caller& caller) {
  World& world = caller.world;
  const int32_t fault = world.fault(3);
  sidbeam_attention_permute_args args = SIDBEAM_ATTENTION_PERMUTE_ARGS_INIT;
  args.kv_heads = world.in(1, 2);
  args.head_dim = world.in(1, 4);
  args.beams = world.in(1, 5);
  args.depth = world.in(0, 3);
  args.requests = world.in(1, 2);
  args.request_stride = world.flip() ? 0 : args.beams * args.depth + world.in(0, 2);
  const int64_t stride = args.request_stride == 0 ? int64_t{args.beams} * args.depth : args.request_stride;
  const auto elements = static_cast<size_t>(args.requests * stride * args.kv_heads * args.head_dim);
  Out<float> keys(world, elements), values(world, elements);
  std::vector<int32_t> list = world.numbers(static_cast<size_t>(args.requests * args.beams), -1, args.beams - 1);
  if (fault == 1) world.any(list) = world.flip() ? args.beams : -2;
  if (fault == 2) args.beams = 0;
  if (fault == 3) args.depth = SIDBEAM_MAX_LEVELS + 1;
  const Array<int32_t> parents(list);
  args.unshared_keys = keys.get();
  args.unshared_values = values.get();
  args.parents = parents.get();
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  if (fault == 1 && args.depth == 0) world.expected.may_succeed();
  const In<sidbeam_attention_permute_args> argument(world, args);
  (void)world.attempt([&](sidbeam_error* err) { return ABI(attention_permute)(argument.get(), err); });
}

bool make_session(World& world, Hidden& hidden) {
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.slots = 2;
  config.beams = world.in(1, 5);
  config.normalization = world.in(0, 3);
  config.constraint = catalogue_constraint();
  Out<sidbeam_session*> out(world, 1);
  sidbeam_runtime* runtime = world.any(world.runtimes);
  const sidbeam_status status =
      world.attempt([&](sidbeam_error* err) { return ABI(session_create)(runtime, &config, out.get(), err); });
  if (status == SIDBEAM_OK) hidden.session = *out;
  return status == SIDBEAM_OK;
}

bool make_layer(World& world, Hidden& hidden) {
  const int32_t fault = world.fault(4);
  sidbeam_output_layer_config config = SIDBEAM_OUTPUT_LAYER_CONFIG_INIT;
  hidden.weights = some_floats(world, int64_t{kCodes} * kHidden);
  config.weights = fault == 1 ? nullptr : hidden.weights.data();
  config.columns = fault == 2 ? 0 : kCodes;
  config.width = fault == 3 ? -1 : kHidden;
  if (world.one_in(4)) config.soft_cap = 2.5F;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  const In<sidbeam_output_layer_config> argument(world, config);
  Out<sidbeam_output_layer*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(output_layer_create)(argument.get(), fault == 4 ? nullptr : out.get(), err);
  });
  if (status == SIDBEAM_OK) hidden.layer = *out;
  return status == SIDBEAM_OK;
}

void make_hidden(Caller& caller) {
  World& world = caller.world;
  if (world.runtimes.empty() || caller.hidden.size() >= kMostHidden) return;
  caller.hidden.push_back(std::make_unique<Hidden>());
  Hidden& hidden = *caller.hidden.back();
  if (!make_session(world, hidden) || !make_layer(world, hidden)) return;
  const int32_t fault = world.fault(4);
  const sidbeam_allocator allocator = world.allocator.table();
  sidbeam_hidden_config config = SIDBEAM_HIDDEN_CONFIG_INIT;
  config.session = fault == 1 ? nullptr : hidden.session;
  config.layer = fault == 2 ? nullptr : hidden.layer;
  config.path = fault == 3 ? 3 : SIDBEAM_HIDDEN_FASTEST;
  config.children = world.in(0, 9);
  config.allocator = &allocator;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  const In<sidbeam_hidden_config> argument(world, config);
  Out<sidbeam_hidden*> out(world, 1);
  const sidbeam_status status = world.attempt(
      [&](sidbeam_error* err) { return ABI(hidden_create)(argument.get(), fault == 4 ? nullptr : out.get(), err); });
  if (status == SIDBEAM_OK) hidden.handle = *out;
}

void step_hidden(Caller& caller) {
  World& world = caller.world;
  if (caller.hidden.empty()) return;
  const Hidden& hidden = *world.any(caller.hidden);
  if (hidden.handle == nullptr) return;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  FUZZ_CHECK(ABI(session_get_beams)(hidden.session, &beams, nullptr) == SIDBEAM_OK);
  const bool ready = beams.active[0] + beams.active[1] > 0 && !world.one_in(4);
  if (!ready) (void)world.attempt([&](sidbeam_error* err) { return ABI(session_start)(hidden.session, &start, err); });
  const int32_t fault = world.fault(4), width = fault == 1 ? kHidden - 1 : kHidden;
  const Array<float> states(some_floats(world, 2 * int64_t{beams.beams} * width));
  sidbeam_rows rows = sidbeam_rows_dense(states.get(), SIDBEAM_DTYPE_F32, 2, beams.beams, width);
  int32_t live = 0;  // in the order of the list: those that are not done
  for (int32_t s = 0; s < 2; ++s) live += beams.active[s] > 0 ? 1 : 0;
  rows.slots = live;
  sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
  args.hidden = fault == 2 ? nullptr : &rows;
  args.path = fault == 3 ? -1 : world.in(0, 2);
  if (args.path == SIDBEAM_HIDDEN_CHILDREN) world.expected.may_fail(SIDBEAM_UNSUPPORTED);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(live == 0, SIDBEAM_BAD_STATE);
  world.expected.may_fail(SIDBEAM_INVALID_ARGUMENT);  // rows.slots is the caller's guess of what the list is
  const In<sidbeam_hidden_step_args> argument(world, args);
  (void)world.attempt(
      [&](sidbeam_error* err) { return ABI(hidden_step)(fault == 4 ? nullptr : hidden.handle, argument.get(), err); });
}

void get_stats(Caller& caller) {
  World& world = caller.world;
  if (caller.hidden.empty()) return;
  const Hidden& hidden = *world.any(caller.hidden);
  const int32_t fault = world.fault(1);
  world.expected.fails_if(fault != 0 || hidden.handle == nullptr, SIDBEAM_INVALID_ARGUMENT);
  OutStruct<sidbeam_hidden_stats> out(world);
  (void)world.attempt(
      [&](sidbeam_error* err) { return ABI(hidden_get_stats)(hidden.handle, fault == 1 ? nullptr : out.get(), err); });
}

}  // namespace

std::span<const RunnerOperation> kernel_operations() {
  static constexpr RunnerOperation kAll[] = {attend, permute, make_hidden, step_hidden, step_hidden, get_stats};
  return kAll;
}

}  // namespace fuzz::abi
