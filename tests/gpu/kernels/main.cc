// The kernels on the emulator, against the oracle: random cases of the differential test.
//
//   gpu_kernels_emulated --cases N --seed S     or     --case 'LINE'
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <string>

#include "backend/cuda/hash_key.cuh"
#include "checks.h"
#include "emulated_session.h"
#include "support/hashing.h"

namespace {

using namespace differential;

// Emulated threads are slow: what makes a case long makes it smaller here.
Case smaller(Case c) {
  c.codes = std::min<int64_t>(c.codes, 3000);
  c.beams = std::min<int64_t>(c.beams, 300);
  c.operations = std::min<int64_t>(c.operations, 12);
  return repaired(c);
}

// A sound index has no damage on the device; one with a flipped bit has, where both a trie and the columns are there.
void check_damage(const World& world, const Loaded& loaded, Coverage* coverage) {
  const sidbeam::IndexView& view = loaded.constraint->view();
  gpu_test::DeviceIndex index(view);
  const uint64_t damage = index.damage();
  expect(damage == 0, "a sound index has ", damage, " faults on the device");
  if (!view.has_trie || !view.has_columns) return;
  const uint64_t random = mix(world.seed(), kDrawReplay, 77);
  index.flip(random);
  expect(index.damage() != 0, "flipped bit ", random, " was not found");
  ++(*coverage)["flipped bits found on the device"];
}

std::string failure(const Machine& machine, const Case& c, Coverage* coverage) {
  std::string what;
  try {
    const World world = make_world(c);
    std::vector<Loaded> loaded;
    for (size_t k = 0; k < world.catalogues.size(); ++k) loaded.push_back(load(machine.best(), world, k));
    check_damage(world, loaded[0], coverage);
    const std::vector<Life> lives = check_session(machine, world, loaded, coverage);
    if (!lives.empty())
      check_replays(machine, world, loaded, lives[mix(world.seed(), kDrawReplay) % lives.size()], coverage);
    const bool has_trie = c.lean == 0 || c.strategy == SIDBEAM_STRATEGY_TRIE;
    if (c.stateless != 0 && has_trie) check_stateless(world, loaded, coverage);
  } catch (const Mismatch& error) {
    what = error.what();
  }
  gpu_test::forget_indexes();
  return what;
}

bool run(const Machine& machine, const Case& c, Coverage* coverage) {
  const std::string what = failure(machine, c, coverage);
  if (what.empty()) return true;
  std::printf("%s\ncase: %s\n", what.c_str(), to_line(c).c_str());
  return false;
}

// The device's own XXH3 is the library's.
bool hashes_agree() {
  for (int count = 1; count <= sidbeam::kMaxLevels; ++count) {
    std::vector<int32_t> codes;
    for (int l = 0; l < count; ++l)
      codes.push_back(static_cast<int32_t>(mix(static_cast<uint64_t>(count), static_cast<uint64_t>(l)) >> 34));
    if (sidbeam::cuda::xxh3_of_codes(codes.data(), count) == sidbeam::xxh3_64(codes.data(), codes.size() * 4)) continue;
    std::printf("the hash of %d codes is another\n", count);
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  int64_t cases = 100, first = 1;
  const char* line = nullptr;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--cases") == 0) cases = std::atoll(argv[i + 1]);
    if (std::strcmp(argv[i], "--seed") == 0) first = std::atoll(argv[i + 1]);
    if (std::strcmp(argv[i], "--case") == 0) line = argv[i + 1];
  }
  Machine machine;
  for (const char* name : {"best", "again", "once more"}) machine.runtimes.emplace_back(name, make_runtime(nullptr));
  Coverage coverage;
  if (line != nullptr) return run(machine, from_line(line), &coverage) ? 0 : 1;
  int64_t failed = hashes_agree() ? 0 : 1;
  for (int64_t seed = first; seed < first + cases; ++seed) {
    emulator_set_seed(static_cast<uint64_t>(seed));
    if (!run(machine, smaller(draw_case(static_cast<uint64_t>(seed))), &coverage) && ++failed == 5) break;
  }
  for (const auto& [name, count] : coverage) std::printf("%8lld  %s\n", static_cast<long long>(count), name.c_str());
  if (emulator_live_allocations() != 0) {
    std::printf("%lld allocations were not given back\n", static_cast<long long>(emulator_live_allocations()));
    ++failed;
  }
  return failed == 0 ? 0 : 1;
}
