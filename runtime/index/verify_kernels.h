// The loops of verify_plain.cc, compiled for an instruction set: included by one file for each, which is all that it
// differs in. Nothing may be in here that another file could be linked with: no function of the standard library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sidbeam {

// Of each the form for 2, 4 and 8 bytes, where there is one.
struct PlainKernels {
  bool (*counts_u32)(const uint32_t*, uint64_t count, uint64_t first);
  bool (*counts_u64)(const uint64_t*, uint64_t count, uint64_t first);
  uint32_t (*falls_u16)(const uint16_t*, uint32_t count);
  uint32_t (*falls_u32)(const uint32_t*, uint32_t count);
  void (*widen)(const uint16_t*, uint32_t count, uint32_t* out);
  uint32_t (*most)(const uint32_t*, uint32_t count);
  bool (*equal_u16)(const uint16_t*, const uint32_t*, uint32_t count);
  bool (*equal_u32)(const uint32_t*, const uint32_t*, uint32_t count);
};

// Of AVX2; only where the machine has it.
extern const PlainKernels kAvx2PlainKernels;

namespace {

// Whether they are first, first + 1, ...
template <class T>
bool counts(const T* values, uint64_t count, uint64_t first) {
  T differs = 0;
  for (uint64_t i = 0; i < count; ++i) differs |= static_cast<T>(values[i] ^ static_cast<T>(first + i));
  return differs == 0;
}

// Of values[0 .. count), how many do not rise from the one before; reads values[-1].
template <class T>
uint32_t falls(const T* values, uint32_t count) {
  uint32_t falls = 0;
  for (uint32_t i = 0; i < count; ++i) falls += values[i] <= (values - 1)[i];
  return falls;
}

void widen(const uint16_t* in, uint32_t count, uint32_t* out) {
  for (uint32_t i = 0; i < count; ++i) out[i] = in[i];
}

uint32_t most(const uint32_t* values, uint32_t count) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < count; ++i) most = values[i] > most ? values[i] : most;
  return most;
}

template <class T>
bool equal(const T* values, const uint32_t* others, uint32_t count) {
  uint32_t differs = 0;
  for (uint32_t i = 0; i < count; ++i) differs |= values[i] ^ others[i];
  return differs == 0;
}

constexpr PlainKernels kThesePlainKernels = {
    counts<uint32_t>, counts<uint64_t>, falls<uint16_t>, falls<uint32_t>, widen, most,
    equal<uint16_t>,  equal<uint32_t>};

}  // namespace
}  // namespace sidbeam
