// Strict speculation on a device: random cases, whatever the draft, against plain search there and on the CPU.
//   gpu_speculation [--cases N] [--seed S]
// Exit status 77: no device. SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <string>

#include "../speculation/case.h"
#include "checks.h"
#include "device_place.h"

namespace {

using differential::expect;
using speculation::Case;
using speculation::Result;

struct Options {
  int64_t cases = 300, seed = 1;
};

struct Tally {
  int64_t levels = 0, accepted = 0, of_cpu = 0, errors = 0;
};

// What of a result has the bits of the CPU: all of it, where no sum of floats is computed or only integer weights are
// summed up; with noise all except log_masses.
enum class SameBits { kNothing, kExceptLogMasses, kAll };
SameBits same_bits(const Case& c) {
  const bool stochastic = c.mode == SIDBEAM_MODE_STOCHASTIC;
  if (c.given_lse || (stochastic && c.normalization == SIDBEAM_NORMALIZE_VALID)) return SameBits::kAll;
  return stochastic ? SameBits::kExceptLogMasses : SameBits::kNothing;
}

void compare(const Case& c, const gpu::DevicePlace& there, Tally* tally) {
  const differential::Place here;
  sidbeam_speculation_stats stats = SIDBEAM_SPECULATION_STATS_INIT;
  const speculation::World world = speculation::make_world(c, there);
  Result found = speculation::speculative(c, world, stats);
  expect(found == speculation::plain(c, world), "the beams are not those of plain search on the device");
  expect(stats.levels - stats.rounds == stats.accepted_levels, stats.rounds, " rounds gained ", stats.levels,
         " levels, of which ", stats.accepted_levels, " were accepted");
  tally->levels += stats.levels;
  tally->accepted += stats.accepted_levels;
  for (const int32_t error : found.errors) tally->errors += error != 0 ? 1 : 0;
  if (same_bits(c) == SameBits::kNothing) return;
  const Result on_cpu = speculation::plain(c, speculation::make_world(c, here));
  if (same_bits(c) == SameBits::kExceptLogMasses) found.log_masses = on_cpu.log_masses;
  expect(found == on_cpu, "the beams are not those of plain search on the CPU");
  ++tally->of_cpu;
}

// The draft goes on from all that the target has, its noise included.
void expect_all_accepted(const Options& options, int32_t mode, const char* name) {
  const gpu::DevicePlace there(0);
  for (int64_t i = 0; i < options.cases; ++i) {
    Case c = speculation::accepted_case(static_cast<uint64_t>(options.seed + i), mode);
    sidbeam_speculation_stats stats = SIDBEAM_SPECULATION_STATS_INIT;
    speculation::speculative(c, speculation::make_world(c, there), stats);
    expect(stats.accepted_levels == stats.drafted_levels, name, ", seed ", options.seed + i, ": ",
           stats.accepted_levels, " levels of ", stats.drafted_levels, " were accepted");
  }
  std::cout << "ok      " << name << ": all levels of a draft that is the target were accepted\n";
}

void compare_cases(const Options& options, int32_t mode, const char* name) {
  Tally tally;
  for (int64_t i = 0; i < options.cases; ++i) {
    const auto seed = static_cast<uint64_t>(options.seed + i);
#ifdef SIDBEAM_EMULATED
    emulator_set_seed(seed);
#endif
    Case c = speculation::random_case(seed + (static_cast<uint64_t>(mode) << 32), mode);
    c.given_lse = c.given_lse || seed % 2 == 0;
    // The sessions' own steps by a graph each, or all on the default stream, which cannot be captured.
    const bool captured = seed % 3 == 0, default_stream = seed % 3 == 1;
    const gpu::DevicePlace there(0, captured ? gpu::Steps::kCaptured : gpu::Steps::kEager, default_stream);
    try {
      compare(c, there, &tally);
    } catch (const std::exception& error) {
      differential::mismatch(name, ", seed ", seed, ": ", error.what());
    }
  }
  std::cout << "ok      " << name << ": " << options.cases << " cases from seed " << options.seed << ", "
            << tally.of_cpu << " of them bit for bit with the CPU, " << tally.levels << " levels, " << tally.accepted
            << " of them accepted, " << tally.errors << " slots in error\n";
  expect(tally.accepted > 0 && tally.accepted < tally.levels, name, ": ", tally.accepted, " of ", tally.levels,
         " levels were accepted");
  expect(2 * tally.of_cpu >= options.cases, name, ": only ", tally.of_cpu, " cases were compared with the CPU");
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--cases") options.cases = std::stoll(argv[i + 1]);
    if (name == "--seed") options.seed = std::stoll(argv[i + 1]);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (!gpu::has_device()) return 77;
  const Options options = read_options(argc, argv);
  try {
    compare_cases(options, SIDBEAM_MODE_SEARCH, "search");
    compare_cases(options, SIDBEAM_MODE_STOCHASTIC, "stochastic beams");
    expect_all_accepted(options, SIDBEAM_MODE_SEARCH, "search");
    expect_all_accepted(options, SIDBEAM_MODE_STOCHASTIC, "stochastic beams");
#ifdef SIDBEAM_EMULATED
    cudaDeviceSynchronize();
    expect(emulator_live_allocations() == 0, emulator_live_allocations(), " allocations were not given back");
#endif
  } catch (const std::exception& error) {
    std::cout << "FAILED  " << error.what() << '\n';
    return 1;
  }
  return 0;
}
