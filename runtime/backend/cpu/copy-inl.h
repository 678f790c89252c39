// Elements of a row's children, copied while the row is summed. The sum is bound by arithmetic and leaves room for
// loads and stores between its blocks, and the row is in the nearest cache. (AVX-512's gather afterwards took as long
// as 3/4 of the sum. Compressing vectors by the node's mask took as long as the gather, permuting them half of it.)
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_COPY_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_COPY_INL
#undef SIDBEAM_CPU_COPY_INL
#else
#define SIDBEAM_CPU_COPY_INL
#endif

#include <cstdint>

#include "backend/cpu/kernels.h"
#include "support/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

inline constexpr int32_t kCopied = 16;  // elements at a time

// Whether all of kCopied codes are below `codes`.
template <class Token>
HWY_INLINE bool all_below(const Token* tokens, uint32_t codes) {
  const hn::CappedTag<Token, kCopied> d;
  const auto last = hn::Set(d, static_cast<Token>(codes - 1));
  for (size_t i = 0; i < kCopied; i += hn::Lanes(d)) {
    const auto token = hn::LoadU(d, tokens + i);
    if (!hn::AllTrue(d, hn::Eq(hn::Min(token, last), token))) return false;
  }
  return true;
}

struct NoCopy {
  void begin(int64_t) {}
  void go_on() {}
  void finish() {}
};

// Bits: an element's.
template <class Bits, class Token>
class Copy {
 public:
  // `row` is the element of code 0. The list has at least kCopied codes.
  Copy(const void* row, uint32_t codes, RowCopy& copy)
      : row_(static_cast<const Bits*>(row)),
        tokens_(static_cast<const Token*>(copy.list.data)),
        out_(static_cast<Bits*>(copy.out)),
        left_(copy.list.count),
        codes_(codes),
        copy_(copy) {}

  // Before the row's `blocks` blocks, after each of which go_on() is called.
  HWY_INLINE void begin(int64_t blocks) {
    const int64_t most = kCopied * (blocks > 0 ? blocks : 1);
    pieces_ = static_cast<int32_t>((left_ + most - 1) / most);
  }
  HWY_INLINE void go_on() {
    for (int32_t i = 0; i < pieces_ && left_ >= kCopied; ++i) take();
  }
  HWY_INLINE void finish() {
    while (left_ >= kCopied) take();
    if (left_ > 0) {  // and some of them again
      const int32_t back = kCopied - left_;
      tokens_ -= back, out_ -= back, left_ = kCopied;
      take();
    }
    copy_.done = left_ == 0;
  }

 private:
  HWY_INLINE void take() {
    if (HWY_UNLIKELY(!all_below(tokens_, codes_))) {
      left_ = kDamaged;
      return;
    }
    constexpr int kInWord = 8 / sizeof(Token), kTokenBits = 64 / kInWord;
    HWY_UNROLL(16)
    for (int32_t i = 0; i < kCopied; i += kInWord) {
      uint64_t word;
      std::memcpy(&word, tokens_ + i, 8);
      HWY_UNROLL(4)
      for (int j = 0; j < kInWord; ++j) {
        uint32_t bits = row_[static_cast<Token>(word >> kTokenBits * j)];
        asm("" : "+r"(bits));  // or gcc makes the gather of it that this replaces
        out_[i + j] = static_cast<Bits>(bits);
      }
    }
    tokens_ += kCopied, out_ += kCopied, left_ -= kCopied;
  }

  static constexpr int32_t kDamaged = -1;
  const Bits* row_;
  const Token* tokens_;
  Bits* out_;
  int32_t left_, pieces_ = 0;
  uint32_t codes_;
  RowCopy& copy_;
};

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
