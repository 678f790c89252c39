// XXH3 for AVX2: compiled with -mavx2, so nothing else may be in here that another file could be linked with.
// SPDX-License-Identifier: Apache-2.0
#include "support/hashing_kernels.h"

namespace sidbeam {

const HashKernels kAvx2HashKernels = kTheseHashKernels;

}  // namespace sidbeam
