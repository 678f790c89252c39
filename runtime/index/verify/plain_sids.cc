// SPDX-License-Identifier: Apache-2.0
#include "index/verify/plain_sids.h"

#include "index/verify/plain_columns.h"
#include "index/verify/plain_trie.h"

namespace sidbeam {

bool has_plain_sids(const Index& index, SectionSums& sums, SidPairs& pairs) {
  if (index.view.variable_length) return false;
  if (index.header.info.shortest != index.view.levels || index.header.info.longest != index.view.levels) return false;
  return index.view.has_trie ? has_plain_trie(index, sums, pairs) : has_plain_columns(index, sums, pairs);
}

}  // namespace sidbeam
