// SPDX-License-Identifier: Apache-2.0
#include "index/fingerprint.h"

#include <algorithm>

namespace sidbeam {
namespace {

constexpr int64_t kWidened = 8192;  // offsets per piece; a piece stays in the first-level cache

Hash128 digest_of_offsets(const IndexView& index) {
  const UintArray& offsets = index.item_offsets;
  if (offsets.width == sizeof(uint64_t))
    return xxh3_128(index.target, offsets.data, (index.sids + 1) * sizeof(uint64_t));
  Stream128 stream(index.target);
  uint64_t block[kWidened];
  const auto count = static_cast<int64_t>(index.sids) + 1;
  for (int64_t begin = 0; begin < count; begin += kWidened) {
    const int64_t size = std::min(kWidened, count - begin);
    std::copy_n(static_cast<const uint32_t*>(offsets.data) + begin, size, block);
    stream.add(block, static_cast<size_t>(size) * sizeof(uint64_t));
  }
  return stream.value();
}

Hash128 digest_of_ids(const IndexView& index) {
  if (index.id_type != IdType::kString) return xxh3_128(index.target, index.ids, index.items * sizeof(int64_t));
  Stream128 stream(index.target);
  stream.add(index.name_offsets, (index.items + 1) * sizeof(uint64_t));
  stream.add(index.names, index.name_bytes);
  return stream.value();
}

}  // namespace

// Hashes numbers of fixed width in a fixed order, so that no two catalogues give the same stream.
Hash128 fingerprint(const IndexView& index, const std::vector<Hash128>& column_digests, const Hash128* known_ids) {
  std::vector<uint64_t> stream = {static_cast<uint64_t>(index.levels), index.variable_length ? 1u : 0u,
                                  static_cast<uint64_t>(index.id_type), index.sids, index.items};
  for (int l = 0; l < index.levels; ++l) {
    const Hash128& digest = column_digests[static_cast<size_t>(l)];
    stream.insert(stream.end(), {index.level[l].codes, digest.low, digest.high});
  }
  const Hash128 offsets = index.item_offsets ? digest_of_offsets(index) : Hash128{};
  const Hash128 ids = known_ids != nullptr ? *known_ids : digest_of_ids(index);
  stream.insert(stream.end(), {offsets.low, offsets.high, ids.low, ids.high});
  return xxh3_128(index.target, stream.data(), stream.size() * sizeof(uint64_t));
}

}  // namespace sidbeam
