// Compiled with -mavx2.
// SPDX-License-Identifier: Apache-2.0
#include "index/verify/bulk_kernels.h"

namespace sidbeam {

const BulkKernels kAvx2BulkKernels = kTheseBulkKernels;

}  // namespace sidbeam
