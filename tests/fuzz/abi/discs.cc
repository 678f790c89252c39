// DISC: draws that are handed out, made up, and added in any order.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "operations.h"

namespace fuzz::abi {
namespace {

constexpr size_t kMostDiscs = 2;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

int64_t results_of(const Disc& disc) { return std::max(disc.config.results, 1); }
int64_t attempts_of(const Disc& disc) {
  const int32_t attempts = disc.config.attempts;
  return disc.config.without_replacement == 0 ? 1 : attempts > 0 ? attempts : 1000;
}

void spoil(World& world, int32_t fault, sidbeam_disc_config& config) {
  world.expected.fails_if(fault > 0, SIDBEAM_INVALID_ARGUMENT);
  if (fault == 1) config.results = world.flip() ? -1 : (1 << 20) + 1;
  if (fault == 2) config.rounds = world.flip() ? 0 : (1 << 10) + 1;
  if (fault == 3) config.without_replacement = world.flip() ? -1 : 2;
  if (fault == 4) config.attempts = world.flip() ? -1 : (1 << 20) + 1;
  if (fault == 5) config.side_by_side = world.flip() ? -1 : 2 * config.rounds + 1;
}

void create(World& world) {
  if (world.runtimes.empty() || world.discs.size() >= kMostDiscs) return;
  const int32_t fault = world.fault(7);
  Disc disc;
  disc.config.results = world.one_in(16) ? world.in(0, 3000) : world.in(0, 6);
  disc.config.rounds = world.one_in(8) ? world.in(1, 1 << 10) : world.in(1, 4);
  disc.config.without_replacement = world.in(0, 1);
  disc.config.attempts = world.in(0, 5) == 0 ? 1 << 20 : world.in(0, 4);
  disc.config.side_by_side = world.in(0, 2 * disc.config.rounds);
  disc.config.seed = world.strange();
  disc.config.request = world.strange();
  sidbeam_disc_config config = disc.config;
  spoil(world, fault, config);
  const In<sidbeam_disc_config> argument(world, config);
  sidbeam_runtime* runtime = fault == 6 ? nullptr : world.any(world.runtimes);
  Out<sidbeam_disc*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(disc_create)(runtime, argument.get(), fault == 7 ? nullptr : out.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  disc.handle = *out;
  world.discs.push_back(std::move(disc));
}

void next(World& world, Disc& disc, int32_t fault, int32_t capacity) {
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  Out<int64_t> draws(world, static_cast<size_t>(capacity)), count(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(disc_next)(fault == 1 ? nullptr : disc.handle, fault == 2 ? -1 : capacity,
                          fault == 3 ? nullptr : draws.get(), fault == 4 ? nullptr : count.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(*count >= 0 && *count <= capacity);
  FUZZ_CHECK(!disc.decided || *count == 0);
  const int64_t numbers = 2 * disc.config.rounds * results_of(disc) * attempts_of(disc);
  for (int64_t i = 0; i < *count; ++i) {
    const int64_t draw = draws[static_cast<size_t>(i)];
    FUZZ_CHECK(draw >= 0 && draw < numbers);
    FUZZ_CHECK(std::find(disc.out.begin(), disc.out.end(), draw) == disc.out.end());
    disc.out.push_back(draw);
  }
  disc.decided = disc.out.empty() && capacity > 0;
}

void next(World& world) {
  if (world.discs.empty()) return;
  Disc& disc = world.any(world.discs);
  const int32_t fault = world.fault(4);
  next(world, disc, fault, world.in(fault == 0 ? 0 : 1, 40));
}

struct Added {
  std::vector<int64_t> draws, ordinals;
  std::vector<float> log_probs, log_masses;

  void add(World& world, int64_t draw) {
    draws.push_back(draw);
    ordinals.push_back(world.one_in(16) ? INT64_MAX - world.in(0, 2) : world.one_in(4) ? -1 : world.in(0, 5));
    log_probs.push_back(world.input.ConsumeFloatingPointInRange(-50.0F, 0.0F));
    constexpr float kMasses[] = {0, -0.1F, -3, -1e30F, -kInfinity, 0.001F, -0.7F, -100};
    log_masses.push_back(kMasses[world.in(0, 7)]);
    if (ordinals.back() == -1 && world.flip()) log_masses.back() = kNan;  // not read
  }
};

// Something is wrong with one of the draws, in the middle of others that are right.
void spoil(World& world, int32_t fault, Added& added) {
  if (fault < 1 || fault > 4) return;
  world.expected.fails(SIDBEAM_INVALID_ARGUMENT);
  if (added.draws.empty()) added.add(world, -1);
  const auto at = static_cast<size_t>(world.in(0, static_cast<int32_t>(added.draws.size()) - 1));
  if (fault == 1) added.draws[at] = world.flip() ? -1 : INT64_MAX;
  if (fault == 2) added.ordinals[at] = world.flip() ? -2 : INT64_MIN;
  if (fault == 3) added.ordinals[at] = 1;
  if (fault == 3) added.log_masses[at] = world.flip() ? kNan : 0.01F;
  if (fault == 4) {  // one twice
    const int64_t twice = added.draws[at];
    added.add(world, twice);
  }
}

// `taken` of those that are out, in any order.
void add(World& world, Disc& disc, int32_t fault, size_t taken) {
  Added added;
  std::vector<int64_t> left = disc.out;
  for (size_t i = taken; i > 0; --i) {
    const auto at = static_cast<size_t>(world.in(0, static_cast<int32_t>(left.size()) - 1));
    added.add(world, left[at]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
  }
  spoil(world, fault, added);
  const bool some = !added.draws.empty();
  const auto count = static_cast<int64_t>(added.draws.size());
  const Array<int64_t> draws(added.draws), ordinals(added.ordinals);
  const Array<float> log_probs(added.log_probs), log_masses(added.log_masses);
  sidbeam_disc_draws view = SIDBEAM_DISC_DRAWS_INIT;
  view.count = fault == 5 ? -1 : count;
  view.draws = fault == 6 ? nullptr : draws.get();
  view.ordinals = fault == 7 ? nullptr : ordinals.get();
  view.log_probs = fault == 8 ? nullptr : log_probs.get();
  view.log_masses = fault == 9 ? nullptr : log_masses.get();
  world.expected.fails_if(fault == 5 || fault == 10 || (some && fault > 5), SIDBEAM_INVALID_ARGUMENT);
  const In<sidbeam_disc_draws> argument(world, view);
  const sidbeam_status status = world.attempt(
      [&](sidbeam_error* err) { return ABI(disc_add)(fault == 10 ? nullptr : disc.handle, argument.get(), err); });
  if (status != SIDBEAM_OK) return;
  disc.out = std::move(left);
  disc.added += count;
}

void add(World& world) {
  if (world.discs.empty()) return;
  Disc& disc = world.any(world.discs);
  const int32_t fault = world.fault(10), most = static_cast<int32_t>(disc.out.size());
  add(world, disc, fault, static_cast<size_t>(world.flip() ? most : world.in(0, most)));
}

struct Results {
  Results(World& world, size_t n)
      : ordinals(world, n),
        draws(world, n),
        used(world, n),
        rows(world, n),
        accepted(world, n),
        log_probs(world, n),
        log_masses(world, n) {}
  Out<int64_t> ordinals, draws, used, rows;
  Out<int32_t> accepted;
  Out<float> log_probs, log_masses;
};

void check(const Disc& disc, Results& results) {
  const auto n = static_cast<size_t>(results_of(disc));
  int64_t rows = 0;
  std::vector<int64_t> found;
  for (size_t j = 0; j < n; ++j) {
    const bool dead = results.ordinals[j] == -1;
    FUZZ_CHECK(results.ordinals[j] >= -1 && (results.draws[j] == -1) == dead);
    FUZZ_CHECK(results.accepted[j] == 0 || (results.accepted[j] == 1 && !dead));
    FUZZ_CHECK(results.used[j] >= 1 && results.used[j] <= results.rows[j]);
    FUZZ_CHECK(results.rows[j] <= 2 * disc.config.rounds * attempts_of(disc));
    FUZZ_CHECK(dead ? std::isinf(results.log_probs[j]) : results.log_masses[j] <= 0.001F);
    rows += results.rows[j];
    if (!dead) found.push_back(results.ordinals[j]);
  }
  FUZZ_CHECK(rows == disc.added);
  std::sort(found.begin(), found.end());
  if (disc.config.without_replacement != 0) FUZZ_CHECK(std::adjacent_find(found.begin(), found.end()) == found.end());
}

void get(World& world, const Disc& disc, int32_t fault) {
  Results results(world, static_cast<size_t>(results_of(disc)));
  sidbeam_disc_results out = SIDBEAM_DISC_RESULTS_INIT;
  const bool whole = world.flip();
  if (whole || world.flip()) out.ordinals = results.ordinals.get();
  if (whole || world.flip()) out.draws = results.draws.get();
  if (whole || world.flip()) out.accepted = results.accepted.get();
  if (whole || world.flip()) out.draws_used = results.used.get();
  if (whole || world.flip()) out.rows_run = results.rows.get();
  if (whole || world.flip()) out.log_probs = results.log_probs.get();
  if (whole || world.flip()) out.log_masses = results.log_masses.get();
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  if (!disc.decided) world.expected.may_fail(SIDBEAM_BAD_STATE);
  const In<sidbeam_disc_results> argument(world, out);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(disc_get)(fault == 1 ? nullptr : disc.handle,
                         fault == 2 ? nullptr : const_cast<sidbeam_disc_results*>(argument.get()), err);
  });
  if (status == SIDBEAM_OK && whole) check(disc, results);
}

void get(World& world) {
  if (world.discs.empty()) return;
  const Disc& disc = world.any(world.discs);
  get(world, disc, world.fault(2));
}

// As hosts call it: to the end. (By chance alone a run of 7000 inputs came there between 22 times and never.)
void finish(World& world) {
  if (world.discs.empty()) return;
  constexpr int kMostTurns = 8, kCapacity = 40;
  Disc& disc = world.any(world.discs);
  for (int turn = 0; turn < kMostTurns && !disc.decided; ++turn) {
    next(world, disc, 0, kCapacity);
    add(world, disc, 0, disc.out.size());
  }
  get(world, disc, 0);
}

void destroy(World& world) {
  if (world.one_in(4)) ABI(disc_destroy)(nullptr);
  if (world.discs.empty()) return;
  Disc& destroyed = world.any(world.discs);
  ABI(disc_destroy)(destroyed.handle);
  std::swap(destroyed, world.discs.back());
  world.discs.pop_back();
}

}  // namespace

std::span<const Operation> disc_operations() {
  static constexpr Operation kAll[] = {create, next, next, next, add, add, add, get, finish, destroy};
  return kAll;
}

}  // namespace fuzz::abi
