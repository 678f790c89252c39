/* The CUDA runtime for tests in C; the emulator's own levers are at the end. Every call must succeed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_GPU_CAPI_DEVICE_H
#define SIDBEAM_TESTS_GPU_CAPI_DEVICE_H

#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

void* device_memory(size_t bytes);
/* A copy on the current device. */
void* on_device(const void* data, size_t bytes);
/* Waits for everything first. */
void read_device(void* out, const void* from, size_t bytes);
void release_device(void* memory);
void use_device(int device);
void wait_device(void);
/* Of the current device. */
void* make_stream(void);
void release_stream(void* stream);
void begin_capture(void* stream);
void* end_capture(void* stream);
void replay(void* graph, void* stream);
/* As another thread does it whose capture is global: what is unsafe in this one ends it. */
void begin_capture_elsewhere(void* stream);
int capture_is_valid(void* stream);
void abandon_capture(void* stream); /* which is not valid */
int thread_is_relaxed(void);
void release_graph(void* graph);

/* Device and pinned memory that has not come back, once all work is done. */
int64_t live_allocations(void);
int64_t live_allocations_now(void);
void fail_allocation(int64_t n); /* the n-th from now on; 0: none */
void fail_launch(int64_t n);
void unload_kernels(void); /* as in a process that has launched none */
void set_devices(int count);
void set_driver(int version);
void set_capability(int major);
void set_illegal_access(int seen); /* as after a kernel that read where it must not */

#ifdef __cplusplus
}
#endif
#endif
