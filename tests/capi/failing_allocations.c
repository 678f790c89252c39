/* SPDX-License-Identifier: Apache-2.0 */
#include "failing_allocations.h"

#include "harness.h"

static sidbeam_status watched(const allocating_work* work, long long fail_at) {
  clear_error();
  malloc_faults_begin(fail_at, work->forever);
  const sidbeam_status status = work->run(work->world, &err);
  malloc_faults_end();
  if (!work->keeps && malloc_live() != 0) {
    printf("allocation %lld: %s\n", fail_at, err.message);
    CHECK_INT(malloc_live(), 0);
  }
  return status;
}

/* Also fills the caches of the C and C++ libraries that stay. */
static void succeeds(const allocating_work* work) { CHECK_OK(work->run(work->world, &err)); }

int fail_every_allocation(const allocating_work* work) {
  int failed = 0;
  succeeds(work);
  for (long long at = 0;; ++at) {
    const sidbeam_status status = watched(work, at);
    if (malloc_calls() <= at) {
      check_ok(__FILE__, __LINE__, "the last run", status);
      return failed;
    }
    if (status == SIDBEAM_OK) continue; /* it did without something optional */
    ++failed;
    if (status != SIDBEAM_OUT_OF_MEMORY) printf("allocation %lld: %s\n", at, err.message);
    CHECK_INT(status, SIDBEAM_OUT_OF_MEMORY);
    CHECK_INT(err.code, SIDBEAM_OUT_OF_MEMORY);
    CHECK(err.message[0] != '\0');
    if (at % 16 == 0) succeeds(work);
  }
}
