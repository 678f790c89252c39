// SPDX-License-Identifier: Apache-2.0
#include "decode/prefixes.h"

#include <algorithm>

#include "index/views.h"
#include "support/error.h"
#include "support/strides.h"

namespace sidbeam {

PrefixArray resolve_prefixes(const char* name, const int32_t* codes, int64_t stride, int64_t count, int32_t levels) {
  if (stride == SIDBEAM_BROADCAST) return {codes, 0, codes == nullptr ? 0 : levels};
  if (stride < 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s is %lld, expected at least 0, or SIDBEAM_BROADCAST", name,
         static_cast<long long>(stride));
  if (codes == nullptr) return {};  // nothing to be read, whatever lengths say
  if (stride == 0) stride = levels;
  check_stride(name, count, stride);
  return {codes, stride, static_cast<int32_t>(std::min<int64_t>(stride, kMaxLevels))};
}

}  // namespace sidbeam
