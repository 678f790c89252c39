// A stand-in for NVIDIA's header of the same name, found before it by include path: with it g++ compiles the CUDA
// backend as plain C++ and runs its kernels thread by thread, so that the same source has run before it meets a GPU.
//
// It shows wrong results, reads and writes outside an allocation (under ASan), barriers that not all threads reach,
// warp operations with missing lanes, shared memory that a block reads before writing it, assumptions about the order
// of threads (each run draws its own), pointers of the wrong side, memory that is not given back or used after that,
// kernels that a capture would be the first to launch, kernels that overlap and cannot wait, contexts that are left
// behind, and calls that CUDA does not allow while a stream is captured (capture_rules.h).
// It does not show time, or races of threads that appear in no order of whole steps between barriers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "emulator_api.h"
#include "emulator_device.h"
#include "emulator_mma.h"
