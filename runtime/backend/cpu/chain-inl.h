// Beams of one child each, a vector of them at a time: state, row pointers, code, element, score.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_CHAIN_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_CHAIN_INL
#undef SIDBEAM_CPU_CHAIN_INL
#else
#define SIDBEAM_CPU_CHAIN_INL
#endif

#include "backend/cpu/kernels.h"
#include "backend/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

inline constexpr uint32_t kNoNode = (kDeadOrEnded | kNodeBits) >> 32;  // high bits of a word that is no small node

// Elements `at` of an array of two or more 16-bit numbers. A word begins before its element, but for the first, so that
// none is read beyond the last.
HWY_INLINE hn::Vec<U32> gather_narrow(const uint16_t* numbers, hn::Vec<U32> at) {
  const U32 du;
  const I32 di;
  const auto first = hn::Eq(at, hn::Zero(du));
  const auto before = hn::IfThenElse(first, at, hn::Sub(at, hn::Set(du, 1)));
  const auto word =
      hn::GatherOffset(du, reinterpret_cast<const uint32_t*>(numbers), hn::BitCast(di, hn::ShiftLeft<1>(before)));
  return hn::IfThenElse(first, hn::And(word, hn::Set(du, 0xFFFFU)), hn::ShiftRight<16>(word));
}

// Beams [at, at + kWidth); false where one of them is not as simple as that.
HWY_INLINE bool follow_vector(const Chain& chain, int32_t at, const ChainOut& out) {
  const F32 d;
  const I32 di;
  const U32 du;
  hn::Vec<U32> node, high;
  hn::LoadInterleaved2(du, reinterpret_cast<const uint32_t*>(chain.states + at), node, high);
  const auto is_node =
      hn::And(hn::Lt(node, hn::Set(du, chain.nodes)), hn::Eq(hn::And(high, hn::Set(du, kNoNode)), hn::Zero(du)));
  if (!hn::AllTrue(du, is_node)) return false;
  const auto begin = hn::GatherIndex(du, chain.pointers, hn::BitCast(di, node));
  const auto end = hn::GatherIndex(du, chain.pointers + 1, hn::BitCast(di, node));
  const auto is_edge = hn::And(hn::Eq(hn::Sub(end, begin), hn::Set(du, 1)), hn::Lt(begin, hn::Set(du, chain.edges)));
  if (!hn::AllTrue(du, is_edge)) return false;
  const auto token = gather_narrow(chain.tokens, begin);
  if (!hn::AllTrue(du, hn::Lt(token, hn::Set(du, chain.codes)))) return false;
  const auto beam = hn::Add(hn::Set(di, at), hn::Iota(di, 0));
  const auto row = chain.map != nullptr ? hn::LoadU(di, chain.map + at) : beam;
  const auto column = hn::Add(hn::Mul(row, hn::Set(di, chain.stride)), hn::BitCast(di, token));
  const Floats x = hn::GatherIndex(d, chain.data, column);
  Floats lse = hn::Zero(d);
  if (chain.lse != nullptr)
    lse = chain.map != nullptr ? hn::GatherIndex(d, chain.lse, row) : hn::LoadU(d, chain.lse + at);
  const Floats score = hn::Add(hn::LoadU(d, chain.scores + at), hn::Add(hn::Sub(x, lse), hn::Zero(d)));
  const Floats infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  if (!hn::AllTrue(d, hn::And(hn::And(hn::Lt(x, infinity), hn::Lt(lse, infinity)), hn::Lt(score, infinity))))
    return false;
  const auto place = hn::ShiftLeft<kTokenBits>(hn::Add(hn::BitCast(du, beam), hn::Set(du, chain.first_beam)));
  hn::StoreU(score, d, out.scores + at);
  hn::StoreU(hn::Or(place, token), du, out.places + at);
  const auto level = hn::Set(du, static_cast<uint32_t>(chain.next_level >> 32));
  hn::StoreInterleaved2(begin, level, du, reinterpret_cast<uint32_t*>(out.next + at));
  return true;
}

// The last vector begins early enough to be whole.
inline int32_t follow_chain(const Chain& chain, int32_t n, const ChainOut& out) {
  if (n < kWidth) return 0;
  int32_t i = 0;
  while (i < n && follow_vector(chain, std::min(i, n - kWidth), out)) i += kWidth;
  return std::min(i, n);
}

#else

inline int32_t follow_chain(const Chain&, int32_t, const ChainOut&) { return 0; }

#endif

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
