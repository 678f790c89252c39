// Marks functions that CUDA kernels share with the CPU. SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__CUDACC__)
#define SIDBEAM_HD __host__ __device__
#else
#define SIDBEAM_HD
#endif
