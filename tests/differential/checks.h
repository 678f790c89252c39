// The checks of a case. Each throws Mismatch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "feed.h"
#include "library.h"
#include "place.h"
#include "world.h"

namespace differential {

// How often each feature was reached.
using Coverage = std::map<std::string, int64_t>;

// One way to run a case: a runtime, and where its sessions are.
struct Way {
  std::string name;
  Runtime runtime;
  const Place* place;
};

// First this machine's best, then each other one; the last two run steps in ways of their own.
struct Machine {
  std::vector<Way> ways;
  const Way& best() const { return ways.front(); }
  // Whether its answers are checked against the oracle: the best, or one of the last two.
  const Way& for_seed(uint64_t seed) const { return seed % 2 == 0 ? best() : ways[ways.size() - 1 - seed / 2 % 2]; }
};

// A slot from its start to its end, with its inputs and outputs: enough to repeat it elsewhere.
struct Life {
  size_t catalogue = 0;
  std::vector<int32_t> widths;  // [levels]
  oracle::Sid prefix;
  Settings start;                         // what it was started with
  std::vector<std::vector<RawRow>> rows;  // [step][beam]
  std::vector<Settings> settings;         // [step] what it followed
  std::vector<Snapshot> after;            // [step + 1], the first after the start
};

// Runs a session in batches, each call checked against the oracle; returns the slots' lives.
std::vector<Life> check_session(const Machine& machine, const World& world, const std::vector<Loaded>& loaded,
                                Coverage* coverage);

// One slot's step against the oracle. `beams` before it; on success they become those after it and *error follows.
struct SlotStep {
  const World& world;
  const oracle::Rules& rules;
  const oracle::Catalogue& catalogue;
  int level, width;
  const std::vector<RawRow>& rows;
};
void check_step(const SlotStep& at, const Snapshot& after, std::vector<oracle::Beam>* beams, int* error,
                Coverage* coverage);

// Ordinals, SIDs and item rows of slots.
struct SlotItems {
  size_t catalogue = 0;
  std::vector<oracle::Beam> beams;
};
void check_items(const World& world, const std::vector<Loaded>& loaded, const Place& place,
                 const sidbeam_session* session, const std::vector<SlotItems>& slots, uint64_t draw,
                 Coverage* coverage);

// The columns of the children of all slots' beams, before a step; `fed`: those that the step reads.
struct FedBeam {
  size_t catalogue = 0;
  const oracle::Sid* prefix;
  bool fed;
};
void check_children(const World& world, const Place& place, const sidbeam_session* session,
                    const std::vector<std::vector<FedBeam>>& slots, uint64_t draw, Coverage* coverage);

// The same life alone, with the other exact strategy and in every way: the same bits. Between a device and the CPU the
// bits are the same where the log-sum-exp is given; otherwise results differ by its rounding.
void check_replays(const Machine& machine, const World& world, const std::vector<Loaded>& loaded, const Life& life,
                   Coverage* coverage);
void expect_near(const World& world, const Life& life, const std::vector<Snapshot>& elsewhere, Coverage* coverage);

// Every step of the life is the full sort of its candidates, bit for bit, by the log-probabilities that the same way
// gives one row at a time.
void check_sorted(const Way& way, const World& world, const Loaded& loaded, const Life& life, Coverage* coverage);

// The states of beams, by the stateless forms.
std::vector<sidbeam_state> states_of(sidbeam_runtime* runtime, sidbeam_constraint* constraint,
                                     const oracle::Catalogue& catalogue, const std::vector<oracle::Beam>& beams);
// The stateless forms themselves, on a set of all the case's catalogues.
void check_stateless(const Way& way, const World& world, const std::vector<Loaded>& loaded, Coverage* coverage);

// Log-sum-exp of hard rows, the same bits in every way; prints, and returns the exit status.
struct LogSumExpRows {
  int64_t most_columns = SIDBEAM_MAX_CODES;
  int fractions = 400;  // of rows whose elements are all equal
};
int report_log_sum_exp(const std::vector<Way>& ways, const LogSumExpRows& rows = {});

// Everything above for one case.
void check_case(const Machine& machine, const Case& c, Coverage* coverage);

}  // namespace differential
