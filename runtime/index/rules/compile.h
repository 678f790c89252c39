// A filter made ready for columns: every name looked up, every type checked, every value in the form of its column.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "index/attributes/columns.h"
#include "index/rules/expression.h"
#include "support/hashing.h"

namespace sidbeam {

// Integers, looked up in a table that the filter's author cannot make slow.
struct IntegerSet {
  std::vector<int64_t> slots;  // a power of two, at most half of them with values of their own; others have slots[0]
  int64_t filler = 0;          // one of the values; ends a search
  KeyMix mix;

  bool has(int64_t value) const {
    if (value == filler) return true;
    for (uint64_t at = mix_key(mix, static_cast<uint64_t>(value));; ++at) {
      const int64_t here = slots[at & (slots.size() - 1)];
      if (here == value || here == filler) return here == value;
    }
  }
};

inline constexpr size_t kMostFew = 4;  // values that are compared one by one

// What a row's value must be: an integer, a float's place among floats, a bool as 0 or 1, or the code of a string.
struct Test {
  enum class Kind : uint8_t {
    kNull,   // none
    kRange,  // low..high; none where low > high
    kFew,    // one of a few
    kSet,    // one of many
    kCodes   // a code whose bit is set; of a list, any of its codes
  };
  Kind kind = Kind::kRange;
  bool negated = false;  // the contrary, for a row that is not null
  const Attribute* column = nullptr;
  int64_t low = 0, high = -1;
  std::vector<int64_t> few;
  IntegerSet set;
  uint64_t code_count = 0;      // codes that lie outside are as this one, which is not set
  std::vector<uint64_t> codes;  // [code_count / 64 + 1] bits
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
