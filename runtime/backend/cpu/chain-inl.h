// Follows beams with one child each, a vector at a time: state, row pointers, code, element, score.
// SPDX-License-Identifier: Apache-2.0
#if defined(SIDBEAM_CPU_CHAIN_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SIDBEAM_CPU_CHAIN_INL
#undef SIDBEAM_CPU_CHAIN_INL
#else
#define SIDBEAM_CPU_CHAIN_INL
#endif

#include <algorithm>

#include "backend/cpu/kernels.h"
#include "index/read/state.h"
#include "support/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sidbeam::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

// Elements `at` of an array of two or more 16-bit numbers. Each word begins one element early, except the first, so
// that nothing is read past the last.
HWY_INLINE hn::Vec<U32> gather_narrow(const uint16_t* numbers, hn::Vec<U32> at) {
  const U32 du;
  const I32 di;
  const auto first = hn::Eq(at, hn::Zero(du));
  const auto before = hn::IfThenElse(first, at, hn::Sub(at, hn::Set(du, 1)));
  const auto word =
      hn::GatherOffset(du, reinterpret_cast<const uint32_t*>(numbers), hn::BitCast(di, hn::ShiftLeft<1>(before)));
  return hn::IfThenElse(first, hn::And(word, hn::Set(du, 0xFFFFU)), hn::ShiftRight<16>(word));
}

// Calls visit(at) for vectors of kLanes beams that begin at `at`; the last one begins early enough to be whole. Stops
// at the first call that returns false; returns the number of beams before it.
template <int kLanes, class Visit>
HWY_INLINE int32_t each_vector(int32_t n, const Visit& visit) {
  int32_t i = 0;
  while (i < n && visit(std::min(i, n - kLanes))) i += kLanes;
  return std::min(i, n);
}

// Finds the only edges of half a vector of beams from `at` on; false if some beam does not have exactly one. Both row
// pointers of a node are loaded as one word.
HWY_INLINE bool find_some_edges(const Chain& chain, int32_t at, uint32_t* edges) {
  const hn::Repartition<uint64_t, U32> du;
  const hn::RebindToSigned<decltype(du)> di;
  const auto state = hn::LoadU(du, reinterpret_cast<const uint64_t*>(chain.states + at));
  const auto node = hn::And(state, hn::Set(du, kDeadOrEnded | kNodeBits));
  if (!hn::AllTrue(du, hn::Lt(node, hn::Set(du, uint64_t{chain.nodes})))) return false;
  const auto pair =
      hn::GatherOffset(du, reinterpret_cast<const uint64_t*>(chain.pointers), hn::BitCast(di, hn::ShiftLeft<2>(node)));
  const auto begin = hn::And(pair, hn::Set(du, uint64_t{0xFFFFFFFF})), end = hn::ShiftRight<32>(pair);
  hn::StoreU(hn::TruncateTo(hn::Rebind<uint32_t, decltype(du)>(), begin), hn::Rebind<uint32_t, decltype(du)>(),
             edges + at);
  return hn::AllTrue(du, hn::And(hn::Eq(hn::Sub(end, begin), hn::Set(du, uint64_t{1})),
                                 hn::Lt(begin, hn::Set(du, uint64_t{chain.edges}))));
}

inline int32_t find_edges(const Chain& chain, int32_t n, uint32_t* edges) {
  if (n < kWidth) return 0;
  const int32_t found = each_vector<kWidth / 2>(n, [&](int32_t at) { return find_some_edges(chain, at, edges); });
  for (int32_t i = 0; i < found; ++i) __builtin_prefetch(chain.tokens + edges[i]);
  return found;
}

HWY_INLINE bool find_tokens(const Chain& chain, const uint32_t* edges, uint32_t* tokens) {
  const U32 du;
  const auto token = gather_narrow(chain.tokens, hn::LoadU(du, edges));
  hn::StoreU(token, du, tokens);
  return hn::AllTrue(du, hn::Lt(token, hn::Set(du, chain.codes)));
}

HWY_INLINE bool score_tokens(const Chain& chain, int32_t at, const uint32_t* edges, const uint32_t* tokens,
                             const ChainOut& out) {
  const F32 d;
  const I32 di;
  const U32 du;
  const auto token = hn::LoadU(du, tokens);
  const auto beam = hn::Add(hn::Set(di, at), hn::Iota(di, 0));
  const auto row = chain.map != nullptr ? hn::LoadU(di, chain.map + at) : beam;
  const auto column = hn::Add(hn::Mul(row, hn::Set(di, chain.stride)), hn::BitCast(di, token));
  const Floats x = hn::GatherIndex(d, chain.data, column);
  Floats lse = hn::Zero(d), log_prob;
  if (chain.sums != nullptr) {
    Floats rest;
    hn::LoadInterleaved2(d, reinterpret_cast<const float*>(chain.sums + at), lse, rest);
    log_prob = hn::Min(hn::Sub(hn::Sub(x, lse), rest), hn::Zero(d));
  } else {
    if (chain.lse != nullptr)
      lse = chain.map != nullptr ? hn::GatherIndex(d, chain.lse, row) : hn::LoadU(d, chain.lse + at);
    log_prob = hn::Sub(x, lse);
  }
  log_prob = hn::Add(log_prob, hn::Zero(d));
  const Floats score = hn::Add(hn::LoadU(d, chain.scores + at), log_prob);
  const Floats infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  auto is_good =
      hn::And(hn::And(hn::Lt(x, infinity), hn::Lt(hn::Abs(lse), infinity)), hn::Lt(hn::Abs(score), infinity));
  if (chain.log_masses != nullptr) {
    const Floats log_mass = hn::Add(hn::LoadU(d, chain.log_masses + at), log_prob);
    is_good = hn::And(is_good, hn::Lt(hn::Abs(log_mass), infinity));
    hn::StoreU(log_mass, d, out.log_masses + at);
  }
  if (!hn::AllTrue(d, is_good)) return false;
  // Codes are of 16 bits here, so that numbers have no more than kNumberBits.
  const auto place = hn::ShiftLeft<kNumberBits>(hn::Add(hn::BitCast(du, beam), hn::Set(du, chain.first_beam)));
  hn::StoreU(score, d, out.scores + at);
  hn::StoreU(hn::Or(place, token), du, out.places + at);
  const auto level = hn::Set(du, static_cast<uint32_t>(chain.next_level >> 32));
  hn::StoreInterleaved2(hn::LoadU(du, edges), level, du, reinterpret_cast<uint32_t*>(out.next + at));
  return true;
}

// Works array by array rather than vector by vector. A gather takes so many operations that the core looks only two or
// three vectors ahead, whereas the cache misses of one array should overlap.
inline int32_t follow_chain(const Chain& chain, const uint32_t* edges, int32_t n, const ChainOut& out) {
  if (n < kWidth) return 0;
  uint32_t tokens[kMostInChain];
  n = each_vector<kWidth>(n, [&](int32_t at) { return find_tokens(chain, edges + at, tokens + at); });
  if (n < kWidth) return 0;
  n = each_vector<kWidth>(n, [&](int32_t at) { return score_tokens(chain, at, edges + at, tokens + at, out); });
  for (int32_t i = 0; chain.next_pointers != nullptr && i < n; ++i) __builtin_prefetch(chain.next_pointers + edges[i]);
  return n;
}

#else

inline int32_t find_edges(const Chain&, int32_t, uint32_t*) { return 0; }
inline int32_t follow_chain(const Chain&, const uint32_t*, int32_t, const ChainOut&) { return 0; }

#endif

}  // namespace sidbeam::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
