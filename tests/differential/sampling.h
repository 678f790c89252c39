// Sampling sessions of a case: requests, runs in any arrangement, and their checks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <optional>

#include "checks.h"
#include "sample.h"

namespace differential {

struct Request {
  int64_t seed = 0, request = 0;
  int64_t first_draw = 0;  // its draws are this one and those after it
  oracle::Sid prefix;
  Settings settings;
  int32_t top_k = 0;
  float top_p = 1, noise = 1;

  bool truncates() const { return top_k > 0 || top_p < 1; }
};
std::vector<Request> draw_requests(const World& world);

// The logits rows of prefixes: a function of the prefix, so that draws may run anywhere.
class Model {
 public:
  explicit Model(const World& world);
  const RawRow& row(const oracle::Sid& prefix) const;

 private:
  const World& world_;
  int64_t columns_;
  mutable std::map<oracle::Sid, RawRow> rows_;
};

// What a slot is started for.
struct Chunk {
  size_t request = 0;
  std::vector<int64_t> draws;  // after the request's first; in mode STOCHASTIC their number is the width
};
// One slot per request, all of its draws in order.
std::vector<Chunk> whole_chunks(const World& world, const std::vector<Request>& requests);
// Draws in any order, divided among starts of at most `most` draws, which are shuffled.
std::vector<Chunk> split_chunks(const World& world, const std::vector<Request>& requests, size_t most, uint64_t hash);

struct Arrangement {
  const Way& way;
  const Loaded& loaded;
  int strategy;
  int64_t top_k;         // of the session
  int64_t slots, beams;  // of the session
  std::vector<Chunk> chunks;
  uint64_t hash;  // of what is left open: which slots start and step when, and how lists are given
};
// [chunk][step + 1] the slot after its start and each of its steps.
using Chunks = std::vector<std::vector<Snapshot>>;
Chunks run(const World& world, const Model& model, const std::vector<Request>& requests, const Arrangement& at);

// The beams of a slot along its life: [step + 1][beam], empty where dead.
using Paths = std::vector<std::vector<std::optional<oracle::Beam>>>;
Paths paths_of(const oracle::Catalogue& catalogue, const oracle::Sid& prefix, const std::vector<Snapshot>& after);
// The next of them. A slot that has just started draws from its beam 0.
std::vector<std::optional<oracle::Beam>> continued(const oracle::Catalogue& catalogue,
                                                   const std::vector<std::optional<oracle::Beam>>& beams,
                                                   const Snapshot& now);

// The same catalogue with the other form of the trie.
Loaded load_other_trie(const Machine& machine, const World& world);

// Every check of a case of mode SAMPLE or STOCHASTIC.
void check_sampling(const Machine& machine, const Case& c, Coverage* coverage);
void check_stochastic(const Machine& machine, const World& world, const std::vector<Loaded>& loaded,
                      Coverage* coverage);

}  // namespace differential
