// The part of the CUDA driver's interface that sidbeam calls: contexts. Functions are looked up by
// cudaGetDriverEntryPointByVersion(), as nothing links against the driver. SPDX-License-Identifier: Apache-2.0
#pragma once

enum CUresult : int { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_INVALID_DEVICE = 101 };
using CUdevice = int;
struct EmulatedContext;
using CUcontext = EmulatedContext*;
