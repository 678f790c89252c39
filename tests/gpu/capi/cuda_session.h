/* Sessions of two slots of four beams on a device, what they show, and what the CPU shows.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_GPU_CAPI_CUDA_SESSION_H
#define SIDBEAM_TESTS_GPU_CAPI_CUDA_SESSION_H

#include "../../capi/fixtures.h"
#include "device.h"

enum { SLOTS = 2, BEAMS = 4, LEVELS = 3, CODES = 4 };

sidbeam_session_config cuda_config(sidbeam_constraint* constraint);
/* Of a runtime that nobody else holds. The session is gone again. */
sidbeam_status create(const sidbeam_session_config* config);
/* Every logits row of SLOTS slots is the same four elements, on the device. */
sidbeam_rows device_rows(const float* row);
/* All slots. */
sidbeam_status step(sidbeam_session* session, const sidbeam_rows* rows, void* stream);
/* One slot. */
sidbeam_status start_under(sidbeam_session* session, int32_t slot, sidbeam_constraint* constraint, void* stream);

typedef struct moment {
  int32_t parents[SLOTS * BEAMS], codes[SLOTS * BEAMS], live[SLOTS], active[SLOTS], level[SLOTS], errors[SLOTS];
  float scores[SLOTS * BEAMS];
  sidbeam_state states[SLOTS * BEAMS];
} moment;
/* Once all work is done. */
moment moment_of(sidbeam_session* session);
void check_same(const moment* actual, const moment* expected);
void check_unmoved(sidbeam_session* session, const moment* before);
/* What a session on the CPU shows after `steps` steps of both slots. */
moment on_cpu(const catalogue* from, int steps);
moment under_on_cpu(sidbeam_constraint* constraint, int steps);

typedef struct bench {
  sidbeam_constraint* constraint;
  sidbeam_session* session;
  float* row; /* on the device: halving */
  sidbeam_rows rows;
} bench;
/* Both slots started, one step done: by the trie, of log-probabilities, or otherwise. */
bench set_up(void);
bench set_up_with(int32_t strategy, int32_t normalization);
/* No memory may be left. */
void tear_down(bench* b);
void check_nothing_is_left(void);

#endif
