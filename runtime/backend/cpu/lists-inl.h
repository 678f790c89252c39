// Lists of children, as the trie stores their codes, a vector at a time.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_LISTS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_LISTS_INL
#undef SIDBEAM_CPU_LISTS_INL
#else
#define SIDBEAM_CPU_LISTS_INL
#endif

#include <algorithm>

#include "backend/cpu/front-inl.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/only_children.h"
#include "support/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

// The lanes of a list of n, from lane `at` on.
HWY_INLINE hn::Mask<F32> lanes_of(int32_t n, int32_t at) {
  return hn::FirstN(F32(), static_cast<size_t>(std::max(n - at, 0)));
}

// A vector of codes from list[at] on; those from `readable` on are 0.
template <class Token>
HWY_INLINE hn::Vec<U32> load_codes(const Token* list, uint64_t at, uint64_t readable) {
  const hn::Rebind<Token, F32> dt;
  auto codes = hn::Zero(dt);
  if (HWY_LIKELY(at + uint64_t{kWidth} <= readable)) {
    codes = hn::LoadU(dt, list + at);
  } else {
    HWY_ALIGN Token rest[kWidth] = {};
    std::copy(list + at, list + std::max(at, readable), rest);
    codes = hn::Load(dt, rest);
  }
  if constexpr (sizeof(Token) == 4) {
    return codes;
  } else {
    return hn::PromoteTo(U32(), codes);
  }
}

template <class Token>
inline int32_t list_columns(const LevelView& level, const ColumnLists& out, int64_t& found) {
  const U32 du;
  const auto* all = static_cast<const Token*>(level.tokens.data);
  const auto end = hn::Set(du, level.codes), first = hn::Set(du, static_cast<uint32_t>(out.first_column));
  int64_t to = found;
  int32_t i = 0;
  for (; i < out.beams; ++i) {
    const Row row = row_of(level, node_to_feed(out.states[i]));
    const auto count = static_cast<int32_t>(row.count);
    if (to + count + kWidth > out.capacity) break;
    out.offsets[i] = to;
    for (int32_t at = 0; at < count; at += kWidth) {
      const auto codes = load_codes(all, row.begin + static_cast<uint64_t>(at), level.edges);
      const auto there = hn::And(hn::RebindMask(F32(), hn::Lt(codes, end)), lanes_of(count, at));
      hn::StoreU(hn::BitCast(I32(), to_front(front_of(there), hn::Add(first, codes))), I32(), out.columns + to);
      to += static_cast<int64_t>(hn::CountTrue(F32(), there));
    }
  }
  found = to;
  return i;
}

inline int32_t list_columns(const LevelView& view, const ColumnLists& lists, int64_t& found) {
  const LevelView level = view;  // copies, since the compiler must assume that stores change them
  const ColumnLists out = lists;
  return level.tokens.width == 2 ? list_columns<uint16_t>(level, out, found)
                                 : list_columns<uint32_t>(level, out, found);
}

template <class Token>
inline int32_t keep_codes(const Token* list, const TokenList& of, const uint64_t* bits, uint32_t* codes) {
  int32_t n = 0;
  for (int32_t at = 0; at < of.count; at += kWidth) {
    const uint64_t kept = bits[at / 64] >> at % 64 & ((uint64_t{1} << kWidth) - 1);
    const auto all = load_codes(list, static_cast<uint64_t>(at), static_cast<uint64_t>(of.readable));
    hn::StoreU(to_front(front_of(kept), all), U32(), codes + n);
    n += static_cast<int32_t>(hwy::PopCount(kept));
  }
  return n;
}

inline int32_t keep_codes(const TokenList& list, const uint64_t* bits, uint32_t* codes) {
  return list.width == 2 ? keep_codes(static_cast<const uint16_t*>(list.data), list, bits, codes)
                         : keep_codes(static_cast<const uint32_t*>(list.data), list, bits, codes);
}

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
