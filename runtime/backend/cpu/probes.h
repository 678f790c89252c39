// Which last codes of a beam exist: looked up in the hash set, many at a time, so that they wait for memory together,
// or listed from the columns that every hash set has beside it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "backend/cpu/kernels.h"
#include "index/views.h"

namespace sidbeam::cpu {

// Keeps the codes of the last level that complete a prefix of [levels - 1] codes to a SID in the hash set, in order;
// returns their number.
int32_t keep_in_hash_set(const Kernels& kernels, const IndexView& index, const int32_t* prefix, uint32_t* codes,
                         int32_t count);

// The most children that it is cheaper to list and to rank among a beam's `codes` codes than to find its best `top_k`
// and look each of them up; 0 where the search of the columns alone costs more. (A lookup takes about 17 ns, a rank the
// time to read the row from the nearest cache.)
inline int64_t most_listed(int64_t top_k, int64_t codes) {
  const int64_t keys = std::min(top_k, codes);
  return keys < 64 ? 0 : 1024 * keys / codes;
}

// Writes the codes that complete a prefix of [levels - 1] codes to a SID, rising, and returns their number; -1 if there
// are more than `most`.
int32_t list_siblings(const IndexView& index, const int32_t* prefix, int64_t most, uint32_t* codes);

}  // namespace sidbeam::cpu
