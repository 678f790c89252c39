// Filters as others might write them: as text, judged over columns that are sound or damaged, and as sets of rows in
// Roaring's format, bits, bytes and lists. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "../filter_rig.h"
#include "../roaring_writer.h"
#include "index/rules/parse.h"
#include "index/rules/print.h"
#include "index/rules/row_sets.h"
#include "index/rules/terms.h"
#include "line.h"
#include "random.h"
#include "specimens.h"
#include "support/error.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace {

using sidbeam::RowBits;
using Bytes = std::span<const uint8_t>;

constexpr size_t kItems = 70;

const std::vector<filters::Column>& columns() {
  static const std::vector<filters::Column> all = filters::make_columns(kItems, 7);
  return all;
}

const sidbeam::Attributes& sound() {
  static const filters::Views views(columns());
  return views.attributes;
}

// False where it throws, with a line.
template <class Call>
bool is_taken(const Call& call) {
  try {
    call();
    return true;
  } catch (const sidbeam::Failure& failure) {
    FUZZ_CHECK(failure.status == SIDBEAM_INVALID_ARGUMENT);
    FUZZ_CHECK(fuzz::is_line(failure.message));
    return false;
  }
}

bool has(const RowBits& bits, uint64_t row) { return (bits[static_cast<int64_t>(row / 64)] >> row % 64 & 1) != 0; }

void check_end(const RowBits& bits, uint64_t items) {
  FUZZ_CHECK(bits.size() == static_cast<int64_t>((items + 63) / 64 + 1));
  for (uint64_t row = items; row < static_cast<uint64_t>(bits.size()) * 64; ++row) FUZZ_CHECK(!has(bits, row));
}

RowBits rows_of(const sidbeam::Expression& expression, const sidbeam::Attributes& attributes) {
  RowBits bits = sidbeam::rows_of(expression, attributes, kItems, sidbeam::default_allocator());
  check_end(bits, kItems);
  return bits;
}

// What is read is printed, on a line, and read again as what it was; what fits the columns passes the rows that its
// words say.
void try_text(std::string_view text) {
  sidbeam::Expression tree, again;
  if (!is_taken([&] { tree = sidbeam::parse_expression(text); })) return;
  std::string printed;
  // Printed out, numbers and escapes may be longer.
  if (is_taken([&] { printed = sidbeam::print_expression(tree); })) {
    FUZZ_CHECK(fuzz::is_line(printed));
    FUZZ_CHECK(is_taken([&] { again = sidbeam::parse_expression(printed); }));
    FUZZ_CHECK(filters::same(tree, again));
    FUZZ_CHECK(sidbeam::print_expression(again) == printed);
  } else {
    FUZZ_CHECK(text.size() > sidbeam::kMostFilterBytes / 8);
  }
  RowBits bits;
  if (!is_taken([&] { bits = rows_of(tree, sound()); })) return;
  for (size_t row = 0; row < kItems; ++row) FUZZ_CHECK(has(bits, row) == filters::passes(tree, columns(), row));
}

// The columns with some arrays of the input's bytes: nothing outside them is read.
void try_damaged(std::string_view text, Bytes bytes) {
  sidbeam::Expression tree;
  if (bytes.empty() || !is_taken([&] { tree = sidbeam::parse_expression(text); })) return;
  std::vector<fuzz::Block> blocks;
  size_t next = 0;
  const auto array = [&](uint64_t count, size_t width) {
    std::vector<uint8_t> all(count * width);
    // Mostly small numbers, so that they often lie inside.
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = i % width == 0 || bytes[next % bytes.size()] > 250 ? bytes[next++ % bytes.size()] : uint8_t{0};
    return static_cast<const void*>(blocks.emplace_back(fuzz::block_of(all.data(), all.size())).get());
  };
  sidbeam::Attributes damaged = sound();
  for (sidbeam::Attribute& column : damaged) {
    const bool is_list = column.type == sidbeam::AttributeType::kStringList;
    if (column.type < sidbeam::AttributeType::kString) continue;
    const uint8_t which = bytes[next++ % bytes.size()];  // what is damaged: with all of it, little would be found
    const int width = 2 << which % 3;
    const auto width_bytes = static_cast<size_t>(width);
    if ((which & 0x80) != 0) column.codes = {array(is_list ? column.code_count : kItems, width_bytes), width};
    if (is_list && (which & 0x40) != 0) column.offsets = {array(kItems + 1, width_bytes), width};
    if ((which & 0x20) != 0)
      column.dictionary.offsets = static_cast<const uint64_t*>(array(column.dictionary.count + 1, 8));
  }
  is_taken([&] { rows_of(tree, damaged); });
}

// A set that is taken has as many rows as its header says, and is the same when another writer writes it.
void try_roaring(Bytes bytes, uint64_t items) {
  const fuzz::Block block = fuzz::block_of(bytes.data(), bytes.size());
  const auto read = [items](Bytes from) {
    return sidbeam::rows_from_roaring(from, items, sidbeam::default_allocator());
  };
  RowBits bits;
  if (!is_taken([&] { bits = read({block.get(), bytes.size()}); })) return;
  check_end(bits, items);
  std::vector<uint32_t> rows;
  for (int64_t word = 0; word < bits.size(); ++word)
    for (uint64_t left = bits[word]; left != 0; left &= left - 1)
      rows.push_back(static_cast<uint32_t>(word * 64 + std::countr_zero(left)));
  for (const roaring::Runs runs : {roaring::Runs::kNone, roaring::Runs::kSome}) {
    const RowBits again = read(roaring::write(rows, runs));
    FUZZ_CHECK(std::equal(bits.begin(), bits.end(), again.begin(), again.end()));
  }
  const auto number = [&](size_t at) { return bytes[at] + 256u * bytes[at + 1]; };
  const bool has_runs = number(0) == 12347;
  const size_t count = has_runs ? number(2) + 1 : number(4) + 65536u * number(6);
  const size_t entries = has_runs ? 4 + (count + 7) / 8 : 8;
  size_t cardinality = 0;
  for (size_t i = 0; i < count; ++i) cardinality += number(entries + 4 * i + 2) + 1;
  FUZZ_CHECK(cardinality == rows.size());
}

// Pairs of a byte and how often it follows itself: a bitmap of Roaring's takes more bytes than an input may have.
std::vector<uint8_t> unrolled(Bytes pairs) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < pairs.size() && bytes.size() < 40'000; i += 2)
    bytes.insert(bytes.end(), pairs[i + 1] + size_t{1}, pairs[i]);
  return bytes;
}

void try_arrays(Bytes bytes, uint64_t offset, uint64_t items) {
  const fuzz::Block block = fuzz::block_of(bytes.data(), bytes.size());
  const Bytes given{block.get(), bytes.size()};
  const sidbeam::Allocator allocator = sidbeam::default_allocator();
  RowBits bits;
  if (is_taken([&] { bits = sidbeam::rows_from_bits(given, offset, items, items, allocator); })) {
    check_end(bits, items);
    for (uint64_t i = 0; i < items; ++i)
      FUZZ_CHECK(has(bits, i) == ((bytes[(offset + i) / 8] >> (offset + i) % 8 & 1) != 0));
  }
  if (is_taken([&] { bits = sidbeam::rows_from_bytes(given, items, allocator); })) {
    check_end(bits, items);
    for (uint64_t i = 0; i < items; ++i) FUZZ_CHECK(has(bits, i) == (bytes[i] != 0));
  }
  const std::vector<int64_t> rows(bytes.begin(), bytes.end());
  if (is_taken([&] { bits = sidbeam::rows_from_list(rows, items, allocator); })) {
    check_end(bits, items);
    for (uint64_t i = 0; i < items; ++i)
      FUZZ_CHECK(has(bits, i) == (std::find(rows.begin(), rows.end(), static_cast<int64_t>(i)) != rows.end()));
  }
}

// What a random change of bytes seldom makes.
const std::vector<std::string> kWords = {"age",        "age_",
                                         "price",      "stock",
                                         "region",     "tags_",
                                         " and ",      " or ",
                                         "not ",       " in (",
                                         ")",          "(",
                                         ",",          "<",
                                         "<=",         "=",
                                         "!=",         " between ",
                                         " contains ", "true",
                                         " is null",   " is not null",
                                         "false",      "\"",
                                         "\\u",        "\\xc3\\xbc",
                                         "1e39",       "-0.0",
                                         "0.1",        "us",
                                         "ca",         "9223372036854775807",
                                         "(((((",      "not not "};

}  // namespace

// A byte that chooses, three of numbers, and the rest.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const Bytes rest{data + 4, size - 4};
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
  const uint64_t number = data[1] + 256u * data[2] + 65536u * data[3];
  switch (data[0] % 5) {
    case 0:
    case 1:
      try_text(text);
      break;
    case 2:
      try_damaged(text.substr(0, number % 512), rest.subspan(std::min<size_t>(rest.size(), number % 512)));
      break;
    case 3:
      if (data[0] < 128)
        try_roaring(rest, number % 400'000);
      else
        try_roaring(unrolled(rest), number % 400'000);
      break;
    default:
      try_arrays(rest, data[1], number / 256 % 2048);
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed) {
  fuzz::Random random{seed};
  if (size < 4 || data[0] % 5 > 2 || random.one_in(2)) return LLVMFuzzerMutate(data, size, most);
  const std::string& word = random.pick(kWords);
  if (size + word.size() > most) return LLVMFuzzerMutate(data, size, most);
  uint8_t* at = data + 4 + random.below(size - 3);
  std::memmove(at + word.size(), at, static_cast<size_t>(data + size - at));
  std::memcpy(at, word.data(), word.size());
  return size + word.size();
}
