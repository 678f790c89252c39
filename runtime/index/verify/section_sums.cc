// SPDX-License-Identifier: Apache-2.0
#include "index/verify/section_sums.h"

#include <algorithm>

namespace sidbeam {

SectionSums::SectionSums(const Index& index) {
  for (const SectionInfo& section : index.header.sections)
    sums_.push_back({Stream128(index.view.target), index.bytes.data() + section.offset, section.bytes});
}

constexpr uint64_t kSummedAtOnce = uint64_t{16}
                                   << 10;  // small enough that the pieces of all sections of a trie fit a near cache
constexpr uint64_t kFetchedAtOnce = uint64_t{4} << 10;  // fetching more at once gains nothing

void SectionSum::fetch(uint64_t end) {
  const uint64_t most = std::min(bytes, end);
  for (fetched = std::max(fetched, done); fetched < most; fetched += 64)
    __builtin_prefetch(static_cast<const uint8_t*>(data) + fetched, 0, 2);
}

void SectionSum::fetch_after(uint64_t end) { fetch(end + 2 * kSummedAtOnce); }

// Also prefetches, for sections that nothing else reads: the hardware prefetcher stops at every page boundary.
void SectionSum::add_piece() {
  for (const uint64_t end = std::min(bytes, done + kSummedAtOnce); done < end;) {
    const uint64_t step = std::min(kFetchedAtOnce, end - done);
    fetch(done + kSummedAtOnce);
    stream.add(static_cast<const uint8_t*>(data) + done, step);
    done += step;
  }
}

SectionSum* SectionSums::find(const void* data) {
  const auto found = std::find_if(sums_.begin(), sums_.end(),
                                  [&](const SectionSum& sum) { return sum.data == data && sum.bytes != 0; });
  return data == nullptr || found == sums_.end() ? nullptr : &*found;
}

uint64_t SectionSums::finish(size_t section) {
  SectionSum& sum = sums_[section];
  sum.reach(sum.bytes);
  return sum.stream.value_64();
}

}  // namespace sidbeam
