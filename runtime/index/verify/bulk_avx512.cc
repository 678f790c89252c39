// Compiled for AVX-512 (F, BW, DQ, VL).
// SPDX-License-Identifier: Apache-2.0
#include "index/verify/bulk_kernels.h"

namespace sidbeam {

const BulkKernels kAvx512BulkKernels = kTheseBulkKernels;

}  // namespace sidbeam
