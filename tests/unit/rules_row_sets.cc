// Sets of rows from bitmaps, bytes, lists and Roaring's portable format.
// SPDX-License-Identifier: Apache-2.0
#include "index/rules/row_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "../roaring_writer.h"
#include "support/error.h"

namespace sidbeam::testing {
namespace {

using Bytes = std::vector<uint8_t>;
using Rows = std::vector<uint32_t>;

// The rows of a set; bits past the last one are a failure.
Rows rows_in(const RowBits& bits, uint64_t items) {
  Rows rows;
  EXPECT_EQ(bits.size(), static_cast<int64_t>((items + 63) / 64 + 1));
  for (uint64_t i = 0; i < static_cast<uint64_t>(bits.size()) * 64; ++i) {
    if ((bits[static_cast<int64_t>(i / 64)] >> i % 64 & 1) == 0) continue;
    EXPECT_LT(i, items);
    rows.push_back(static_cast<uint32_t>(i));
  }
  return rows;
}

template <class Call>
std::string failure_of(const Call& call) {
  try {
    call();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status, SIDBEAM_INVALID_ARGUMENT);
    return failure.message;
  }
  return "no failure";
}

Rows read_roaring(const Bytes& bytes, uint64_t items) {
  return rows_in(rows_from_roaring(bytes, items, default_allocator()), items);
}

std::string roaring_failure(const Bytes& bytes, uint64_t items) {
  return failure_of([&] { rows_from_roaring(bytes, items, default_allocator()); });
}

Bytes from_hex(const std::string& hex) {
  Bytes bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

Rows range(uint32_t begin, uint32_t end) {
  Rows rows(end - begin);
  for (uint32_t i = begin; i < end; ++i) rows[i - begin] = i;
  return rows;
}

Rows joined(const std::vector<Rows>& parts) {
  Rows all;
  for (const Rows& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(RowSets, BitsAreTakenFromAnyOffset) {
  std::mt19937_64 random(3);
  for (const uint64_t items : std::initializer_list<uint64_t>{0, 1, 7, 8, 63, 64, 65, 128, 200}) {
    for (uint64_t offset = 0; offset < 20; ++offset) {
      Bytes bytes((offset + items + 7) / 8);
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
      Rows expected;
      for (uint64_t i = 0; i < items; ++i)
        if ((bytes[(offset + i) / 8] >> (offset + i) % 8 & 1) != 0) expected.push_back(static_cast<uint32_t>(i));
      EXPECT_EQ(rows_in(rows_from_bits(bytes, offset, items, items, default_allocator()), items), expected)
          << items << " items from bit " << offset;
      bytes.resize(bytes.size() + 64, 0xFF);  // Arrow pads
      EXPECT_EQ(rows_in(rows_from_bits(bytes, offset, items, items, default_allocator()), items), expected);
    }
  }
}

TEST(RowSets, BitsOfAnotherNumberOfItemsAreRefused) {
  const Bytes bytes(2);
  const auto failure = [&](uint64_t offset, uint64_t count, uint64_t items) {
    return failure_of([&] { rows_from_bits(bytes, offset, count, items, default_allocator()); });
  };
  EXPECT_EQ(failure(0, 16, 15), "filter: 16 bits, expected 15, one per item");
  EXPECT_EQ(failure(0, 15, 16), "filter: 15 bits, expected 16, one per item");
  EXPECT_EQ(failure(0, 17, 17), "filter: 17 bits from bit 0 on in 2 bytes, expected them to end there");
  EXPECT_EQ(failure(1, 16, 16), "filter: 16 bits from bit 1 on in 2 bytes, expected them to end there");
  EXPECT_NE(failure(~uint64_t{0}, 16, 16), "no failure");
  EXPECT_NE(failure(16, ~uint64_t{0}, ~uint64_t{0}), "no failure");
  EXPECT_EQ(failure(1, 15, 15), "no failure");
}

TEST(RowSets, AnyByteButZeroIsInTheSet) {
  Bytes bytes(150);
  bytes[0] = 1;
  bytes[63] = 2;
  bytes[64] = 0x80;
  bytes[149] = 0xFF;
  EXPECT_EQ(rows_in(rows_from_bytes(bytes, 150, default_allocator()), 150), (Rows{0, 63, 64, 149}));
  EXPECT_EQ(failure_of([&] { rows_from_bytes(bytes, 151, default_allocator()); }),
            "filter: 150 bytes, expected 151, one per item");
}

TEST(RowSets, AListIsASetInAnyOrder) {
  const std::vector<int64_t> rows = {99, 0, 64, 99, 63, 0};
  EXPECT_EQ(rows_in(rows_from_list(rows, 100, default_allocator()), 100), (Rows{0, 63, 64, 99}));
  EXPECT_EQ(rows_in(rows_from_list({}, 100, default_allocator()), 100), Rows{});
  EXPECT_EQ(failure_of([&] { rows_from_list(rows, 99, default_allocator()); }),
            "filter: rows[0] is 99, expected one of 99 rows, from 0 on");
  const std::vector<int64_t> negative = {3, -1};
  EXPECT_EQ(failure_of([&] { rows_from_list(negative, 99, default_allocator()); }),
            "filter: rows[1] is -1, expected one of 99 rows, from 0 on");
}

// Written by CRoaring (pyroaring 1.2.0: BitMap(rows).serialize(), those with runs after run_optimize()).
TEST(Roaring, ReadsWhatItsLibraryWrites) {
  EXPECT_EQ(read_roaring(from_hex("3a30000000000000"), 10), Rows{});
  EXPECT_EQ(read_roaring(from_hex("3a3000000100000000000500100000000000050006003f004000ffff"), 65536),
            (Rows{0, 5, 6, 63, 64, 65535}));
  EXPECT_EQ(read_roaring(from_hex("3a300000020000000000000001000200180000001a000000010000000100ffff"), 131072),
            (Rows{1, 65536, 65537, 131071}));
  EXPECT_EQ(read_roaring(from_hex("3b300000010000d30003000a000a001e0000006400c700"), 300),
            joined({range(10, 21), {30}, range(100, 300)}));
  EXPECT_EQ(
      read_roaring(from_hex("3b300400150000e703010001000200ffff03000000040005002d00000033000000370000003d0000003f00"
                            "000001000000e7037011721101000000ffff400d010000000500"),
                   262150),
      joined({range(0, 1000), {70000, 70002}, range(131072, 196608), {200000}, range(262144, 262150)}));
}

TEST(Roaring, ReadsContainersOfEveryKind) {
  const uint64_t seed = 29;
  std::mt19937_64 random(seed);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
    const uint32_t items = 1 + static_cast<uint32_t>(random() % 400'000);
    const uint32_t sparse = 1 + static_cast<uint32_t>(random() % 64);
    Rows rows;
    for (uint32_t row = 0; row < items;) {
      const uint32_t end = std::min<uint32_t>(items, row + 1 + static_cast<uint32_t>(random() % 500));
      if (random() % sparse == 0)
        for (uint32_t i = row; i < end; ++i) rows.push_back(i);
      row = end + static_cast<uint32_t>(random() % 3);
    }
    for (const roaring::Runs runs : {roaring::Runs::kNone, roaring::Runs::kSome, roaring::Runs::kAll})
      EXPECT_EQ(read_roaring(roaring::write(rows, runs), items), rows);
  }
}

TEST(Roaring, RefusesEveryPartOfAFile) {
  for (const roaring::Runs runs : {roaring::Runs::kNone, roaring::Runs::kSome, roaring::Runs::kAll}) {
    Bytes bytes = roaring::write(joined({{1, 5}, range(65536, 75000), {200'000}, {300'000, 300'001}}), runs);
    for (size_t size = 0; size < bytes.size(); ++size)
      EXPECT_NE(roaring_failure({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}, 400'000)
                    .find(" bytes are left, expected "),
                std::string::npos)
          << size << " bytes";
    bytes.push_back(0);
    EXPECT_NE(roaring_failure(bytes, 400'000).find("1 bytes after the last container, expected none"),
              std::string::npos);
  }
}

TEST(Roaring, RefusesRowsThatNoItemHas) {
  for (const roaring::Runs runs : {roaring::Runs::kNone, roaring::Runs::kAll}) {
    for (const Rows& rows :
         {Rows{3, 99}, joined({range(0, 5000), {70'000}}), range(100, 6000), range(65536, 140'000)}) {
      const Bytes bytes = roaring::write(rows, runs);
      EXPECT_EQ(roaring_failure(bytes, rows.back() + 1), "no failure");
      EXPECT_NE(roaring_failure(bytes, rows.back()).find("the number of items"), std::string::npos);
      EXPECT_NE(roaring_failure(bytes, 0), "no failure");
    }
  }
  EXPECT_EQ(roaring_failure(roaring::write({3, 99}, roaring::Runs::kNone), 99),
            "filter: Roaring bitmap: at byte 18: row 99, expected one below 99, the number of items");
}

// A sound file of arrays (or of runs) in which the byte at `at` becomes `value`.
std::string changed(bool runs, size_t at, uint8_t value) {
  Bytes bytes = runs ? roaring::write({1, 2, 3, 7, 65536}, roaring::Runs::kAll)
                     : roaring::write({1, 2, 65536}, roaring::Runs::kNone);
  bytes.at(at) = value;
  const std::string message = roaring_failure(bytes, 200'000);
  const std::string begin = "filter: Roaring bitmap: at byte ";
  return message.starts_with(begin) ? message.substr(begin.size()) : message;
}

TEST(Roaring, SaysWhichByteIsWrong) {
  // Without runs: cookie, count, (key, cardinality - 1) of two at 8, offsets at 16, arrays at 24 and 28.
  EXPECT_EQ(changed(false, 0, 0x3A), "no failure");
  EXPECT_EQ(changed(false, 0, 0x3C),
            "0: cookie 12348, expected 12346, or 12347 in its low half (the portable format of 32 bits)");
  EXPECT_EQ(changed(false, 6, 2), "4: 131074 containers, expected at most 65536");
  EXPECT_EQ(changed(false, 4, 3), "20: 10 bytes are left, expected 12 of offsets");
  EXPECT_EQ(changed(false, 4, 1), "12: container 0 at byte 1, expected 16, where the one before ends");
  EXPECT_EQ(changed(false, 12, 0), "12: key 0 after 0, expected a larger one");
  EXPECT_EQ(changed(false, 8, 1), "12: key 1 after 1, expected a larger one");
  EXPECT_EQ(changed(false, 12, 4), "12: rows from 262144 on, expected rows below 200000, the number of items");
  EXPECT_EQ(changed(false, 16, 25), "16: container 0 at byte 25, expected 24, where the one before ends");
  EXPECT_EQ(changed(false, 20, 26), "20: container 1 at byte 26, expected 28, where the one before ends");
  EXPECT_EQ(changed(false, 10, 0), "20: container 1 at byte 28, expected 26, where the one before ends");
  EXPECT_EQ(changed(false, 26, 1), "26: row 1 after 1, expected a larger one");
  EXPECT_EQ(changed(false, 26, 0), "26: row 0 after 1, expected a larger one");
  // With runs: cookie, a byte of bits, (key, cardinality - 1) at 5, runs at 13 and 23.
  EXPECT_EQ(changed(true, 4, 3), "no failure");
  EXPECT_EQ(changed(true, 4, 7), "4: bits past the last of 2 containers are set, expected 0");
  EXPECT_EQ(changed(true, 13, 1), "13: runs of 3 rows, expected 4, their cardinality");
  EXPECT_EQ(changed(true, 7, 4), "13: runs of 4 rows, expected 5, their cardinality");
  EXPECT_EQ(changed(true, 19, 3), "19: a run from row 3 on, expected 4 or more, after the run before");
  EXPECT_EQ(changed(true, 19, 4), "no failure");  // it touches the run before
  EXPECT_EQ(changed(true, 24, 1), "25: 4 bytes are left, expected 1028 of runs");
  Bytes run = roaring::write({65530}, roaring::Runs::kAll);
  run.at(13) = 6;
  EXPECT_EQ(roaring_failure(run, 65536),
            "filter: Roaring bitmap: at byte 11: a run of 7 rows from 65530 of 65536 on, past their end");
  // A bitmap of another number of rows than its cardinality.
  Bytes bitmap = roaring::write(range(0, 5000), roaring::Runs::kNone);
  bitmap.back() = 1;
  EXPECT_EQ(roaring_failure(bitmap, 65536),
            "filter: Roaring bitmap: at byte 16: a bitmap of 5001 rows, expected 5000, its cardinality");
}

}  // namespace
}  // namespace sidbeam::testing
