// The value and origin of a candidate: log-probability, score and place. Also defines which rows and values are bad.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "sidbeam/session.h"
#include "support/host_device.h"

namespace sidbeam {

// A candidate's place combines its beam and a number that rises with its code: the code itself on the CPU, the child's
// number on a device. Among equal scores the lowest place wins.
inline constexpr int kNumberBits = 20;  // beams have the other 12
// The bits of numbers at a level of so many codes, the end counted: more than 20 only where they need them, so that all
// others know the number beforehand.
SIDBEAM_HD inline int number_bits(uint32_t codes) {
  return codes <= 1U << kNumberBits ? kNumberBits : static_cast<int>(std::bit_width(codes - 1));
}
SIDBEAM_HD inline uint32_t place_of(int32_t beam, uint32_t number, int bits = kNumberBits) {
  return static_cast<uint32_t>(beam) << bits | number;
}
SIDBEAM_HD inline int32_t beam_of(uint32_t place, int bits = kNumberBits) {
  return static_cast<int32_t>(place >> bits);
}
SIDBEAM_HD inline uint32_t number_of(uint32_t place, int bits = kNumberBits) { return place & ((1U << bits) - 1); }

// A log-sum-exp as two floats, ref + rest, so that (x - ref) - rest loses nothing near the maximum.
struct LogSum {
  float ref = 0.0F, rest = 0.0F;
};

// What turns x into a score, and where the candidate is: place = place_base | number.
struct RowScore {
  float score = 0.0F;  // of the beam
  LogSum normalizer;
  bool clamp = true;  // log-prob = min(0, ...): the normaliser was computed
  uint32_t place_base = 0;
};

// The log-probability of an x, (x - ref) - rest; never -0.
SIDBEAM_HD inline float log_prob_of(const RowScore& row, float x) {
  float log_prob = (x - row.normalizer.ref) - row.normalizer.rest;
  if (row.clamp) log_prob = log_prob < 0.0F ? log_prob : 0.0F;
  return log_prob + 0.0F;
}

// The score of a candidate: fl(score + log-prob).
SIDBEAM_HD inline float score_of_one(const RowScore& row, float x) { return row.score + log_prob_of(row, x); }

// Whether computing the normaliser reads every element of a row, so that no bad element goes unnoticed.
SIDBEAM_HD inline bool sums_rows(int32_t normalization, bool lse_given) {
  return !lse_given && (normalization == SIDBEAM_NORMALIZE_FULL || normalization == SIDBEAM_NORMALIZE_LEVEL);
}

// What a row's normaliser shows: the row can be scored, it has no candidates, or it is bad, because of its elements or
// of the caller's log-sum-exp.
enum class RowOutcome : int32_t { kReady, kEmpty, kBad, kBadLse };

// The normaliser is a log-sum-exp that was computed, as log_of() gives it.
SIDBEAM_HD inline RowOutcome use_computed(RowScore& row) {
  row.clamp = true;
  if (row.normalizer.ref != row.normalizer.ref) return RowOutcome::kBad;
  return row.normalizer.ref == -std::numeric_limits<float>::infinity() ? RowOutcome::kEmpty : RowOutcome::kReady;
}

// The normaliser is the log-sum-exp that the caller gave; nullptr: 0, for rows that are log-probabilities.
SIDBEAM_HD inline RowOutcome use_given(const float* lse, RowScore& row) {
  row.clamp = false;
  row.normalizer = {};
  if (lse == nullptr) return RowOutcome::kReady;
  const float given = *lse;
  if (!(given < std::numeric_limits<float>::infinity())) return RowOutcome::kBadLse;
  if (given == -std::numeric_limits<float>::infinity()) return RowOutcome::kEmpty;
  row.normalizer.ref = given;
  return RowOutcome::kReady;
}

// Whether an x that no sum has included makes its row bad: it is NaN or +inf, or its score would be +inf. Rounding is
// monotone, so the largest x of a row tells for all of them.
SIDBEAM_HD inline bool is_bad_value(const RowScore& row, float x) {
  return !(x < std::numeric_limits<float>::infinity()) ||
         row.score + (x - row.normalizer.ref) == std::numeric_limits<float>::infinity();
}

// Whether a bad row could have been seen in a result of `count` beams out of `width`: its beam's score reaches that of
// the last beam kept, or there was room.
SIDBEAM_HD inline bool bad_row_matters(float score, float last_kept, int32_t count, int32_t width) {
  return count < width || score >= last_kept;
}

}  // namespace sidbeam
