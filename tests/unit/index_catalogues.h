// Small catalogues for the tests of the index: drawn at random, built, and held against a model of vectors and maps.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "index/build/builder.h"
#include "index/index.h"
#include "index/read/open.h"
#include "index/verify/verify.h"
#include "support/error.h"

namespace sidbeam::testing {

struct Pair {
  std::vector<int32_t> sid;
  int64_t id = 0;
  std::string name;
  int64_t priority = 0;
};

struct TestCatalogue {
  std::vector<int32_t> codes;
  bool variable_length = false;
  int32_t id_type = SIDBEAM_ID_I64;
  bool with_ids = true, with_priorities = false, keep_priorities = false;
  int32_t kinds = SIDBEAM_KIND_TRIE, collisions = SIDBEAM_COLLISIONS_KEEP;
  std::vector<Pair> pairs;

  int levels() const { return static_cast<int>(codes.size()); }
  sidbeam_builder_config config() const {
    sidbeam_builder_config out = SIDBEAM_BUILDER_CONFIG_INIT;
    out.levels = levels();
    out.codes = codes.data();
    out.variable_length = variable_length;
    out.id_type = id_type;
    out.kinds = kinds;
    out.collisions = collisions;
    out.keep_priorities = keep_priorities;
    return out;
  }
};

// Adds pairs [begin, end) with one call.
inline void add_pairs(Builder& builder, const TestCatalogue& catalogue, size_t begin, size_t end) {
  const auto levels = static_cast<size_t>(catalogue.levels());
  std::vector<int32_t> codes, lengths;
  std::vector<int64_t> ids, priorities, offsets = {0};
  std::string bytes;
  for (size_t i = begin; i < end; ++i) {
    const Pair& pair = catalogue.pairs[i];
    codes.insert(codes.end(), pair.sid.begin(), pair.sid.end());
    codes.resize((i - begin + 1) * levels, -7);  // codes past a length are not read
    lengths.push_back(static_cast<int32_t>(pair.sid.size()));
    ids.push_back(pair.id);
    priorities.push_back(pair.priority);
    bytes += pair.name;
    offsets.push_back(static_cast<int64_t>(bytes.size()));
  }
  const int32_t* length_data = catalogue.variable_length ? lengths.data() : nullptr;
  const int64_t* priority_data = catalogue.with_priorities ? priorities.data() : nullptr;
  const auto count = static_cast<int64_t>(end - begin);
  if (catalogue.id_type == SIDBEAM_ID_STRING) {
    builder.add_named(codes.data(), length_data, count, bytes.data(), offsets.data(), priority_data);
  } else {
    builder.add(codes.data(), length_data, count, catalogue.with_ids ? ids.data() : nullptr, priority_data);
  }
}

inline Index build(const TestCatalogue& catalogue, int threads = 1, size_t calls = 1) {
  Builder builder(catalogue.config(), threads, default_allocator());
  const size_t size = catalogue.pairs.size();
  for (size_t call = 0; call < calls; ++call)
    add_pairs(builder, catalogue, size * call / calls, size * (call + 1) / calls);
  return builder.finish();
}

inline void expect_verified(const Index& index, int threads = 1) {
  try {
    verify_index(index, SIDBEAM_VERIFY_FULL, threads);
  } catch (const Failure& failure) {
    ADD_FAILURE() << failure.message;
  }
}

inline std::vector<uint8_t> bytes_of(const Index& index) {
  return {index.bytes.data(), index.bytes.data() + index.bytes.size()};
}

inline TestCatalogue random_catalogue(std::mt19937_64& random) {
  const auto below = [&](uint64_t bound) { return static_cast<int64_t>(random() % bound); };
  TestCatalogue out;
  const int levels = static_cast<int>(1 + below(5));
  for (int l = 0; l < levels; ++l) {
    const int64_t shape = below(10);
    out.codes.push_back(static_cast<int32_t>(shape == 0   ? 1
                                             : shape == 1 ? 70000 + below(1000)
                                             : shape == 2 ? 65535 + below(3)
                                             : shape < 6  ? 100 + below(600)
                                                          : 1 + below(8)));
  }
  out.variable_length = below(2) != 0;
  out.id_type = static_cast<int32_t>(below(3));
  out.with_ids = out.id_type == SIDBEAM_ID_STRING || below(4) != 0;
  out.with_priorities = below(2) != 0;
  out.kinds = static_cast<int32_t>(1 + below(15));
  out.collisions = below(2) != 0 ? SIDBEAM_COLLISIONS_KEEP : SIDBEAM_COLLISIONS_FIRST;
  const int64_t count = below(4) == 0 ? 1 + below(3) : 1 + below(600);
  for (int64_t i = 0; i < count; ++i) {
    Pair pair;
    if (i > 0 && below(5) == 0) {
      pair.sid = out.pairs[random() % out.pairs.size()].sid;
    } else {
      const auto length = out.variable_length ? 1 + below(out.codes.size()) : levels;
      for (int l = 0; l < length; ++l) {
        const int64_t most = out.codes[static_cast<size_t>(l)];
        const int64_t edge = below(8);
        pair.sid.push_back(static_cast<int32_t>(edge == 0   ? 0
                                                : edge == 1 ? most - 1
                                                            : below(static_cast<uint64_t>(most))));
      }
    }
    pair.id = below(3) == 0 ? static_cast<int64_t>(random()) : below(20) - 10;
    pair.name = below(9) == 0 ? "" : "item-" + std::to_string(below(40));
    pair.priority = out.with_priorities ? below(3) - 1 : 0;
    out.pairs.push_back(pair);
  }
  return out;
}

// What the index of a catalogue must hold, made the slow way.
struct Model {
  struct Item {
    int64_t id;
    std::string name;
    int64_t priority;
  };
  std::map<std::vector<int32_t>, std::vector<Item>> sids;  // by SID, padded with V_l
  int64_t items = 0, merged_pairs = 0, collisions = 0, max_items = 0;

  explicit Model(const TestCatalogue& catalogue) {
    int64_t row = 0;
    for (const Pair& pair : catalogue.pairs) {
      std::vector<int32_t> key = pair.sid;
      for (size_t l = key.size(); l < catalogue.codes.size(); ++l) key.push_back(catalogue.codes[l]);
      add({catalogue.with_ids ? pair.id : row, catalogue.id_type == SIDBEAM_ID_STRING ? pair.name : "", pair.priority},
          catalogue, sids[key]);
      ++row;
    }
    for (auto& [sid, list] : sids) {
      std::sort(list.begin(), list.end(), [&](const Item& a, const Item& b) {
        return a.priority != b.priority ? a.priority > b.priority : less(a, b, catalogue.id_type);
      });
      if (catalogue.collisions == SIDBEAM_COLLISIONS_FIRST) list.resize(1);
      const auto size = static_cast<int64_t>(list.size());
      items += size;
      collisions += size > 1;
      max_items = std::max(max_items, size);
    }
  }

 private:
  static bool less(const Item& a, const Item& b, int32_t id_type) {
    if (id_type == SIDBEAM_ID_STRING) return a.name < b.name;
    return id_type == SIDBEAM_ID_U64 ? static_cast<uint64_t>(a.id) < static_cast<uint64_t>(b.id) : a.id < b.id;
  }
  void add(const Item& item, const TestCatalogue& catalogue, std::vector<Item>& list) {
    for (Item& other : list) {
      if (catalogue.id_type == SIDBEAM_ID_STRING ? other.name != item.name : other.id != item.id) continue;
      other.priority = std::max(other.priority, item.priority);
      ++merged_pairs;
      return;
    }
    list.push_back(item);
  }
};

// The Failure that `body` throws; fails the test if it throws none.
template <class Body>
Failure failure_of(Body&& body) {
  try {
    body();
  } catch (const Failure& failure) {
    return failure;
  }
  ADD_FAILURE() << "expected a Failure";
  return {};
}

#define EXPECT_FAILS(expected_status, expected_text, ...)                                                    \
  do {                                                                                                       \
    const ::sidbeam::Failure thrown = ::sidbeam::testing::failure_of([&] { __VA_ARGS__; });                  \
    EXPECT_EQ(thrown.status, expected_status) << thrown.message;                                             \
    EXPECT_NE(std::string(expected_text).find(' '), std::string::npos) << "no phrase of " << thrown.message; \
    EXPECT_NE(std::string(thrown.message).find(expected_text), std::string::npos) << thrown.message;         \
  } while (false)

}  // namespace sidbeam::testing
