// SPDX-License-Identifier: Apache-2.0
#include "index/rules/terms.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "index/rules/compile.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

// What is evaluated at a time, so that the stack stays in the first-level cache: 64 Ki rows.
constexpr uint64_t kBlockWords = 1024;

struct Block {
  uint64_t begin, end;  // words
  uint64_t items;       // rows of the whole index
};

// Writes a bit for each row of the block: passes(row), which is 0 or 1. A byte for each and then a product per eight:
// compilers turn the inner loop into vectors where the test allows it.
template <class Passes>
void each_row(const Block& block, uint64_t* out, const Passes& passes) {
  alignas(64) uint8_t flags[64] = {};
  for (uint64_t word = block.begin; word < block.end; ++word) {
    const uint64_t row = word * 64;
    if (block.items - row >= 64) {
      for (uint64_t i = 0; i < 64; ++i) flags[i] = static_cast<uint8_t>(passes(row + i));
    } else {
      std::memset(flags, 0, sizeof flags);
      for (uint64_t i = 0; i < block.items - row; ++i) flags[i] = static_cast<uint8_t>(passes(row + i));
    }
    out[word - block.begin] = pack_flags(flags);
  }
}

// `key_at(row)` gives the value as an integer of type T, which holds low and high.
template <class T, class KeyAt>
void test_keys(const Test& test, const Block& block, uint64_t* out, const KeyAt& key_at) {
  using Unsigned = std::make_unsigned_t<T>;
  if (test.kind == Test::Kind::kSet)
    return each_row(block, out, [&](uint64_t row) { return test.set.has(key_at(row)); });
  if (test.kind == Test::Kind::kFew) {
    // Always the most, the last one again and again: a loop of a fixed length.
    T few[kMostFew];
    for (size_t i = 0; i < kMostFew; ++i) few[i] = static_cast<T>(test.few[std::min(i, test.few.size() - 1)]);
    return each_row(block, out, [few, &key_at](uint64_t row) {
      const T key = key_at(row);
      return (key == few[0]) | (key == few[1]) | (key == few[2]) | (key == few[3]);
    });
  }
  if (test.low > test.high) return static_cast<void>(std::memset(out, 0, (block.end - block.begin) * sizeof *out));
  const auto low = static_cast<Unsigned>(test.low);
  const auto span = static_cast<Unsigned>(static_cast<Unsigned>(test.high) - low);
  each_row(block, out, [low, span, &key_at](uint64_t row) {
    return static_cast<Unsigned>(static_cast<Unsigned>(key_at(row)) - low) <= span;
  });
}

// Whether the bit of a code is set, for codes of an untrusted file.
template <class Code>
uint64_t has_code(const uint64_t* bits, uint64_t count, Code code) {
  const uint64_t at = sizeof code == 2 ? code : std::min<uint64_t>(code, count);
  return bits[at / 64] >> (at % 64) & 1;
}

void test_strings(const Test& test, const Block& block, uint64_t* out) {
  const Attribute& column = *test.column;
  with_type(column.codes, [&](const auto* codes) {
    using Code = std::remove_cvref_t<decltype(*codes)>;
    if (test.kind != Test::Kind::kCodes)
      return test_keys<Code>(test, block, out, [codes](uint64_t row) { return codes[row]; });
    const uint64_t* bits = test.codes.data();
    const uint64_t count = test.code_count;
    each_row(block, out, [=](uint64_t row) { return has_code<Code>(bits, count, codes[row]); });
  });
}

void test_lists(const Test& test, const Block& block, uint64_t* out) {
  const Attribute& column = *test.column;
  with_type(column.codes, [&](const auto* codes) {
    with_type(column.offsets, [&](const auto* offsets) {
      using Code = std::remove_cvref_t<decltype(*codes)>;
      const uint64_t* bits = test.codes.data();
      const uint64_t count = test.code_count;
      // Each list begins where the one before ended, also where a damaged file says that they overlap: a block never
      // takes longer than all codes do.
      uint64_t at = std::min<uint64_t>(offsets[block.begin * 64], column.code_count);
      each_row(block, out, [&](uint64_t row) {
        const uint64_t end = std::min<uint64_t>(offsets[row + 1], column.code_count);
        uint64_t found = 0;
        for (; at < end; ++at) found |= has_code<Code>(bits, count, codes[at]);
        return found;
      });
    });
  });
}

void test_values(const Test& test, const Block& block, uint64_t* out) {
  const Attribute& column = *test.column;
  switch (column.type) {
    case AttributeType::kI64: {
      const int64_t* integers = column.integers;
      return test_keys<int64_t>(test, block, out, [integers](uint64_t row) { return integers[row]; });
    }
    case AttributeType::kF32: {
      const float* numbers = column.numbers;
      return test_keys<int32_t>(test, block, out, [numbers](uint64_t row) {
        int32_t bits;
        std::memcpy(&bits, numbers + row, sizeof bits);
        return float_key(bits);
      });
    }
    case AttributeType::kBool:
      for (uint64_t word = block.begin; word < block.end; ++word)
        out[word - block.begin] = test.low == 1 ? column.bools[word] : ~column.bools[word];
      return;
    case AttributeType::kString:
      return test_strings(test, block, out);
    case AttributeType::kStringList:
      return test_lists(test, block, out);
  }
}

void run_test(const Test& test, const Block& block, uint64_t* out) {
  const bool is_null = test.kind == Test::Kind::kNull;
  if (!is_null) test_values(test, block, out);
  const uint64_t* valid = test.column->valid;
  for (uint64_t word = block.begin; word < block.end; ++word) {
    const uint64_t present = valid == nullptr ? ~uint64_t{0} : valid[word];
    uint64_t& bits = out[word - block.begin];
    bits = (is_null ? ~present : (test.negated ? ~bits : bits) & present) & row_mask(word, block.items);
  }
}

// The first set of the stack is the result's, which holds the block when all steps are done.
void run_block(const Program& program, const Block& block, uint64_t* result, uint64_t* stack) {
  const uint64_t words = block.end - block.begin;
  const auto set = [&](size_t i) { return i == 0 ? result : stack + (i - 1) * kBlockWords; };
  size_t top = 0;  // sets on the stack
  for (const Step& step : program.steps) {
    switch (step.kind) {
      case Step::Kind::kTest:
        run_test(program.tests[step.test], block, set(top++));
        break;
      case Step::Kind::kAll:
      case Step::Kind::kNone:
        for (uint64_t i = 0; i < words; ++i)
          set(top)[i] = step.kind == Step::Kind::kAll ? row_mask(block.begin + i, block.items) : 0;
        ++top;
        break;
      case Step::Kind::kNot:
        for (uint64_t i = 0; i < words; ++i) set(top - 1)[i] ^= row_mask(block.begin + i, block.items);
        break;
      case Step::Kind::kAnd:
        --top;
        for (uint64_t i = 0; i < words; ++i) set(top - 1)[i] &= set(top)[i];
        break;
      case Step::Kind::kOr:
        --top;
        for (uint64_t i = 0; i < words; ++i) set(top - 1)[i] |= set(top)[i];
        break;
    }
  }
}

}  // namespace

RowBits rows_of(const Expression& expression, const Attributes& attributes, uint64_t items, const Allocator& allocator,
                int threads) {
  const Program program = compile_expression(expression, attributes);
  const uint64_t words = row_words(items);
  RowBits bits(allocator, static_cast<int64_t>(words));
  const auto blocks = static_cast<int64_t>((words + kBlockWords - 1) / kBlockWords);
  parallel_for(threads, blocks, [&](int64_t i) {
    const uint64_t begin = static_cast<uint64_t>(i) * kBlockWords;
    std::vector<uint64_t> stack(static_cast<size_t>(program.depth - 1) * kBlockWords);
    run_block(program, {begin, std::min(begin + kBlockWords, words), items}, bits.data() + begin, stack.data());
  });
  return bits;
}

}  // namespace sidbeam
