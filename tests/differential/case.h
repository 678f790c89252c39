// A case of the differential test: a few numbers, from which everything bulky (SIDs, logits, what is called when)
// follows by hashing. Fewer SIDs, slots or columns leave the rest as it was, so that a failing case can be shrunk by
// making its numbers smaller, and a case is one line of text. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace differential {

struct Case {
  int64_t seed = 0;

  // catalogues
  int64_t catalogues = 1;
  int64_t levels = 1;
  int64_t shorter = 0;     // 1: catalogues after the first may have fewer levels
  int64_t codes = 1;       // largest V_l
  int64_t uneven = 0;      // 1: V_l differ by level and catalogue
  int64_t narrow = 0;      // largest V_0; 0: as the others
  int64_t first = 0;       // SIDs first .. first + sids - 1 of the list that the seed gives
  int64_t sids = 1;        // lines of the catalogue, repeated SIDs included
  int64_t skew = 0;        // 0: codes uniform; 1, 2: low codes likelier
  int64_t copy = 0;        // 1: half of the SIDs begin as another one
  int64_t variable = 0;    // 1: variable lengths
  int64_t lone = 0;        // 1: where lengths vary, a SID that begins with code 0 is that code alone
  int64_t items = 1;       // most items of a line
  int64_t ids = 0;         // 1: ids are given
  int64_t priorities = 0;  // 1: priorities are given
  int64_t lean = 0;        // 1: the index has only what the strategy needs
  int64_t compact = 0;     // 1: a trie is in the compact form

  // logits
  int64_t dtype = 0;         // SIDBEAM_DTYPE_F32, F16, BF16
  int64_t distribution = 0;  // see logits.cc
  int64_t mask = 0;          // per mille of elements that are -inf
  int64_t mask_rows = 0;     // per mille of rows that are -inf throughout
  int64_t bad_rows = 0;      // per mille of rows with a NaN or +inf somewhere
  int64_t soft_cap = 0;      // index of a table
  int64_t temperature = 0;   // index of a table
  int64_t settings = 0;      // who sets them: 0: a step; 1: a slot's start; 2: a step, per slot; 3: start and step
  int64_t offsets = 0;       // 0: levels share columns from 0; 1: levels one after another; 2: all at one odd offset
  int64_t maps = 0;          // 1: codes anywhere, each its own column; 2: columns may be shared
  int64_t end_column = 0;    // 0: after the codes; 1: anywhere
  int64_t extra = 0;         // columns of no code
  int64_t layout = 0;        // see feed.cc
  int64_t misalign = 0;      // elements before the first

  // the session
  int64_t strategy = 0;       // SIDBEAM_STRATEGY_*
  int64_t normalization = 0;  // SIDBEAM_NORMALIZE_*
  int64_t given_lse = 0;      // 1: near the true one; 2: dyadic; 3: sometimes NaN or infinite
  int64_t promised = 0;       // 1: log-probabilities never exceed 0, and the session is told so
  int64_t top_k = 0;
  int64_t beams = 1;
  int64_t slots = 1;
  int64_t widths = 0;      // 1: slots differ in width; 2: and levels do
  int64_t prefixes = 0;    // 1: slots start at prefixes, of SIDs; 2: or of any codes
  int64_t subsets = 0;     // 1: steps name their slots
  int64_t restarts = 0;    // 1: slots stop and start again in the middle
  int64_t operations = 1;  // calls of start, stop and step

  int64_t rules = 0;       // 1: a filter, 2: excluded items, 4: an allow list, or'ed
  int64_t attributes = 0;  // 1: items have attributes, and lists of items are capped by them
  int64_t live = 0;        // 1: the index is a version of a live catalogue (live.h)

  int64_t stateless = 0;  // 1: also the stateless forms

  int64_t mode = 0;        // SIDBEAM_MODE_*: the others are differential_sampling's
  int64_t truncation = 0;  // 1: by top-k; 2: by top-p; 3: by both
};

// A number that a failing case is shrunk by.
struct Knob {
  const char* name;
  int64_t Case::*value;
};
const std::vector<Knob>& knobs();

Case draw_case(uint64_t seed);
// Corrects combinations that do not go together; drawn, shrunk and typed cases all pass through it.
Case repaired(Case c);
std::string to_line(const Case& c);
Case from_line(const std::string& line);

// Independent 64-bit numbers for different arguments.
uint64_t mix(uint64_t a, uint64_t b);
template <typename... Rest>
uint64_t mix(uint64_t a, uint64_t b, Rest... rest) {
  return mix(mix(a, b), static_cast<uint64_t>(rest)...);
}
// What a number is drawn for, the first argument after the seed.
enum Purpose : uint64_t {
  kDrawCase,
  kDrawCodes,
  kDrawSid,
  kDrawItems,
  kDrawVocabulary,
  kDrawRow,
  kDrawElement,
  kDrawLayout,
  kDrawOperation,
  kDrawStart,
  kDrawItemLimits,
  kDrawStateless,
  kDrawReplay,
  kDrawSettings,
  kDrawSampling,
  kDrawRules,
  kDrawAttributes,
  kDrawLive
};

}  // namespace differential
