// SPDX-License-Identifier: Apache-2.0
#include "index/verify/verify.h"

#include <cstring>

#include "index/format.h"
#include "index/verify/explain.h"
#include "index/verify/plain_sids.h"
#include "index/verify/section_sums.h"
#include "index/verify/verify_attributes.h"
#include "index/verify/verify_hash.h"
#include "index/verify/verify_items.h"
#include "index/verify/verify_sids.h"
#include "index/verify/verify_trie.h"
#include "support/error.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

void verify_padding(const Index& index) {
  const uint8_t* data = index.bytes.data();
  Preamble preamble;
  std::memcpy(&preamble, data, sizeof preamble);
  uint64_t end = sizeof preamble + preamble.header_bytes;
  const auto zeros = [&](uint64_t begin) {
    for (; end < begin; ++end) {
      if (data[end] != 0)
        fail(SIDBEAM_CORRUPT, "non-zero padding: byte %llu is %d", static_cast<unsigned long long>(end), data[end]);
    }
  };
  for (const SectionInfo& section : index.header.sections) {
    zeros(section.offset);
    end = section.offset + section.bytes;
  }
  zeros(static_cast<uint64_t>(index.bytes.size()));
}

void verify_checksums(const Index& index, SectionSums& sums, int threads) {
  const auto& sections = index.header.sections;
  parallel_for(threads, static_cast<int64_t>(sections.size()), [&](int64_t i) {
    const SectionInfo& section = sections[static_cast<size_t>(i)];
    const uint64_t found = sums.finish(static_cast<size_t>(i));
    if (found != section.checksum)
      corrupt(static_cast<format::SectionKind>(section.kind), section.level,
              "wrong checksum: %016llx, the header says %016llx", static_cast<unsigned long long>(found),
              static_cast<unsigned long long>(section.checksum));
  });
  verify_padding(index);
}

void verify_trie(const IndexView& index, bool plain, int threads) {
  const int rows = index.csr_levels, tail = rows < index.levels && !plain ? 1 : 0;
  parallel_for(threads, rows + tail, [&](int64_t i) {
    const int level = static_cast<int>(i);
    if (level == rows) return verify_tail(index);
    if (plain) return verify_dense(index.level[level], level);
    verify_trie_level(index, level);
  });
}

}  // namespace

void verify_index(const Index& index, int32_t depth, int threads) {
  if (depth < SIDBEAM_VERIFY_HEADER || depth > SIDBEAM_VERIFY_FULL)
    fail(SIDBEAM_INVALID_ARGUMENT, "depth is %d, expected SIDBEAM_VERIFY_* (0 to 2)", depth);
  if (depth == SIDBEAM_VERIFY_HEADER) return;  // checked when the index was opened
  SectionSums sums(index);
  SidPairs pairs(index.view);
  const bool full = depth == SIDBEAM_VERIFY_FULL, plain = full && has_plain_sids(index, sums, pairs);
  const bool has_hash = full && index.view.hash.keys != nullptr,
             plain_hash = has_hash && has_plain_hash(index, sums, pairs);
  verify_checksums(index, sums, thread_count(threads));
  if (!full) return;
  if (index.view.has_trie) verify_trie(index.view, plain, thread_count(threads));
  verify_items(index);
  verify_attributes(index, sums, thread_count(threads));
  if (!plain) verify_sids(index);
  if (has_hash && !plain_hash) verify_hash(index.view);
}

}  // namespace sidbeam
