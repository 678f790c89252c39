// The vector kernels of the CPU, one table an instruction set. All tables give the same bits: sums have a fixed tree
// over virtual lanes, and a fused multiply-add is one rounding everywhere. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sidbeam::cpu {

// Elements of a logits row, and what turns one into x: x = inverse_temperature * softcap(element).
struct Elements {
  const void* data = nullptr;
  int32_t dtype = 0;  // SIDBEAM_F32 ...
  float inverse_temperature = 1.0F;
  float soft_cap = 0.0F;  // 0: none

  bool plain() const { return dtype == 0 && inverse_temperature == 1.0F && soft_cap == 0.0F; }
};

// The sum of exp(x): e^base * 2^exponent * sum. base is 0 but where |x| > 2^20 leaves no room for a power of two; sum 0
// is an empty sum, NaN a bad one.
struct PartialSum {
  float base = 0.0F;
  int32_t exponent = 0;
  double sum = 0.0;
};

// log of a PartialSum as two floats, ref + rest, so that (x - ref) - rest loses nothing near the maximum.
struct LogSum {
  float ref = 0.0F, rest = 0.0F;
};

// What turns x into a score, and where the candidate is: place = place_base | token.
struct RowScore {
  float score = 0.0F;  // of the beam
  LogSum normalizer;
  bool clamp = true;  // log-prob = min(0, ...): the normaliser was computed
  uint32_t place_base = 0;
};

inline constexpr int kChunk = 1024;      // columns that share one power of two; error bound in log_sum_exp-inl.h
inline constexpr int kVectorSlack = 16;  // elements that a kernel may write past the end of its output

struct Kernels {
  const char* name;
  // Sums exp(x) over n >= 0 elements.
  PartialSum (*sum_exp)(const Elements& elements, int64_t n);
  // x of n elements, starting at element `first`; out has room for n + kVectorSlack. -inf stays, NaN and +inf become
  // NaN where there is a soft-cap.
  void (*load)(const Elements& elements, int64_t first, int64_t n, float* out);
  // x of n floats that were gathered, in place. `x` has room for n + kVectorSlack.
  void (*transform)(const Elements& elements, float* x, int64_t n);
  // Largest x (-inf for none), or +inf where there is a +inf or a NaN.
  float (*largest)(const float* x, int64_t n);
  // Appends the candidates among x[0, n) whose score is above `threshold`: scores and places, in order. Token of x[i]
  // is tokens[i], or first_token + i where tokens is null. The outputs have room for n + kVectorSlack. Returns how
  // many.
  int32_t (*append)(const RowScore& row, float threshold, const float* x, const uint32_t* tokens, uint32_t first_token,
                    int32_t n, float* scores, uint32_t* places);
  // The same where bit i of mask says whether token first_token + i is a candidate at all; n is a multiple of 64 or
  // ends the mask, x is readable up to n.
  int32_t (*append_masked)(const RowScore& row, float threshold, const float* x, const uint64_t* mask,
                           uint32_t first_token, int32_t n, float* scores, uint32_t* places);
};

// The table of an instruction set by name, nullptr for the best; nullptr where this machine or this build lacks it.
const Kernels* find_kernels(const char* name);

// Sums of two halves of a row.
PartialSum merge(const PartialSum& a, const PartialSum& b);
// Whether a sum met NaN or +inf.
bool is_bad(const PartialSum& sum);
// Of a sum that is neither bad nor empty.
LogSum log_of(const PartialSum& sum);

}  // namespace sidbeam::cpu
