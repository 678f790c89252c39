// The oracle: beam search over a list of Semantic IDs, slow and meant to be checked by eye. It shares no code with
// runtime/ and includes none of its headers; what it models is written in include/sidbeam/session.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace oracle {

using Sid = std::vector<int>;

// One line of a catalogue: an item and a SID that it has.
struct Pair {
  Sid sid;
  int64_t id = 0;
  int64_t priority = 0;
};

struct Catalogue {
  std::vector<int> codes;                   // V_l
  bool variable = false;                    // SIDs of 1 .. levels() codes; else all of levels()
  std::vector<Sid> sids;                    // distinct, code by code, the end of a SID after every code
  std::vector<std::vector<int64_t>> items;  // ids of each SID, by priority falling, then id rising

  int levels() const { return static_cast<int>(codes.size()); }
};

// Identical (SID, item) pairs merge; they must have the same priority.
Catalogue make_catalogue(const std::vector<int>& codes, bool variable, std::vector<Pair> pairs);

bool starts_with(const Sid& sid, const Sid& prefix);
bool has_prefix(const Catalogue& catalogue, const Sid& prefix);
// Position of a whole SID, or -1.
int ordinal_of(const Catalogue& catalogue, const Sid& sid);
// The codes that may follow a prefix, rising; codes[level] stands for the end.
std::vector<int> children(const Catalogue& catalogue, const Sid& prefix);

// At most so many listed rows per value; 0: no cap.
struct Cap {
  int64_t most = 0;
  std::vector<std::vector<int64_t>> values;  // of each item row
};

// The item rows of a list of SIDs, by their ordinals (-1: none), as far as a cap and limits go (0: no limit).
struct ItemLists {
  std::vector<std::vector<int64_t>> rows;  // of each SID
  bool truncated = false;
  bool came_short = false;
};
ItemLists item_lists(const Catalogue& catalogue, const std::vector<int64_t>& ordinals, int64_t per_sid, int64_t total,
                     bool distinct, const Cap& cap = {});

// trie and sorted promise the same results: both are kExact.
enum class Strategy { kExact, kSortedTopk, kHashFinal, kNone };
enum class Normalization { kFull, kLevel, kValid, kNone };

struct Rules {
  Strategy strategy = Strategy::kExact;
  Normalization normalization = Normalization::kFull;
  int top_k = 1;                          // codes per beam that kSortedTopk and kHashFinal look up
  float inverse_temperature = 1;          // 0 means 1
  float soft_cap = 0;                     // 0: none
  std::vector<std::vector<int>> columns;  // [level][code] column of a row
  int end_column = -1;
};

struct Beam {
  Sid prefix;
  bool ended = false;
  float score = 0;
};

// The logits that one beam is given, and the log-sum-exp where the caller gives it.
struct Row {
  std::vector<float> elements;
  std::optional<float> lse;
};

struct Candidate {
  int parent = 0;
  int code = 0;         // codes[level]: the end; -1: an ended beam that stays
  double log_prob = 0;  // in float64
  double score = 0;     // in float64
  float score32 = 0;    // fl(s + fl(x - lse)): what f32 must give, where lse is given or 0 and there is no soft-cap
};

struct Outcome {
  std::vector<Candidate> candidates;  // of good rows, by parent, then code
  std::vector<int> bad_rows;          // beams whose row has a bad element, or a score above the range of f32
  std::vector<int> bad_lses;          // beams with a bad log-sum-exp of the caller's; their rows are not looked at
  // Least distance in x between a code that was looked up and another element that was not (kSortedTopk, kHashFinal): a
  // soft-cap that is known only to that distance cannot tell which of the two to look up.
  double closest_miss = std::numeric_limits<double>::infinity();
};

// All candidates of one request at one level. Beams that are not ended have `level` codes; rows of ended beams are not
// read.
Outcome step(const Catalogue& catalogue, const Rules& rules, int level, const std::vector<Beam>& beams,
             const std::vector<Row>& rows);

// The best `width` candidates by score32: score falling, parent rising, code rising.
std::vector<Candidate> best(const std::vector<Candidate>& candidates, int width);

// Whether `bad` beams put a request in error, given its number of `kept` beams and the score of the last of them.
bool in_error(const std::vector<int>& bad, const std::vector<Beam>& beams, int kept, float last_score, int width);

// The beam that a candidate makes.
Beam continued(const Catalogue& catalogue, const std::vector<Beam>& beams, int parent, int code, float score);

// Elements of rows. To f16 and bf16 by rounding to the nearest, ties to even.
enum class Dtype { kF32, kF16, kBf16 };
float decode(Dtype dtype, uint32_t bits);
uint32_t encode(Dtype dtype, float value);

// x of an element: soft-cap, then inverse temperature.
float transformed(float element, float soft_cap, float inverse_temperature);

}  // namespace oracle
