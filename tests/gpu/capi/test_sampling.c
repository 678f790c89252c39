/* Sampling on a device: what must be refused, what only the device can see, failing launches, captures.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda_session.h"

#define IS_OF_THE_HOST " is memory of the host, expected memory of CUDA device 0"
#define IS_OF_THE_DEVICE " is memory of CUDA device 0, expected memory of the host"

static const int64_t seeds[SLOTS] = {3, 4}, requests[SLOTS] = {0, 1};

static sidbeam_sampling seeded(void) {
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sampling.seeds = seeds;
  sampling.requests = requests;
  return sampling;
}

typedef struct sampler {
  sidbeam_constraint* constraint;
  sidbeam_session* session;
  float* row;
  sidbeam_rows rows;
} sampler;

/* Nothing is started yet. */
static sampler make_sampler_with(int32_t device_type, int32_t mode, int32_t beams, int32_t normalization) {
  sampler s;
  s.constraint = make_constraint(&small, ALL_KINDS);
  sidbeam_session_config config = cuda_config(s.constraint);
  config.device_type = device_type;
  config.normalization = normalization;
  config.mode = mode;
  config.beams = beams;
  s.session = make_session(&config);
  s.row = device_type == SIDBEAM_DEVICE_CUDA ? on_device(halving, sizeof halving) : NULL;
  s.rows = same_row(s.row != NULL ? s.row : halving, SLOTS, beams, CODES);
  s.rows.device_type = device_type;
  return s;
}

static sampler make_sampler(int32_t device_type, int32_t mode, int32_t beams) {
  return make_sampler_with(device_type, mode, beams, SIDBEAM_NORMALIZE_VALID);
}

static void drop_sampler(sampler* s) {
  sidbeam_session_destroy(s->session);
  sidbeam_constraint_release(s->constraint);
  if (s->row != NULL) release_device(s->row);
  check_nothing_is_left();
}

static sidbeam_status start_with(const sampler* s, const sidbeam_sampling* sampling) {
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.sampling = sampling;
  return sidbeam_session_start(s->session, &args, &err);
}

static sidbeam_beams shown_by(const sampler* s) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  CHECK_OK(sidbeam_session_fetch(s->session, &beams, NULL, &err));
  wait_device();
  return beams;
}

static void lists_of_a_start_are_the_hosts(void) {
  sampler s = make_sampler(SIDBEAM_DEVICE_CUDA, SIDBEAM_MODE_SAMPLE, BEAMS);
  int64_t* there = device_memory(SLOTS * BEAMS * sizeof *there);
  sidbeam_sampling sampling = seeded();
  sampling.seeds = there;
  CHECK_FAILS(start_with(&s, &sampling), SIDBEAM_INVALID_ARGUMENT, "sampling.seeds" IS_OF_THE_DEVICE);
  sampling = seeded();
  sampling.requests = there;
  CHECK_FAILS(start_with(&s, &sampling), SIDBEAM_INVALID_ARGUMENT, "sampling.requests" IS_OF_THE_DEVICE);
  sampling = seeded();
  sampling.draws = there;
  CHECK_FAILS(start_with(&s, &sampling), SIDBEAM_INVALID_ARGUMENT, "sampling.draws" IS_OF_THE_DEVICE);
  sampling = seeded();
  sampling.top_ks = (const int32_t*)there;
  CHECK_FAILS(start_with(&s, &sampling), SIDBEAM_INVALID_ARGUMENT, "sampling.top_ks" IS_OF_THE_DEVICE);
  sampling = seeded();
  sampling.top_ps = (const float*)there;
  CHECK_FAILS(start_with(&s, &sampling), SIDBEAM_INVALID_ARGUMENT, "sampling.top_ps" IS_OF_THE_DEVICE);
  sampling = seeded();
  sampling.noise_scales = (const float*)there;
  CHECK_FAILS(start_with(&s, &sampling), SIDBEAM_INVALID_ARGUMENT, "sampling.noise_scales" IS_OF_THE_DEVICE);
  CHECK_INT(shown_by(&s).level[0], -1);
  release_device(there);
  drop_sampler(&s);
}

/* What a session shows, its arrays that only some modes have included. */
static void check_as_on_the_cpu(int32_t mode, int32_t beams) {
  sampler there = make_sampler(SIDBEAM_DEVICE_CUDA, mode, beams), here = make_sampler(SIDBEAM_DEVICE_CPU, mode, beams);
  const sidbeam_sampling sampling = seeded();
  const int32_t first = 0;
  for (int i = 0; i < 3; ++i) {
    if (i == 1) {
      CHECK_OK(start_with(&there, &sampling));
      CHECK_OK(start_with(&here, &sampling));
    }
    if (i == 2) {
      CHECK_OK(sidbeam_session_stop(there.session, &first, 1, NULL, &err));
      CHECK_OK(sidbeam_session_stop(here.session, &first, 1, NULL, &err));
    }
    const sidbeam_beams a = shown_by(&there), b = beams_of(here.session);
    const int64_t count = (int64_t)SLOTS * beams;
    CHECK_F32(a.log_masses, b.log_masses, count);
    CHECK_F32(a.scores, b.scores, count);
    CHECK_INT(a.perturbed != NULL, mode == SIDBEAM_MODE_STOCHASTIC);
    if (a.perturbed == NULL) continue;
    CHECK_F32(a.perturbed, b.perturbed, count);
    CHECK_F32(a.log_inclusions, b.log_inclusions, count);
    CHECK_F32(a.thresholds, b.thresholds, SLOTS);
  }
  drop_sampler(&there);
  drop_sampler(&here);
}

static void slots_begin_and_stop_as_on_the_cpu(void) {
  check_as_on_the_cpu(SIDBEAM_MODE_SAMPLE, BEAMS);
  check_as_on_the_cpu(SIDBEAM_MODE_STOCHASTIC, BEAMS);
  check_as_on_the_cpu(SIDBEAM_MODE_STOCHASTIC, 300);
  bench b = set_up();
  sidbeam_beams searched = SIDBEAM_BEAMS_INIT;
  CHECK_OK(sidbeam_session_get_beams(b.session, &searched, &err));
  CHECK(searched.log_masses == NULL && searched.perturbed == NULL && searched.thresholds == NULL);
  tear_down(&b);
}

enum { WIDE = 200 };

/* tests/capi/test_sampling.c has the same for the CPU. */
static void a_mass_beyond_f32_leaves_no_beams(void) {
  static const float values[2] = {3e38f, -3e38f};
  static const int32_t errors[2] = {SIDBEAM_SLOT_BAD_ROW, 0};
  for (int32_t mode = SIDBEAM_MODE_SAMPLE; mode <= SIDBEAM_MODE_STOCHASTIC; ++mode) {
    for (int i = 0; i < 2; ++i) {
      const float x = values[i], row[CODES] = {x, x, x, x}, of_rows[SLOTS * BEAMS] = {-x, -x, -x, -x, -x, -x, -x, -x};
      sampler s = make_sampler_with(SIDBEAM_DEVICE_CUDA, mode, BEAMS, SIDBEAM_NORMALIZE_FULL);
      const sidbeam_sampling sampling = seeded();
      float *there = on_device(row, sizeof row), *lse = on_device(of_rows, sizeof of_rows);
      s.rows.data = there;
      sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
      args.rows = &s.rows;
      args.lse = lse;
      CHECK_OK(start_with(&s, &sampling));
      CHECK_OK(sidbeam_session_step(s.session, &args, &err));
      const sidbeam_beams beams = shown_by(&s);
      for (int slot = 0; slot < SLOTS; ++slot) {
        CHECK_INT(beams.errors[slot], errors[i]);
        if (mode == SIDBEAM_MODE_STOCHASTIC) CHECK_INT(beams.live[slot], 0);
        for (int m = 0; m < BEAMS; ++m)
          CHECK(isinf(beams.log_masses[slot * BEAMS + m]) && beams.log_masses[slot * BEAMS + m] < 0);
      }
      release_device(there);
      release_device(lse);
      drop_sampler(&s);
    }
  }
}

/* Codes of two steps after a start with these draws; of each launch of the second start, some fail before. */
static void draw_twice(const int64_t* draws, const int64_t* others, int failures, int32_t* codes) {
  sampler s = make_sampler(SIDBEAM_DEVICE_CUDA, SIDBEAM_MODE_SAMPLE, WIDE);
  sidbeam_sampling sampling = seeded();
  sampling.draws = draws;
  CHECK_OK(start_with(&s, &sampling));
  sampling.draws = others;
  for (int64_t n = 1; n <= failures; ++n) {
    fail_launch(n);
    CHECK_FAILS(start_with(&s, &sampling), SIDBEAM_DEVICE_ERROR, "launch a start");
  }
  fail_launch(0);
  for (int i = 0; i < 2; ++i) CHECK_OK(step(s.session, &s.rows, NULL));
  memcpy(codes, shown_by(&s).codes, SLOTS * WIDE * sizeof *codes);
  drop_sampler(&s);
}

/* Draws that do not follow each other need several launches: one for the entries, seven for the draws, the start. */
static void a_start_that_fails_leaves_slots_as_they_are_sampled(void) {
  int64_t draws[SLOTS * WIDE], others[SLOTS * WIDE];
  int32_t expected[SLOTS * WIDE], actual[SLOTS * WIDE], otherwise[SLOTS * WIDE];
  for (int i = 0; i < SLOTS * WIDE; ++i) {
    draws[i] = 3 * i;
    others[i] = 1000000 - 5 * i;
  }
  draw_twice(draws, draws, 0, expected);
  draw_twice(draws, others, 9, actual);
  draw_twice(others, others, 0, otherwise);
  CHECK_I32(actual, expected, SLOTS * WIDE);
  CHECK(memcmp(expected, otherwise, sizeof expected) != 0);
}

/* The first launch of the kernels of a mode is captured. */
static void check_first_launches(int32_t mode, int32_t beams) {
  unload_kernels();
  sampler s = make_sampler(SIDBEAM_DEVICE_CUDA, mode, beams);
  void* stream = make_stream();
  begin_capture(stream);
  CHECK_OK(step(s.session, &s.rows, stream));
  void* graph = end_capture(stream);
  const sidbeam_sampling sampling = seeded();
  CHECK_OK(start_with(&s, &sampling));
  wait_device();
  replay(graph, stream);
  wait_device();
  const sidbeam_beams now = shown_by(&s);
  CHECK_INT(now.level[1], 1);
  CHECK(now.live[1] >= 1 && isfinite(now.log_masses[beams]));
  release_graph(graph);
  release_stream(stream);
  drop_sampler(&s);
}

static void creation_loads_what_a_graph_will_launch(void) {
  check_first_launches(SIDBEAM_MODE_SAMPLE, BEAMS);
  check_first_launches(SIDBEAM_MODE_STOCHASTIC, BEAMS);
  check_first_launches(SIDBEAM_MODE_STOCHASTIC, 300);
}

static void a_draw_without_a_row_puts_its_slot_in_error_and_no_other(void) {
  static const int32_t map[SLOTS * BEAMS] = {-1, -1, -1, -1, 0, 0, 0, 0};
  for (int32_t mode = SIDBEAM_MODE_SAMPLE; mode <= SIDBEAM_MODE_STOCHASTIC; ++mode) {
    sampler s = make_sampler(SIDBEAM_DEVICE_CUDA, mode, BEAMS);
    const sidbeam_sampling sampling = seeded();
    CHECK_OK(start_with(&s, &sampling));
    sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
    sidbeam_rows rows = make_rows(s.row, 0, 1, CODES);
    rows.device_type = SIDBEAM_DEVICE_CUDA;
    int32_t* map_there = on_device(map, sizeof map);
    args.rows = &rows;
    args.row_map = map_there;
    CHECK_OK(sidbeam_session_step(s.session, &args, &err));
    const sidbeam_beams now = shown_by(&s);
    CHECK_INT(now.errors[0], SIDBEAM_SLOT_BAD_MAP);
    CHECK_INT(now.live[0], 0);
    CHECK_INT(now.active[0], 0);
    CHECK_INT(now.errors[1], 0);
    CHECK(now.live[1] > 0);
    release_device(map_there);
    drop_sampler(&s);
  }
}

enum { MOST_TRUNCATED = 1 << 21 }; /* columns; tests/capi/test_sampling.c has the limit for the CPU */

/* A row of one column more, all 0. */
static float* wide_row_there(void) {
  float* here = calloc(MOST_TRUNCATED + 1, sizeof *here);
  CHECK(here != NULL);
  float* there = on_device(here, (MOST_TRUNCATED + 1) * sizeof *here);
  free(here);
  return there;
}

/* A graph may have been captured before anyone asked for truncation. */
static void rows_too_wide_to_be_truncated_put_their_slot_in_error_and_no_other(void) {
  static const int32_t top_ks[SLOTS] = {CODES, 0};
  sampler s = make_sampler(SIDBEAM_DEVICE_CUDA, SIDBEAM_MODE_SAMPLE, BEAMS);
  sidbeam_sampling sampling = seeded();
  float* row = wide_row_there();
  sidbeam_rows rows = same_row(row, SLOTS, BEAMS, MOST_TRUNCATED + 1);
  rows.device_type = SIDBEAM_DEVICE_CUDA;
  sampling.top_ks = top_ks;
  for (int slots_in_error = 1; slots_in_error >= 0; --slots_in_error) {
    CHECK_OK(start_with(&s, &sampling));
    CHECK_OK(step(s.session, &rows, NULL));
    const sidbeam_beams now = shown_by(&s);
    CHECK_INT(now.errors[0], slots_in_error != 0 ? SIDBEAM_SLOT_BAD_MAP : 0);
    CHECK_INT(now.live[0], slots_in_error != 0 ? 0 : BEAMS);
    CHECK_INT(now.errors[1], 0);
    CHECK_INT(now.live[1], BEAMS);
    rows.columns = 1000; /* what is read next is read by the emulator, one thread after the other */
  }
  release_device(row);
  drop_sampler(&s);
}

static void a_slot_that_is_named_twice_harms_no_other(void) {
  static const int32_t twice[SLOTS] = {0, 0};
  for (int32_t mode = SIDBEAM_MODE_SAMPLE; mode <= SIDBEAM_MODE_STOCHASTIC; ++mode) {
    sampler s = make_sampler(SIDBEAM_DEVICE_CUDA, mode, BEAMS);
    const sidbeam_sampling sampling = seeded();
    CHECK_OK(start_with(&s, &sampling));
    int32_t* slots = on_device(twice, sizeof twice);
    sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
    args.rows = &s.rows;
    args.slots = slots;
    args.count = SLOTS;
    for (int i = 0; i < LEVELS; ++i) CHECK_OK(sidbeam_session_step(s.session, &args, &err));
    CHECK_INT(shown_by(&s).level[1], 0);
    CHECK_INT(shown_by(&s).live[1], 1);
    CHECK_OK(start_with(&s, &sampling));
    CHECK_OK(step(s.session, &s.rows, NULL));
    CHECK_INT(shown_by(&s).level[0], 1);
    release_device(slots);
    drop_sampler(&s);
  }
}

/* The stateless form. */

enum { ROWS = 8 };

static sidbeam_constraint_set* make_set_there(void) {
  sidbeam_constraint* constraint = make_constraint(&small, ALL_KINDS);
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_constraint_set* set = NULL;
  config.constraints = &constraint;
  config.constraint_count = 1;
  config.device_type = SIDBEAM_DEVICE_CUDA;
  CHECK_OK(sidbeam_constraint_set_create(runtime, &config, &set, &err));
  sidbeam_constraint_release(constraint);
  sidbeam_runtime_release(runtime);
  return set;
}

/* Arrays of a call on the device, by row. */
typedef struct call_there {
  int32_t which[ROWS], top_ks[ROWS], codes[ROWS];
  float top_ps[ROWS], temperatures[ROWS], log_probs[ROWS], log_masses[ROWS], logits[ROWS * CODES];
  sidbeam_state states[ROWS], next[ROWS];
  int64_t seeds[ROWS], requests[ROWS], draws[ROWS];
} call_there;

static call_there plain_call(void) {
  call_there call;
  memset(&call, 0, sizeof call);
  for (int i = 0; i < ROWS; ++i) {
    memcpy(call.logits + i * CODES, halving, sizeof halving);
    call.top_ps[i] = 1;
    call.seeds[i] = i;
  }
  return call;
}

static sidbeam_rows rows_of(const float* data) {
  sidbeam_rows rows = make_rows(data, 0, ROWS, CODES);
  rows.device_type = SIDBEAM_DEVICE_CUDA;
  return rows;
}

static sidbeam_status sample_with(const sidbeam_constraint_set* set, const call_there* at, const sidbeam_rows* rows,
                                  const float* temperatures, const sidbeam_sampling* sampling,
                                  const sidbeam_sampled* out, void* stream) {
  return sidbeam_constraint_set_sample(set, at->which, at->states, rows, SIDBEAM_NORMALIZE_VALID, temperatures,
                                       sampling, out, stream, &err);
}

static void arrays_of_a_stateless_draw_are_on_the_device(void) {
  call_there here = plain_call();
  sidbeam_constraint_set* set = make_set_there();
  call_there* there = on_device(&here, sizeof here);
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sidbeam_sampled out = SIDBEAM_SAMPLED_INIT;
  sidbeam_rows rows = rows_of(there->logits);
  sampling.seeds = there->seeds;
  sampling.requests = there->requests;
  out.codes = there->codes;
#define REFUSED(place, ...)                                                                                    \
  do {                                                                                                         \
    place = (void*)&here;                                                                                      \
    CHECK_FAILS(sample_with(set, there, &rows, temperatures, &sampling, &out, NULL), SIDBEAM_INVALID_ARGUMENT, \
                __VA_ARGS__ IS_OF_THE_HOST);                                                                   \
  } while (0)
  const float* temperatures = NULL;
  REFUSED(rows.data, "logits.data");
  rows.data = there->logits;
  REFUSED(temperatures, "inverse_temperatures");
  temperatures = NULL;
  REFUSED(sampling.seeds, "sampling.seeds");
  sampling.seeds = there->seeds;
  REFUSED(sampling.requests, "sampling.requests");
  sampling.requests = there->requests;
  REFUSED(sampling.draws, "sampling.draws");
  sampling.draws = NULL;
  REFUSED(sampling.top_ks, "sampling.top_ks");
  sampling.top_ks = NULL;
  REFUSED(sampling.top_ps, "sampling.top_ps");
  sampling.top_ps = NULL;
  REFUSED(out.codes, "out.codes");
  out.codes = there->codes;
  REFUSED(out.log_probs, "out.log_probs");
  out.log_probs = NULL;
  REFUSED(out.log_masses, "out.log_masses");
  out.log_masses = NULL;
  REFUSED(out.next, "out.next");
  out.next = NULL;
  CHECK_OK(sample_with(set, there, &rows, temperatures, &sampling, &out, NULL)); /* codes alone are wanted */
  read_device(&here, there, sizeof here);
  for (int i = 0; i < ROWS; ++i) CHECK(here.codes[i] == 0 || here.codes[i] == 2 || here.codes[i] == 3);
  release_device(there);
  sidbeam_constraint_set_destroy(set);
  check_nothing_is_left();
}

/* The CPU refuses the call; a device sees it too late for that. In a graph, which is the form's first launch. */
static void entries_that_the_host_cannot_check_make_their_rows_bad(void) {
  call_there here = plain_call();
  here.top_ps[0] = 0;
  here.top_ps[1] = 1.5F;
  here.top_ps[2] = NAN;
  here.top_ks[3] = -1;
  here.temperatures[4] = -1;
  here.draws[5] = -1;
  here.states[6] = -1; /* not read, so it cannot be bad */
  here.top_ps[6] = 2;
  unload_kernels();
  sidbeam_constraint_set* set = make_set_there();
  call_there* there = on_device(&here, sizeof here);
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sampling.seeds = there->seeds;
  sampling.requests = there->requests;
  sampling.draws = there->draws;
  sampling.top_ks = there->top_ks;
  sampling.top_ps = there->top_ps;
  sidbeam_sampled out = SIDBEAM_SAMPLED_INIT;
  out.codes = there->codes;
  out.log_probs = there->log_probs;
  out.log_masses = there->log_masses;
  out.next = there->next;
  const sidbeam_rows rows = rows_of(there->logits);
  void* stream = make_stream();
  begin_capture(stream);
  CHECK_OK(sample_with(set, there, &rows, there->temperatures, &sampling, &out, stream));
  void* graph = end_capture(stream);
  replay(graph, stream);
  wait_device();
  read_device(&here, there, sizeof here);
  for (int i = 0; i < 7; ++i) {
    CHECK_INT(here.codes[i], -1);
    CHECK_INT(here.next[i], -1);
    CHECK_INT(isnan(here.log_probs[i]) != 0, i < 6);
    CHECK(isinf(here.log_masses[i]));
  }
  CHECK(here.codes[7] >= 0 && here.next[7] > 0 && isfinite(here.log_probs[7]));
  release_graph(graph);
  release_stream(stream);
  release_device(there);
  sidbeam_constraint_set_destroy(set);
  check_nothing_is_left();
}

static void rows_too_wide_to_be_truncated_are_bad(void) {
  call_there here = plain_call();
  here.top_ks[0] = CODES;
  here.top_ps[1] = 0.5F;
  sidbeam_constraint_set* set = make_set_there();
  call_there* there = on_device(&here, sizeof here);
  float* row = wide_row_there();
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sampling.seeds = there->seeds;
  sampling.requests = there->requests;
  sampling.top_ks = there->top_ks;
  sampling.top_ps = there->top_ps;
  sidbeam_sampled out = SIDBEAM_SAMPLED_INIT;
  out.codes = there->codes;
  out.log_probs = there->log_probs;
  sidbeam_rows rows = same_row(row, 0, ROWS, MOST_TRUNCATED + 1);
  rows.device_type = SIDBEAM_DEVICE_CUDA;
  CHECK_OK(sample_with(set, there, &rows, NULL, &sampling, &out, NULL));
  wait_device();
  read_device(&here, there, sizeof here);
  for (int i = 0; i < ROWS; ++i) {
    CHECK_INT(here.codes[i] == -1, i < 2);
    CHECK_INT(isnan(here.log_probs[i]) != 0, i < 2);
  }
  release_device(row);
  release_device(there);
  sidbeam_constraint_set_destroy(set);
  check_nothing_is_left();
}

int main(void) {
  static const test_case tests[] = {
      TEST(lists_of_a_start_are_the_hosts),
      TEST(slots_begin_and_stop_as_on_the_cpu),
      TEST(a_mass_beyond_f32_leaves_no_beams),
      TEST(a_start_that_fails_leaves_slots_as_they_are_sampled),
      TEST(creation_loads_what_a_graph_will_launch),
      TEST(a_draw_without_a_row_puts_its_slot_in_error_and_no_other),
      TEST(rows_too_wide_to_be_truncated_put_their_slot_in_error_and_no_other),
      TEST(a_slot_that_is_named_twice_harms_no_other),
      TEST(arrays_of_a_stateless_draw_are_on_the_device),
      TEST(entries_that_the_host_cannot_check_make_their_rows_bad),
      TEST(rows_too_wide_to_be_truncated_are_bad),
  };
  return RUN_TESTS(tests);
}
