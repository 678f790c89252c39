/* sidbeam: DISC, exact sampling from P restricted to the items (DISC-PPV, Algorithm 1).
 *
 * A draw a of sampling.h is accepted with probability x(a); accepted draws follow P(a)/P(catalogue) exactly. A result
 * makes at most K such rounds. If all are rejected it takes one of K fresh draws, with probability x(a_k) / sum x(a_k).
 * With K = 1 that is the one fresh draw, whatever its x: a rejected round gives a plain draw.
 * KL from the exact law is at most p^K (sqrt(p/(K(1-p))) + p/(2K(1-p))), with p = 1 - P(catalogue) (theorem 3.1, with
 * the constants of its proof). Dead draws count as rejected; if all fresh ones are dead the result is dead, which is no
 * error.
 *
 *   next -> the draws to run: start a slot of a MODE_SAMPLE session with the same seed and request, and these as
 *           sidbeam_sampling.draws; step it to its end -> add -> next ... -> get
 *
 * The session's normalization is FULL or LEVEL, or NONE if rows are log-probabilities. Not VALID: its log_mass is 0, so
 * that every draw would be accepted and nothing corrected; this object cannot see that. The codes and items of a
 * result's ordinal are sidbeam_index_sid(), sidbeam_index_item_rows() with sidbeam_index_item_id().
 *
 * The host runs the draws, as few or as many at a time as it likes, on any device: results do not depend on that. One
 * object serves one request. With n results and K rounds it wants at most 2 K n draws, or `attempts` times as many
 * without replacement. Draws that were run ahead and turn out not to be needed cost rows, never bias.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_DISC_H
#define SIDBEAM_DISC_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sidbeam_disc_config {
  uint32_t struct_size; /* sizeof(sidbeam_disc_config) */
  int32_t results;      /* n: independent results of the request, 1 .. 2^20; 0: 1 */
  int32_t rounds;       /* K, 1 .. 2^10 */
  /* 1: results are different SIDs: one that repeats an earlier result is drawn again, with draws of its own. */
  int32_t without_replacement;
  /* Most times that a result is drawn, without replacement; then it is dead. 1 .. 2^20; 0: 1000. */
  int32_t attempts;
  /* Draws of a result that next() hands out at a time, 1 .. 2K: 1 runs them one after the other, 2K all side by side;
   * 0: 1. */
  int32_t side_by_side;
  int64_t seed, request; /* those of the draws: acceptance uses the same key, with counters of its own */
} sidbeam_disc_config;
#define SIDBEAM_DISC_CONFIG_INIT \
  { (uint32_t)sizeof(sidbeam_disc_config), 1, 1, 0, 0, 1, 0, 0 }

/* What became of draws: arrays of [count]. */
typedef struct sidbeam_disc_draws {
  uint32_t struct_size;    /* sizeof(sidbeam_disc_draws) */
  int64_t count;           /* at least 0 */
  const int64_t* draws;    /* their numbers, in any order */
  const int64_t* ordinals; /* of sidbeam_session_get_items; -1: the draw is dead */
  const float* log_probs;  /* log P: beams.scores; not read where dead */
  const float* log_masses; /* log x: beams.log_masses; not read where dead */
} sidbeam_disc_draws;
#define SIDBEAM_DISC_DRAWS_INIT \
  { (uint32_t)sizeof(sidbeam_disc_draws), 0, NULL, NULL, NULL, NULL }

/* The results, into the caller's buffers of [n]; any pointer may be NULL. */
typedef struct sidbeam_disc_results {
  uint32_t struct_size; /* sizeof(sidbeam_disc_results) */
  int64_t* ordinals;    /* -1: dead */
  int64_t* draws;       /* number of the draw that became the result; -1: dead */
  int32_t* accepted;    /* 1: accepted; 0: resampled, or dead */
  /* Draws that decided it, as the paper counts them: k where the k-th was accepted, 2K where K were resampled; summed
   * over the attempts. Its mean is (1 - p^K)/(1 - p) + K p^K. */
  int64_t* draws_used;
  int64_t* rows_run; /* draws of this result that were added, needed or not */
  float* log_probs;  /* log P of the SID; -inf: dead */
  float* log_masses; /* log x */
} sidbeam_disc_results;
#define SIDBEAM_DISC_RESULTS_INIT \
  { (uint32_t)sizeof(sidbeam_disc_results), NULL, NULL, NULL, NULL, NULL, NULL, NULL }

/* Makes one. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_disc_create(
    sidbeam_runtime* runtime, const sidbeam_disc_config* config, sidbeam_disc** out, sidbeam_error* err);
/* The next draws to run, at most `capacity` of them, into draws [capacity]. *count 0: every result is decided, or all
 * draws that are wanted have been handed out and not all of them added yet. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_disc_next(
    sidbeam_disc* disc, int64_t capacity, int64_t* draws, int64_t* count, sidbeam_error* err);
/* Takes draws that next() handed out. A result can be decided once all of its draws that were handed out are added;
 * without replacement those before it must be decided too. Errors: INVALID_ARGUMENT (a draw that was not handed out, or
 * was added before; an ordinal below -1; a log_mass that is NaN or above 0.001), then nothing is added. One between 0
 * and 0.001 counts as 0: rows of log-probabilities, or a caller's lse, leave x a little above 1 by rounding. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_disc_add(
    sidbeam_disc* disc, const sidbeam_disc_draws* draws, sidbeam_error* err);
/* Errors: BAD_STATE while a result is not decided. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_disc_get(
    const sidbeam_disc* disc, sidbeam_disc_results* out, sidbeam_error* err);
SIDBEAM_API void sidbeam_disc_destroy(sidbeam_disc* disc);

#ifdef __cplusplus
}
#endif
#endif
