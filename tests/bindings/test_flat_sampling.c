/* What draws, through the flat layer: modes of a session, the stateless draw, DISC. That draws have the right law is
 * tested in tests/sampling, that all languages have the same ones by the shared cases.
 * SPDX-License-Identifier: Apache-2.0 */
#include "flat_rig.h"

#define SHORT(call, text) REFUSED(call, SIDBEAM_INVALID_ARGUMENT, text)

static flat_handle* session_of(const rig* r, int32_t mode) {
  return flat_session_create(r->runtime, r->constraint, RIG_SLOTS, RIG_BEAMS, SIDBEAM_STRATEGY_TRIE,
                             SIDBEAM_NORMALIZE_FULL, 0, no_i64, no_i32, no_i64, -1, SIDBEAM_DEVICE_CPU, 0, 0, mode, 0,
                             &err);
}

/* All slots; what is none here is none in the call. */
typedef struct sampling {
  flat_in_i64 seeds, requests, draws;
  int64_t draw_stride;
  flat_in_i32 top_ks;
  flat_in_f32 top_ps, noise_scales;
} sampling;

static void start(flat_handle* session, sampling s) {
  flat_session_start(session, no_i32, 0, no_i64, no_i32, 0, no_i32, no_i32, 0, no_f32, no_f32, 0, s.seeds, s.requests,
                     s.draws, s.draw_stride, s.top_ks, s.top_ps, s.noise_scales, &err);
}

static void step(flat_handle* session) {
  flat_session_step(session, no_i32, (flat_memory){(void*)(uintptr_t)halving}, 4, SIDBEAM_DTYPE_F32, SIDBEAM_DEVICE_CPU,
                    0, RIG_SLOTS, RIG_BEAMS, RIG_COLUMNS, SIDBEAM_BROADCAST, SIDBEAM_BROADCAST, no_i32, no_f32, 0, 0,
                    no_f32, no_f32, 0, &err);
}

static void a_mode_decides_which_arrays_there_are(void) {
  rig r = make_rig(1);
  for (int32_t mode = SIDBEAM_MODE_SEARCH; mode <= SIDBEAM_MODE_STOCHASTIC; ++mode) {
    int64_t place[FLAT_BEAMS_COUNT];
    flat_handle* session;
    memset(place, 1, sizeof place);
    OKAY(session = session_of(&r, mode));
    OKAY(flat_session_get_beams(session, OUT_I64(place), &err));
    CHECK_INT(place[FLAT_BEAMS_LOG_MASSES] != 0, mode != SIDBEAM_MODE_SEARCH);
    CHECK_INT(place[FLAT_BEAMS_PERTURBED] != 0, mode == SIDBEAM_MODE_STOCHASTIC);
    CHECK_INT(place[FLAT_BEAMS_LOG_INCLUSIONS] != 0, mode == SIDBEAM_MODE_STOCHASTIC);
    CHECK_INT(place[FLAT_BEAMS_THRESHOLDS] != 0, mode == SIDBEAM_MODE_STOCHASTIC);
    flat_free(session);
  }
  free_rig(&r);
  CHECK_INT(returned(), 1);
}

static void a_start_checks_the_arrays_of_sampling(void) {
  rig r = make_rig(1);
  flat_handle* session;
  const flat_in_i64 two = IN_I64(1, 2);
  OKAY(session = session_of(&r, SIDBEAM_MODE_SAMPLE));
  SHORT(start(session, (sampling){.seeds = IN_I64(1), .requests = two}), "seeds has 1 elements, expected at least 2");
  SHORT(start(session, (sampling){.seeds = two, .requests = IN_I64(1)}),
        "requests has 1 elements, expected at least 2");
  SHORT(start(session, (sampling){.seeds = two, .requests = two, .draws = IN_I64(0, 1, 2, 3, 4, 5, 6)}),
        "draws has 7 elements, expected at least 8"); /* a stride of 0: the beams */
  SHORT(start(session, (sampling){.seeds = two, .requests = two, .draws = two, .draw_stride = 5}),
        "draws has 2 elements, expected at least 10");
  SHORT(start(session, (sampling){.seeds = two, .requests = two, .top_ks = IN_I32(1)}),
        "top_ks has 1 elements, expected at least 2");
  SHORT(start(session, (sampling){.seeds = two, .requests = two, .top_ps = IN_F32(1)}),
        "top_ps has 1 elements, expected at least 2");
  SHORT(start(session, (sampling){.seeds = two, .requests = two, .noise_scales = IN_F32(1)}),
        "noise_scales has 1 elements, expected at least 2");
  SHORT(start(session, (sampling){0}), "sampling is NULL, expected seeds and requests in mode SAMPLE");
  /* One array is enough to mean that something is drawn. */
  SHORT(start(session, (sampling){.top_ps = IN_F32(1, 1)}),
        "sampling.seeds is NULL, expected an array: equal seeds and requests draw alike");
  SHORT(start(r.session, (sampling){.seeds = two}),
        "sampling is given, expected NULL in mode SEARCH, which draws nothing");
  OKAY(start(session, (sampling){.seeds = two, .requests = two, .top_ks = IN_I32(0, 3)}));
  flat_free(session);
  free_rig(&r);
  CHECK_INT(returned(), 1);
}

static void draws_are_those_of_their_numbers(void) {
  rig r = make_rig(1);
  flat_handle* session;
  int64_t place[FLAT_BEAMS_COUNT] = {0};
  int32_t natural[RIG_BEAMS], reversed[RIG_BEAMS];
  const flat_in_i64 seeds = IN_I64(-7, 9), requests = IN_I64(3, 4), draws = IN_I64(3, 2, 1, 0, -1, 0, 1, 2, 3, -1);
  OKAY(session = session_of(&r, SIDBEAM_MODE_SAMPLE));
  OKAY(flat_session_get_beams(session, OUT_I64(place), &err));
  const int32_t* codes = (const int32_t*)(intptr_t)place[FLAT_BEAMS_CODES];
  OKAY(start(session, (sampling){.seeds = seeds, .requests = requests}));
  OKAY(step(session));
  memcpy(natural, codes, sizeof natural);
  OKAY(start(session, (sampling){.seeds = seeds, .requests = requests, .draws = draws, .draw_stride = 5}));
  OKAY(step(session));
  for (int m = 0; m < RIG_BEAMS; ++m) reversed[m] = codes[RIG_BEAMS - 1 - m];
  CHECK_I32(reversed, natural, RIG_BEAMS);
  flat_free(session);
  free_rig(&r);
  CHECK_INT(returned(), 1);
}

typedef struct sampled {
  int32_t codes[2];
  float log_probs[2], log_masses[2];
  int64_t next[2];
} sampled;

static void sample(flat_handle* set, flat_in_i32 which, flat_in_f32 scales, sampling s, int64_t room, sampled* to) {
  float rows[8];
  memcpy(rows, halving, sizeof halving);
  memcpy(rows + 4, halving, sizeof halving);
  flat_constraint_set_sample(set, which, IN_I64(0, 0), (flat_memory){rows}, 8, SIDBEAM_DTYPE_F32, SIDBEAM_DEVICE_CPU, 0,
                             2, 4, 0, SIDBEAM_NORMALIZE_FULL, scales, s.seeds, s.requests, s.draws, s.top_ks, s.top_ps,
                             (flat_out_i32){to->codes, room}, OUT_F32(to->log_probs), OUT_F32(to->log_masses),
                             OUT_I64(to->next), 0, &err);
}

static void the_stateless_draw_checks_its_arrays_and_draws_as_a_session_does(void) {
  rig r = make_rig(1);
  flat_handle *set, *session;
  sampled got;
  int64_t place[FLAT_BEAMS_COUNT] = {0};
  const sampling s = {.seeds = IN_I64(5, 6), .requests = IN_I64(8, 9)};
  OKAY(set = flat_constraint_set_create(r.runtime, IN_I64((int64_t)(intptr_t)r.constraint), no_i64, no_i32, no_i64, -1,
                                        SIDBEAM_DEVICE_CPU, 0, &err));
  SHORT(sample(set, IN_I32(0), no_f32, s, 2, &got), "which has 1 elements, expected at least 2");
  SHORT(sample(set, no_i32, IN_F32(1), s, 2, &got), "inverse_temperatures has 1 elements, expected at least 2");
  SHORT(sample(set, no_i32, no_f32, s, 1, &got), "codes has 1 elements, expected at least 2");
  SHORT(sample(set, no_i32, no_f32, (sampling){.seeds = IN_I64(1), .requests = s.requests}, 2, &got),
        "seeds has 1 elements, expected at least 2");
  SHORT(sample(set, no_i32, no_f32, (sampling){.seeds = s.seeds, .requests = s.requests, .draws = IN_I64(1)}, 2, &got),
        "draws has 1 elements, expected at least 2");
  SHORT(sample(set, no_i32, no_f32, (sampling){.seeds = s.seeds}, 2, &got),
        "sampling.requests is NULL, expected an array: equal seeds and requests draw alike");
  OKAY(sample(set, no_i32, no_f32, s, 2, &got));
  OKAY(session = session_of(&r, SIDBEAM_MODE_SAMPLE));
  OKAY(start(session, s));
  OKAY(step(session));
  OKAY(flat_session_get_beams(session, OUT_I64(place), &err));
  for (int i = 0; i < 2; ++i) {
    const int beam = i * RIG_BEAMS;
    CHECK_INT(got.codes[i], ((const int32_t*)(intptr_t)place[FLAT_BEAMS_CODES])[beam]);
    CHECK_INT(got.next[i], ((const int64_t*)(intptr_t)place[FLAT_BEAMS_STATES])[beam]);
    CHECK_F32(&got.log_probs[i], (const float*)(intptr_t)place[FLAT_BEAMS_SCORES] + beam, 1);
    CHECK_F32(&got.log_masses[i], (const float*)(intptr_t)place[FLAT_BEAMS_LOG_MASSES] + beam, 1);
  }
  flat_free(session);
  flat_free(set);
  free_rig(&r);
  CHECK_INT(returned(), 1);
}

/* Every draw is accepted: it has all of the mass. */
static void a_disc_asks_takes_and_answers(void) {
  flat_handle *runtime = rig_runtime(), *disc;
  int64_t draws[8], ordinals[2], used[2], rows[2];
  int32_t accepted[2];
  float log_probs[2], log_masses[2];
  OKAY(disc = flat_disc_create(runtime, 2, 3, 0, 0, 1, -5, 6, &err));
  flat_close(runtime); /* the disc holds it */
  REFUSED(flat_disc_get(disc, OUT_I64(ordinals), no_out_i64, no_out_i32, no_out_i64, no_out_i64,
                        (flat_out_f32){NULL, 0}, (flat_out_f32){NULL, 0}, &err),
          SIDBEAM_BAD_STATE, err.message); /* nothing is decided yet */
  CHECK(err.message[0] != 0);
  CHECK_INT(flat_disc_next(disc, (flat_out_i64){draws, 1}, &err), 1);
  CHECK_INT(flat_disc_next(disc, (flat_out_i64){draws + 1, 7}, &err), 1);
  CHECK_INT(err.code, SIDBEAM_OK);
  SHORT(flat_disc_add(disc, 2, (flat_in_i64){draws, 2}, IN_I64(4), IN_F32(-1, -2), IN_F32(0, 0), &err),
        "ordinals has 1 elements, expected at least 2");
  SHORT(flat_disc_add(disc, 2, (flat_in_i64){draws, 2}, IN_I64(4, 4), no_f32, IN_F32(0, 0), &err),
        "log_probs is missing, expected 2 elements");
  OKAY(flat_disc_add(disc, 2, (flat_in_i64){draws, 2}, IN_I64(4, 3), IN_F32(-1, -2), IN_F32(0, 0), &err));
  SHORT(flat_disc_get(disc, (flat_out_i64){ordinals, 1}, no_out_i64, no_out_i32, no_out_i64, no_out_i64,
                      (flat_out_f32){NULL, 0}, (flat_out_f32){NULL, 0}, &err),
        "ordinals has 1 elements, expected at least 2");
  OKAY(flat_disc_get(disc, OUT_I64(ordinals), (flat_out_i64){draws + 4, 2}, OUT_I32(accepted), OUT_I64(used),
                     OUT_I64(rows), OUT_F32(log_probs), OUT_F32(log_masses), &err));
  const int64_t wanted[] = {4, 3}, ones[] = {1, 1};
  CHECK_I64(ordinals, wanted, 2);
  CHECK_I64(draws + 4, draws, 2);
  CHECK_I64(used, ones, 2);
  CHECK_I64(rows, ones, 2);
  CHECK_I32(accepted, ((const int32_t[]){1, 1}), 2);
  CHECK_F32(log_probs, ((const float[]){-1, -2}), 2);
  CHECK_F32(log_masses, ((const float[]){0, 0}), 2);
  flat_free(disc);
  flat_free(runtime);
}

static void a_disc_serves_one_thread_and_says_when_it_is_closed(void) {
  flat_handle *runtime = rig_runtime(), *disc;
  int64_t draws[1];
  SHORT(flat_disc_create(runtime, 1, 0, 0, 0, 1, 0, 0, &err), err.message); /* no rounds */
  CHECK(strstr(err.message, "rounds is 0") != NULL);
  OKAY(disc = flat_disc_create(runtime, 0, 1, 0, 0, 0, 0, 0, &err));
  SHORT(flat_disc_next(runtime, OUT_I64(draws), &err), "disc is runtime, expected a handle of it");
  fl_clear(&err);
  CHECK(fl_enter(disc, FLAT_DISC, &err) != NULL);
  REFUSED(flat_disc_next(disc, OUT_I64(draws), &err), SIDBEAM_BAD_STATE, "disc is in use by another thread");
  fl_leave(disc);
  OKAY(flat_disc_next(disc, OUT_I64(draws), &err));
  flat_close(disc);
  REFUSED(flat_disc_next(disc, OUT_I64(draws), &err), SIDBEAM_BAD_STATE, "disc is closed");
  flat_free(disc);
  flat_free(runtime);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_mode_decides_which_arrays_there_are),
      TEST(a_start_checks_the_arrays_of_sampling),
      TEST(draws_are_those_of_their_numbers),
      TEST(the_stateless_draw_checks_its_arrays_and_draws_as_a_session_does),
      TEST(a_disc_asks_takes_and_answers),
      TEST(a_disc_serves_one_thread_and_says_when_it_is_closed),
  };
  return RUN_TESTS(tests);
}
