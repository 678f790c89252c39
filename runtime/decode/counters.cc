// What a session counts, as hosts see it.
// SPDX-License-Identifier: Apache-2.0
#include "decode/session.h"

namespace sidbeam {
namespace {

struct NamedCounter {
  const char* name;
  int64_t StepCounters::*counter;
};

constexpr NamedCounter kInside[] = {
    {"slot_steps", &StepCounters::slot_steps},   {"candidates", &StepCounters::candidates},
    {"shrinks", &StepCounters::shrinks},         {"list_rows", &StepCounters::list_rows},
    {"dense_rows", &StepCounters::dense_rows},   {"unconstrained_rows", &StepCounters::unconstrained_rows},
    {"probed_rows", &StepCounters::probed_rows}, {"single_rows", &StepCounters::single_rows},
    {"split_slots", &StepCounters::split_slots},
};

}  // namespace

sidbeam_stats stats_of(const sidbeam_session& session) {
  const SessionCounts all = session.backend->counts();
  sidbeam_stats out = SIDBEAM_STATS_INIT;
  out.steps = all.counters.steps;
  out.rows_read = all.counters.rows_read;
  out.rows_skipped = all.counters.rows_skipped;
  out.rows_bad = all.counters.rows_bad;
  out.dead_beams = all.counters.dead_beams;
  out.memory_bytes =
      all.memory_bytes + session.vocabulary.maps.bytes() + session.named.memory_bytes() + session.starts.bytes();
  return out;
}

int64_t get_counters(const sidbeam_session& session, int64_t capacity, const char** names, int64_t* values) {
  const StepCounters counters = session.backend->counts().counters;
  int64_t count = 0;
  for (const NamedCounter& inside : kInside) {
    if (count < capacity) {
      if (names != nullptr) names[count] = inside.name;
      values[count] = counters.*inside.counter;
    }
    ++count;
  }
  return count;
}

}  // namespace sidbeam
