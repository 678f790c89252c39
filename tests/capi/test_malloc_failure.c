/* The C library's allocator, which operator new takes from: a failure at any call is OUT_OF_MEMORY and leaks nothing,
 * and steps allocate nothing. This program replaces malloc, so it is not built where sanitizers do that.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "script.h"

#define REPLACED __attribute__((visibility("default")))

/* glibc's own allocator, under the names that it keeps for this. dlsym(RTLD_NEXT) would itself allocate. */
extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);
extern void* __libc_realloc(void* memory, size_t bytes);
extern void* __libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void* memory);

static volatile int watching, forever;
static volatile long long calls, live, fail_at;

static int fails(void) {
  if (!watching) return 0;
  const long long call = __atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST);
  if (call != fail_at && !(forever && call > fail_at)) return 0;
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

static sidbeam_status watched(int32_t threads, long long fail_at_call, int from_then_on) {
  const char* path = temporary_path("script.sidx");
  clear_error();
  calls = live = 0;
  fail_at = fail_at_call;
  forever = from_then_on;
  watching = 1;
  const sidbeam_status status = run_script(NULL, threads, path, &err);
  watching = 0;
  return status;
}

/* The first run may fill caches of the C and C++ libraries that stay. */
static void warm_up(int32_t threads) { check_ok(__FILE__, __LINE__, "run_script", watched(threads, -1, 0)); }

static void fail_at_every_call(int32_t threads, int from_then_on) {
  int failed = 0;
  warm_up(threads);
  for (long long at = 0;; ++at) {
    const sidbeam_status status = watched(threads, at, from_then_on);
    const sidbeam_status reported = err.code;
    if (threads == 1 && live != 0) printf("allocation %lld of the script:\n", at);
    /* Threads leave caches of the C library for the next ones. */
    if (threads == 1) CHECK_INT(live, 0);
    if (calls <= at) {
      check_ok(__FILE__, __LINE__, "run_script", status);
      CHECK(failed > 10);
      return;
    }
    if (status == SIDBEAM_OK) continue; /* it did without something optional */
    ++failed;
    if (status != SIDBEAM_OUT_OF_MEMORY) printf("allocation %lld of the script: %s\n", at, err.message);
    CHECK_INT(status, SIDBEAM_OUT_OF_MEMORY);
    CHECK_INT(reported, SIDBEAM_OUT_OF_MEMORY);
    CHECK(err.message[0] != '\0');
    if (at % 16 == 0) warm_up(threads); /* the next try succeeds */
  }
}

static void everything_that_was_taken_comes_back(void) {
  warm_up(1);
  warm_up(1);
  CHECK(calls > 0);
  CHECK_INT(live, 0);
}

static void a_failure_at_any_call_is_out_of_memory_and_leaks_nothing(void) { fail_at_every_call(1, 0); }
static void failing_from_any_call_on_is_out_of_memory_and_leaks_nothing(void) { fail_at_every_call(1, 1); }
static void failures_on_building_threads_do_not_crash(void) { fail_at_every_call(3, 0); }

static void steps_call_no_allocator_at_all(void) {
  for (int32_t strategy = SIDBEAM_STRATEGY_TRIE; strategy <= SIDBEAM_STRATEGY_NONE; ++strategy) {
    sidbeam_constraint* constraint = make_constraint(&small, ALL_KINDS);
    sidbeam_session_config config = session_config(constraint);
    config.strategy = strategy;
    config.normalization = SIDBEAM_NORMALIZE_FULL;
    config.slots = 4;
    config.beams = 64;
    sidbeam_session* session = make_session(&config);
    sidbeam_constraint_release(constraint);
    int64_t ordinals[256];
    sidbeam_items items = SIDBEAM_ITEMS_INIT;
    items.ordinals = ordinals;
    start_all(session);
    calls = 0;
    fail_at = -1;
    forever = 0;
    watching = 1;
    for (int i = 0; i < 3; ++i) step_all(session, halving);
    CHECK_OK(sidbeam_session_get_items(session, NULL, 4, &items, &err));
    watching = 0;
    CHECK_INT(calls, 0);
    sidbeam_session_destroy(session);
  }
}

int main(void) {
  static const test_case tests[] = {
      TEST(everything_that_was_taken_comes_back),
      TEST(a_failure_at_any_call_is_out_of_memory_and_leaks_nothing),
      TEST(failing_from_any_call_on_is_out_of_memory_and_leaks_nothing),
      TEST(failures_on_building_threads_do_not_crash),
      TEST(steps_call_no_allocator_at_all),
  };
  return RUN_TESTS(tests);
}
