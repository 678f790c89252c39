// Compiled for AVX-512 (F, BW, DQ, VL). SPDX-License-Identifier: Apache-2.0
#include "index/verify_kernels.h"

namespace sidbeam {

const PlainKernels kAvx512PlainKernels = kThesePlainKernels;

}  // namespace sidbeam
