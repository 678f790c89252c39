// A stand-in for NVIDIA's header of the same name, found before it by include path: with it g++ compiles the CUDA
// backend as plain C++ and runs its kernels thread by thread, so that the same source has run before it meets a GPU.
//
// What it shows: wrong results, reads and writes outside an allocation (under ASan), barriers that not all threads
// reach, warp operations whose lanes are not all there, shared memory that a block has not written, orders of threads
// that the source takes for granted (each run draws its own), pointers of the wrong side, memory that is not given
// back, kernels that a capture would have to load, calls that would end another thread's capture.
// What it does not: time, and races of threads that no order of whole steps between barriers brings to light.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "emulator_api.h"
#include "emulator_device.h"
