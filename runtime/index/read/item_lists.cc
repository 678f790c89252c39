// SPDX-License-Identifier: Apache-2.0
#include "index/read/item_lists.h"

#include "support/error.h"

namespace sidbeam {

void check_item_lists(const ItemLimits& limits, int32_t distinct, const int64_t* item_rows, const int64_t* offsets) {
  if (limits.per_sid < 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "limit_per_sid is %lld, expected at least 0",
         static_cast<long long>(limits.per_sid));
  if (distinct != 0 && distinct != 1) fail(SIDBEAM_INVALID_ARGUMENT, "distinct is %d, expected 0 or 1", distinct);
  if (item_rows != nullptr && offsets == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "offsets is NULL, expected a buffer beside item_rows");
  if (limits.total < (item_rows != nullptr ? 1 : 0))
    fail(SIDBEAM_INVALID_ARGUMENT, "limit is %lld, expected at least %d%s", static_cast<long long>(limits.total),
         item_rows != nullptr ? 1 : 0, item_rows != nullptr ? ", the stride of item_rows" : "");
}

}  // namespace sidbeam
