// SPDX-License-Identifier: Apache-2.0
#include "index/verify/bulk_kernels.h"

namespace sidbeam {

const BulkKernels& bulk_kernels(CpuTarget target) {
#ifdef __x86_64__
  return table_of(target, kTheseBulkKernels, kAvx2BulkKernels, kAvx512BulkKernels);
#else
  return table_of(target, kTheseBulkKernels, kTheseBulkKernels, kTheseBulkKernels);
#endif
}

}  // namespace sidbeam
