// SPDX-License-Identifier: Apache-2.0
#include "runner/schedule/relaxed_rounds.h"

#include <algorithm>

#include "support/error.h"

namespace sidbeam::runner {
namespace {

bool has_variable_length(sidbeam_constraint* constraint) {
  sidbeam_constraint_info info = SIDBEAM_CONSTRAINT_INFO_INIT;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(sidbeam_constraint_get_info(constraint, &info, &error), error);
  return info.variable_length != 0;
}

}  // namespace

RelaxedRounds::RelaxedRounds(const Allocator& allocator, const LaneConfig& config, bool without_replacement,
                             LaneSession& target, const LaneSession& draft)
    : target_(target),
      draft_(draft),
      output_(*config.output),
      most_beams_(config.beams),
      width_(draft.config().beams),
      levels_(target.levels()),
      without_replacement_(without_replacement),
      log_probs_(config),
      of_levels_(allocator, target, draft),
      draws_(allocator, of_levels_.most_extensions()),
      choices_(allocator, config.requests * TreeSize{levels_, most_beams_, width_}.rows(), target.choice_columns(),
               int64_t{config.requests} * std::max<int64_t>(width_, int64_t{most_beams_} * levels_)),
      sequences_(allocator, target) {
  take_arrays(allocator);
}

void RelaxedRounds::take_arrays(const Allocator& allocator) {
  const int64_t requests = target_.config().requests;
  failures_ = Buffer<const char*>::zeroed(allocator, requests);
  variable_length_ = Buffer<int32_t>::zeroed(allocator, requests);
  beams_ = Buffer<Beam>(allocator, requests * most_beams_);
  counts_ = Buffer<int32_t>::zeroed(allocator, requests);
  steps_ = Buffer<float>::zeroed(allocator, of_levels_.most_extensions());
  target_log_probs_ = Buffer<float>::zeroed(allocator, of_levels_.most_extensions());
  drawn_ = Buffer<int64_t>::zeroed(allocator, width_);
  beam_of_node_ = Buffer<int32_t>::zeroed(allocator, int64_t{width_} + most_beams_);
}

int64_t RelaxedRounds::memory_bytes() const {
  return of_levels_.memory_bytes() + draws_.memory_bytes() + choices_.memory_bytes() + sequences_.memory_bytes() +
         failures_.bytes() + variable_length_.bytes() + beams_.bytes() + counts_.bytes() + steps_.bytes() +
         target_log_probs_.bytes() + drawn_.bytes() + beam_of_node_.bytes();
}

DrawKey RelaxedRounds::key_of(int32_t slot, int32_t level) const {
  const Job& job = target_.job(slot);
  return {job.seed, job.sampling_request, level, without_replacement_};
}

void RelaxedRounds::begin(const RunningSlots& running) {
  for (int32_t i = 0; i < running.count(); ++i) {
    const int32_t slot = running[i];
    failures_[slot] = nullptr;
    of_levels_.clear(slot);
    if (target_.beams().level[slot] > 0) continue;
    const Beams beams = beams_of(slot);
    *beams.count = 1;
    beams.beams[0] = {};
    variable_length_[slot] = has_variable_length(target_.job(slot).constraint) ? 1 : 0;
  }
}

bool RelaxedRounds::failed(int32_t slot, Outcome& outcome) const {
  if (failures_[slot] != nullptr) outcome = {SIDBEAM_INVALID_ARGUMENT, failures_[slot]};
  return failures_[slot] != nullptr;
}

void RelaxedRounds::list(int32_t slot, int32_t number) {
  of_levels_.list(slot, number);
  const RelaxedLevel level = of_levels_.of(slot, number);
  if (number == target_.beams().level[slot]) {
    for (const Beam& beam : beams_of(slot))
      if (beam.ended) add_ended(level, beam.extension, beam.score);
  }
  if (!output_.full()) return;
  for (int64_t i = 0; i < level.extensions(); ++i)
    if (!level.has_ended(i) && output_.token(number, level.codes[i]) < 0)
      failures_[slot] = "request.constraint has SIDs with a code that has no token, expected none with NORMALIZE_FULL";
}

bool RelaxedRounds::weigh_node(int32_t slot, const RelaxedLevel& level, int32_t node, float* row) {
  const int64_t first = level.firsts[node], count = level.firsts[node + 1] - first;
  return log_probs_.of(level.number, variable_length_[slot] != 0, row, level.codes + first, count,
                       steps_.data() + first);
}

LevelRows RelaxedRounds::draft(const sidbeam_speculation_tree& tree, const LevelRows& logits, const int32_t* row_map) {
  choices_.clear();
  for (int64_t i = 0; i < tree.draft_count; ++i) draft_slot(tree.draft_slots[i], logits, row_map + i * width_);
  return choices_.rows(logits.rows);
}

// Bad rows of the draft have no extensions, and the target nothing to verify there.
void RelaxedRounds::draft_slot(int32_t slot, const LevelRows& logits, const int32_t* row_map) {
  const int32_t number = draft_.beams().level[slot];
  list(slot, number);
  const RelaxedLevel level = of_levels_.of(slot, number);
  for (int32_t m = 0; m < *level.fed; ++m) {
    const bool good = weigh_node(slot, level, m, logits.logits + row_map[m] * logits.columns);
    const float score = draft_.beams().scores[int64_t{slot} * width_ + m];
    for (int64_t i = level.firsts[m]; i < level.firsts[m + 1]; ++i)
      level.draft[i] = good ? score + steps_[i] : -kInfinity;
  }
  const int32_t wanted = target_.job(slot).beams + width_ - most_beams_;
  *level.draft_count = draws_.draw(key_of(slot, number), {level.draft, level.extensions()}, wanted, level.drafts);
  const int32_t different = different_drafts(level, drawn_.data());
  int32_t m = 0;
  for (int32_t i = 0; i < different; ++i) {
    const int64_t extension = drawn_[i];
    if (level.has_ended(extension)) continue;
    m = level.node_of(extension, m);
    choices_.take(row_map[m], target_.choice_column(number, level.codes[extension]), steps_[extension]);
  }
}

LevelRows RelaxedRounds::verify(const sidbeam_speculation_tree& tree, const LevelRows& logits) {
  choices_.clear();
  for (int64_t i = 0; i < tree.count; ++i) verify_slot(tree, i, logits);
  return choices_.rows(logits.rows);
}

// Level by level, as the target's session will be stepped.
void RelaxedRounds::verify_slot(const sidbeam_speculation_tree& tree, int64_t i, const LevelRows& logits) {
  const int32_t slot = tree.slots[i];
  int32_t number = target_.beams().level[slot];
  int64_t first_row = tree.node_offsets[i];
  if (!of_levels_.of(slot, number).is_listed()) list(slot, number);
  find_roots(slot, of_levels_.of(slot, number));
  while (failures_[slot] == nullptr) {
    const RelaxedLevel level = of_levels_.of(slot, number);
    if (!weigh(slot, level, first_row, logits)) {
      failures_[slot] = kBadLogits.message;
      return;
    }
    take_drawn(slot, level, first_row, choose(slot, level));
    if (is_complete(slot, ++number)) return;
    const RelaxedLevel next = of_levels_.of(slot, number);
    if (!next.is_listed() && draft_.beams().level[slot] == number) list(slot, number);
    if (!follow(slot, next)) return;
    first_row += *level.fed;
  }
}

// Beams that go on are the nodes that are fed, the others those that have ended, as list() has them. (An index that is
// damaged may have given the session more beams, or fewer: those that it lacks are dropped.)
void RelaxedRounds::find_roots(int32_t slot, const RelaxedLevel& level) {
  const Beams beams = beams_of(slot);
  int32_t kept = 0, ended = *level.fed;
  for (const Beam& beam : beams) {
    if (!beam.ended && kept == *level.fed) continue;
    beams.beams[kept] = beam;
    beams.beams[kept].node = beam.ended ? ended++ : kept;
    ++kept;
  }
  *beams.count = kept;
}

bool RelaxedRounds::weigh(int32_t slot, const RelaxedLevel& level, int64_t first_row, const LevelRows& logits) {
  std::fill_n(target_log_probs_.data(), level.extensions(), -kInfinity);
  std::fill_n(beam_of_node_.data(), *level.nodes, -1);
  const Beams beams = beams_of(slot);
  for (const Beam& beam : beams) {
    beam_of_node_[beam.node] = static_cast<int32_t>(&beam - beams.beams);
    const int64_t first = level.firsts[beam.node], end = level.firsts[beam.node + 1];
    if (beam.ended) {
      target_log_probs_[first] = beam.score;
      continue;
    }
    if (!weigh_node(slot, level, beam.node, logits.logits + (first_row + beam.node) * logits.columns)) return false;
    for (int64_t i = first; i < end; ++i) target_log_probs_[i] = beam.score + steps_[i];
  }
  return true;
}

// Without replacement q is over what the target's beams may continue with, as p is, and only drafts of these are left.
// (With replacement the whole q must stay: a draft of another beam is one that p rejects.)
int32_t RelaxedRounds::keep_drafts_of_beams(const RelaxedLevel& level) {
  int32_t kept = 0;
  for (int32_t node = 0; node < *level.nodes; ++node)
    if (beam_of_node_[node] < 0)
      std::fill(level.draft + level.firsts[node], level.draft + level.firsts[node + 1], -kInfinity);
  for (int32_t i = 0; i < *level.draft_count; ++i)
    if (level.draft[level.drafts[i]] > -kInfinity) level.drafts[kept++] = level.drafts[i];
  return kept;
}

int32_t RelaxedRounds::choose(int32_t slot, const RelaxedLevel& level) {
  const DrawKey key = key_of(slot, level.number);
  const Distribution target{target_log_probs_.data(), level.extensions()};
  const int32_t wanted = target_.job(slot).beams;
  if (*level.draft_count == 0) return draws_.draw(key, target, wanted, drawn_.data());
  const int32_t drafts = without_replacement_ ? keep_drafts_of_beams(level) : *level.draft_count;
  return draws_.verify(key, target, level.draft, level.drafts, drafts, wanted, drawn_.data());
}

// Draws become beams, in the order that the session will give them.
void RelaxedRounds::take_drawn(int32_t slot, const RelaxedLevel& level, int64_t first_row, int32_t count) {
  std::sort(drawn_.data(), drawn_.data() + count);
  const Beams beams = beams_of(slot);
  *beams.count = 0;
  int32_t node = 0;
  for (int32_t i = 0; i < count; ++i) {
    const int64_t extension = drawn_[i];
    if (i > 0 && extension == drawn_[i - 1]) {
      ++beams.end()[-1].draws;
      continue;
    }
    node = level.node_of(extension, node);
    const int32_t code = level.codes[extension];
    const bool ended = level.has_ended(extension);
    *beams.end() = {extension, -1,   beam_of_node_[node], code, steps_[extension], target_log_probs_[extension],
                    1,         ended};
    ++*beams.count;
    if (!ended) choices_.take(first_row + node, target_.choice_column(level.number, code), steps_[extension]);
  }
  std::sort(beams.begin(), beams.end(), [](const Beam& a, const Beam& b) {
    if (a.ended != b.ended) return b.ended;
    if (a.score != b.score) return a.score > b.score;
    return a.parent != b.parent ? a.parent < b.parent : a.code < b.code;
  });
  if (variable_length_[slot] != 0) keep_sequences(slot, level, beams);
}

void RelaxedRounds::keep_sequences(int32_t slot, const RelaxedLevel& level, const Beams& beams) {
  for (int32_t m = 0; m < *beams.count; ++m) {
    const Beam& beam = beams.beams[m];
    if (beam.code < 0)
      sequences_.carry(slot, m, beam.parent);
    else
      sequences_.take(slot, level.number, m, beam.parent, beam.code, beam.log_prob);
  }
  sequences_.replace(slot, *beams.count);
}

// Whether all of the beams are nodes, so that the next level may be verified.
bool RelaxedRounds::follow(int32_t slot, const RelaxedLevel& next) {
  if (!next.is_listed()) return false;
  for (Beam& beam : beams_of(slot)) {
    const int64_t* first = next.sources + (beam.ended ? *next.fed : 0);
    const int64_t* end = next.sources + (beam.ended ? *next.nodes : *next.fed);
    const int64_t* found = std::find(first, end, beam.extension);
    if (found == end && !beam.ended) return false;
    if (found == end) add_ended(next, beam.extension, -kInfinity);
    beam.node = static_cast<int32_t>(found - next.sources);
  }
  return true;
}

bool RelaxedRounds::is_complete(int32_t slot, int32_t level) {
  const Beams beams = beams_of(slot);
  return level == levels_ || std::all_of(beams.begin(), beams.end(), [](const Beam& beam) { return beam.ended; });
}

void RelaxedRounds::complete(RunningSlots& running) {
  for (int32_t i = 0; i < running.count(); ++i) {
    const int32_t slot = running[i];
    if (failures_[slot] != nullptr || !is_complete(slot, target_.beams().level[slot])) continue;
    const Beams beams = beams_of(slot);
    const bool ended = *beams.count > 0 && beams.end()[-1].ended;
    const int32_t* found = ended ? sequences_.lead(slot, *beams.count, choices_) : nullptr;
    for (int32_t m = 0; m < target_.beams().live[slot]; ++m) running.repeat(slot, m, 0);
    for (int32_t m = 0; m < *beams.count; ++m) running.repeat(slot, ended ? found[m] : m, beams.beams[m].draws);
  }
}

}  // namespace sidbeam::runner
