// SPDX-License-Identifier: Apache-2.0
#include "index/rules/terms.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <vector>

#include "index/rules/bits.h"
#include "index/rules/compile.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

// What is evaluated at a time, so that the stack stays in the first-level cache: 64 Ki rows.
constexpr uint64_t kBlockWords = 1024;
constexpr uint64_t kRowsPerSearch = 16;  // that are looked at one by one in the time of a search for a row
constexpr uint64_t kMostFlags = 1024;    // values of a range that are looked up by bytes

struct Block {
  uint64_t first, rows;  // first is a multiple of 64

  uint64_t words() const { return row_words(rows); }
};

// Writes bit i as passes(i), which is 0 or 1, for each i below `count`. A byte for each first: compilers turn the inner
// loop into vectors where the test allows it.
template <class Passes>
void set_bits(uint64_t count, uint64_t* out, const Passes& passes) {
  alignas(64) uint8_t flags[64] = {};
  for (uint64_t begin = 0; begin < count; begin += 64) {
    if (count - begin >= 64) {
      for (uint64_t i = 0; i < 64; ++i) flags[i] = static_cast<uint8_t>(passes(begin + i));
    } else {
      std::memset(flags, 0, sizeof flags);
      for (uint64_t i = 0; i < count - begin; ++i) flags[i] = static_cast<uint8_t>(passes(begin + i));
    }
    out[begin / 64] = pack_flags(flags);
  }
}

// The same for passes(i) that looks a bit up, which no vector does: bits are shifted in, in two halves at a time. (A
// byte for each, as above, took twice as long.)
template <class Passes>
void set_bits_looked_up(uint64_t count, uint64_t* out, const Passes& passes) {
  for (uint64_t begin = 0; begin < count; begin += 64) {
    const uint64_t rows = std::min<uint64_t>(64, count - begin), low_rows = std::min<uint64_t>(32, rows);
    uint64_t low = 0, high = 0;
    if (rows == 64) {
      for (uint64_t i = 32; i-- > 0;) {
        low = low + low + passes(begin + i);
        high = high + high + passes(begin + 32 + i);
      }
    } else {
      for (uint64_t i = low_rows; i-- > 0;) low = low + low + passes(begin + i);
      for (uint64_t i = rows - low_rows; i-- > 0;) high = high + high + passes(begin + 32 + i);
    }
    out[begin / 64] = low | high << 32;
  }
}

// key_at(i) gives a value as an integer of type T, which holds those of the test.
template <class T, class KeyAt>
void test_keys(const Test& test, uint64_t count, uint64_t* out, const KeyAt& key_at) {
  using Unsigned = std::make_unsigned_t<T>;
  if (test.kind == Test::Kind::kSet)
    return set_bits(count, out, [&](uint64_t i) { return test.set.has(static_cast<int64_t>(key_at(i))); });
  if (test.kind == Test::Kind::kFew) {
    // Always the most, the last one again and again: no loop.
    T few[kMostFew];
    for (size_t i = 0; i < kMostFew; ++i) few[i] = static_cast<T>(test.few[std::min(i, test.few.size() - 1)]);
    return set_bits(count, out, [few, &key_at](uint64_t i) {
      const T key = key_at(i);
      return (key == few[0]) | (key == few[1]) | (key == few[2]) | (key == few[3]);
    });
  }
  if (test.low > test.high) return static_cast<void>(std::memset(out, 0, row_words(count) * sizeof *out));
  const auto low = static_cast<Unsigned>(test.low);
  const auto span = static_cast<Unsigned>(static_cast<Unsigned>(test.high) - low);
  const auto place = [low, &key_at](uint64_t i) {
    return static_cast<Unsigned>(static_cast<Unsigned>(key_at(i)) - low);
  };
  if (test.kind == Test::Kind::kRange) return set_bits(count, out, [&](uint64_t i) { return place(i) <= span; });
  const uint64_t* bits = test.bits.data();
  if (span < kMostFlags) {
    uint8_t flags[kMostFlags + 1] = {};  // a byte takes half as long to look up as a bit
    for (uint64_t at = 0; at <= span; ++at) flags[at] = static_cast<uint8_t>(has_bit(bits, at));
    return set_bits_looked_up(count, out,
                              [&](uint64_t i) { return flags[std::min<uint64_t>(place(i), uint64_t{span} + 1)]; });
  }
  set_bits_looked_up(count, out, [&](uint64_t i) {
    const uint64_t at = std::min<uint64_t>(place(i), uint64_t{span} + 1);
    return bits[at / 64] >> (at % 64) & 1;
  });
}

void test_codes(const Test& test, uint64_t first, uint64_t count, uint64_t* out) {
  with_type(test.column->codes, [&](const auto* codes) {
    using Code = std::remove_cvref_t<decltype(*codes)>;
    test_keys<Code>(test, count, out, [codes, first](uint64_t i) { return codes[first + i]; });
  });
}

// Whether one of the bits begin..end - 1 is set; `bits` has a word more than they lie in. No branch depends on a list
// that is short.
bool any_bit(const uint64_t* bits, uint64_t begin, uint64_t end) {
  constexpr uint64_t kMost = 56;  // that eight bytes hold, whichever the bit of the first byte is
  const auto from = [bits](uint64_t bit) {
    uint64_t word;
    std::memcpy(&word, reinterpret_cast<const char*>(bits) + bit / 8, sizeof word);
    return word >> bit % 8;
  };
  for (; end - begin > kMost; begin += kMost)
    if (from(begin) << (64 - kMost) != 0) return true;
  return (from(begin) & ((uint64_t{1} << (end - begin)) - 1)) != 0;
}

// Sets the bit of each list of [block.first, block.first + block.rows) in which a code passes: bit i of `pass` is code
// begin + i of the column, of `codes`. offset(row) is where the list of a row begins. Lists are taken 64 at a time, so
// that a code's list is found by six comparisons. (Galloping from one to the next, a term took 1.4 times as long.)
template <class Offset>
void mark_lists(const uint64_t* pass, uint64_t begin, uint64_t codes, const Block& block, const Offset& offset,
                uint64_t* out) {
  const auto place = [&](uint64_t row) { return std::clamp(offset(row), begin, begin + codes) - begin; };
  uint64_t at = 0;
  for (uint64_t word = 0; word < block.words(); ++word) {
    const uint64_t first = block.first + word * 64, last = block.first + std::min(word * 64 + 64, block.rows);
    const uint64_t end = place(last);
    uint64_t lists = 0;
    for (; at < end; at = std::min(at + 64, end)) {
      uint64_t left = bits_from(pass, at) & (~uint64_t{0} >> (64 - std::min<uint64_t>(end - at, 64)));
      for (; left != 0; left &= left - 1) {
        const uint64_t code = at + static_cast<uint64_t>(std::countr_zero(left));
        uint64_t list = 0;
        for (uint64_t step = 32; step > 0; step /= 2)
          list += place(std::min(first + list + step, last)) <= code ? step : 0;
        lists |= uint64_t{1} << list;
      }
    }
    out[word] = lists;
  }
}

// First which of the block's codes pass, one list after the other, and then the lists of those that do, if they are
// few; otherwise whether one of each list's does: lists are short, and a loop over each is mispredicted.
void test_lists(const Test& test, const Block& block, uint64_t* out) {
  const Attribute& column = *test.column;
  with_type(column.offsets, [&](const auto* offsets) {
    const auto offset = [&](uint64_t row) { return std::min<uint64_t>(offsets[row], column.code_count); };
    const uint64_t begin = offset(block.first), end = std::max(begin, offset(block.first + block.rows));
    std::vector<uint64_t> pass(row_words(end - begin) + 1);
    test_codes(test, begin, end - begin, pass.data());
    if (count_bits(pass.data(), end - begin) < block.rows / kRowsPerSearch)
      return mark_lists(pass.data(), begin, end - begin, block, offset, out);
    // Each list begins where the one before ended, also where a damaged file says that they overlap.
    uint64_t at = 0;
    set_bits(block.rows, out, [&](uint64_t i) {
      const uint64_t next = std::clamp(offset(block.first + i + 1), begin + at, end) - begin;
      const bool any = any_bit(pass.data(), at, next);
      at = next;
      return any;
    });
  });
}

void test_values(const Test& test, const Block& block, uint64_t* out) {
  const Attribute& column = *test.column;
  switch (column.type) {
    case AttributeType::kI64: {
      const int64_t* integers = column.integers + block.first;
      return test_keys<int64_t>(test, block.rows, out, [integers](uint64_t i) { return integers[i]; });
    }
    case AttributeType::kF32: {
      const float* numbers = column.numbers + block.first;
      return test_keys<int32_t>(test, block.rows, out, [numbers](uint64_t i) {
        int32_t bits;
        std::memcpy(&bits, numbers + i, sizeof bits);
        return float_key(bits);
      });
    }
    case AttributeType::kBool:
      for (uint64_t word = 0; word < block.words(); ++word) {
        const uint64_t bits = column.bools[block.first / 64 + word];
        out[word] = test.low == 1 ? bits : ~bits;
      }
      return;
    case AttributeType::kString:
      return test_codes(test, block.first, block.rows, out);
    case AttributeType::kStringList:
      return test_lists(test, block, out);
  }
}

void run_test(const Test& test, const Block& block, uint64_t* out) {
  const bool is_null = test.kind == Test::Kind::kNull;
  if (!is_null) test_values(test, block, out);
  const uint64_t* valid = test.column->valid;
  for (uint64_t word = 0; word < block.words(); ++word) {
    const uint64_t present = valid == nullptr ? ~uint64_t{0} : valid[block.first / 64 + word];
    out[word] = (is_null ? ~present : (test.negated ? ~out[word] : out[word]) & present) & row_mask(word, block.rows);
  }
}

// The first set of the stack is the result's, which holds the block when all steps are done.
void run_block(const Program& program, const Block& block, uint64_t* result, uint64_t* stack) {
  const uint64_t words = block.words();
  const auto set = [&](size_t i) { return i == 0 ? result : stack + (i - 1) * kBlockWords; };
  size_t top = 0;  // sets on the stack
  for (const Step& step : program.steps) {
    switch (step.kind) {
      case Step::Kind::kTest:
        run_test(program.tests[step.test], block, set(top++));
        break;
      case Step::Kind::kAll:
      case Step::Kind::kNone:
        for (uint64_t i = 0; i < words; ++i) set(top)[i] = step.kind == Step::Kind::kAll ? row_mask(i, block.rows) : 0;
        ++top;
        break;
      case Step::Kind::kNot:
        for (uint64_t i = 0; i < words; ++i) set(top - 1)[i] ^= row_mask(i, block.rows);
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
  constexpr uint64_t kBlockRows = kBlockWords * 64;
  const Program program = compile_expression(expression, attributes);
  RowBits bits = make_bits(items, allocator);
  parallel_for(threads, static_cast<int64_t>((items + kBlockRows - 1) / kBlockRows), [&](int64_t i) {
    const uint64_t first = static_cast<uint64_t>(i) * kBlockRows;
    std::vector<uint64_t> stack(static_cast<size_t>(program.depth - 1) * kBlockWords);
    run_block(program, {first, std::min(kBlockRows, items - first)}, bits.data() + first / 64, stack.data());
  });
  return bits;
}

}  // namespace sidbeam
