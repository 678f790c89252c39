/* malloc and its like, replaced for the whole program: counts calls, and lets the n-th fail. Not for builds with
 * sanitizers, which replace them too. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_CAPI_MALLOC_FAULTS_H
#define SIDBEAM_TESTS_CAPI_MALLOC_FAULTS_H

/* Until end: call number fail_at (-1: none), or with `forever` every call from that on, returns NULL. */
void malloc_faults_begin(long long fail_at, int forever);
void malloc_faults_end(void);
/* Between the last begin and end: calls, and blocks that were taken and have not come back. */
long long malloc_calls(void);
long long malloc_live(void);

#endif
