// Sessions: made, asked and let go of. What moves them is in steps.cc.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>

#include "operations.h"
#include "steps.h"

namespace fuzz::abi {
namespace {

constexpr size_t kMostSessions = 3;

void draw_config(World& world, sidbeam_session_config& config) {
  config.slots = world.in(1, 4);
  config.beams = world.in(0, 3) != 1 ? world.in(1, 8) : world.one_in(16) ? SIDBEAM_MAX_BEAMS : world.in(1, 200);
  config.strategy = world.flip() ? SIDBEAM_STRATEGY_TRIE : world.in(0, 4);
  config.normalization = world.in(0, 3);
  config.top_k = world.in(0, 9);
  config.log_probs_promised = world.in(0, 7) / 7;
  config.mode = world.in(0, 2);
}

void spoil(World& world, int32_t fault, sidbeam_session_config& config) {
  if (fault == 0) return;
  world.expected.fails(fault >= 7 && fault <= 8 ? SIDBEAM_NO_DEVICE : SIDBEAM_INVALID_ARGUMENT);
  if (fault == 1) config.slots = world.flip() ? -1 : (1 << 20) + 1;
  if (fault == 2) config.beams = world.flip() ? 0 : SIDBEAM_MAX_BEAMS + 1;
  if (fault == 3) config.strategy = world.flip() ? -1 : 5;
  if (fault == 4) config.normalization = world.flip() ? -1 : 4;
  if (fault == 5) config.top_k = world.flip() ? -1 : SIDBEAM_MAX_CODES + 1;
  if (fault == 6) config.log_probs_promised = 2;
  if (fault == 7) config.device_type = SIDBEAM_DEVICE_CUDA;
  if (fault == 7) config.device_id = world.in(-1, 3);
  if (fault == 8) config.device_id = 1;
  if (fault == 9) config.device_type = world.flip() ? -1 : 2;
  if (fault == 10) config.constraint = nullptr;
  if (fault == 11) config.mode = world.flip() ? -1 : 3;
}

void create(World& world) {
  if (world.constraints.empty() || world.runtimes.empty() || world.sessions.size() >= kMostSessions) return;
  auto session = std::make_unique<Session>();
  const Held<sidbeam_constraint>& constraint = world.any(world.constraints);
  session->facts = constraint.facts;
  draw_config(world, session->config);
  session->vocabulary = draw_vocabulary(world.input, *constraint.facts);
  session->vocabulary.judge(*constraint.facts, world.expected);
  judge_strategy(session->config, *constraint.facts, world.expected);
  const In<sidbeam_vocabulary> vocabulary(world, session->vocabulary.view);
  if (!session->vocabulary.given) {
    world.expected = {};
    session->vocabulary.judge(*constraint.facts, world.expected);
    judge_strategy(session->config, *constraint.facts, world.expected);
  }
  const int32_t fault = world.fault(13);
  sidbeam_session_config config = session->config;
  config.constraint = constraint.handle;
  config.vocabulary = session->vocabulary.given ? vocabulary.get() : nullptr;
  spoil(world, fault, config);
  world.expected.fails_if(fault > 11, SIDBEAM_INVALID_ARGUMENT);
  const In<sidbeam_session_config> argument(world, config, config.mode == SIDBEAM_MODE_SEARCH);
  sidbeam_runtime* runtime = fault == 12 ? nullptr : world.any(world.runtimes);
  Out<sidbeam_session*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(session_create)(runtime, argument.get(), fault == 13 ? nullptr : out.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  session->handle = *out;
  session->slots.resize(static_cast<size_t>(config.slots));
  session->widths.resize(static_cast<size_t>(config.slots));
  session->fresh.resize(static_cast<size_t>(config.slots));
  FUZZ_CHECK(ABI(session_get_beams)(session->handle, &session->beams, nullptr) == SIDBEAM_OK);
  world.sessions.push_back(std::move(session));
}

// The views are always the same.
void get_beams(World& world) {
  if (world.sessions.empty()) return;
  const Session& session = *world.any(world.sessions);
  const int32_t fault = world.fault(2);
  const bool fetch = world.flip();
  sidbeam_session* handle = fault == 1 ? nullptr : session.handle;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  OutStruct<sidbeam_beams> out(world);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    sidbeam_beams* to = fault == 2 ? nullptr : out.get();
    return fetch ? ABI(session_fetch)(handle, to, nullptr, err) : ABI(session_get_beams)(handle, to, err);
  });
  if (status != SIDBEAM_OK) return;
  const auto pointers = [](const sidbeam_beams& beams) { return reinterpret_cast<const uint8_t*>(&beams.parents); };
  constexpr size_t kPointers = sizeof(sidbeam_beams) - offsetof(sidbeam_beams, parents);
  FUZZ_CHECK(std::memcmp(pointers(*out), pointers(session.beams), kPointers) == 0);
}

void get_stats(World& world) {
  if (world.sessions.empty()) return;
  const Session& session = *world.any(world.sessions);
  const int32_t fault = world.fault(2);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  OutStruct<sidbeam_stats> out(world);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(session_get_stats)(fault == 1 ? nullptr : session.handle, fault == 2 ? nullptr : out.get(), err);
  });
  if (status == SIDBEAM_OK) FUZZ_CHECK(out->steps >= 0 && out->rows_read >= 0 && out->memory_bytes > 0);
}

// What the next step reads of each beam of all slots: as many columns as there is room for, all of them counted.
void get_children(World& world) {
  if (world.sessions.empty()) return;
  const Session& session = *world.any(world.sessions);
  const sidbeam_session_config& config = session.config;
  const int32_t fault = world.fault(6), lse_given = fault == 1 ? 2 : world.in(0, 1);
  const int64_t capacity = fault == 2 ? -1 : fault == 3 ? 1 : world.in(0, 100);
  const bool whole = config.normalization == SIDBEAM_NORMALIZE_FULL || config.normalization == SIDBEAM_NORMALIZE_LEVEL;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(
      config.strategy != SIDBEAM_STRATEGY_TRIE || config.mode != SIDBEAM_MODE_SEARCH || (whole && lse_given == 0),
      SIDBEAM_UNSUPPORTED);
  const auto beams = static_cast<size_t>(config.slots) * static_cast<size_t>(config.beams);
  const auto room = static_cast<size_t>(std::max<int64_t>(capacity, 0));
  Out<int64_t> offsets(world, beams + 1);
  Out<int32_t> columns(world, room);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(session_children)(fault == 4 ? nullptr : session.handle, nullptr, fault == 5 ? config.slots + 1 : 0,
                                 lse_given, capacity, fault == 6 ? nullptr : offsets.get(),
                                 fault == 3 ? nullptr : columns.get(), nullptr, err);
  });
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(offsets[0] == 0);
  for (size_t i = 0; i < beams; ++i) FUZZ_CHECK(offsets[i] <= offsets[i + 1]);
  for (size_t i = 0; i < room && static_cast<int64_t>(i) < offsets[beams]; ++i) FUZZ_CHECK(columns[i] >= 0);
}

// As many as there is room for are written; `count` says how many there are.
void get_counters(World& world) {
  if (world.sessions.empty()) return;
  const Session& session = *world.any(world.sessions);
  const int32_t fault = world.fault(4);
  const int64_t capacity = fault == 1 ? -1 : fault == 2 ? world.in(1, 30) : world.in(0, 30);
  const auto room = static_cast<size_t>(std::max<int64_t>(capacity, 0));
  const bool named = world.flip();
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  Out<const char*> names(world, room);
  Out<int64_t> values(world, room), count(world, 1);
  const std::vector<int64_t> before(values.get(), values.get() + room);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(session_get_counters)(fault == 3 ? nullptr : session.handle, capacity, named ? names.get() : nullptr,
                                     fault == 2 ? nullptr : values.get(), fault == 4 ? nullptr : count.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(*count > 0);
  for (size_t i = 0; i < room; ++i) {
    const bool written = static_cast<int64_t>(i) < *count;
    FUZZ_CHECK(written ? values[i] >= 0 : values[i] == before[i]);
    if (written && named) FUZZ_CHECK(is_line(names[i]));
  }
}

void destroy(World& world) {
  if (world.one_in(4)) ABI(session_destroy)(nullptr);
  if (world.sessions.empty()) return;
  std::unique_ptr<Session>& destroyed = world.any(world.sessions);
  ABI(session_destroy)(destroyed->handle);
  std::swap(destroyed, world.sessions.back());
  world.sessions.pop_back();
}

}  // namespace

void judge_strategy(const sidbeam_session_config& config, const sidbeam_index_info& info, Answers& answers) {
  static constexpr int32_t kNeeded[] = {SIDBEAM_KIND_TRIE, SIDBEAM_KIND_SORTED, SIDBEAM_KIND_SORTED, SIDBEAM_KIND_HASH,
                                        0};
  const bool free_levels = config.strategy == SIDBEAM_STRATEGY_HASH_FINAL || config.strategy == SIDBEAM_STRATEGY_NONE;
  answers.fails_if(free_levels && config.normalization == SIDBEAM_NORMALIZE_VALID, SIDBEAM_INVALID_ARGUMENT);
  answers.fails_if(config.mode == SIDBEAM_MODE_SAMPLE && config.strategy == SIDBEAM_STRATEGY_HASH_FINAL,
                   SIDBEAM_INVALID_ARGUMENT);
  answers.fails_if(config.mode == SIDBEAM_MODE_STOCHASTIC && config.strategy > SIDBEAM_STRATEGY_SORTED,
                   SIDBEAM_INVALID_ARGUMENT);
  answers.fails_if(free_levels && info.variable_length != 0, SIDBEAM_UNSUPPORTED);
  // Only the trie knows what came and went in a live catalogue.
  if (info.version != 0 && config.strategy != SIDBEAM_STRATEGY_TRIE) answers.may_fail(SIDBEAM_UNSUPPORTED);
  answers.fails_if((kNeeded[config.strategy] & ~info.kinds) != 0, SIDBEAM_MISSING_SECTION);
}

void make_session(World& world) {
  for (int attempts = 0; attempts < 3 && world.sessions.empty(); ++attempts) create(world);
}

std::span<const Operation> session_operations() {
  static constexpr Operation kAll[] = {create,        get_beams, get_stats, get_counters, get_children, destroy,
                                       start,         start,     step,      step,         step,         step,
                                       step_children, get_items, get_items, get_items,    stop};
  return kAll;
}

}  // namespace fuzz::abi
