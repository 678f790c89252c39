/* A search over a catalogue large enough that its steps are divided among threads, and all that it leaves behind.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_CAPI_SEARCH_H
#define SIDBEAM_TESTS_CAPI_SEARCH_H

#include "fixtures.h"

enum { LEVELS = 4, CODES = 80, SIDS = 4000, SLOTS = 5, BEAMS = 40, COLUMNS = CODES + 7 };

/* Everything that steps leave behind. */
typedef struct record {
  int32_t parents[LEVELS][SLOTS * BEAMS], codes[LEVELS][SLOTS * BEAMS];
  uint32_t scores[LEVELS][SLOTS * BEAMS];     /* as bits */
  uint32_t log_masses[LEVELS][SLOTS * BEAMS]; /* in the modes that sample */
  sidbeam_state states[LEVELS][SLOTS * BEAMS];
  int32_t live[LEVELS][SLOTS], active[LEVELS][SLOTS], level[LEVELS][SLOTS], errors[LEVELS][SLOTS];
} record;

typedef struct search {
  sidbeam_runtime* runtime;
  sidbeam_constraint* constraint;
  int32_t strategy, normalization, mode;
  record found;
  sidbeam_stats stats;
  int64_t slot_steps, split_slots; /* counters */
  sidbeam_error error;
  sidbeam_status status; /* of the first call that failed; a thread may not leave through longjmp */
} search;

/* SIDS random SIDs. */
sidbeam_constraint* large_constraint(int32_t kinds);
/* A session of SLOTS slots and BEAMS beams. This and what follows may run on any thread, also in a child. */
sidbeam_status make_search_session(search* s, sidbeam_session** out);
/* Starts the slots at levels 0, 1, 2, 1 and 0, with several widths, and steps them to their end. The caller has the
 * memory for the logits, [SLOTS * BEAMS]. */
sidbeam_status search_in(search* s, sidbeam_session* session, float (*logits)[COLUMNS]);
/* Does both, and destroys the session; s has the outcome. */
void run_search(search* s);

#endif
