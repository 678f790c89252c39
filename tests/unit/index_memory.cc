// Memory that runs out at any moment: an error, no leak, no crash, and nothing half done.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "index/build/attributes.h"
#include "index/read/open.h"
#include "index_catalogues.h"

namespace sidbeam::testing {
namespace {

// Fails one allocation, counted from 1; 0: none.
struct FailingAllocator {
  std::atomic<int64_t> calls{0}, live{0};
  int64_t fail_at = 0;

  Allocator allocator() {
    return {this,
            [](void* context, int64_t bytes, int64_t alignment) -> void* {
              auto& self = *static_cast<FailingAllocator*>(context);
              if (++self.calls == self.fail_at) return nullptr;
              self.live += bytes;
              return default_allocator().allocate(bytes, alignment);
            },
            [](void* context, void* memory, int64_t bytes, int64_t alignment) {
              static_cast<FailingAllocator*>(context)->live -= bytes;
              default_allocator().release(memory, bytes, alignment);
            }};
  }
};

TEST(IndexMemory, EveryAllocationOfABuildMayFail) {
  std::mt19937_64 random(99);
  TestCatalogue catalogue = random_catalogue(random);
  catalogue.codes = {300, 300, 300, 1 << 19, 1 << 19, 1 << 19};
  catalogue.variable_length = true;
  catalogue.id_type = SIDBEAM_ID_STRING;
  catalogue.with_priorities = true;
  catalogue.kinds = 7;
  catalogue.pairs.clear();
  for (int32_t i = 0; i < 5000; ++i)
    catalogue.pairs.push_back({{i % 300, i % 299, i % 3, i, 7, i % 5}, 0, std::to_string(i), i % 4});
  const std::vector<uint8_t> expected = bytes_of(build(catalogue));
  for (int64_t fail_at = 1;; ++fail_at) {
    SCOPED_TRACE("allocation " + std::to_string(fail_at));
    FailingAllocator memory;
    memory.fail_at = fail_at;
    {
      Builder builder(catalogue.config(), 1, memory.allocator());
      size_t failures = 0;
      // The failed call is tried again: it must have left everything unchanged.
      const auto twice = [&](auto&& body) {
        try {
          body();
        } catch (const Failure& failure) {
          EXPECT_EQ(failure.status, SIDBEAM_OUT_OF_MEMORY) << failure.message;
          ++failures;
          body();
        }
      };
      twice([&] { add_pairs(builder, catalogue, 0, 1000); });
      twice([&] { add_pairs(builder, catalogue, 1000, 5000); });
      twice([&] { EXPECT_EQ(bytes_of(builder.finish()), expected); });
      if (HasFailure() || failures == 0) {
        EXPECT_GT(fail_at, 20);
        break;
      }
    }
    EXPECT_EQ(memory.live, 0);
  }
}

TEST(IndexMemory, PeakIsAnUpperBound) {
  struct Peak {
    std::atomic<int64_t> live{0}, most{0};
  } peak;
  const Allocator allocator = {&peak,
                               [](void* context, int64_t bytes, int64_t alignment) -> void* {
                                 auto& self = *static_cast<Peak*>(context);
                                 self.live += bytes;
                                 self.most = std::max(self.most.load(), self.live.load());
                                 return default_allocator().allocate(bytes, alignment);
                               },
                               [](void* context, void* memory, int64_t bytes, int64_t alignment) {
                                 static_cast<Peak*>(context)->live -= bytes;
                                 default_allocator().release(memory, bytes, alignment);
                               }};
  std::mt19937_64 random(4);
  for (const int levels : {3, 9}) {
    const std::vector<int32_t> sizes(static_cast<size_t>(levels), 2000);
    std::vector<int32_t> codes(static_cast<size_t>(300'000 * levels));
    for (int32_t& code : codes) code = static_cast<int32_t>(random() % 2000);
    sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
    config.levels = levels;
    config.codes = sizes.data();
    config.kinds = 7;
    peak.most = 0;
    Builder builder(config, 1, allocator);
    builder.add(codes.data(), nullptr, 300'000, nullptr, nullptr);
    const Index index = builder.finish();
    const int64_t planned = builder.plan().info.peak_bytes;
    EXPECT_LE(peak.most, planned);
    EXPECT_GE(peak.most * 10, planned * 9);
  }
}

TEST(IndexMemory, CopyTakesTheCallersMemory) {
  TestCatalogue catalogue;
  catalogue.codes = {4};
  catalogue.pairs = {{{1}, 5, "", 0}};
  const Index index = build(catalogue);
  FailingAllocator memory;
  {
    const Index copy = open_index_memory(index.bytes.data(), index.bytes.size(), nullptr, SIDBEAM_RESIDENCY_COPY,
                                         SIDBEAM_VERIFY_FULL, 1, memory.allocator());
    EXPECT_EQ(memory.live, index.bytes.size());
  }
  EXPECT_EQ(memory.live, 0);
  memory.fail_at = memory.calls + 1;
  EXPECT_FAILS(SIDBEAM_OUT_OF_MEMORY, "out of memory",
               open_index_memory(index.bytes.data(), index.bytes.size(), nullptr, SIDBEAM_RESIDENCY_COPY,
                                 SIDBEAM_VERIFY_FULL, 1, memory.allocator()));
}

// A list of strings of which one has no memory leaves nothing: given again, it has all of them.
TEST(IndexMemory, AListThatFailedHalfWayComesWhole) {
  const std::string large(1 << 21, 'x');  // needs room of its own
  const std::string_view strings[] = {"a", "b", large};
  const int64_t lists[] = {0, 3};
  AttributeValues values;
  values.count = 1;
  values.strings = strings;
  values.string_count = 3;
  values.lists = lists;
  int64_t failed = 0;
  for (int64_t fail_at = 1;; ++fail_at) {
    FailingAllocator memory;
    memory.fail_at = fail_at;
    AttributeColumn column("tags", AttributeType::kStringList, memory.allocator());
    try {
      column.set(values, 0);
      break;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.status, SIDBEAM_OUT_OF_MEMORY);
      ++failed;
    }
    column.set(values, 0);
    ASSERT_EQ(column.list_size(0), 3) << "after allocation " << fail_at;
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(column.strings[column.list_string(0, i)], strings[i]);
  }
  EXPECT_GT(failed, 3);
}

// Lists of rows that are dropped again take no room in the end.
TEST(IndexMemory, DroppedListsGiveTheirRoomBack) {
  std::vector<std::string_view> strings(1000, "same");
  std::vector<int64_t> lists;
  for (int64_t i = 0; i <= 1000; ++i) lists.push_back(i);
  AttributeValues values;
  values.count = 1000;
  values.strings = strings.data();
  values.string_count = 1000;
  values.lists = lists.data();
  AttributeColumn column("tags", AttributeType::kStringList, default_allocator());
  column.set(values, 0);
  const int64_t bytes = [&] {
    column.set(values, 1000);
    column.rewind(1000);
    return column.bytes();
  }();
  for (int i = 0; i < 20; ++i) {
    column.set(values, 1000);
    column.rewind(1000);
  }
  EXPECT_EQ(column.bytes(), bytes);
  EXPECT_EQ(column.strings[column.list_string(999, 0)], "same");
}

}  // namespace
}  // namespace sidbeam::testing
