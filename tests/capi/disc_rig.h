/* What the tests of DISC share: draws whose fate a test decides, and runs of a disc to its end.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_CAPI_DISC_RIG_H
#define SIDBEAM_TESTS_CAPI_DISC_RIG_H

#include "fixtures.h"

enum { MOST_DRAWS = 4096 };

/* What the model of a test makes of a draw. */
typedef struct fate {
  int64_t ordinal;
  float log_mass;
} fate;
typedef fate (*fate_of)(int64_t draw);

extern const fate dead;
fate all_accepted(int64_t draw);
fate always_five(int64_t draw);

typedef struct disc_outcome {
  int64_t ordinals[256], draws[256], used[256], rows[256];
  int32_t accepted[256];
  float log_probs[256], log_masses[256];
} disc_outcome;

sidbeam_disc* make_disc(const sidbeam_disc_config* config);
sidbeam_disc_config disc_config(int32_t results, int32_t rounds, int32_t side_by_side);
sidbeam_status add_fates(sidbeam_disc* disc, const int64_t* numbers, int64_t count, fate_of of);
sidbeam_status get_results(const sidbeam_disc* disc, disc_outcome* to);
/* How many draws were handed out. */
int64_t next_of(sidbeam_disc* disc, int64_t capacity, int64_t* draws);
/* Runs one to its end, `capacity` draws at a time, in the order in which they come; returns how many were run. */
int64_t run_config(const sidbeam_disc_config* config, int64_t capacity, fate_of of, disc_outcome* to);

#endif
