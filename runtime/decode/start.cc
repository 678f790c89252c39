// Starting slots: check everything, then let the backend begin.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

#include "backend/sampling.h"
#include "backend/settings.h"
#include "decode/prefixes.h"
#include "decode/session.h"
#include "index/trie.h"
#include "support/codebook.h"
#include "support/error.h"

namespace sidbeam {
namespace {

// The entries of a start, with the stride of its prefixes resolved.
struct StartList {
  const sidbeam_start_args& args;
  int64_t count = 0;
  PrefixArray prefixes;

  int32_t prefix_length(int64_t i) const { return prefixes.codes != nullptr ? args.prefix_lengths[i] : 0; }
};

// The constraint that entry i names, or the session's.
sidbeam_constraint* constraint_of(const sidbeam_session& session, const sidbeam_start_args& args, int64_t i) {
  sidbeam_constraint* named = args.constraints != nullptr ? args.constraints[i] : nullptr;
  return named != nullptr ? named : session.constraint.get();
}

void check_constraint(const sidbeam_session& session, const sidbeam_start_args& args, int64_t i) {
  const sidbeam_constraint* constraint = constraint_of(session, args, i);
  if (constraint == session.constraint.get()) return;
  const IndexView& index = constraint->view();
  char what[40];
  std::snprintf(what, sizeof what, "constraints[%lld]", static_cast<long long>(i));
  if (index.levels > session.levels)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s has %d levels, expected at most %d, those of the session", what, index.levels,
         session.levels);
  check_strategy(session.strategy, index, what);
  check_rules(session.strategy, session.max_listed, *constraint, what);
  check_places(session.beams, index, what);
  check_vocabulary(session.vocabulary, *constraint, what);
  check_codebook(what, constraint->codebook(), session.constraint->codebook(), "the session's constraint");
}

void check_prefix(const IndexView& index, const StartList& list, int64_t i) {
  const int32_t length = list.prefix_length(i), most = std::min(index.levels, list.prefixes.capacity);
  if (length < 0 || length > most)
    fail(SIDBEAM_INVALID_ARGUMENT, "prefix_lengths[%lld] is %d, expected 0..%d", static_cast<long long>(i), length,
         most);
  const int32_t* prefix = list.prefixes.of(i);
  for (int32_t l = 0; l < length; ++l)
    if (!is_code(index.level[l], prefix[l]))
      fail(SIDBEAM_INVALID_ARGUMENT, "prefixes[%lld][%d] is %d, expected 0..%u", static_cast<long long>(i), l,
           prefix[l], index.level[l].codes - 1);
}

void check_width_levels(const sidbeam_session& session, const sidbeam_start_args& args) {
  const bool draws = session.mode == SIDBEAM_MODE_SAMPLE;
  const int32_t most = draws ? 1 : session.levels;
  if (args.width_levels < 0 || args.width_levels > most)
    fail(SIDBEAM_INVALID_ARGUMENT, "width_levels is %d, expected 0..%d%s", args.width_levels, most,
         draws ? " in mode SAMPLE, whose draws stay in their rows" : ", the session's levels");
  if (args.width_levels > 0 && args.widths == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "widths is NULL, expected [count, %d], since width_levels is %d", args.width_levels,
         args.width_levels);
}

LevelWidths checked_widths(const sidbeam_session& session, const sidbeam_start_args& args, int64_t i) {
  if (args.widths == nullptr) return {nullptr, 0, session.beams};
  const int32_t levels = std::max(args.width_levels, 1);
  const LevelWidths widths{args.widths + i * levels, levels, session.beams};
  for (int32_t l = 0; l < levels; ++l) {
    char what[48];
    const auto entry = static_cast<long long>(i);
    std::snprintf(what, sizeof what, args.width_levels > 0 ? "widths[%lld][%d]" : "widths[%lld]", entry, l);
    if (widths.widths[l] < 0 || widths.widths[l] > session.beams)
      fail(SIDBEAM_INVALID_ARGUMENT, "%s is %d, expected 1..%d, or 0 for %d", what, widths.widths[l], session.beams,
           session.beams);
    if (session.mode == SIDBEAM_MODE_STOCHASTIC && l > 0 && widths.at(l) > widths.at(l - 1))
      fail(SIDBEAM_INVALID_ARGUMENT,
           "%s is %d, expected at most %d, the width before: in mode STOCHASTIC none may rise", what, widths.at(l),
           widths.at(l - 1));
  }
  return widths;
}

void check_temperatures(const sidbeam_start_args& args, int64_t i) {
  if (args.inverse_temperatures != nullptr)
    check_inverse_temperature({"inverse_temperatures", i, args.inverse_temperatures[i], "1"});
  if (args.soft_caps != nullptr) check_soft_cap({"soft_caps", i, args.soft_caps[i], "none"});
}

void check_start_lists(const SessionBackend& backend, const sidbeam_start_args& args) {
  backend.check_host(args.slots, "slots");
  backend.check_host(args.constraints, "constraints");
  backend.check_host(args.widths, "widths");
  backend.check_host(args.prefixes, "prefixes");
  backend.check_host(args.prefix_lengths, "prefix_lengths");
  backend.check_host(args.inverse_temperatures, "inverse_temperatures");
  backend.check_host(args.soft_caps, "soft_caps");
  if (args.sampling == nullptr) return;
  backend.check_host(args.sampling->seeds, "sampling.seeds");
  backend.check_host(args.sampling->requests, "sampling.requests");
  backend.check_host(args.sampling->draws, "sampling.draws");
  backend.check_host(args.sampling->top_ks, "sampling.top_ks");
  backend.check_host(args.sampling->top_ps, "sampling.top_ps");
  backend.check_host(args.sampling->noise_scales, "sampling.noise_scales");
}

SamplingCall sampling_call(const sidbeam_session& session, int64_t count) {
  const bool probes = session.strategy == SIDBEAM_STRATEGY_SORTED_TOPK;
  return {session.mode, session.beams, count, probes ? session.top_k : 0};
}

void check_sampling_of_mode(const sidbeam_session& session, const sidbeam_start_args& args, int64_t count) {
  if (session.mode == SIDBEAM_MODE_SEARCH) {
    if (args.sampling != nullptr)
      fail(SIDBEAM_INVALID_ARGUMENT, "sampling is given, expected NULL in mode SEARCH, which draws nothing");
    return;
  }
  if (args.sampling == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "sampling is NULL, expected seeds and requests in mode %s",
         session.mode == SIDBEAM_MODE_SAMPLE ? "SAMPLE" : "STOCHASTIC");
  check_sampling(sampling_call(session, count), *args.sampling);
}

// Entry i, checked.
SlotStart checked_start(sidbeam_session& session, const StartList& list, int64_t i) {
  const sidbeam_start_args& args = list.args;
  SlotStart start;
  start.slot = session.named.take(args.slots, i);
  start.widths = checked_widths(session, args, i);
  check_temperatures(args, i);
  check_constraint(session, args, i);
  start.constraint = constraint_of(session, args, i);
  check_prefix(start.constraint->view(), list, i);
  start.settings = {args.inverse_temperatures != nullptr ? args.inverse_temperatures[i] : 0.0F,
                    args.soft_caps != nullptr ? args.soft_caps[i] : 0.0F};
  start.prefix_length = list.prefix_length(i);
  start.prefix = list.prefixes.of(i);
  if (args.sampling != nullptr)
    start.sampling = sampling_of(sampling_call(session, list.count), *args.sampling, i, start.widths.at(0));
  return start;
}

}  // namespace

void start_slots(sidbeam_session& session, const sidbeam_start_args& args) {
  StartList list{args, listed_slots(session, args.slots, args.count), {}};
  check_start_lists(*session.backend, args);
  check_sampling_of_mode(session, args, list.count);
  check_width_levels(session, args);
  if (args.prefixes != nullptr && args.prefix_lengths == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "prefix_lengths is NULL, expected the lengths of prefixes");
  if (args.prefixes != nullptr)
    list.prefixes = resolve_prefixes("prefix_stride", args.prefixes, args.prefix_stride, list.count, session.levels);
  session.named.begin();
  for (int64_t i = 0; i < list.count; ++i) session.starts[i] = checked_start(session, list, i);
  session.backend->start(session.starts.data(), list.count, args.stream);
}

}  // namespace sidbeam
