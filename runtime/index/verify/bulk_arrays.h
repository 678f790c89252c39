// Selects the loops of bulk_kernels.h that match the width of an array.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/verify/bulk_kernels.h"
#include "index/views.h"

namespace sidbeam {

// Calls visit(values, loops) with the typed codes of an array and their loops.
template <class Visit>
auto with_codes(const BulkKernels& kernels, const UintArray& array, Visit&& visit) {
  if (array.width == 2) return visit(static_cast<const uint16_t*>(array.data), kernels.codes_16);
  return visit(static_cast<const uint32_t*>(array.data), kernels.codes_32);
}

// The same for an array of pointers or ordinals.
template <class Visit>
auto with_pointers(const BulkKernels& kernels, const UintArray& array, Visit&& visit) {
  if (array.width == 4) return visit(static_cast<const uint32_t*>(array.data), kernels.pointers_32);
  return visit(static_cast<const uint64_t*>(array.data), kernels.pointers_64);
}

}  // namespace sidbeam
