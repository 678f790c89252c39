// A filter made ready for columns: every name looked up, every type checked, every value in the form of its column.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "index/attributes/columns.h"
#include "index/rules/expression.h"
#include "support/hashing.h"

namespace sidbeam {

// Integers far apart, looked up in a table that the filter's author cannot make slow.
struct IntegerSet {
  std::vector<uint64_t> marks;  // a power of two; the bit of each hash is set: most others are told by it
  std::vector<int64_t> slots;   // a power of two, at most half of them taken; the others hold the filler
  int64_t filler = 0;           // one of the set
  KeyMix mix;

  void insert(int64_t value) {
    uint64_t at = hash(value);
    marks[at >> 6 & (marks.size() - 1)] |= uint64_t{1} << (at & 63);
    while (slot(at) != filler) ++at;
    slots[at & (slots.size() - 1)] = value;
  }
  bool has(int64_t value) const {
    uint64_t at = hash(value);
    if ((marks[at >> 6 & (marks.size() - 1)] >> (at & 63) & 1) == 0) return false;
    while (slot(at) != filler && slot(at) != value) ++at;
    return slot(at) == value;
  }

 private:
  uint64_t hash(int64_t value) const { return mix_key(mix, static_cast<uint64_t>(value)); }
  int64_t slot(uint64_t at) const { return slots[at & (slots.size() - 1)]; }
};

inline constexpr size_t kMostFew = 4;  // values that are compared one by one

// What a row's value must be: an integer, a float's place among floats, a bool as 0 or 1, or the code of a string. Of a
// list, one of its codes must be it.
struct Test {
  enum class Kind : uint8_t {
    kNull,   // none
    kRange,  // low..high; none where low > high
    kFew,    // one of a few
    kBits,   // one of low..high whose bit is set
    kSet     // one of many
  };
  Kind kind = Kind::kRange;
  bool negated = false;  // the contrary, for a row that is not null
  const Attribute* column = nullptr;
  int64_t low = 0, high = -1;
  std::vector<int64_t> few;
  std::vector<uint64_t> bits;  // [high - low + 1] and one more, which is not set
  IntegerSet set;
};

// A tree's order of evaluation, over a stack of row sets.
struct Step {
  enum class Kind : uint8_t { kTest, kAll, kNone, kAnd, kOr, kNot };
  Kind kind;
  uint32_t test;  // of kTest
};

struct Program {
  std::vector<Test> tests;
  std::vector<Step> steps;
  int depth = 0;  // most sets on the stack
};

// Floats as integers of the same order, -0 just below 0; independent of the host's floating-point mode.
inline int32_t float_key(int32_t bits) { return bits ^ (bits >> 31 & INT32_MAX); }

// Throws INVALID_ARGUMENT: a column that is not there, an operator or value that its type does not take.
Program compile_expression(const Expression& expression, const Attributes& attributes);

}  // namespace sidbeam
