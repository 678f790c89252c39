/* The runtime, versions and the log. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_RUNTIME_H
#define SIDBEAM_FLAT_RUNTIME_H

#include <pthread.h>

/* Fails unless the loaded library has the ABI that this was compiled with. */
static inline void flat_check_abi(sidbeam_error* err) {
  fl_clear(err);
  if (sidbeam_abi_version() != SIDBEAM_ABI_VERSION)
    fl_fail(err, SIDBEAM_UNSUPPORTED, "libsidbeam %s has ABI %u, this binding was made for %u", sidbeam_version(),
            sidbeam_abi_version(), SIDBEAM_ABI_VERSION);
}

/* The log. Bindings are fragile where a callback enters a language from an arbitrary thread, and an index may hold a
 * released runtime and still log to it: messages wait in one queue of the process until the language asks for them. */
enum { FLAT_LOG_MESSAGES = 64, FLAT_LOG_BYTES = 512 };
#ifndef SWIG
static struct {
  pthread_mutex_t mutex;
  int32_t first, count;
  int32_t level[FLAT_LOG_MESSAGES];
  char text[FLAT_LOG_MESSAGES][FLAT_LOG_BYTES];
} fl_log = {PTHREAD_MUTEX_INITIALIZER, 0, 0, {0}, {{0}}};

/* A fork waits for the queue, which is never locked for long: a child finds it whole, and its lock free. */
static void fl_log_lock(void) { pthread_mutex_lock(&fl_log.mutex); }
static void fl_log_unlock(void) { pthread_mutex_unlock(&fl_log.mutex); }
/* Runs when the library is loaded, hence once. Without memory for the handlers there are none. */
__attribute__((constructor)) static void fl_log_survives_forks(void) {
  (void)pthread_atfork(fl_log_lock, fl_log_unlock, fl_log_unlock);
}
#endif

static inline void fl_log_put(void* context, int32_t level, const char* message) {
  (void)context;
  fl_log_lock();
  if (fl_log.count < FLAT_LOG_MESSAGES) { /* of a flood, the first messages tell more than the last */
    const int32_t i = (fl_log.first + fl_log.count++) % FLAT_LOG_MESSAGES;
    fl_log.level[i] = level;
    snprintf(fl_log.text[i], FLAT_LOG_BYTES, "%.*s", FLAT_LOG_BYTES - 1, message);
  }
  fl_log_unlock();
}

/* Takes the oldest message: returns its level (SIDBEAM_LOG_*) and writes its text, NUL-terminated; -1: there is none.
 * */
static inline int32_t flat_log_take(flat_out_bytes text) {
  int32_t level = -1;
  fl_log_lock();
  if (fl_log.count > 0) {
    level = fl_log.level[fl_log.first];
    if (text.data != NULL && text.count > 0) snprintf(text.data, (size_t)text.count, "%s", fl_log.text[fl_log.first]);
    fl_log.first = (fl_log.first + 1) % FLAT_LOG_MESSAGES;
    fl_log.count--;
  }
  fl_log_unlock();
  return level;
}

static inline void fl_destroy_runtime(void* object) { sidbeam_runtime_release((sidbeam_runtime*)object); }

/* log_level -1: no log. cpu_target, cuda_library "": the default. device_allocate and device_release are addresses of
 * the functions of sidbeam_device_allocator, 0 for none. */
static inline flat_handle* flat_runtime_create(int32_t threads, int32_t step_threads, int64_t step_grain,
                                               int32_t log_level, const char* cpu_target, const char* cuda_library,
                                               int64_t device_allocate, int64_t device_release, int64_t device_context,
                                               sidbeam_error* err) {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_device_allocator allocator = SIDBEAM_DEVICE_ALLOCATOR_INIT;
  sidbeam_runtime* runtime = NULL;
  fl_clear(err);
  config.threads = threads;
  config.step_threads = step_threads;
  config.step_grain = step_grain;
  if (log_level >= 0) {
    config.log = fl_log_put;
    config.log_level = log_level;
  }
  if (cpu_target != NULL && *cpu_target) config.cpu_target = cpu_target;
  if (cuda_library != NULL && *cuda_library) config.cuda_library = cuda_library;
  if (device_allocate != 0) {
    allocator.context = (void*)(intptr_t)device_context;
    allocator.allocate = (void* (*)(void*, int32_t, int64_t, void*))(intptr_t)device_allocate;
    allocator.release = (void (*)(void*, int32_t, void*, int64_t, void*))(intptr_t)device_release;
    config.device_allocator = &allocator;
  }
  if (sidbeam_runtime_create(&config, &runtime, err) != SIDBEAM_OK) return NULL;
  return fl_box(FLAT_RUNTIME, runtime, fl_destroy_runtime);
}

#endif
