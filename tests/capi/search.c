/* SPDX-License-Identifier: Apache-2.0 */
#include "search.h"

static const int32_t level_codes[LEVELS] = {CODES, 40, 40, 9};
static int32_t sids[SIDS][LEVELS];

static uint32_t noise(uint32_t* state) { return (*state = *state * 1664525u + 1013904223u) >> 8; }

sidbeam_constraint* large_constraint(int32_t kinds) {
  catalogue from = {0};
  uint32_t state = 7;
  for (int i = 0; i < SIDS; ++i)
    for (int l = 0; l < LEVELS; ++l) sids[i][l] = (int32_t)(noise(&state) % (uint32_t)level_codes[l]);
  from.levels = LEVELS;
  from.codes = level_codes;
  from.sids = &sids[0][0];
  from.count = SIDS;
  return make_constraint(&from, kinds);
}

static sidbeam_status start(sidbeam_session* session, int32_t mode, sidbeam_error* error) {
  static const int32_t lengths[SLOTS] = {0, 1, 2, 1, 0}, widths[SLOTS] = {0, 33, 7, 1, 40};
  static const int64_t seeds[SLOTS] = {1, 1, 2, -3, 1}, requests[SLOTS] = {0, 1, 0, 1, 2};
  int32_t prefixes[SLOTS][LEVELS];
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  for (int i = 0; i < SLOTS; ++i) memcpy(prefixes[i], sids[i], sizeof prefixes[i]);
  args.widths = widths;
  args.prefixes = &prefixes[0][0];
  args.prefix_lengths = lengths;
  sampling.seeds = seeds;
  sampling.requests = requests;
  if (mode != SIDBEAM_MODE_SEARCH) args.sampling = &sampling;
  return sidbeam_session_start(session, &args, error);
}

/* Ties throughout, one logits row in nine with a NaN. */
static void draw_logits(float (*rows)[COLUMNS], uint32_t* state) {
  for (int row = 0; row < SLOTS * BEAMS; ++row) {
    for (int column = 0; column < COLUMNS; ++column) rows[row][column] = (float)(noise(state) % 64) / 8;
    if (noise(state) % 9 == 0) rows[row][noise(state) % COLUMNS] = NAN;
  }
}

static void keep(record* found, int step, const sidbeam_beams* beams) {
  memcpy(found->parents[step], beams->parents, sizeof found->parents[step]);
  memcpy(found->codes[step], beams->codes, sizeof found->codes[step]);
  memcpy(found->scores[step], beams->scores, sizeof found->scores[step]);
  if (beams->log_masses != NULL) memcpy(found->log_masses[step], beams->log_masses, sizeof found->log_masses[step]);
  memcpy(found->states[step], beams->states, sizeof found->states[step]);
  memcpy(found->live[step], beams->live, sizeof found->live[step]);
  memcpy(found->active[step], beams->active, sizeof found->active[step]);
  memcpy(found->level[step], beams->level, sizeof found->level[step]);
  memcpy(found->errors[step], beams->errors, sizeof found->errors[step]);
}

sidbeam_status search_in(search* s, sidbeam_session* session, float (*logits)[COLUMNS]) {
  uint32_t state = 99;
  sidbeam_status status = start(session, s->mode, &s->error);
  for (int step = 0; status == SIDBEAM_OK && step < LEVELS; ++step) {
    const sidbeam_rows rows = make_rows(&logits[0][0], SLOTS, BEAMS, COLUMNS);
    sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
    sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
    args.rows = &rows;
    draw_logits(logits, &state);
    status = sidbeam_session_step(session, &args, &s->error);
    if (status == SIDBEAM_OK) status = sidbeam_session_get_beams(session, &beams, &s->error);
    if (status == SIDBEAM_OK) keep(&s->found, step, &beams);
  }
  return status;
}

sidbeam_status make_search_session(search* s, sidbeam_session** out) {
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  s->error = (sidbeam_error)SIDBEAM_ERROR_INIT;
  s->stats = (sidbeam_stats)SIDBEAM_STATS_INIT;
  memset(&s->found, 0, sizeof s->found);
  config.constraint = s->constraint;
  config.slots = SLOTS;
  config.beams = BEAMS;
  config.strategy = s->strategy;
  config.normalization = s->normalization;
  config.mode = s->mode;
  return sidbeam_session_create(s->runtime, &config, out, &s->error);
}

static sidbeam_status read_counters(search* s, const sidbeam_session* session) {
  const char* names[32];
  int64_t values[32], count = 0;
  const sidbeam_status status = sidbeam_session_get_counters(session, COUNT(names), names, values, &count, &s->error);
  s->slot_steps = s->split_slots = -1;
  for (int64_t i = 0; status == SIDBEAM_OK && i < count; ++i) {
    if (strcmp(names[i], "slot_steps") == 0) s->slot_steps = values[i];
    if (strcmp(names[i], "split_slots") == 0) s->split_slots = values[i];
  }
  return status;
}

void run_search(search* s) {
  sidbeam_session* session = NULL;
  float(*logits)[COLUMNS] = malloc(sizeof *logits * SLOTS * BEAMS);
  s->status = logits == NULL ? SIDBEAM_OUT_OF_MEMORY : make_search_session(s, &session);
  if (s->status == SIDBEAM_OK) s->status = search_in(s, session, logits);
  if (s->status == SIDBEAM_OK) s->status = sidbeam_session_get_stats(session, &s->stats, &s->error);
  if (s->status == SIDBEAM_OK) s->status = read_counters(s, session);
  sidbeam_session_destroy(session);
  free(logits);
}
