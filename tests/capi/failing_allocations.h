/* Every allocation of a piece of work, made to fail in turn. Not for builds with sanitizers (malloc_faults.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_CAPI_FAILING_ALLOCATIONS_H
#define SIDBEAM_TESTS_CAPI_FAILING_ALLOCATIONS_H

#include "malloc_faults.h"
#include "sidbeam/base.h"

typedef struct allocating_work {
  sidbeam_status (*run)(void* world, sidbeam_error* error); /* undoes what it did */
  void* world;
  int forever; /* not one call fails, but that one and all after it */
  int keeps;   /* what is taken need not come back: threads leave caches of the C library for the next ones */
} allocating_work;

/* Runs the work until it makes fewer calls than the one that is to fail. Expects OUT_OF_MEMORY with a message, or OK
 * where it did without something optional, nothing left behind, and that a run without failures then succeeds. Returns
 * how many runs failed. */
int fail_every_allocation(const allocating_work* work);

#endif
