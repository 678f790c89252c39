// SPDX-License-Identifier: Apache-2.0
#include "search.h"

#include <algorithm>
#include <chrono>

namespace recommend {
namespace {

using Clock = std::chrono::steady_clock;

Session make_session(const Catalogue& catalogue, int32_t strategy, int32_t beams) {
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.slots = kSlots;
  config.beams = beams;
  config.strategy = strategy;
  config.constraint = catalogue.constraint.get();
  sidbeam_session* session;
  check(sidbeam_session_create(catalogue.runtime.get(), &config, &session, &err));
  return Session(session);
}

struct Host {
  const Transitions& model;
  Smoothing smoothing;
  sidbeam_session* session;
  sidbeam_beams beams;            // views of the session's arrays
  std::vector<float> logits;      // [S, M, columns]
  std::vector<int32_t> prefixes;  // [S, M, L] codes of each beam, as a model's KV cache would hold them
  std::vector<double> step_us;    // time of each step
};

Host make_host(const Transitions& model, Smoothing smoothing, sidbeam_session* session) {
  Host host{model, smoothing, session, SIDBEAM_BEAMS_INIT, {}, {}, {}};
  check(sidbeam_session_get_beams(session, &host.beams, &err));
  const auto rows = static_cast<size_t>(host.beams.slots) * static_cast<size_t>(host.beams.beams);
  host.logits.resize(rows * static_cast<size_t>(model.columns));
  host.prefixes.resize(rows * static_cast<size_t>(host.beams.levels));
  return host;
}

int32_t* prefix_of(Host& host, size_t slot, size_t beam) {
  return &host.prefixes[(slot * static_cast<size_t>(host.beams.beams) + beam) * static_cast<size_t>(host.beams.levels)];
}

// "Forward pass": logits for the live beams, and only those. Here all slots are at the same level; they need not be.
void run_model(Host& host, const std::vector<Weights>& weights) {
  for (size_t slot = 0; slot < weights.size(); slot++) {
    const int32_t fed = host.beams.active[slot];
    for (size_t beam = 0; beam < static_cast<size_t>(fed); beam++) {
      const size_t row = slot * static_cast<size_t>(host.beams.beams) + beam;
      recommend::logits(host.model, host.smoothing, weights[slot], prefix_of(host, slot, beam), host.beams.level[slot],
                        &host.logits[row * static_cast<size_t>(host.model.columns)]);
    }
  }
}

// Of the slots that are not done: one of a user who has seen all there is is so at once.
void step(Host& host) {
  sidbeam_rows rows = SIDBEAM_ROWS_INIT;
  rows.data = host.logits.data();
  rows.slots = host.beams.slots;
  rows.rows = host.beams.beams;
  rows.columns = host.model.columns;
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = &rows;
  const Clock::time_point before = Clock::now();
  check(sidbeam_session_step(host.session, &args, &err));
  host.step_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - before).count());
}

// Beams moved: beam m now continues what was beam parents[m]. A model reorders its KV cache in the same way.
void follow_parents(Host& host, const std::vector<int32_t>& slots) {
  const auto width = static_cast<size_t>(host.beams.beams), levels = static_cast<size_t>(host.beams.levels);
  const std::vector<int32_t> before = host.prefixes;
  for (const int32_t slot : slots) {
    const size_t base = static_cast<size_t>(slot) * width;
    for (size_t m = 0; m < static_cast<size_t>(host.beams.live[slot]); m++) {
      const auto parent = static_cast<size_t>(host.beams.parents[base + m]);
      int32_t* prefix = prefix_of(host, static_cast<size_t>(slot), m);
      std::copy_n(&before[(base + parent) * levels], levels, prefix);
      prefix[host.beams.level[slot] - 1] = host.beams.codes[base + m];
    }
  }
}

void take_answers(Host& host, const std::vector<int32_t>& slots, std::vector<Answer>& answers) {
  const auto width = static_cast<size_t>(host.beams.beams), levels = static_cast<size_t>(host.beams.levels);
  std::vector<int64_t> ordinals(slots.size() * width);
  std::vector<int32_t> sids(slots.size() * width * levels);
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals.data();
  items.sids = sids.data();
  check(sidbeam_session_get_items(host.session, slots.data(), static_cast<int64_t>(slots.size()), &items, &err));
  for (size_t i = 0; i < slots.size(); i++) {
    Answer& answer = answers.emplace_back();
    for (size_t row = i * width; row < i * width + static_cast<size_t>(host.beams.live[slots[i]]); row++) {
      answer.sids.emplace_back(&sids[row * levels], &sids[row * levels] + levels);
      answer.ordinals.push_back(ordinals[row]);
    }
  }
}

// A batch of requests from start to SIDs.
void answer(Host& host, const Catalogue& catalogue, Seen seen, const Query* queries, size_t count,
            std::vector<Answer>& answers) {
  std::vector<int32_t> slots(count);
  std::vector<Weights> weights(count);
  std::vector<Constraint> rules;
  std::vector<sidbeam_constraint*> constraints(count, catalogue.constraint.get());
  for (size_t i = 0; i < count; i++) {
    slots[i] = static_cast<int32_t>(i);
    weights[i] = weigh(host.model, queries[i].history);
    if (seen == Seen::kExcluded)
      constraints[i] = rules.emplace_back(constraint_without(catalogue, queries[i].history)).get();
  }
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.slots = slots.data();
  start.count = static_cast<int64_t>(count);
  start.constraints = constraints.data();
  check(sidbeam_session_start(host.session, &start, &err));
  while (std::any_of(host.beams.active, host.beams.active + count, [](int32_t active) { return active > 0; })) {
    run_model(host, weights);
    step(host);
    follow_parents(host, slots);
  }
  take_answers(host, slots, answers);
}

}  // namespace

Search search(const Transitions& model, Smoothing smoothing, const Catalogue& catalogue, int32_t strategy,
              int32_t beams, size_t queries, Seen seen) {
  const Session session = make_session(catalogue, strategy, beams);
  Host host = make_host(model, smoothing, session.get());
  Search result;
  for (size_t from = 0; from < queries; from += kSlots)
    answer(host, catalogue, seen, &model.data->test[from], std::min<size_t>(kSlots, queries - from), result.answers);
  const auto middle = host.step_us.begin() + static_cast<ptrdiff_t>(host.step_us.size() / 2);
  std::nth_element(host.step_us.begin(), middle, host.step_us.end());
  result.step_us = *middle;
  return result;
}

}  // namespace recommend
