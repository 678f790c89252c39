// SPDX-License-Identifier: Apache-2.0
#include "index/build/column_digests.h"

#include <algorithm>

#include "index/build/progress.h"
#include "support/parallel.h"

namespace sidbeam {

std::vector<Hash128> column_digests(const SortedCatalogue& sorted, const sidbeam_builder_config& config,
                                    CpuTarget target, int threads) {
  Progress progress(config, SIDBEAM_PHASE_SCAN, sorted.sids * sorted.layout.levels);
  std::vector<Hash128> digests(static_cast<size_t>(sorted.layout.levels));
  parallel_for(threads, sorted.layout.levels, [&](int64_t level) {
    Stream128 stream(target);
    uint32_t block[kCachedSids];
    const CodeColumn column = sorted.column(static_cast<int>(level));
    for (int64_t begin = 0; begin < sorted.sids; begin += kCachedSids) {
      const int64_t size = std::min(kCachedSids, sorted.sids - begin);
      for (int64_t i = 0; i < size; ++i) block[i] = column[begin + i];
      stream.add(block, static_cast<size_t>(size) * sizeof(uint32_t));
      if (begin % kTaskSids == 0) progress.advance(std::min(kTaskSids, sorted.sids - begin));
    }
    digests[static_cast<size_t>(level)] = stream.value();
  });
  return digests;
}

}  // namespace sidbeam
