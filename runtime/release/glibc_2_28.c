/* What objects that were compiled against a newer glibc ask for and glibc 2.28 does not have. Hidden: each library that
 * release.sh links for old systems has its own. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#pragma GCC visibility push(hidden)

/* Since 2.32, read by libstdc++'s reference counts: with 0 they are always atomic. */
char __libc_single_threaded = 0;

/* Since 2.32: glibc's own, static text where it knows the error, which is in English as long as the host sets no other
 * language of messages. */
const char* strerrordesc_np(int error) {
  static __thread char unknown[64];
  return strerror_r(error, unknown, sizeof unknown);
}

/* Since 2.30, used by waits until a time of the steady clock. Before, as in libstdc++ then: until the time of the
 * system's clock that is as far away; callers look at their own clock again. */
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  typedef int (*clockwait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
  const clockwait newer = __extension__(clockwait) dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
  struct timespec now, system;
  if (newer != NULL) return newer(condition, mutex, clock, until);
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &system);
  system.tv_sec += until->tv_sec - now.tv_sec;
  system.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (system.tv_nsec < 0) system.tv_sec--, system.tv_nsec += 1000000000;
  if (system.tv_nsec >= 1000000000) system.tv_sec++, system.tv_nsec -= 1000000000;
  return pthread_cond_timedwait(condition, mutex, &system);
}

/* Since 2.36, used by std::random_device. */
uint32_t arc4random(void) {
  uint32_t value;
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
    if (errno != EINTR) abort();
  }
  return value;
}

#pragma GCC visibility pop
