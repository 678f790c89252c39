/* runtime/release/glibc_2_28.c as on a system whose glibc has nothing newer, with clocks and a wait of this test's.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static struct timespec steady, calendar, waited_until;

static void* no_symbol(void* library, const char* name) { return (void)library, (void)name, NULL; }

static int clock_of_test(clockid_t clock, struct timespec* now) {
  *now = clock == CLOCK_REALTIME ? calendar : steady;
  return 0;
}

static int wait_of_test(pthread_cond_t* condition, pthread_mutex_t* mutex, const struct timespec* until) {
  (void)condition, (void)mutex;
  waited_until = *until;
  return ETIMEDOUT;
}

#define dlsym no_symbol
#define clock_gettime clock_of_test
#define pthread_cond_timedwait wait_of_test
#include "../../runtime/release/glibc_2_28.c"

#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

static void wait_is_as_far_away(struct timespec until, struct timespec expected) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  EXPECT(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
  EXPECT(waited_until.tv_sec == expected.tv_sec);
  EXPECT(waited_until.tv_nsec == expected.tv_nsec);
}

int main(void) {
  steady = (struct timespec){100, 500000000};
  calendar = (struct timespec){1700000000, 200000000};
  wait_is_as_far_away((struct timespec){103, 600000000}, (struct timespec){1700000003, 300000000});
  wait_is_as_far_away((struct timespec){103, 100000000}, (struct timespec){1700000002, 800000000}); /* a second less */
  calendar.tv_nsec = 999999999;
  wait_is_as_far_away((struct timespec){100, 500000001}, (struct timespec){1700000001, 0}); /* and one more */
  wait_is_as_far_away((struct timespec){99, 0}, (struct timespec){1699999999, 499999999});  /* is over */

  EXPECT(strcmp(strerrordesc_np(ENOENT), "No such file or directory") == 0);
  EXPECT(strcmp(strerrordesc_np(123456), "Unknown error 123456") == 0);
  EXPECT(__libc_single_threaded == 0);
  uint32_t all = 0;
  for (int i = 0; i < 64; i++) all |= arc4random();
  EXPECT(all == UINT32_MAX);
  puts("what glibc 2.28 lacks: passed");
  return 0;
}
