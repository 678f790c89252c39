// SPDX-License-Identifier: Apache-2.0
#include "index/verify/header_fingerprint.h"

#include <cstring>

#include "index/fingerprint.h"
#include "index/header.h"

namespace sidbeam {
bool is_fingerprint(const Index& index, const Hash128& fingerprint) {
  char text[33];
  print_hash(fingerprint, text);
  return std::strcmp(text, index.header.info.fingerprint) == 0;
}

bool is_fingerprint_of(const Index& index, const std::vector<Stream128>& digests, SectionSums& sums) {
  std::vector<Hash128> columns;
  for (const Stream128& digest : digests) columns.push_back(digest.value());
  SectionSum* ids = sums.find(index.view.ids);
  if (ids == nullptr) return is_fingerprint(index, fingerprint(index.view, columns));
  ids->reach(ids->bytes);
  const Hash128 digest = ids->stream.value();
  return is_fingerprint(index, fingerprint(index.view, columns, &digest));
}

}  // namespace sidbeam
