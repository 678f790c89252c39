// Steps on the logits of children alone. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "beams.h"
#include "logits.h"
#include "steps.h"

namespace fuzz::abi {
namespace {

// As many logits as each beam of all slots has children, or as many as the input says.
std::vector<int64_t> draw_offsets(World& world, const Session& session, bool lse_given) {
  const auto beams = static_cast<size_t>(session.config.slots) * static_cast<size_t>(session.config.beams);
  std::vector<int64_t> offsets(beams + 1);
  if (!world.one_in(4) && ABI(session_children)(session.handle, nullptr, 0, lse_given ? 1 : 0, 0, offsets.data(),
                                                nullptr, nullptr, nullptr) == SIDBEAM_OK)
    return offsets;
  for (size_t i = 0; i < beams; ++i) offsets[i + 1] = offsets[i] + world.in(0, 3);
  return offsets;
}

void spoil_offsets(World& world, int32_t fault, int64_t columns, std::vector<int64_t>& offsets) {
  if (fault == 1) offsets.back() = columns + 1;
  if (fault == 2) offsets.front() = -1;
  if (fault == 3) offsets[static_cast<size_t>(world.in(1, static_cast<int32_t>(offsets.size()) - 1))] = INT64_MIN;
  world.expected.fails_if(fault >= 1 && fault <= 3, SIDBEAM_INVALID_ARGUMENT);
}

void judge(World& world, const Session& session, bool lse_given) {
  const sidbeam_session_config& config = session.config;
  const bool whole = config.normalization == SIDBEAM_NORMALIZE_FULL || config.normalization == SIDBEAM_NORMALIZE_LEVEL;
  world.expected.fails_if(
      config.strategy != SIDBEAM_STRATEGY_TRIE || config.mode != SIDBEAM_MODE_SEARCH || (whole && !lse_given),
      SIDBEAM_UNSUPPORTED);
  world.expected.fails_if(steppable(session.beams).empty(), SIDBEAM_BAD_STATE);
}

}  // namespace

void step_children(World& world) {
  if (world.sessions.empty()) return;
  Session& session = *world.any(world.sessions);
  if (steppable(session.beams).empty() && !world.one_in(8)) start(world, session);
  const std::vector<int32_t> stepped = steppable(session.beams);
  const int32_t fault = world.fault(6);
  const bool lse_given = session.config.normalization != SIDBEAM_NORMALIZE_NONE && world.flip();
  std::vector<int64_t> drawn = draw_offsets(world, session, lse_given);
  const size_t beams = drawn.size() - 1;
  Logits logits(world, 0, 1, std::max<int64_t>(drawn.back(), 1) + world.in(0, 3));
  if (fault == 4) logits.view.rows = 2;
  if (fault == 5) logits.view.slots = 1;
  spoil_offsets(world, fault, logits.view.columns, drawn);
  const Array<int64_t> offsets(std::move(drawn));
  const Array<float> lse = lse_given ? Array<float>(std::vector<float>(beams, 3.5F)) : Array<float>();
  const Array<int32_t> map = fault == 6 ? Array<int32_t>(std::vector<int32_t>(beams)) : Array<int32_t>();
  world.expected.fails_if(fault >= 4, SIDBEAM_INVALID_ARGUMENT);
  judge(world, session, lse_given);
  const In<sidbeam_rows> view(world, logits.view);
  sidbeam_step_args given = SIDBEAM_STEP_ARGS_INIT;
  given.rows = view.get();
  given.row_map = map.get();
  given.lse = lse.get();
  given.child_offsets = offsets.get();
  const In<sidbeam_step_args> args(world, given);
  const Bystanders bystanders(session);
  const std::vector<int32_t> live(session.beams.live, session.beams.live + session.config.slots);
  const std::vector<int32_t> level(session.beams.level, session.beams.level + session.config.slots);
  const sidbeam_status status =
      world.attempt([&](sidbeam_error* err) { return ABI(session_step)(session.handle, args.get(), err); });
  bystanders.check(status, stepped);
  FUZZ_CHECK(logits.unwritten());
  if (status != SIDBEAM_OK) return;
  for (const int32_t slot : stepped) {
    const auto at = static_cast<size_t>(slot);
    check_step(session, slot, {live[at], level[at], session.fresh[at]});
    session.fresh[at] = false;
  }
}

}  // namespace fuzz::abi
