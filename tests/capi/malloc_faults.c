/* SPDX-License-Identifier: Apache-2.0 */
#include "malloc_faults.h"

#include <errno.h>
#include <stddef.h>

#define REPLACED __attribute__((visibility("default")))

/* glibc's own allocator, under the names that it keeps for this. dlsym(RTLD_NEXT) would itself allocate. */
extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);
extern void* __libc_realloc(void* memory, size_t bytes);
extern void* __libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void* memory);

static volatile int watching, failing_on;
static volatile long long calls, live, failing_at;

static int fails(void) {
  if (!watching) return 0;
  const long long call = __atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST);
  if (call != failing_at && !(failing_on && call > failing_at)) return 0;
  errno = ENOMEM;
  return 1;
}

static void* counted(void* memory) {
  if (watching && memory != NULL) __atomic_fetch_add(&live, 1, __ATOMIC_SEQ_CST);
  return memory;
}

REPLACED void* malloc(size_t bytes) { return fails() ? NULL : counted(__libc_malloc(bytes)); }
REPLACED void* calloc(size_t count, size_t bytes) { return fails() ? NULL : counted(__libc_calloc(count, bytes)); }
REPLACED void* memalign(size_t alignment, size_t bytes);
REPLACED void* memalign(size_t alignment, size_t bytes) {
  return fails() ? NULL : counted(__libc_memalign(alignment, bytes));
}
REPLACED void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
REPLACED int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  void* const result = memalign(alignment, bytes);
  if (result == NULL) return ENOMEM;
  *memory = result;
  return 0;
}
REPLACED void* realloc(void* memory, size_t bytes) {
  if (fails()) return NULL;
  void* const result = __libc_realloc(memory, bytes);
  return memory == NULL ? counted(result) : result;
}
REPLACED void free(void* memory) {
  if (watching && memory != NULL) __atomic_fetch_sub(&live, 1, __ATOMIC_SEQ_CST);
  __libc_free(memory);
}

void malloc_faults_begin(long long fail_at, int forever) {
  calls = live = 0;
  failing_at = fail_at;
  failing_on = forever;
  watching = 1;
}

void malloc_faults_end(void) { watching = 0; }
long long malloc_calls(void) { return calls; }
long long malloc_live(void) { return live; }
