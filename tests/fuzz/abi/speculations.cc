// Speculation: rounds of a target and a draft that are made for it, and lists of extensions.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "operations.h"

namespace fuzz::abi {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
constexpr int32_t kMostLevels = 8, kMostColumns = 64;
constexpr size_t kMostRigs = 2;

sidbeam_session* make_session(World& world, const sidbeam_session_config& config) {
  Out<sidbeam_session*> out(world, 1);
  sidbeam_runtime* runtime = world.any(world.runtimes);
  const sidbeam_status status =
      world.attempt([&](sidbeam_error* err) { return ABI(session_create)(runtime, &config, out.get(), err); });
  return status == SIDBEAM_OK ? *out : nullptr;
}

bool start(World& world, sidbeam_session* session, const Rig& rig) {
  const std::vector<int64_t> keys(static_cast<size_t>(rig.target_config.slots), 3);
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sampling.seeds = sampling.requests = keys.data();
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  if (rig.target_config.mode == SIDBEAM_MODE_STOCHASTIC) args.sampling = &sampling;
  return world.attempt([&](sidbeam_error* err) { return ABI(session_start)(session, &args, err); }) == SIDBEAM_OK;
}

bool create(World& world, Rig& rig) {
  const int32_t fault = world.fault(5);
  sidbeam_speculation_config config = SIDBEAM_SPECULATION_CONFIG_INIT;
  config.draft_levels = rig.draft_levels = world.in(1, 4);
  config.target = rig.target;
  config.draft = rig.draft;
  if (fault == 1) config.draft_levels = world.flip() ? 0 : SIDBEAM_MAX_LEVELS + 1;
  if (fault == 2) config.target = nullptr;
  if (fault == 3) config.draft = world.flip() ? nullptr : rig.target;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(rig.draft_config.beams < rig.target_config.beams, SIDBEAM_INVALID_ARGUMENT);
  const In<sidbeam_speculation_config> argument(world, config);
  sidbeam_runtime* runtime = fault == 4 ? nullptr : world.any(world.runtimes);
  Out<sidbeam_speculation*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(speculation_create)(runtime, argument.get(), fault == 5 ? nullptr : out.get(), err);
  });
  if (status == SIDBEAM_OK) rig.speculation = *out;
  return status == SIDBEAM_OK;
}

void begin(World& world, Rig& rig) {
  const int32_t fault = world.fault(4), slots = rig.target_config.slots;
  const Array<int32_t> list(world.numbers(1, 0, fault == 3 ? slots : slots - 1));
  const bool listed = fault == 3 || world.one_in(4);
  Out<int64_t> active(world, 1);
  world.expected.fails_if(fault == 1 || fault == 2 || fault == 4, SIDBEAM_INVALID_ARGUMENT);
  if (fault == 3) world.expected.may_fail(SIDBEAM_INVALID_ARGUMENT);
  const int64_t count = fault == 4 ? slots + 1 : listed ? 1 : 0;
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(speculation_begin)(fault == 1 ? nullptr : rig.speculation, listed && fault != 4 ? list.get() : nullptr,
                                  count, fault == 2 ? nullptr : active.get(), err);
  });
  if (status == SIDBEAM_OK) FUZZ_CHECK(*active >= 0 && *active <= slots);
  if (status == SIDBEAM_OK) rig.active = *active;
  // A call that fails may or may not have got as far as to forget the round.
  sidbeam_speculation_tree tree = SIDBEAM_SPECULATION_TREE_INIT;
  FUZZ_CHECK(ABI(speculation_get_tree)(rig.speculation, &tree, nullptr) == SIDBEAM_OK);
  rig.active = tree.count;
}

sidbeam_speculation_tree get_tree(World& world, const Rig& rig) {
  const int32_t fault = world.fault(2);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  OutStruct<sidbeam_speculation_tree> out(world);
  sidbeam_speculation_tree tree = SIDBEAM_SPECULATION_TREE_INIT;
  (void)world.attempt([&](sidbeam_error* err) {
    return ABI(speculation_get_tree)(fault == 1 ? nullptr : rig.speculation, fault == 2 ? nullptr : out.get(), err);
  });
  FUZZ_CHECK(ABI(speculation_get_tree)(rig.speculation, &tree, nullptr) == SIDBEAM_OK);
  const int64_t most = rig.target_config.beams + int64_t{rig.draft_levels} * rig.draft_config.beams;
  FUZZ_CHECK(tree.count == rig.active && tree.nodes <= tree.count * most && tree.depth == rig.levels);
  for (int64_t n = 0; n < tree.nodes; ++n) {
    FUZZ_CHECK(tree.parents[n] >= -1 && tree.parents[n] < n);
    FUZZ_CHECK(tree.tokens[n] >= -1 && tree.tokens[n] < rig.columns && tree.positions[n] < rig.levels);
    for (int32_t i = 0; i < tree.depth; ++i) FUZZ_CHECK(tree.ancestors[n * tree.depth + i] >= -1);
  }
  return tree;
}

// Rows of few different values, some of them no numbers.
std::vector<float> some_rows(World& world, int64_t rows, int32_t columns) {
  constexpr float kValues[] = {0, -1, -2, -0.5F, 3, -kInfinity, 1e30F, -1};
  std::vector<float> data(static_cast<size_t>(rows * columns + 1));
  const int32_t step = world.in(1, 7), first = world.in(0, 7);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = kValues[(static_cast<size_t>(first) + i * static_cast<size_t>(step) + i / 5) % 8];
  if (world.one_in(8)) data[data.size() / 2] = world.flip() ? kNan : kInfinity;
  return data;
}

void draft(World& world, Rig& rig) {
  const sidbeam_speculation_tree tree = get_tree(world, rig);
  if (tree.draft_count > 0) {
    const std::vector<float> data = some_rows(world, tree.nodes, rig.columns);
    const sidbeam_rows rows = sidbeam_rows_dense(data.data(), SIDBEAM_DTYPE_F32, 0, tree.nodes, rig.columns);
    sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
    step.slots = tree.draft_slots;
    step.count = world.one_in(4) ? world.in(1, static_cast<int32_t>(tree.draft_count)) : tree.draft_count;
    step.rows = &rows;
    step.row_map = tree.draft_nodes;
    // The draft may be a step ahead already, where an add was refused.
    world.expected.may_fail(SIDBEAM_INVALID_ARGUMENT);
    world.expected.may_fail(SIDBEAM_BAD_STATE);
    (void)world.attempt([&](sidbeam_error* err) { return ABI(session_step)(rig.draft, &step, err); });
  }
  const int32_t fault = world.fault(1);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(fault == 0 && rig.active == 0, SIDBEAM_BAD_STATE);
  world.expected.may_fail(SIDBEAM_BAD_STATE);
  (void)world.attempt(
      [&](sidbeam_error* err) { return ABI(speculation_add)(fault == 1 ? nullptr : rig.speculation, err); });
  (void)get_tree(world, rig);
}

void get_mask(World& world, const Rig& rig) {
  const sidbeam_speculation_tree tree = get_tree(world, rig);
  const int32_t fault = world.fault(3);
  const int64_t columns = tree.place_stride + world.in(0, 3);
  Out<uint8_t> mask(world, static_cast<size_t>(tree.nodes * columns));
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(speculation_get_mask)(fault == 1 ? nullptr : rig.speculation, fault == 2 ? nullptr : mask.get(),
                                     fault == 3 ? tree.place_stride - 1 : columns, err);
  });
  for (int64_t i = 0; status == SIDBEAM_OK && i < tree.nodes * columns; ++i)
    FUZZ_CHECK(mask[static_cast<size_t>(i)] <= 1);
}

void verify(World& world, Rig& rig) {
  const sidbeam_speculation_tree tree = get_tree(world, rig);
  const int32_t fault = world.fault(4);
  const int64_t count = fault == 1 ? tree.nodes + world.in(1, 2) : tree.nodes;
  const std::vector<float> data = some_rows(world, count, rig.columns);
  sidbeam_rows rows = sidbeam_rows_dense(data.data(), SIDBEAM_DTYPE_F32, 0, count, rig.columns);
  if (fault == 2) rows.columns = 0;
  sidbeam_speculation_verify_args args = SIDBEAM_SPECULATION_VERIFY_ARGS_INIT;
  args.rows = fault == 3 ? nullptr : &rows;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(rig.active == 0 && fault < 3, SIDBEAM_BAD_STATE);
  const In<sidbeam_speculation_verify_args> argument(world, args);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(speculation_verify)(fault == 4 ? nullptr : rig.speculation, argument.get(), err);
  });
  if (status == SIDBEAM_OK) rig.active = 0;
}

void get_stats(World& world, const Rig& rig) {
  const int32_t fault = world.fault(2);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  OutStruct<sidbeam_speculation_stats> out(world);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(speculation_get_stats)(fault == 1 ? nullptr : rig.speculation, fault == 2 ? nullptr : out.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(out->levels == out->rounds + out->accepted_levels && out->accepted_levels <= out->drafted_levels);
}

[[nodiscard]] bool start(World& world, const Rig& rig) {
  return start(world, rig.target, rig) && start(world, rig.draft, rig);
}

void make_rig(World& world) {
  if (world.constraints.empty() || world.runtimes.empty() || world.rigs.size() >= kMostRigs) return;
  const Held<sidbeam_constraint>& constraint = world.any(world.constraints);
  const sidbeam_index_info& facts = *constraint.facts;
  auto rig = std::make_unique<Rig>();
  rig->levels = facts.levels;
  for (int32_t l = 0; l < facts.levels; ++l) rig->columns = std::max(rig->columns, facts.codes[l]);
  if ((facts.kinds & SIDBEAM_KIND_TRIE) == 0 || facts.levels > kMostLevels || rig->columns > kMostColumns) return;
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = facts.levels;
  vocabulary.end_column = 0;
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.constraint = constraint.handle;
  config.vocabulary = &vocabulary;
  config.slots = world.in(1, 3);
  config.beams = world.in(1, 6);
  config.normalization = world.in(0, 3);
  config.mode = world.one_in(3) ? SIDBEAM_MODE_STOCHASTIC : SIDBEAM_MODE_SEARCH;
  rig->target = make_session(world, rig->target_config = config);
  if (rig->target == nullptr) return;
  config.beams = std::max(config.beams + world.in(-1, 5), 1);
  rig->draft = make_session(world, rig->draft_config = config);
  if (rig->draft != nullptr) (void)create(world, *rig);
  world.rigs.push_back(std::move(rig));
}

void speculate(World& world) {
  make_rig(world);
  if (world.rigs.empty()) return;
  Rig& rig = *world.any(world.rigs);
  if (rig.speculation == nullptr) return;
  if (!rig.started || (rig.active == 0 && world.one_in(3))) rig.started = start(world, rig);
  if (!rig.started) return;
  for (int32_t calls = world.in(0, 24); calls > 0; --calls) {
    const int32_t which = world.in(0, 9);
    if (which < 3) begin(world, rig);
    if (which >= 3 && which < 6) draft(world, rig);
    if (which == 6 || which == 7) verify(world, rig);
    if (which == 8) get_mask(world, rig);
    if (which == 9) get_stats(world, rig);
  }
}

void destroy_part(World& world) {
  if (world.one_in(4)) ABI(speculation_destroy)(nullptr);
  if (!world.rigs.empty()) world.drop_part(world.any(world.rigs));
}

std::vector<float> some_log_probs(World& world, size_t count, bool bad) {
  constexpr float kValues[] = {0, -1, -2, -0.5F, 3, -kInfinity, -1e30F, 0.25F};
  std::vector<float> values;
  for (const int32_t i : world.numbers(count, 0, 7)) values.push_back(kValues[i]);
  if (bad) values[count / 2] = world.flip() ? kNan : kInfinity;
  return values;
}

// Verifies what was drawn from the draft's list.
void verify_relaxed(World& world, sidbeam_runtime* runtime, const sidbeam_relaxed_draw_args& draw,
                    const Array<float>& target, std::vector<int64_t> drafts) {
  sidbeam_relaxed_verify_args args = SIDBEAM_RELAXED_VERIFY_ARGS_INIT;
  args.beams = draw.without_replacement != 0 ? world.in(1, 8) : draw.draws;
  args.count = draw.count;
  args.target = target.get();
  args.draft = draw.log_probs;
  args.drafts = drafts.data();
  args.draft_count = static_cast<int64_t>(drafts.size());
  args.inverse_temperature = draw.inverse_temperature;
  args.without_replacement = draw.without_replacement;
  args.seed = draw.seed;
  args.request = draw.request;
  args.level = draw.level;
  const int32_t other = world.fault(2);
  if (other == 1 && !drafts.empty()) drafts[0] = world.flip() ? -1 : args.count;
  world.expected.fails_if(other == 2 || (other == 1 && !drafts.empty()), SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(args.without_replacement == 0 && args.draft_count != args.beams, SIDBEAM_INVALID_ARGUMENT);
  std::vector<int64_t> extensions(8, -7);
  sidbeam_relaxed_beams beams = SIDBEAM_RELAXED_BEAMS_INIT;
  beams.extensions = extensions.data();
  const In<sidbeam_relaxed_verify_args> argument(world, args);
  const sidbeam_status verified = world.attempt([&](sidbeam_error* err) {
    return ABI(relaxed_verify)(other == 2 ? nullptr : runtime, argument.get(), &beams, err);
  });
  if (verified != SIDBEAM_OK) return;
  FUZZ_CHECK(beams.live >= 0 && beams.live <= args.beams && beams.accepted <= args.draft_count);
  for (int32_t k = 0; k < args.beams; ++k) {
    const int64_t extension = extensions[static_cast<size_t>(k)];
    FUZZ_CHECK((extension == -1) == (k >= beams.live));
    if (extension >= 0) FUZZ_CHECK(std::isfinite(target[static_cast<size_t>(extension)]));
  }
}

void relax(World& world) {
  if (world.runtimes.empty()) return;
  const int32_t fault = world.fault(6);
  const auto n = static_cast<size_t>(world.in(1, 12));
  const Array<float> target(some_log_probs(world, n, false)), draft(some_log_probs(world, n, fault == 1));
  sidbeam_relaxed_draw_args draw = SIDBEAM_RELAXED_DRAW_ARGS_INIT;
  draw.draws = fault == 2 ? 0 : world.in(1, 6);
  draw.count = static_cast<int64_t>(n);
  draw.log_probs = draft.get();
  draw.inverse_temperature = fault == 3 ? -1.0F : 0.5F * static_cast<float>(world.in(0, 3));
  draw.without_replacement = world.in(0, 1);
  draw.seed = world.strange();
  draw.request = world.strange();
  draw.level = fault == 4 ? SIDBEAM_MAX_LEVELS : world.in(0, SIDBEAM_MAX_LEVELS - 1);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  const In<sidbeam_relaxed_draw_args> draw_argument(world, draw);
  Out<int64_t> drawn(world, 6);
  sidbeam_runtime* runtime = world.any(world.runtimes);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(relaxed_draw)(fault == 5 ? nullptr : runtime, draw_argument.get(), fault == 6 ? nullptr : drawn.get(),
                             err);
  });
  if (status != SIDBEAM_OK) return;
  std::vector<int64_t> drafts(drawn.get(), drawn.get() + draw.draws);
  std::erase(drafts, -1);
  for (const int64_t one : drafts) FUZZ_CHECK(one >= 0 && std::isfinite(draft[static_cast<size_t>(one)]));
  verify_relaxed(world, runtime, draw, target, drafts);
}

}  // namespace

std::span<const Operation> speculation_operations() {
  static constexpr Operation kAll[] = {speculate, speculate, speculate, relax, relax, destroy_part};
  return kAll;
}

}  // namespace fuzz::abi
