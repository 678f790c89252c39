// Rounds of speculation over an index whose sections are damaged, and which nobody has verified: whatever they find,
// they end, and touch no memory but their own. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "runner_trees.h"

namespace sidbeam::runner {
namespace {

using fakes::Randomly, fakes::World;

// A file's bytes, and constraints of what they are once some of them have changed.
class SoundFile {
 public:
  SoundFile(const World& world, const handles::SidRows& sids) {
    const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / "sidbeam_damaged.sidx";
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    const handles::Builder builder = handles::make_builder(world.runtime.get(), world.codes, sids, world.variable);
    handles::check(sidbeam_builder_write(builder.get(), path.c_str(), &error), error);
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    std::filesystem::remove(path);
  }

  handles::Constraint damaged(sidbeam_runtime* runtime, Randomly& random) const {
    const handles::Index whole = open(runtime, bytes_);
    std::vector<char> bytes = bytes_;
    std::vector<sidbeam_section_info> sections;
    sidbeam_section_info section = SIDBEAM_SECTION_INFO_INIT;
    for (int64_t i = 0; sidbeam_index_get_section(whole.get(), i, &section, nullptr) == SIDBEAM_OK; ++i)
      if (section.bytes > 0) sections.push_back(section);
    for (int32_t changes = 1 + random.below(12); changes > 0; --changes) {
      const sidbeam_section_info& in =
          sections[static_cast<size_t>(random.below(static_cast<int32_t>(sections.size())))];
      const auto at = static_cast<size_t>(in.offset + random.below(static_cast<int32_t>(in.bytes)));
      // Mostly small numbers, which lead further in.
      bytes[at] = static_cast<char>(random.one_in(3) ? random.below(256) : random.below(8));
    }
    return handles::make_constraint(open(runtime, bytes).get());
  }

 private:
  static handles::Index open(sidbeam_runtime* runtime, const std::vector<char>& bytes) {
    sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
    config.verify = SIDBEAM_VERIFY_HEADER;
    config.residency = SIDBEAM_RESIDENCY_COPY;
    sidbeam_index* index = nullptr;
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    handles::check(
        sidbeam_index_open_memory(runtime, bytes.data(), std::ssize(bytes), nullptr, nullptr, &config, &index, &error),
        error);
    return handles::Index(index);
  }

  std::vector<char> bytes_;
};

void run_damaged(World& world, const Drafting& drafting, Randomly& random) {
  const auto lane = trees::make_lane(world, 2, drafting, static_cast<trees::Kind>(random.below(trees::kKinds)));
  trees::Requests requests = trees::make_requests(world, 2, 1 + random.below(world.beams));
  for (const auto& request : requests) request->seed = static_cast<int64_t>(random.engine());
  trees::run(*lane, requests);
  for (const auto& request : requests) EXPECT_LE(std::ssize(request->found.scores), world.beams);
}

TEST(RunnerDamaged, RoundsTouchNothingButTheirOwn) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Randomly random{std::mt19937_64(seed)};
    World world;
    world.damaged = true;
    for (int32_t levels = 1 + random.below(4); levels > 0; --levels) world.codes.push_back(1 + random.below(7));
    world.beams = 1 + random.below(6);
    world.normalization = random.below(3);
    world.variable = !random.one_in(3);
    const SoundFile file(world, handles::random_sids(world.codes, 1 + random.below(40), seed, world.variable));
    for (int32_t damage = 0; damage < (SIDBEAM_SANITIZED ? 40 : 10); ++damage) {
      world.constraint = file.damaged(world.runtime.get(), random);
      world.finish();
      Drafting drafting;
      drafting.relaxed = !random.one_in(4);
      drafting.without_replacement = drafting.relaxed && random.one_in(2);
      drafting.beams = world.beams + (drafting.relaxed && !drafting.without_replacement ? 0 : random.below(5));
      run_damaged(world, drafting, random);
    }
  }
}

}  // namespace
}  // namespace sidbeam::runner
