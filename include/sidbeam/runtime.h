/* sidbeam: the runtime, from which every other object is made: memory, log, threads, instruction set, devices.
 *
 * CUDA support is a library of its own, libsidbeam_cuda.so.1. It is loaded when a CUDA device is first asked for, from
 * runtime_config.cuda_library, else $SIDBEAM_CUDA_LIBRARY, else the folder of this library, else the system's library
 * path. If the library, the driver or the device is missing, or the device is older than compute capability 8.0, the
 * call fails with NO_DEVICE and says which; the CPU keeps working. A plugin that was built from other sources is
 * refused. CUDA streams are cudaStream_t or CUstream, passed as void*; NULL is the default stream.
 *
 * A child of fork() may use and release a runtime that it inherits. Threads do not survive a fork: the runtime's own
 * (step_threads) are started again when the child first makes a session, and until then steps run on their callers
 * alone. Releasing the runtime waits for the child's threads only. CUDA does not survive a fork either: calls on
 * inherited objects of a device fail with BAD_STATE, and indexes have no uploads in the child. The child may open a
 * device itself if the parent had not used CUDA.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_RUNTIME_H
#define SIDBEAM_RUNTIME_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The caller's memory. Every array whose size depends on a catalogue, a file or a session comes from here. Small
 * objects (handles, headers, metadata, threads), and one bit per SID while the fault of a damaged hash set is sought,
 * come from operator new. The library asks the system for huge pages (MADV_HUGEPAGE) in what is large enough to hold
 * one; a refusal changes nothing. Both functions may be called from any thread, several at once, and must not throw. */
typedef struct sidbeam_allocator {
  uint32_t struct_size; /* sizeof(sidbeam_allocator) */
  void* context;        /* passed through */
  /* At least `bytes` > 0 bytes at a multiple of `alignment` (a power of two, at most 4096), or NULL: the call then
   * fails with OUT_OF_MEMORY. */
  void* (*allocate)(void* context, int64_t bytes, int64_t alignment);
  /* Takes back what allocate returned, with the same numbers. */
  void (*release)(void* context, void* memory, int64_t bytes, int64_t alignment);
} sidbeam_allocator;
#define SIDBEAM_ALLOCATOR_INIT \
  { (uint32_t)sizeof(sidbeam_allocator), NULL, NULL, NULL }

/* The caller's memory on CUDA devices, for indexes, sessions, constraint sets and sidbeam_constraint_set_topk(). Both
 * functions may be called from any thread, several at once, with the device current, and must not throw. Memory is
 * used, and may be used again after release, in the order of the stream, as with cudaMallocAsync. */
typedef struct sidbeam_device_allocator {
  uint32_t struct_size; /* sizeof(sidbeam_device_allocator) */
  void* context;        /* passed through */
  /* At least `bytes` > 0 bytes of the device at a multiple of 256, or NULL: the call then fails with OUT_OF_MEMORY. */
  void* (*allocate)(void* context, int32_t device_id, int64_t bytes, void* stream);
  /* Takes back what allocate returned for that device, with the same number of bytes. */
  void (*release)(void* context, int32_t device_id, void* memory, int64_t bytes, void* stream);
} sidbeam_device_allocator;
#define SIDBEAM_DEVICE_ALLOCATOR_INIT \
  { (uint32_t)sizeof(sidbeam_device_allocator), NULL, NULL, NULL }

/* Log levels. The library is silent unless it is given a callback; it never writes to standard error. */
enum { SIDBEAM_LOG_ERROR = 0, SIDBEAM_LOG_WARNING = 1, SIDBEAM_LOG_INFO = 2 };

typedef struct sidbeam_runtime_config {
  uint32_t struct_size; /* sizeof(sidbeam_runtime_config) */
  /* Threads of a build or a verification, the caller's included, 1 .. 1024; 0: one per core. */
  int32_t threads;
  /* Copied. NULL: aligned allocation of the C library. */
  const sidbeam_allocator* allocator;
  /* Called on the thread that meets the event, never from a step; must not throw or call back into the library. A
   * message is one line, escaped like that of a sidbeam_error. NULL: no log. */
  void (*log)(void* context, int32_t level, const char* message);
  void* log_context;
  /* Messages above this level are not made; SIDBEAM_LOG_INFO gives all. */
  int32_t log_level;
  /* Instruction set of the CPU kernels: one of the names of sidbeam_cpu_target(), or NULL for the best there is. */
  const char* cpu_target;
  /* Threads of a step, the caller's included, 1 .. 1024; 0: 1, the caller's alone. A step divides its requests among
   * them, and the logits rows of its requests where these are few; results have the same bits for any number of
   * threads. Without `execute` the runtime has threads of its own. They serve one step at a time (steps of other
   * sessions run on their callers meanwhile), spin for some 100 us after work and then sleep. */
  int32_t step_threads;
  /* Logits elements that justify one thread of a step; 0: 32768. Where a step computes the log-sum-exp, a request
   * counts as 32768 more. */
  int64_t step_grain;
  /* The host's own threads: calls task(data, i) once for every i in [0, count), count <= step_threads, in any order and
   * on any threads, and returns when all have returned. Called from steps, several at a time; must not throw.
   * NULL: none. */
  void (*execute)(void* context, int32_t count, void (*task)(void* data, int32_t i), void* data);
  void* execute_context;
  /* Path of the CUDA plugin, copied; it is then looked for nowhere else. NULL: see above. */
  const char* cuda_library;
  /* Copied. NULL: cudaMallocAsync and cudaFreeAsync. */
  const sidbeam_device_allocator* device_allocator;
} sidbeam_runtime_config;
#define SIDBEAM_RUNTIME_CONFIG_INIT                                                                                \
  {                                                                                                                \
    (uint32_t)sizeof(sidbeam_runtime_config), 0, NULL, NULL, NULL, SIDBEAM_LOG_INFO, NULL, 0, 0, NULL, NULL, NULL, \
        NULL                                                                                                       \
  }

/* Makes a runtime; config may be NULL for all defaults. *out gets one reference, to be given back with
 * sidbeam_runtime_release().
 * Errors: INVALID_ARGUMENT (a field of config), UNSUPPORTED (cpu_target that this machine lacks, unknown struct tail),
 * OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_runtime_create(
    const sidbeam_runtime_config* config, sidbeam_runtime** out, sidbeam_error* err);
/* Gives a reference back. Objects made from a runtime hold their own, so it may be released before them; the allocator
 * and the log must outlive them all. */
SIDBEAM_API void sidbeam_runtime_release(sidbeam_runtime* runtime);

#ifdef __cplusplus
}
#endif
#endif
