// SPDX-License-Identifier: Apache-2.0
#include "index/read/used_codes.h"

#include "index/tail.h"

namespace sidbeam {
namespace {

// Sets a bit for each code among token(i), i < count. Skips the end and values out of range, which are no codes.
template <class Token>
std::vector<uint64_t> bits_of(uint32_t codes, uint64_t count, const Token& token) {
  std::vector<uint64_t> bits((codes + uint64_t{63}) / 64);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t code = token(i);
    if (code < codes) bits[code / 64] |= uint64_t{1} << (code % 64);
  }
  return bits;
}

std::vector<uint64_t> used_at(const IndexView& index, int l) {
  const LevelView& level = index.level[l];
  if (!index.has_trie) return bits_of(level.codes, index.sids, [&](uint64_t i) { return level.column[i]; });
  if (!is_tail_level(index, l)) return bits_of(level.codes, level.edges, [&](uint64_t i) { return level.tokens[i]; });
  return read_tail(index.tail, [&](const auto& entries) {
    return bits_of(level.codes, index.sids, [&](uint64_t i) { return entries.token(tail_entry(index, i, l)); });
  });
}

}  // namespace

bool UsedCodes::has(const IndexView& index, int level, uint32_t code) {
  Level& used = levels_[level];
  std::call_once(used.once, [&] { used.bits = used_at(index, level); });
  return (used.bits[code / 64] >> (code % 64) & 1) != 0;
}

}  // namespace sidbeam
