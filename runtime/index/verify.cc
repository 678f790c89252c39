// SPDX-License-Identifier: Apache-2.0
#include "index/verify.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "index/header.h"
#include "index/verify_blocks.h"
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

SectionSums::SectionSums(const Index& index) : sums_(index.header.sections.size()) {
  for (size_t i = 0; i < sums_.size(); ++i) {
    sums_[i].data = index.bytes.data() + index.header.sections[i].offset;
    sums_[i].bytes = index.header.sections[i].bytes;
  }
}

constexpr uint64_t kPiece = uint64_t{16} << 10;  // of all sections of a trie together less than a near cache
constexpr uint64_t kStep = uint64_t{4} << 10;    // whole pieces fetched at once are no faster than none

void SectionSums::Sum::fetch(uint64_t end) {
  const uint64_t most = std::min(bytes, end);
  for (fetched = std::max(fetched, done); fetched < most; fetched += 64)
    __builtin_prefetch(static_cast<const uint8_t*>(data) + fetched, 0, 2);
}

void SectionSums::Sum::fetch_after(uint64_t end) { fetch(end + 2 * kPiece); }

// Fetches ahead itself, of sections that nothing else reads: the machine's own fetching stops at every page's end.
void SectionSums::Sum::add_piece() {
  for (const uint64_t end = std::min(bytes, done + kPiece); done < end;) {
    const uint64_t step = std::min(kStep, end - done);
    fetch(done + kPiece);
    stream.add(static_cast<const uint8_t*>(data) + done, step);
    done += step;
  }
}

SectionSums::Sum* SectionSums::find(const void* data) {
  const auto found =
      std::find_if(sums_.begin(), sums_.end(), [&](const Sum& sum) { return sum.data == data && sum.bytes != 0; });
  return data == nullptr || found == sums_.end() ? nullptr : &*found;
}

uint64_t SectionSums::finish(size_t section) {
  Sum& sum = sums_[section];
  sum.reach(sum.bytes);
  return sum.stream.value_64();
}

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
  SectionSums sums(index);
  SidPairs pairs(index.view);
  const bool full = depth == SIDBEAM_VERIFY_FULL, plain = full && has_plain_sids(index, sums, pairs);
  const bool has_hash = full && index.view.hash.keys != nullptr,
             plain_hash = has_hash && has_plain_hash(index, sums, pairs);
  verify_checksums(index, sums, thread_count(threads));
  if (!full) return;
  if (index.view.has_trie) verify_trie(index.view, plain, thread_count(threads));
  verify_items(index);
  if (!plain) verify_sids(index);
  if (has_hash && !plain_hash) verify_hash(index.view);
}

}  // namespace sidbeam
