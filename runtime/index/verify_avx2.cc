// Compiled with -mavx2. SPDX-License-Identifier: Apache-2.0
#include "index/verify_kernels.h"

namespace sidbeam {

const PlainKernels kAvx2PlainKernels = kThesePlainKernels;

}  // namespace sidbeam
