// The vector kernels of the CPU, one table per instruction set. All tables give the same bits: sums follow a fixed tree
// over virtual lanes, and a fused multiply-add rounds once on every target.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "backend/partial_sum.h"
#include "backend/rows.h"
#include "backend/score.h"
#include "index/trie.h"
#include "sidbeam/rows.h"
#include "support/cpu_target.h"

namespace sidbeam::cpu {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The elements of a logits row, and how an element becomes x: x = inverse_temperature * softcap(element).
struct Elements {
  const void* data = nullptr;
  int32_t dtype = 0;  // SIDBEAM_DTYPE_F32 ...
  float inverse_temperature = 1.0F;
  float soft_cap = 0.0F;  // 0: none
  // Start of the next row to be summed, for prefetching; nullptr: it follows this row directly.
  const void* next = nullptr;

  bool transformed() const { return inverse_temperature != 1.0F || soft_cap != 0.0F; }
};

// Codes of 2 or 4 bytes each, as the trie stores them.
struct TokenList {
  const void* data = nullptr;
  int32_t width = 0, count = 0;
  int64_t readable = 0;  // codes that may be read: the list's own and those stored after it
};

// Elements of a row that are copied, as they are, while it is summed: those of the codes of a list.
struct RowCopy {
  TokenList list;       // short ones are not copied
  void* out = nullptr;  // [list.count] elements
  bool done = false;    // whether all are there; not if a code of the list is damaged
};

// Rows to be summed one after the other, given by their addresses or, at a fixed stride, by the address of the first.
struct RowsToSum {
  Elements elements;  // without `rows`, `data` is column 0 of the first row; `next` is ignored
  // [count + 1] column 0 of each row and of the row summed after them; a null entry is left out
  const void* const* rows = nullptr;
  int32_t count = 0;  // at most kMostSummed
  int64_t first_column = 0, columns = 0;
  float* maxima = nullptr;  // of the first row; each row's are `maxima_stride` after the last; nullptr: not kept
  int64_t maxima_stride = 0;
  int64_t stride = 0;         // bytes from one row to the next, without `rows`
  RowCopy* copies = nullptr;  // [count] of each row, which is not transformed; nullptr: none
  int64_t copied_column = 0;  // of code 0 of the lists
  uint32_t copied_codes = 0;  // above the codes of the lists

  // The address of `column` of row i; 0 for a row that is left out. The row after the last need not exist, since it is
  // only prefetched.
  uintptr_t address(int32_t i, int64_t column) const {
    auto row = reinterpret_cast<uintptr_t>(rows != nullptr ? rows[i] : elements.data);
    if (row == 0) return 0;
    if (rows == nullptr) row += static_cast<uintptr_t>(i * stride);
    return row + static_cast<uintptr_t>(column * element_bytes(elements.dtype));
  }
};
inline constexpr int32_t kMostSummed = 128;

inline constexpr int kBlock = 64;                // columns that share one maximum
inline constexpr int kGroup = 4;                 // blocks that share a second maximum
inline constexpr int kChunk = 512;               // columns summed in f32; error bound in log_sum_exp-inl.h
inline constexpr int kDrawBlock = 32;            // weights that share one cumulative sum
inline constexpr int64_t kMostCopied = 1 << 14;  // elements of the rows of a group
inline constexpr int kVectorSlack = 16;          // elements that a kernel may write past the end of its output
inline constexpr int64_t kGroupColumns = kGroup * kBlock;
inline constexpr int64_t maxima_size(int64_t columns) {
  return (columns + kGroupColumns - 1) / kGroupColumns * (1 + kGroup) * kVectorSlack;
}

// What a threshold leaves of a row: a number of elements, and the sum of their weights.
struct Above {
  int64_t count = 0;
  uint64_t mass = 0;
};

// A row from whose children one is drawn.
struct DrawnRow {
  float* x = nullptr;  // [count] of the children, none of them NaN or +inf; their powers afterwards
  int32_t count = 0;
  uint64_t bits = 0;  // of the draw
  // What is found; `chosen` is -1 where all x are -inf.
  float largest = 0.0F;
  int32_t chosen = -1;
  uint64_t total = 0;  // of the weights
  uint64_t* cumulative = nullptr;
};

// The noise of the prefix whose children are perturbed.
struct NodeNoise {
  uint64_t seed = 0, hash = 0;
  int32_t level = 0;
  float arrival = 0.0F, scale = 1.0F;
};

// The codes [0, codes) of a level in a row of untransformed elements: code t is column first_column + t.
struct Slice {
  const void* data = nullptr;  // column 0
  int32_t dtype = 0;
  int64_t columns = 0;  // of the row
  int64_t first_column = 0;
  int64_t codes = 0;
  const uint64_t* mask = nullptr;  // bit t: code t is valid; nullptr: all are
  const float* maxima = nullptr;   // from sum_exp for this row; blocks below the threshold are skipped
  int64_t valid = 0;               // number of valid codes; may be an estimate
};

// A row and the slice of it that is scanned; then a position in a batch of such rows.
struct RowSlice {
  RowScore score;
  Slice slice;
};
struct SliceCursor {
  int32_t row = 0, block = 0;
};
inline constexpr int kMostSlices = 16;  // per batch

// Output for at most `count` candidates; kVectorSlack further elements may be overwritten.
struct Room {
  float* scores = nullptr;
  uint32_t* places = nullptr;
  int32_t count = 0;
};

// The children of a beam where they are few, and what scores them. Their codes are kShortStride apart, list by list.
struct ShortList {
  const float* x = nullptr;  // [count], and further ones up to kShortStride may be read
  int32_t count = 0;
  RowScore score;
};
inline constexpr int32_t kShortStride = 16, kMostShort = kShortStride - 1;

// Beams of a level, and where the columns of their children go, one list after the other.
struct ColumnLists {
  const int64_t* states = nullptr;
  int32_t beams = 0;
  int64_t first_column = 0;    // of code 0
  int64_t* offsets = nullptr;  // [beams]
  int32_t* columns = nullptr;  // [capacity]
  int64_t capacity = 0;
};

struct Appended {
  int32_t next = -1;  // where to continue; -1: done
  int32_t kept = 0;
};

// Beams at a level where most have one child; arrays are per beam. All offsets fit 32 bits, and there are at least two
// edges.
struct Chain {
  const int64_t* states = nullptr;
  const float* scores = nullptr;
  const float* log_masses = nullptr;  // of draws; nullptr: none
  uint32_t first_beam = 0;
  const uint32_t* pointers = nullptr;
  const uint16_t* tokens = nullptr;
  uint32_t nodes = 0, edges = 0, codes = 0;
  int64_t next_level = 0;                   // state of node 0 of the next level
  const float* data = nullptr;              // code 0 of row 0
  int32_t stride = 0;                       // from one row to the next
  const int32_t* map = nullptr;             // row of each beam; nullptr: beam i has row i
  const float* lse = nullptr;               // per row; nullptr: all are 0
  const LogSum* sums = nullptr;             // per beam, instead of lse: computed normalisers
  const uint32_t* next_pointers = nullptr;  // the next level's, to be prefetched; nullptr: none
};

inline constexpr int32_t kMostInChain = kMostSummed;  // beams followed together

// The result for each beam: the score, place and state of its only child. Log masses, if the chain has them, are those
// of draws, to which the child's log-probability is added too.
struct ChainOut {
  float* scores = nullptr;
  uint32_t* places = nullptr;
  int64_t* next = nullptr;
  float* log_masses = nullptr;
};

inline constexpr int32_t kMostProbed = 128;  // keys looked up together

// Candidates in memory and their ranking: the m-th best is the one at index order[m].
struct Chosen {
  const float* scores = nullptr;
  const uint32_t* places = nullptr;
  const uint32_t* order = nullptr;
  int32_t count = 0;
};

// Where they are written, by rank. Parents and tokens are written to the beams and to the history.
struct BeamsOut {
  float* scores = nullptr;
  int32_t *parents = nullptr, *tokens = nullptr;
  int32_t *history_parents = nullptr, *history_tokens = nullptr;
  int64_t* states = nullptr;
  int32_t number_bits = 0;  // of places
};

// The best candidates of a step: parent beam, code, and the state that follows, or kDeadState.
struct Winners {
  const int32_t *parents, *tokens;
  int32_t n;
  int64_t* states;
};

struct Kernels {
  const char* name;
  // Sums exp(x) over n >= 0 elements. `maxima` (may be null) receives the largest x of every group of blocks and of
  // each block, lane by lane, for append_slices: [maxima_size(n)], not all of which narrow vectors use. (Returning the
  // sum by value cost 5 % of a step: two of its fields share a register and are combined through memory, and that load
  // waits for the whole previous row.)
  void (*sum_exp)(const Elements& elements, int64_t n, float* maxima, PartialSum& sum);
  // The log of the sum of each row, as log_of gives it.
  void (*log_sum_exp)(const RowsToSum& rows, LogSum* logs);
  // x of n elements from element `first` on; `out` has room for n + kVectorSlack. -inf stays -inf; under a soft-cap NaN
  // and +inf become NaN.
  void (*load)(const Elements& elements, int64_t first, int64_t n, float* out);
  // Turns n gathered floats into x, in place. `x` has room for n + kVectorSlack.
  void (*transform)(const Elements& elements, float* x, int64_t n);
  // Writes x and the code of every code of the list below `codes`; code t is column first_column + t. Both outputs have
  // room for the list's count + kVectorSlack. Returns the number written. `top` (may be null) receives what largest()
  // would return of x.
  int32_t (*gather)(const Elements& elements, int64_t first_column, const TokenList& list, uint32_t codes, float* x,
                    uint32_t* tokens, float* top);
  // Writes the power of each x (backend/draw.h) in a unit that depends on the target, none of them above `largest`, and
  // the sums of all weights, of `bits`, up to the end of each block of kDrawBlock. Returns the sum of all. `x` and
  // `powers`, which may be the same, have room up to a multiple of kVectorSlack.
  uint64_t (*weigh)(const float* x, int64_t n, float largest, int bits, float* powers, uint64_t* cumulative);
  // For the 64 random bits of each draw: the first of n numbers, weighed so, with which the sum of their weights
  // exceeds the threshold of the bits (threshold_of).
  void (*choose)(const float* powers, const uint64_t* cumulative, int64_t n, uint64_t total, const uint64_t* bits,
                 int32_t draws, int32_t* chosen);
  // Draws from each of n rows, whose x have room up to a multiple of kVectorSlack, by weights of `bits`. `cumulative`
  // has room for all their blocks; the logarithm of each row's weights (log_of_weights) goes to `logs`.
  void (*draw_rows)(DrawnRow* rows, int32_t n, int bits, uint64_t* cumulative, LogSum* logs);
  // The number of x that are at least a threshold, and if `largest` is given their weights; none is NaN.
  Above (*above)(const float* x, int64_t n, float threshold, const float* largest);
  // Writes the numbers of these x, rising, and returns how many they are.
  int64_t (*find_at_least)(const float* x, int64_t n, float threshold, uint32_t* at);
  // 64 random bits for the code of each of n draws.
  void (*random_bits)(uint64_t seed, int64_t request, const int64_t* draws, int32_t level, int32_t n, uint64_t* out);
  // Writes the perturbed score of each x, in place, and returns the earliest time (backend/noise.h). `exponentials` has
  // room for n + kVectorSlack.
  float (*perturb)(const RowScore& row, const NodeNoise& node, const uint32_t* tokens, int32_t n, float* x,
                   float* exponentials);
  // The largest x (-inf if n is 0), or +inf if any x is +inf or NaN.
  float (*largest)(const float* x, int64_t n);
  // Appends the candidates among x[from, n) whose score is above `threshold`, in order, while there is room (at least
  // kBlock); the code of x[i] is tokens[i].
  Appended (*append)(const RowScore& row, float threshold, const float* x, const uint32_t* tokens, int32_t from,
                     int32_t n, const Room& room);
  // The same for the codes of a list below `codes` in a row of untransformed floats: code t is column t.
  Appended (*append_list)(const RowScore& row, float threshold, const float* data, const TokenList& list,
                          uint32_t codes, int32_t from, const Room& room);
  // Copies the codes of the lists of n rows, up to the first row with more than kMostShort or with one that is no code
  // of the level; returns their number.
  int32_t (*copy_short)(const LevelView& level, const NodeRow* rows, int32_t n, uint32_t* tokens, ShortList* lists);
  // Gives each of n lists the normaliser of its x, as log_of() makes it of sum_exp.
  void (*sum_short)(ShortList* lists, int32_t n);
  // See append; for lists [from, n), each as a whole.
  Appended (*append_short)(const ShortList* lists, const uint32_t* tokens, int32_t from, int32_t n, float threshold,
                           const Room& room);
  // The same for slices of up to kMostSlices rows of one dtype, from `next` on. Advances `next`, whose row is n when
  // all slices are done. Returns the number kept.
  int32_t (*append_slices)(const RowSlice* rows, int32_t n, float threshold, SliceCursor& next, const Room& room);
  // A score that slightly more than `count` of the slices' candidates are likely to beat, estimated from the maxima of
  // their rows; -inf if the maxima do not suffice for an estimate.
  float (*likely_threshold)(const RowSlice* rows, int32_t n, int32_t count);
  // Finds the single edge of each of n <= kMostInChain beams, up to the first beam with no edge or several, and
  // prefetches the edges' codes. Returns the number found, which may stop short of that beam and is 0 on targets
  // without suitable instructions. Entries past the result are garbage.
  int32_t (*find_edges)(const Chain& chain, int32_t n, uint32_t* edges);
  // Follows n beams along these edges, up to the first with a number that is not finite (such as a score of -inf).
  // Returns the number followed, which may stop short of that beam.
  int32_t (*follow_chain)(const Chain& chain, const uint32_t* edges, int32_t n, const ChainOut& out);
  // A score that the k-th best of n > k reaches and few more than k exceed. Writes up to kVectorSlack scores past the
  // end.
  float (*near_best)(float* scores, int32_t n, int32_t k);
  // Keeps the best k < n of n candidates in their order; among equal scores the first win. Returns the worst score
  // kept.
  float (*keep_best)(float* scores, uint32_t* places, int32_t n, int32_t k);
  // ranks[i] = the number of scores higher than scores[i]. O(n^2), for n up to a few hundred; both arrays have room for
  // n + 4 * kVectorSlack.
  void (*rank)(const float* scores, int32_t n, uint32_t* ranks);
  // Writes the chosen beams, each with the state next[parent].
  void (*write_chosen)(const Chosen& chosen, const int64_t* next, const BeamsOut& out);
  // Finds the node row of every beam whose `only` is kNotOne, among n beams.
  void (*find_rows)(const LevelView& level, const int64_t* states, int32_t n, const uint32_t* only, NodeRow* rows);
  // Fills in the missing states of winners after a level above the tail, using the rows of their parents' nodes.
  void (*follow_rows)(const IndexView& index, int32_t level, const NodeRow* rows, const Winners& winners);
  // Writes the columns of the children of each beam, from `found` on, which it advances, up to the first beam that
  // might not leave a vector of room; returns the number of beams.
  int32_t (*list_columns)(const LevelView& level, const ColumnLists& lists, int64_t& found);
  // Writes the codes of a list whose bits are set; returns their number. `codes` has room for kVectorSlack more.
  int32_t (*keep_codes)(const TokenList& list, const uint64_t* bits, uint32_t* codes);
  // Writes the numbers of those of n <= kMostProbed keys that may be in the hash set, rising, and returns how many they
  // are. The others are not in it.
  int32_t (*may_exist)(const HashView& hash, const uint64_t* keys, int32_t n, int32_t* left);
};

inline PartialSum sum_of(const Kernels& kernels, const Elements& elements, int64_t n, float* maxima = nullptr) {
  PartialSum sum;
  kernels.sum_exp(elements, n, maxima, sum);
  return sum;
}

// The table of a target. Its kernels may run only on a machine that has the target.
const Kernels& kernels_of(CpuTarget target);

}  // namespace sidbeam::cpu
