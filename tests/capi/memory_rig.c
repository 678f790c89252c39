/* SPDX-License-Identifier: Apache-2.0 */
#include "memory_rig.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A new process begins with what its parent has in memory at that moment, whatever the parent's own peak. */
static int64_t peak_bytes(void) {
  FILE* const status = fopen("/proc/self/status", "r");
  char line[256];
  int64_t kilobytes = -1;
  while (status != NULL && fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, "VmHWM:", 6) == 0) kilobytes = strtoll(line + 6, NULL, 10);
  if (status != NULL) fclose(status);
  return kilobytes < 0 ? -1 : kilobytes * 1024;
}

int peaks_are_told(void) { return peak_bytes() > 0; }

typedef struct measurement {
  void (*work)(const void* argument);
  const void* argument;
  int64_t bytes;
} measurement;

static measurement measured;

/* Without huge pages: how many whole ones fit is chance, by where the kernel puts things, and moves a peak by 2 MiB. */
static void measure(void) {
  CHECK(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0);
  const int64_t before = peak_bytes();
  measured.work(measured.argument);
  measured.bytes = peak_bytes() - before;
}

int64_t peak_of(void (*work)(const void* argument), const void* argument) {
  static const test_case in_child = TEST(measure);
  int ends[2], status = 0;
  measured = (measurement){work, argument, -1};
  fflush(NULL);
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    if (run_tests(&in_child, 1) != EXIT_SUCCESS) _exit(1);
    _exit(write(ends[1], &measured.bytes, sizeof measured.bytes) == (ssize_t)sizeof measured.bytes ? 0 : 1);
  }
  close(ends[1]);
  const ssize_t got = read(ends[0], &measured.bytes, sizeof measured.bytes);
  close(ends[0]);
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK_INT(got, (int64_t)sizeof measured.bytes);
  return measured.bytes;
}
