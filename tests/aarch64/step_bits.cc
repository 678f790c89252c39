// Prints a hash per seed of what the sessions of the differential test's random cases give, each checked against the
// oracle: two machines must print the same.
//   step_bits CASES
// SPDX-License-Identifier: Apache-2.0
#include <xxhash.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "driver.h"

namespace differential {
namespace {

template <class T>
void add(XXH64_state_t* hash, const std::vector<T>& values) {
  XXH64_update(hash, values.data(), values.size() * sizeof(T));
}

uint64_t hash_of(const std::vector<Life>& lives) {
  XXH64_state_t hash;
  XXH64_reset(&hash, 0);
  for (const Life& life : lives) {
    for (const auto& step : life.rows) {
      for (const RawRow& row : step) add(&hash, row.elements);
    }
    for (const Snapshot& after : life.after) {
      add(&hash, after.parents);
      add(&hash, after.codes);
      add(&hash, after.scores);
      add(&hash, std::vector<int32_t>{after.live, after.active, after.level, after.error});
    }
  }
  return XXH64_digest(&hash);
}

int print_hashes(int64_t cases) {
  const Machine machine = make_cpu_machine();
  for (int64_t seed = 1; seed <= cases; ++seed) {
    const Case c = repaired(draw_case(static_cast<uint64_t>(seed)));
    try {
      const World world = make_world(c);
      Coverage ignored;
      const std::vector<Loaded> loaded = load_all(machine.best().runtime.get(), world);
      std::printf("%016" PRIx64 "  %s\n", hash_of(check_session(machine, world, loaded, &ignored)), to_line(c).c_str());
    } catch (const Mismatch& error) {
      std::printf("FAILED: %s\n  case: %s\n", error.what(), to_line(c).c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace differential

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CASES\n", argv[0]);
    return 2;
  }
  return differential::print_hashes(std::atoll(argv[1]));
}
