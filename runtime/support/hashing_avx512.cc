// XXH3 for AVX-512: compiled with -mavx512f, so nothing else may be in here that another file could be linked with.
// SPDX-License-Identifier: Apache-2.0
#include "support/hashing_kernels.h"

namespace sidbeam {

const HashKernels kAvx512HashKernels = kTheseHashKernels;

}  // namespace sidbeam
