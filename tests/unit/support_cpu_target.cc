// One choice of the instruction set, which kernels, hashing and verification obey alike.
// SPDX-License-Identifier: Apache-2.0
#include "support/cpu_target.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "backend/cpu/kernels.h"
#include "decode/objects.h"
#include "index/verify/bulk_kernels.h"
#include "index_catalogues.h"
#include "sidbeam/sidbeam.h"
#include "support/hashing_kernels.h"

namespace sidbeam::testing {
namespace {

std::vector<CpuTarget> targets() {
  std::vector<CpuTarget> out;
  for (const CpuTarget target : kCpuTargets) {
    if (has_cpu_target(target)) out.push_back(target);
  }
  return out;
}

// Columns and a hash set of long keys, so that every hash and every loop of verification runs.
TestCatalogue catalogue_of_everything() {
  std::mt19937_64 random(71);
  TestCatalogue out;
  out.codes = {3, 60000, 60000, 60000, 60000};
  out.kinds = SIDBEAM_KIND_TRIE | SIDBEAM_KIND_SORTED | SIDBEAM_KIND_HASH;
  for (int64_t i = 0; i < 3000; ++i) {
    Pair pair;
    for (const int32_t codes : out.codes)
      pair.sid.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(codes)));
    pair.id = i;
    out.pairs.push_back(pair);
  }
  return out;
}

class Handles {
 public:
  explicit Handles(const char* target) {
    sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
    config.cpu_target = target;
    EXPECT_EQ(sidbeam_runtime_create(&config, &runtime, nullptr), 0);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    for (sidbeam_index* index : indexes) sidbeam_index_release(index);
    sidbeam_runtime_release(runtime);
  }
  sidbeam_index* open(const Index& from) {
    sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
    config.residency = SIDBEAM_RESIDENCY_COPY;
    config.verify = SIDBEAM_VERIFY_FULL;
    sidbeam_index* index = nullptr;
    EXPECT_EQ(sidbeam_index_open_memory(runtime, from.bytes.data(), from.bytes.size(), nullptr, nullptr, &config,
                                        &index, nullptr),
              0);
    return indexes.emplace_back(index);
  }
  sidbeam_index* build() {
    sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
    const int32_t codes[] = {4};
    config.codes = codes;
    config.levels = 1;
    sidbeam_builder* builder = nullptr;
    EXPECT_EQ(sidbeam_builder_create(runtime, &config, &builder, nullptr), 0);
    const int32_t sid = 2;
    EXPECT_EQ(sidbeam_builder_add(builder, &sid, nullptr, 1, nullptr, nullptr, nullptr), 0);
    sidbeam_index* index = nullptr;
    EXPECT_EQ(sidbeam_builder_finish(builder, &index, nullptr), 0);
    sidbeam_builder_destroy(builder);
    return indexes.emplace_back(index);
  }

  sidbeam_runtime* runtime = nullptr;
  std::vector<sidbeam_index*> indexes;
};

// A table says itself what it was compiled for.
TEST(CpuTarget, EveryUserHasATableOfEveryTarget) {
  for (const CpuTarget target : targets()) {
    SCOPED_TRACE(cpu_target_name(target));
    EXPECT_STREQ(cpu::kernels_of(target).name, cpu_target_name(target));
    EXPECT_EQ(hash_kernels(target).target, target);
    EXPECT_EQ(bulk_kernels(target).target, target);
  }
}

TEST(CpuTarget, ARuntimesSettingRulesTheIndexesThatItOpensAndBuilds) {
  const Index index = build(catalogue_of_everything());
  for (const CpuTarget target : targets()) {
    SCOPED_TRACE(cpu_target_name(target));
    Handles handles(cpu_target_name(target));
    EXPECT_EQ(handles.runtime->target, target);
    EXPECT_EQ(handles.open(index)->index.view.target, target);
    EXPECT_EQ(handles.build()->index.view.target, target);
  }
  Handles best(nullptr);
  EXPECT_STREQ(cpu_target_name(best.open(index)->index.view.target), sidbeam_cpu_target());
}

TEST(CpuTarget, EveryTargetBuildsTheSameBytesAndFindsThemSound) {
  const TestCatalogue catalogue = catalogue_of_everything();
  const Index expected = build(catalogue);
  for (const CpuTarget target : targets()) {
    SCOPED_TRACE(cpu_target_name(target));
    Builder builder(catalogue.config(), 2, default_allocator(), target);
    for (const Pair& pair : catalogue.pairs) builder.add(pair.sid.data(), nullptr, 1, &pair.id, nullptr);
    const Index built = builder.finish();
    ASSERT_EQ(built.bytes.size(), expected.bytes.size());
    EXPECT_EQ(std::memcmp(built.bytes.data(), expected.bytes.data(), static_cast<size_t>(built.bytes.size())), 0);
    verify_index(built, SIDBEAM_VERIFY_FULL, 2);
  }
}

TEST(CpuTarget, NamesAreFoundWhereTheMachineHasThem) {
  CpuTarget found = CpuTarget::kBaseline;
  ASSERT_TRUE(find_cpu_target(nullptr, found));
  EXPECT_EQ(found, best_cpu_target());
  for (const CpuTarget target : kCpuTargets) {
    EXPECT_EQ(find_cpu_target(cpu_target_name(target), found), has_cpu_target(target)) << cpu_target_name(target);
    EXPECT_EQ(found == target, has_cpu_target(target)) << cpu_target_name(target);
  }
  EXPECT_FALSE(find_cpu_target("abacus", found));
}

}  // namespace
}  // namespace sidbeam::testing
