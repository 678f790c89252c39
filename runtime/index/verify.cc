// SPDX-License-Identifier: Apache-2.0
#include "index/verify.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "index/header.h"
#include "support/error.h"
#include "support/hashing.h"
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

void verify_checksums(const Index& index, int threads) {
  const auto& sections = index.header.sections;
  parallel_for(threads, static_cast<int64_t>(sections.size()), [&](int64_t i) {
    const SectionInfo& section = sections[static_cast<size_t>(i)];
    const uint64_t found = xxh3_64(index.bytes.data() + section.offset, section.bytes);
    if (found != section.checksum)
      corrupt(static_cast<format::SectionKind>(section.kind), section.level,
              "wrong checksum: %016llx, the header says %016llx", static_cast<unsigned long long>(found),
              static_cast<unsigned long long>(section.checksum));
  });
  verify_padding(index);
}

}  // namespace

void corrupt(format::SectionKind kind, int level, const char* message, ...) {
  char text[256];
  std::va_list arguments;
  va_start(arguments, message);
  std::vsnprintf(text, sizeof text, message, arguments);
  va_end(arguments);
  fail(SIDBEAM_CORRUPT, "%s: %s", SectionName(static_cast<uint16_t>(kind), level).text, text);
}

void verify_index(const Index& index, int32_t depth, int threads) {
  if (depth < SIDBEAM_VERIFY_HEADER || depth > SIDBEAM_VERIFY_FULL)
    fail(SIDBEAM_INVALID_ARGUMENT, "depth is %d, expected SIDBEAM_VERIFY_* (0 to 2)", depth);
  if (depth == SIDBEAM_VERIFY_HEADER) return;  // done by whoever opened it
  verify_checksums(index, thread_count(threads));
  if (depth == SIDBEAM_VERIFY_CHECKSUMS) return;
  if (index.view.has_trie) {
    const int rows = index.view.csr_levels, tail = rows < index.view.levels ? 1 : 0;
    parallel_for(thread_count(threads), rows + tail, [&](int64_t level) {
      if (level == rows) return verify_tail(index.view);
      verify_trie_level(index.view, static_cast<int>(level));
    });
  }
  verify_items(index);
  verify_sids(index);
  if (index.view.hash.keys != nullptr) verify_hash(index.view);
}

}  // namespace sidbeam
