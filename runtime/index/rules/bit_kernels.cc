// SPDX-License-Identifier: Apache-2.0
#include "index/rules/bit_kernels.h"

#include <algorithm>
#include <atomic>
#include <bit>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "index/rules/bits.h"

namespace sidbeam {
namespace {

// The moves of a word's bits, by powers of two, that bring those of `mask` together at its low end. (Hacker's Delight,
// 7-4.)
struct BitMoves {
  uint64_t mask, moves[6];

  explicit BitMoves(uint64_t bits) : mask(bits) {
    uint64_t zeros = ~bits << 1;
    for (int step = 0; step < 6; ++step) {
      uint64_t parity = zeros;
      for (int shift = 1; shift < 64; shift *= 2) parity ^= parity << shift;
      moves[step] = parity & bits;
      bits = (bits ^ moves[step]) | moves[step] >> (1 << step);
      zeros &= ~parity;
    }
  }
  uint64_t compress(uint64_t bits) const {
    bits &= mask;
    for (int step = 0; step < 6; ++step) {
      const uint64_t moved = bits & moves[step];
      bits = (bits ^ moved) | moved >> (1 << step);
    }
    return bits;
  }
  uint64_t expand(uint64_t bits) const {
    for (int step = 5; step >= 0; --step) bits = (bits & ~moves[step]) | (bits << (1 << step) & moves[step]);
    return bits & mask;
  }
};

struct ByShifts {
  static uint64_t compress(uint64_t bits, uint64_t mask) {
    return mask == ~uint64_t{0} ? bits : BitMoves(mask).compress(bits);
  }
  static uint64_t expand(uint64_t bits, uint64_t mask) {
    return bits == 0 || mask == ~uint64_t{0} ? bits : BitMoves(mask).expand(bits);
  }
};

// Bits written one after another by several threads, each from some place on; all of them are 0 before.
class BitWriter {
 public:
  BitWriter(uint64_t* out, uint64_t at) : out_(out), at_(at), first_(at / 64) {}
  ~BitWriter() {
    if (at_ % 64 != 0) share(at_ / 64, pending_);
  }
  BitWriter(const BitWriter&) = delete;
  BitWriter& operator=(const BitWriter&) = delete;
  // Adds the low n <= 64 bits; the others are 0.
  void append(uint64_t bits, uint64_t n) {
    const uint64_t shift = at_ % 64, word = at_ / 64;
    at_ += n;
    pending_ |= bits << shift;
    if (shift + n < 64) return;
    if (word == first_) {
      share(word, pending_);
    } else {
      out_[word] = pending_;
    }
    pending_ = shift + n > 64 ? bits >> (64 - shift) : 0;
  }

 private:
  // The first and the last word may be another thread's too.
  void share(uint64_t word, uint64_t bits) { std::atomic_ref(out_[word]).fetch_or(bits, std::memory_order_relaxed); }

  uint64_t* out_;
  uint64_t at_, first_, pending_ = 0;
};

// Where runs end, of the numbers of a word.
uint64_t ends_in(const RowStarts& starts, uint64_t w, uint64_t words) {
  const uint64_t next = w + 1 < words ? starts.word(w + 1) : 1, ends = starts.word(w) >> 1 | next << 63;
  if (w + 1 < words || starts.count() % 64 == 0) return ends;
  const uint64_t there = ~uint64_t{0} >> (64 - starts.count() % 64);
  return (ends & there >> 1) | (there ^ there >> 1);
}

// A word of numbers at a time: adding ones to the numbers of each run but its last carries into that one where any of
// them has its bit. (Inlined by force, so that it is compiled for the instructions of its caller.)
template <class Moves>
[[gnu::always_inline]] inline void any_in_starts(const RowStarts& starts, const uint64_t* bits, uint64_t first,
                                                 uint64_t last, uint64_t* out) {
  const uint64_t words = (starts.count() + 63) / 64;
  const NumberRun run = starts.find(first * 64);
  BitWriter writer(out, run.before);
  uint64_t open = 0;                // whether the run has its bit before this word
  uint64_t in_runs = ~uint64_t{0};  // the word's numbers but those before the very first run
  if (starts.is_start(run.begin)) {
    open = static_cast<uint64_t>(any_of(bits, run.begin, first * 64));
  } else {
    while (first < last && starts.word(first) == 0) ++first;
    if (first < last) in_runs <<= std::countr_zero(starts.word(first));
  }
  for (uint64_t w = first; w < last; ++w, in_runs = ~uint64_t{0}) {
    const uint64_t ends = ends_in(starts, w, words) & in_runs;
    const uint64_t own = (bits[w] & in_runs) | open, any = (((own & ~ends) + ~ends) | own) & ends;
    if (ends == ~uint64_t{0}) {  // as of only children; without this, a filter took 1.1 times as long
      writer.append(any, 64);
    } else {
      writer.append(Moves::compress(any, ends), bits_set(ends));
    }
    const int after = 64 - std::countl_zero(ends);  // numbers of a run that ends in a later word
    open = static_cast<uint64_t>(after < 64 && (own >> after) != 0);
  }
}

template <class Moves>
[[gnu::always_inline]] inline uint64_t expand(const uint64_t* bits, uint64_t begin, uint64_t count,
                                              const uint64_t* places, uint64_t words, uint64_t* out) {
  uint64_t moved = 0, set = 0;
  for (uint64_t w = 0; w < words && moved < count; ++w) {
    const uint64_t here = std::min<uint64_t>(bits_set(places[w]), count - moved);
    if (here == 0) continue;
    const uint64_t some = bits_from(bits, begin + moved) & (~uint64_t{0} >> (64 - here));
    out[w] = Moves::expand(some, places[w]);
    set += bits_set(some);
    moved += here;
  }
  return set;
}

template <class Moves>
[[gnu::always_inline]] inline void compress(const uint64_t* bits, const uint64_t* places, uint64_t words, uint64_t most,
                                            uint64_t* out) {
  BitWriter writer(out, 0);
  for (uint64_t w = 0; w < words && most > 0; ++w) {
    const uint64_t count = std::min<uint64_t>(bits_set(places[w]), most);
    if (count == 0) continue;
    writer.append(Moves::compress(bits[w], places[w]) & (~uint64_t{0} >> (64 - count)), count);
    most -= count;
  }
}

void any_in_starts_by_shifts(const RowStarts& starts, const uint64_t* bits, uint64_t first, uint64_t last,
                             uint64_t* out) {
  any_in_starts<ByShifts>(starts, bits, first, last, out);
}
uint64_t expand_by_shifts(const uint64_t* bits, uint64_t begin, uint64_t count, const uint64_t* places, uint64_t words,
                          uint64_t* out) {
  return expand<ByShifts>(bits, begin, count, places, words, out);
}
void compress_by_shifts(const uint64_t* bits, const uint64_t* places, uint64_t words, uint64_t most, uint64_t* out) {
  compress<ByShifts>(bits, places, words, most, out);
}
constexpr BitKernels kByShifts = {any_in_starts_by_shifts, expand_by_shifts, compress_by_shifts};

#ifdef __x86_64__
struct ByBmi2 {
  [[gnu::target("bmi2")]] static uint64_t compress(uint64_t bits, uint64_t mask) { return _pext_u64(bits, mask); }
  [[gnu::target("bmi2")]] static uint64_t expand(uint64_t bits, uint64_t mask) { return _pdep_u64(bits, mask); }
};
[[gnu::target("bmi2,popcnt")]] void any_in_starts_by_bmi2(const RowStarts& starts, const uint64_t* bits, uint64_t first,
                                                          uint64_t last, uint64_t* out) {
  any_in_starts<ByBmi2>(starts, bits, first, last, out);
}
[[gnu::target("bmi2,popcnt")]] uint64_t expand_by_bmi2(const uint64_t* bits, uint64_t begin, uint64_t count,
                                                       const uint64_t* places, uint64_t words, uint64_t* out) {
  return expand<ByBmi2>(bits, begin, count, places, words, out);
}
[[gnu::target("bmi2,popcnt")]] void compress_by_bmi2(const uint64_t* bits, const uint64_t* places, uint64_t words,
                                                     uint64_t most, uint64_t* out) {
  compress<ByBmi2>(bits, places, words, most, out);
}
constexpr BitKernels kByBmi2 = {any_in_starts_by_bmi2, expand_by_bmi2, compress_by_bmi2};
#endif

}  // namespace

const BitKernels& bit_kernels([[maybe_unused]] CpuTarget target) {
#ifdef __x86_64__
  // Zen and Zen 2 have the instructions in microcode, a step per bit of the mask. (Not timed against the shifts here.)
  if (target != CpuTarget::kBaseline && __builtin_cpu_is("amdfam17h") == 0) return kByBmi2;
#endif
  return kByShifts;
}

}  // namespace sidbeam
