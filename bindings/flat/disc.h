/* DISC: exact sampling, over draws that the caller runs. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_DISC_H
#define SIDBEAM_FLAT_DISC_H

static inline void fl_destroy_disc(void* object) { sidbeam_disc_destroy((sidbeam_disc*)object); }

/* As in sidbeam_disc_config. */
static inline flat_handle* flat_disc_create(flat_handle* runtime, int32_t results, int32_t rounds,
                                            int32_t without_replacement, int32_t attempts, int32_t side_by_side,
                                            int64_t seed, int64_t request, sidbeam_error* err) {
  sidbeam_disc_config config = SIDBEAM_DISC_CONFIG_INIT;
  sidbeam_disc* disc = NULL;
  flat_handle* handle = NULL;
  void* object;
  fl_clear(err);
  config.results = results;
  config.rounds = rounds;
  config.without_replacement = without_replacement;
  config.attempts = attempts;
  config.side_by_side = side_by_side;
  config.seed = seed;
  config.request = request;
  object = fl_share(runtime, FLAT_RUNTIME, err);
  if (object == NULL) return NULL;
  if (sidbeam_disc_create((sidbeam_runtime*)object, &config, &disc, err) == SIDBEAM_OK) {
    handle = fl_box(FLAT_DISC, disc, fl_destroy_disc);
    handle->results = results > 0 ? results : 1;
  }
  fl_drop_user(runtime);
  return handle;
}

/* Returns the number of draws that are written, at most as many as there is room for. */
static inline int64_t flat_disc_next(flat_handle* disc, flat_out_i64 draws, sidbeam_error* err) {
  int64_t count = 0;
  void* object;
  fl_clear(err);
  object = fl_enter(disc, FLAT_DISC, err);
  if (object == NULL) return 0;
  if (sidbeam_disc_next((sidbeam_disc*)object, draws.count, draws.data, &count, err) != SIDBEAM_OK) count = 0;
  fl_leave(disc);
  return count;
}

/* draws, ordinals, log_probs, log_masses [count]. */
static inline void flat_disc_add(flat_handle* disc, int64_t count, flat_in_i64 draws, flat_in_i64 ordinals,
                                 flat_in_f32 log_probs, flat_in_f32 log_masses, sidbeam_error* err) {
  sidbeam_disc_draws added = SIDBEAM_DISC_DRAWS_INIT;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, draws, count) || !FLAT_GIVEN(err, ordinals, count) || !FLAT_GIVEN(err, log_probs, count) ||
      !FLAT_GIVEN(err, log_masses, count))
    return;
  object = fl_enter(disc, FLAT_DISC, err);
  if (object == NULL) return;
  added.count = count;
  added.draws = draws.data;
  added.ordinals = ordinals.data;
  added.log_probs = log_probs.data;
  added.log_masses = log_masses.data;
  (void)!sidbeam_disc_add((sidbeam_disc*)object, &added, err);
  fl_leave(disc);
}

/* Each [results] or none. */
static inline void flat_disc_get(flat_handle* disc, flat_out_i64 ordinals, flat_out_i64 draws, flat_out_i32 accepted,
                                 flat_out_i64 draws_used, flat_out_i64 rows_run, flat_out_f32 log_probs,
                                 flat_out_f32 log_masses, sidbeam_error* err) {
  sidbeam_disc_results out = SIDBEAM_DISC_RESULTS_INIT;
  void* object;
  fl_clear(err);
  object = fl_enter(disc, FLAT_DISC, err);
  if (object == NULL) return;
  out.ordinals = ordinals.data;
  out.draws = draws.data;
  out.accepted = accepted.data;
  out.draws_used = draws_used.data;
  out.rows_run = rows_run.data;
  out.log_probs = log_probs.data;
  out.log_masses = log_masses.data;
  if (FLAT_NEED(err, ordinals, disc->results) && FLAT_NEED(err, draws, disc->results) &&
      FLAT_NEED(err, accepted, disc->results) && FLAT_NEED(err, draws_used, disc->results) &&
      FLAT_NEED(err, rows_run, disc->results) && FLAT_NEED(err, log_probs, disc->results) &&
      FLAT_NEED(err, log_masses, disc->results))
    (void)!sidbeam_disc_get((sidbeam_disc*)object, &out, err);
  fl_leave(disc);
}

#endif
