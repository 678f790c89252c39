// Compiled for AVX-512 (sources.cmake). SPDX-License-Identifier: Apache-2.0
#include "index/verify_kernels.h"

namespace sidbeam {

const PlainKernels kAvx512PlainKernels = kThesePlainKernels;

}  // namespace sidbeam
