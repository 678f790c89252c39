// The laws of relaxed rounds by enumeration, in float64: every draw, decision and round of small worlds. Shares no code
// with the runtime. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "runner_trees.h"

namespace sidbeam::runner::laws {

using Path = std::vector<int32_t>;  // codes, and kEnd behind those of a prefix that has ended
inline constexpr int32_t kEnd = -1;
using Paths = std::vector<Path>;  // sorted; of a result with replacement the same may be there repeatedly
using Law = std::map<Paths, double>;

// What a request is asked to draw from.
struct Question {
  const fakes::World& world;
  std::set<Path> sids;  // of the constraint
  fakes::Codes prompt;
  trees::Kind draft = trees::Kind::kSame;
  int32_t beams = 1, drafts = 1;  // K and N
};

std::set<Path> sids_of(const fakes::Codes& codes, const handles::SidRows& rows);

// Natural log-probability of the last code of a path, or of its end, by the target or by the draft.
double log_prob(const Question& question, const Path& path, trees::Kind kind);

// Of the target alone: at each level K draws with replacement, or K different ones, from the extensions of the
// different beams before, until all have ended. A beam that has ended is its own extension.
Law draws_with_replacement(const Question& question);
Law draws_without_replacement(const Question& question);
// Of rounds, with replacement and in the form of the paper's released code.
Law rounds_with_replacement(const Question& question);
Law released_rounds(const Question& question);

// The i-th SID of a result, and all of them.
Path path_of(const fakes::Found& found, int32_t levels, size_t i);
Paths paths_of(const fakes::Found& found, int32_t levels);

double total_variation(const Law& a, const Law& b);

}  // namespace sidbeam::runner::laws
