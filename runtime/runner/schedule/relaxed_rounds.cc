// SPDX-License-Identifier: Apache-2.0
#include "runner/schedule/relaxed_rounds.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "support/error.h"

namespace sidbeam::runner {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

int64_t most_codes(const LaneSession& session) {
  int64_t most = 0;
  for (int32_t level = 0; level < session.levels(); ++level) most = std::max<int64_t>(most, session.codes(level));
  return most;
}

// Extensions of one level that there can be: there are no more nodes than prefixes.
int64_t most_extensions(const LaneSession& session, int32_t width, int32_t level) {
  int64_t nodes = 1;
  for (int32_t l = 0; l < level && nodes < width; ++l) nodes *= session.codes(l);
  return std::min<int64_t>(nodes, width) * session.codes(level);
}

int64_t most_extensions(const LaneSession& session, int32_t width) {
  int64_t most = 0;
  for (int32_t level = 0; level < session.levels(); ++level)
    most = std::max(most, most_extensions(session, width, level));
  return most;
}

}  // namespace

RelaxedRounds::RelaxedRounds(const Allocator& allocator, const LaneConfig& config, bool without_replacement,
                             const LaneSession& target, const LaneSession& draft)
    : target_(target),
      draft_(draft),
      output_(*config.output),
      beams_(config.beams),
      width_(draft.config().beams),
      levels_(target.levels()),
      without_replacement_(without_replacement),
      log_probs_(config),
      most_(most_extensions(target, width_)),
      draws_(allocator, most_),
      choices_(allocator, config.requests * TreeSize{levels_, beams_, width_}.rows(), most_codes(target),
               int64_t{config.requests} * std::max<int64_t>(width_, int64_t{beams_} * levels_)) {
  for (int32_t level = 0; level < levels_; ++level) {
    offsets_[level] = slot_extensions_;
    slot_extensions_ += most_extensions(target, width_, level);
  }
  take_arrays(allocator);
}

void RelaxedRounds::take_arrays(const Allocator& allocator) {
  const int64_t requests = target_.config().requests, levels = requests * levels_;
  nodes_ = Buffer<int32_t>::zeroed(allocator, levels);
  draft_counts_ = Buffer<int32_t>::zeroed(allocator, levels);
  firsts_ = Buffer<int64_t>::zeroed(allocator, levels * (width_ + 1));
  sources_ = Buffer<int64_t>::zeroed(allocator, levels * width_);
  drafts_ = Buffer<int64_t>::zeroed(allocator, levels * width_);
  codes_ = Buffer<int32_t>::zeroed(allocator, checked_bytes(requests, slot_extensions_));
  draft_log_probs_ = Buffer<float>::zeroed(allocator, checked_bytes(requests, slot_extensions_));
  failures_ = Buffer<const char*>::zeroed(allocator, requests);
  steps_ = Buffer<float>::zeroed(allocator, most_);
  target_log_probs_ = Buffer<float>::zeroed(allocator, most_);
  drawn_ = Buffer<int64_t>::zeroed(allocator, width_);
  beam_of_node_ = Buffer<int32_t>::zeroed(allocator, width_);
  now_ = Buffer<Beam>(allocator, beams_);
  next_ = Buffer<Beam>(allocator, beams_);
}

int64_t RelaxedRounds::memory_bytes() const {
  return draws_.memory_bytes() + choices_.memory_bytes() + nodes_.bytes() + draft_counts_.bytes() + firsts_.bytes() +
         sources_.bytes() + drafts_.bytes() + codes_.bytes() + draft_log_probs_.bytes() + failures_.bytes() +
         steps_.bytes() + target_log_probs_.bytes() + drawn_.bytes() + beam_of_node_.bytes() + now_.bytes() +
         next_.bytes();
}

RelaxedRounds::Level RelaxedRounds::level_of(int32_t slot, int32_t level) {
  const int64_t at = int64_t{slot} * levels_ + level, first = slot * slot_extensions_ + offsets_[level];
  return {&nodes_[at],
          &draft_counts_[at],
          firsts_.data() + at * (width_ + 1),
          sources_.data() + at * width_,
          drafts_.data() + at * width_,
          codes_.data() + first,
          draft_log_probs_.data() + first};
}

DrawKey RelaxedRounds::key_of(int32_t slot, int32_t level) const {
  const Job& job = target_.job(slot);
  return {job.seed, job.sampling_request, level, without_replacement_};
}

void RelaxedRounds::begin(const RunningSlots& running) {
  for (int32_t i = 0; i < running.count(); ++i) {
    const int32_t slot = running[i];
    failures_[slot] = nullptr;
    std::fill_n(nodes_.data() + int64_t{slot} * levels_, levels_, -1);
    std::fill_n(draft_counts_.data() + int64_t{slot} * levels_, levels_, 0);
  }
}

bool RelaxedRounds::failed(int32_t slot, Outcome& outcome) const {
  if (failures_[slot] != nullptr) outcome = {SIDBEAM_INVALID_ARGUMENT, failures_[slot]};
  return failures_[slot] != nullptr;
}

// The beams' codes and parents say which extensions of the level before they are.
void RelaxedRounds::find_sources(int32_t slot, int32_t number) {
  const Level level = level_of(slot, number), before = level_of(slot, number - 1);
  const sidbeam_beams& beams = draft_.beams();
  const int64_t first = int64_t{slot} * width_;
  for (int32_t m = 0; m < *level.nodes; ++m) {
    const int64_t* range = before.firsts + beams.parents[first + m];
    level.sources[m] =
        std::lower_bound(before.codes + range[0], before.codes + range[1], beams.codes[first + m]) - before.codes;
  }
}

void RelaxedRounds::list(int32_t slot, int32_t number) {
  const Level level = level_of(slot, number);
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(sidbeam_session_children(draft_.get(), &slot, 1, 0, most_extensions(target_, width_, number),
                                        level.firsts, level.codes, nullptr, &error),
               error);
  *level.nodes = draft_.beams().live[slot];
  if (number > 0 && *level_of(slot, number - 1).nodes >= 0) find_sources(slot, number);
  if (!output_.full()) return;
  for (int64_t i = 0; i < level.firsts[*level.nodes]; ++i)
    if (output_.token(number, level.codes[i]) < 0)
      failures_[slot] = "request.constraint has SIDs with a code that has no token, expected none with NORMALIZE_FULL";
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
  const Level level = level_of(slot, number);
  for (int32_t m = 0; m < *level.nodes; ++m) {
    const int64_t first = level.firsts[m], count = level.firsts[m + 1] - first;
    const bool good = log_probs_.of(number, logits.logits + row_map[m] * logits.columns, level.codes + first, count,
                                    steps_.data() + first);
    const float score = draft_.beams().scores[int64_t{slot} * width_ + m];
    for (int64_t i = first; i < first + count; ++i) level.draft[i] = good ? score + steps_[i] : -kInfinity;
  }
  const int32_t wanted = target_.job(slot).beams + width_ - beams_;
  *level.draft_count =
      draws_.draw(key_of(slot, number), {level.draft, level.firsts[*level.nodes]}, wanted, level.drafts);
  std::copy_n(level.drafts, *level.draft_count, drawn_.data());
  std::sort(drawn_.data(), drawn_.data() + *level.draft_count);
  const int64_t* end = std::unique(drawn_.data(), drawn_.data() + *level.draft_count);
  int32_t m = 0;
  for (const int64_t* extension = drawn_.data(); extension != end; ++extension) {
    while (level.firsts[m + 1] <= *extension) ++m;
    choices_.take(row_map[m], level.codes[*extension], steps_[*extension]);
  }
}

LevelRows RelaxedRounds::verify(const sidbeam_speculation_tree& tree, const LevelRows& logits, RunningSlots& running) {
  choices_.clear();
  for (int64_t i = 0; i < tree.count; ++i) verify_slot(tree, i, logits, running);
  return choices_.rows(logits.rows);
}

// Level by level, as the target's session will be stepped.
void RelaxedRounds::verify_slot(const sidbeam_speculation_tree& tree, int64_t i, const LevelRows& logits,
                                RunningSlots& running) {
  const int32_t slot = tree.slots[i];
  int32_t number = target_.beams().level[slot];
  int64_t first_row = tree.node_offsets[i];
  if (*level_of(slot, number).nodes < 0) list(slot, number);
  take_roots(slot, level_of(slot, number));
  while (failures_[slot] == nullptr) {
    const Level level = level_of(slot, number);
    if (!weigh(number, level, first_row, logits)) failures_[slot] = kBadLogits.message;
    if (failures_[slot] != nullptr) return;
    take_drawn(level, first_row, choose(slot, number, level));
    if (++number == levels_) break;
    if (*level_of(slot, number).nodes < 0 && draft_.beams().level[slot] == number) list(slot, number);
    if (!follow(level_of(slot, number))) return;
    first_row += *level.nodes;
  }
  for (int32_t m = 0; m < next_count_ && number == levels_; ++m) running.repeat(slot, m, next_[m].draws);
}

void RelaxedRounds::take_roots(int32_t slot, const Level& level) {
  count_ = *level.nodes;
  for (int32_t m = 0; m < count_; ++m) {
    now_[m] = {};
    now_[m].node = m;
    now_[m].score = target_.beams().scores[int64_t{slot} * beams_ + m];
  }
}

bool RelaxedRounds::weigh(int32_t number, const Level& level, int64_t first_row, const LevelRows& logits) {
  std::fill_n(target_log_probs_.data(), level.firsts[*level.nodes], -kInfinity);
  std::fill_n(beam_of_node_.data(), *level.nodes, -1);
  for (int32_t m = 0; m < count_; ++m) {
    const int32_t node = now_[m].node;
    const int64_t first = level.firsts[node], count = level.firsts[node + 1] - first;
    beam_of_node_[node] = m;
    if (!log_probs_.of(number, logits.logits + (first_row + node) * logits.columns, level.codes + first, count,
                       steps_.data() + first))
      return false;
    for (int64_t i = first; i < first + count; ++i) target_log_probs_[i] = now_[m].score + steps_[i];
  }
  return true;
}

// Without replacement q is over what the target's beams may continue with, as p is, and only drafts of these are left.
// (With replacement the whole q must stay: a draft of another beam is one that p rejects.)
int32_t RelaxedRounds::keep_drafts_of_beams(const Level& level) {
  int32_t kept = 0;
  for (int32_t node = 0; node < *level.nodes; ++node)
    if (beam_of_node_[node] < 0)
      std::fill(level.draft + level.firsts[node], level.draft + level.firsts[node + 1], -kInfinity);
  for (int32_t i = 0; i < *level.draft_count; ++i)
    if (level.draft[level.drafts[i]] > -kInfinity) level.drafts[kept++] = level.drafts[i];
  return kept;
}

int32_t RelaxedRounds::choose(int32_t slot, int32_t number, const Level& level) {
  const DrawKey key = key_of(slot, number);
  const Distribution target{target_log_probs_.data(), level.firsts[*level.nodes]};
  const int32_t wanted = target_.job(slot).beams;
  if (*level.draft_count == 0) return draws_.draw(key, target, wanted, drawn_.data());
  const int32_t drafts = without_replacement_ ? keep_drafts_of_beams(level) : *level.draft_count;
  return draws_.verify(key, target, level.draft, level.drafts, drafts, wanted, drawn_.data());
}

// Draws become beams, in the order that the session will give them.
void RelaxedRounds::take_drawn(const Level& level, int64_t first_row, int32_t count) {
  std::sort(drawn_.data(), drawn_.data() + count);
  next_count_ = 0;
  int32_t node = 0;
  for (int32_t i = 0; i < count; ++i) {
    const int64_t extension = drawn_[i];
    if (i > 0 && extension == drawn_[i - 1]) {
      ++next_[next_count_ - 1].draws;
      continue;
    }
    while (level.firsts[node + 1] <= extension) ++node;
    const int32_t code = level.codes[extension];
    next_[next_count_++] = {extension, -1, beam_of_node_[node], code, steps_[extension], target_log_probs_[extension],
                            1};
    choices_.take(first_row + node, code, steps_[extension]);
  }
  std::sort(next_.data(), next_.data() + next_count_, [](const Beam& a, const Beam& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.parent != b.parent ? a.parent < b.parent : a.code < b.code;
  });
}

// Whether all of the beams are nodes, so that the next level may be verified.
bool RelaxedRounds::follow(const Level& next) {
  if (*next.nodes <= 0 || next_count_ == 0) return false;
  for (int32_t m = 0; m < next_count_; ++m) {
    const int64_t* end = next.sources + *next.nodes;
    const int64_t* found = std::find(static_cast<const int64_t*>(next.sources), end, next_[m].extension);
    if (found == end) return false;
    next_[m].node = static_cast<int32_t>(found - next.sources);
  }
  std::swap(now_, next_);
  count_ = next_count_;
  return true;
}

}  // namespace sidbeam::runner
