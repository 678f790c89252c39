/* Uses all that an opened index offers, whatever its bytes say. The answers of a damaged index may be wrong; the tests
 * look for a read outside it, a crash or SIDBEAM_INTERNAL. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_CAPI_EXERCISE_H
#define SIDBEAM_TESTS_CAPI_EXERCISE_H

#include <sidbeam/sidbeam.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0, or the number of calls that gave SIDBEAM_INTERNAL, or of codes, columns and nodes that cannot be. `noise`
 * varies prefixes, logits and choices; if it is even, sessions draw as well, otherwise there is a speculation. */
int exercise_index(sidbeam_runtime* runtime, sidbeam_index* index, uint32_t noise);
/* Steps of searches, stateless calls, steps of draws, and rounds of a speculation of the last exercise that succeeded;
 * some must, unless something is damaged. */
int exercised_steps(void);
int exercised_rows(void);
int exercised_draws(void);
int exercised_rounds(void);

#ifdef __cplusplus
}
#endif
#endif
