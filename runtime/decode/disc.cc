// SPDX-License-Identifier: Apache-2.0
#include "decode/disc.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "backend/philox.h"
#include "support/error.h"
#include "support/portable_math.h"
#include "support/secret.h"

namespace sidbeam {
namespace {

constexpr int64_t kMaxResults = int64_t{1} << 20, kMaxRounds = int64_t{1} << 10, kMaxAttempts = int64_t{1} << 20;
constexpr int32_t kDefaultAttempts = 1000;
static_assert(kMaxAttempts * kMaxResults * 2 * kMaxRounds <= kMostDraws, "every draw has a number");

// Above 0 by the rounding of a caller's log-probabilities, of up to 255 levels.
constexpr float kMostLogMass = 0.001F;
constexpr double kNoRank = std::numeric_limits<double>::infinity();
// Rank of a draw accepted in round 0, and below every rank of a fresh one, which is -37 or more.
constexpr double kAcceptedRank = -0x1p20;

void check_config(const sidbeam_disc_config& config) {
  check_range("config.results", config.results, 0, kMaxResults);
  check_range("config.rounds", config.rounds, 1, kMaxRounds);
  check_range("config.without_replacement", config.without_replacement, 0, 1);
  check_range("config.attempts", config.attempts, 0, kMaxAttempts);
  check_range("config.side_by_side", config.side_by_side, 0, 2 * int64_t{config.rounds});
}

// A draw's number is ((attempt * n + result) * 2K + k), where k counts the rounds, then the fresh ones.
struct DrawPlace {
  int64_t attempt, result;
  int32_t k;
};

DrawPlace place_of(const sidbeam_disc& disc, int64_t draw) {
  const int64_t draws = 2 * disc.rounds, n = disc.results.size();
  return {draw / draws / n, draw / draws % n, static_cast<int32_t>(draw % draws)};
}

int64_t number_of(const sidbeam_disc& disc, int64_t j, int32_t k) {
  return (disc.results[j].attempt * disc.results.size() + j) * (2 * disc.rounds) + k;
}

// The bit of a draw in its result's batch.
struct OutBit {
  uint64_t* word;
  uint64_t mask;
};

OutBit out_bit(sidbeam_disc& disc, int64_t j, int32_t k) {
  const auto i = static_cast<uint32_t>(k - disc.results[j].first);
  const int64_t words = disc.out.size() / disc.results.size();
  return {&disc.out[j * words + (i >> 6)], uint64_t{1} << (i & 63)};
}

bool is_out(sidbeam_disc& disc, int64_t draw) {
  if (draw < 0) return false;
  const DrawPlace place = place_of(disc, draw);
  const DiscResult& result = disc.results[place.result];
  if (place.attempt != result.attempt || place.k < result.first || place.k >= result.next) return false;
  const OutBit bit = out_bit(disc, place.result, place.k);
  return (*bit.word & bit.mask) != 0;
}

void flip(sidbeam_disc& disc, int64_t draw) {
  const DrawPlace place = place_of(disc, draw);
  const OutBit bit = out_bit(disc, place.result, place.k);
  *bit.word ^= bit.mask;
}

// The smallest rank of an attempt's draws wins: the first that is accepted; else the winner of a race between the fresh
// ones, E / x with E exponentially distributed, each with probability x / sum x. (A number against the cumulative x has
// the same law, but needs all K draws kept until the last is there.) Infinite: the draw cannot win.
double rank_of(const sidbeam_disc& disc, int64_t draw, int32_t k, double log_mass) {
  if (k < disc.rounds) {
    const double u = unit_of(draw_bits(disc.seed, disc.request, draw, RandomUse::kAccept, 0));
    return u < portable_exp(log_mass) ? kAcceptedRank + k : kNoRank;
  }
  const uint64_t bits = draw_bits(disc.seed, disc.request, draw, RandomUse::kResample, 0);
  const double u = (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;  // neither 0 nor 1
  return portable_log(-portable_log(u)) - log_mass;
}

void take(sidbeam_disc& disc, const sidbeam_disc_draws& draws, int64_t i) {
  const int64_t draw = draws.draws[i];
  const DrawPlace place = place_of(disc, draw);
  DiscResult& result = disc.results[place.result];
  --result.out;
  ++result.run;
  if (draws.ordinals[i] < 0) return;
  const double rank = rank_of(disc, draw, place.k, std::min(draws.log_masses[i], 0.0F));
  if (rank > result.rank || (rank == result.rank && (rank == kNoRank || draw > result.draw))) return;
  result.rank = rank;
  result.draw = draw;
  result.ordinal = draws.ordinals[i];
  result.log_prob = draws.log_probs[i];
  result.log_mass = draws.log_masses[i];
}

bool is_accepted(const DiscResult& result) { return result.rank < kAcceptedRank + kMaxRounds; }

// Nothing of the attempt is out, and none of its other draws is needed.
bool has_ended(const sidbeam_disc& disc, const DiscResult& result) {
  return result.out == 0 && (is_accepted(result) || result.next == 2 * disc.rounds);
}

void begin_attempt(DiscResult& result) {
  result.rank = kNoRank;
  result.draw = result.ordinal = -1;
  result.log_prob = result.log_mass = -std::numeric_limits<float>::infinity();
  result.first = result.next = result.out = 0;
}

// Whether no result before had this ordinal; from now on one has.
bool take_ordinal(sidbeam_disc& disc, int64_t ordinal) {
  const auto mask = static_cast<uint64_t>(disc.taken.size() - 1);
  const auto mark = static_cast<int64_t>(static_cast<uint64_t>(ordinal) + 1);  // never 0
  for (uint64_t at = mix_key(disc.taken_mix, static_cast<uint64_t>(ordinal)) & mask;; at = (at + 1) & mask) {
    int64_t& slot = disc.taken[static_cast<int64_t>(at)];
    if (slot == mark) return false;
    if (slot != 0) continue;
    slot = mark;
    return true;
  }
}

// Decides the result of an attempt that has ended, unless it repeats another and is begun again.
void end_attempt(sidbeam_disc& disc, int64_t j) {
  DiscResult& result = disc.results[j];
  result.used += is_accepted(result) ? place_of(disc, result.draw).k + 1 : 2 * disc.rounds;
  const bool dead = result.rank == kNoRank;
  if (dead || !disc.without_replacement || take_ordinal(disc, result.ordinal)) {
    result.decided = true;
    return;
  }
  begin_attempt(result);
  if (result.attempt + 1 < disc.attempts)
    ++result.attempt;
  else
    result.decided = true;
}

// Without replacement a result waits for those before it.
void decide(sidbeam_disc& disc, int64_t j) {
  DiscResult& touched = disc.results[j];
  if (!disc.without_replacement && !touched.decided && has_ended(disc, touched)) end_attempt(disc, j);
  for (; disc.undecided < disc.results.size(); ++disc.undecided) {
    DiscResult& result = disc.results[disc.undecided];
    if (!result.decided && has_ended(disc, result)) end_attempt(disc, disc.undecided);
    if (!result.decided) return;
  }
}

}  // namespace

std::unique_ptr<sidbeam_disc> create_disc(sidbeam_runtime* runtime, const sidbeam_disc_config& config) {
  check_config(config);
  const int64_t n = std::max(config.results, 1);
  auto disc = std::make_unique<sidbeam_disc>();
  disc->runtime = Ref<sidbeam_runtime>::share(runtime);
  disc->rounds = config.rounds;
  disc->without_replacement = config.without_replacement != 0;
  disc->attempts = config.attempts > 0 ? config.attempts : kDefaultAttempts;
  disc->batch = std::max(config.side_by_side, 1);
  disc->seed = static_cast<uint64_t>(config.seed);
  disc->request = config.request;
  disc->results = Buffer<DiscResult>::zeroed(runtime->allocator, n);
  for (DiscResult& result : disc->results) begin_attempt(result);
  disc->out = Buffer<uint64_t>::zeroed(runtime->allocator, n * ((disc->batch + 63) / 64));
  const auto slots = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * n)));
  if (disc->without_replacement) {
    disc->taken = Buffer<int64_t>::zeroed(runtime->allocator, slots);
    disc->taken_mix = {secret_number(), secret_number() | 1, secret_number() | 1};
  }
  return disc;
}

int64_t next_draws(sidbeam_disc& disc, int64_t capacity, int64_t* draws) {
  if (capacity < 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "capacity is %lld, expected at least 0", static_cast<long long>(capacity));
  int64_t count = 0;
  for (int64_t j = disc.undecided; j < disc.results.size() && count < capacity; ++j) {
    DiscResult& result = disc.results[j];
    if (result.decided || has_ended(disc, result)) continue;
    if (result.out == 0) result.first = result.next;
    const int32_t end = std::min(result.first + disc.batch, 2 * disc.rounds);
    for (; result.next < end && count < capacity; ++result.next, ++result.out) {
      draws[count] = number_of(disc, j, result.next);
      const OutBit bit = out_bit(disc, j, result.next);
      *bit.word |= bit.mask;
      ++count;
    }
  }
  return count;
}

void add_draws(sidbeam_disc& disc, const sidbeam_disc_draws& draws) {
  for (int64_t i = 0; i < draws.count; ++i) {
    if (draws.ordinals[i] < -1)
      fail(SIDBEAM_INVALID_ARGUMENT, "draws.ordinals[%lld] is %lld, expected at least 0, or -1 for a dead draw",
           static_cast<long long>(i), static_cast<long long>(draws.ordinals[i]));
    if (draws.ordinals[i] >= 0 && !(draws.log_masses[i] <= kMostLogMass))
      fail(SIDBEAM_INVALID_ARGUMENT, "draws.log_masses[%lld] is %g, expected at most %g", static_cast<long long>(i),
           static_cast<double>(draws.log_masses[i]), static_cast<double>(kMostLogMass));
  }
  for (int64_t i = 0; i < draws.count; ++i) {
    const int64_t draw = draws.draws[i];
    if (is_out(disc, draw)) {
      flip(disc, draw);
      continue;
    }
    for (int64_t before = 0; before < i; ++before) flip(disc, draws.draws[before]);
    fail(SIDBEAM_INVALID_ARGUMENT,
         "draws.draws[%lld] is %lld, expected one that sidbeam_disc_next() has handed out and that was not added "
         "before",
         static_cast<long long>(i), static_cast<long long>(draw));
  }
  for (int64_t i = 0; i < draws.count; ++i) take(disc, draws, i);
  for (int64_t i = 0; i < draws.count; ++i) decide(disc, place_of(disc, draws.draws[i]).result);
}

void get_results(const sidbeam_disc& disc, const sidbeam_disc_results& out) {
  const int64_t n = disc.results.size();
  if (disc.undecided < n)
    fail(SIDBEAM_BAD_STATE, "result %lld of %lld is not decided, expected draws to be added until next() gives none",
         static_cast<long long>(disc.undecided), static_cast<long long>(n));
  for (int64_t j = 0; j < n; ++j) {
    const DiscResult& result = disc.results[j];
    if (out.ordinals != nullptr) out.ordinals[j] = result.ordinal;
    if (out.draws != nullptr) out.draws[j] = result.draw;
    if (out.accepted != nullptr) out.accepted[j] = is_accepted(result) ? 1 : 0;
    if (out.draws_used != nullptr) out.draws_used[j] = result.used;
    if (out.rows_run != nullptr) out.rows_run[j] = result.run;
    if (out.log_probs != nullptr) out.log_probs[j] = result.log_prob;
    if (out.log_masses != nullptr) out.log_masses[j] = result.log_mass;
  }
}

}  // namespace sidbeam
