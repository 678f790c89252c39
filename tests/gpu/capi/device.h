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
/* Wait for everything first. */
void read_device(void* out, const void* from, size_t bytes);
void write_device(void* to, const void* data, size_t bytes);
void release_device(void* memory);
void use_device(int device);
void wait_device(void);
/* Of the current device. Work on the default stream waits for that on a blocking one. */
void* make_stream(void);
void* make_blocking_stream(void);
void release_stream(void* stream);
/* In global mode: what is unsafe, in whichever thread, ends it. A test that fails leaves no capture behind. */
void begin_capture(void* stream);
void* end_capture(void* stream);
void replay(void* graph, void* stream);
/* As another thread does it, one at a time. */
void begin_capture_elsewhere(void* stream);
void end_capture_elsewhere(void);
int capture_is_valid(void* stream);
int thread_is_relaxed(void);
void release_graph(void* graph);

/* Device and pinned memory that has not come back, once all work is done. */
int64_t live_allocations(void);
int64_t live_allocations_now(void);
int64_t pending_work(void);
void fail_allocation(int64_t n); /* the n-th from now on; 0: none */
void fail_launch(int64_t n);
void fail_wait(int64_t n); /* the n-th wait for a stream, after its work */
void unload_kernels(void); /* as in a process that has launched none */
void set_devices(int count);
void set_driver(int version);
void set_capability(int major);
void set_illegal_access(int seen);                     /* as after a kernel that read where it must not */
void set_order(int seed);                              /* in which streams' work is done, where nothing says */
void set_kernels(int ptx_version, int binary_version); /* what kernels were compiled for; 90 and 90 at first */
int64_t overlapping_launches(void);                    /* so far: of kernels that may begin before the last has ended */
void set_pools(int supported);
int64_t mapped_bytes(void); /* so far, by memory pools */
/* Contexts of the driver's: one of the caller's own, of this thread (NULL: none, as in a new thread), and the number of
 * devices that have a primary one. */
void* make_context(int device);
void use_context(void* context);
void* current_context(void);
int primary_contexts(void);

#ifdef __cplusplus
}
#endif
#endif
