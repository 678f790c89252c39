// A request of hard numbers, decoded in every instruction set, with any number of threads, in any float mode of the
// caller, alone or in a batch, from rows of any layout: each gives the same bits, and the first of them what the oracle
// says.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <limits>

#include "equal_inputs.h"
#include "numeric/play.h"

namespace {

using namespace fuzz::numeric;
using differential::Snapshot;

// As tests/differential does it, step by step.
void check_by_oracle(const Request& request, const std::vector<Snapshot>& after) {
  const oracle::Catalogue& catalogue = subjects()[request.subject].catalogue;
  std::vector<oracle::Beam> beams;
  if (after[0].live > 0) beams.push_back({request.prefix, false, 0});
  int error = 0;
  differential::Coverage coverage;
  for (size_t step = 0; step + 1 < after.size(); ++step) {
    std::vector<differential::RawRow> rows;
    for (size_t m = 0; m < beams.size(); ++m) rows.push_back(request.row(step, m));
    const int level = static_cast<int>(request.prefix.size() + step);
    const differential::SlotStep at{request.world, request.world.rules, catalogue, level, request.width, rows};
    differential::check_step(at, after[step + 1], &beams, &error, &coverage);
  }
}

void check_same(const Request& request, const std::vector<Snapshot>& first, const Arrangement& at) {
  const std::vector<Snapshot> other = play(request, at);
  const bool same_states = at.strategy == request.world.c.strategy;
  const std::string what = ways().all[at.way].name;
  differential::expect(first.size() == other.size(), what, ": ", other.size(), " steps and ", first.size());
  for (size_t step = 0; step < first.size(); ++step)
    differential::expect_same(first[step], other[step], same_states, what + ", step " + std::to_string(step));
}

void check(FuzzedDataProvider& input) {
  const Request request = draw_request(input);
  Arrangement plain;
  plain.strategy = static_cast<int32_t>(request.world.c.strategy);
  const std::vector<Snapshot> first = play(request, plain);
  if (request.oracle_can_tell()) check_by_oracle(request, first);
  for (size_t way = 1; way < ways().alone; ++way) {
    Arrangement at = plain;
    at.way = way;
    check_same(request, first, at);
  }
  for (int i = 0; i < 2; ++i) check_same(request, first, draw_arrangement(input, request));

  if (request.world.c.strategy != SIDBEAM_STRATEGY_TRIE) return;
  const std::vector<sidbeam_state>& states = first[first.size() / 2].states;
  const std::vector<uint8_t> answers = answer_states(request, plain, states);
  Arrangement at = draw_arrangement(input, request);
  at.way = ways().alone - 1;
  FUZZ_CHECK(answer_states(request, at, states) == answers);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  fuzz::weigh_inputs_equally(argc, argv);
  for (const Way& way : ways().all) std::fprintf(stderr, "way: %s\n", way.name.c_str());
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider input(data, size);
  try {
    check(input);
  } catch (const differential::Mismatch& mismatch) {
    fuzz::broken(__FILE__, __LINE__, mismatch.what());
  }
  return 0;
}
