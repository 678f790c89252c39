/* Peaks of memory, each measured in a process of its own. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_CAPI_MEMORY_RIG_H
#define SIDBEAM_TESTS_CAPI_MEMORY_RIG_H

#include "harness.h"

/* Whether the system tells peaks. */
int peaks_are_told(void);
/* Runs work(argument) in a child and returns the bytes that it had in memory at most beyond those at its start. A
 * child in which a check fails, or which ends early, fails the test. */
int64_t peak_of(void (*work)(const void* argument), const void* argument);

#endif
