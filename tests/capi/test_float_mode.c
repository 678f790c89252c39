/* The caller's floating-point mode: frameworks flush denormals, some hosts round differently or trap exceptions. Every
 * call that reads, compares or prints floats gives the same bits and letters in every mode, and leaves the mode
 * unchanged, even if it fails. SPDX-License-Identifier: Apache-2.0 */
#include <fenv.h>

#include "float_modes.h"

/* One step of the first level of `small`. */
typedef struct step_input {
  int32_t dtype, normalization, strategy, mode, step_threads;
  uint32_t row[4], inverse_temperature, soft_cap, lse; /* bits; a row of f16 in the first two */
  int has_lse;
  void (*execute)(void* context, int32_t count, void (*task)(void* data, int32_t i), void* data);
} step_input;

static float as_float(uint32_t bits) {
  float number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

static uint32_t as_bits(float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

static sidbeam_session* session_of(const step_input* in, sidbeam_constraint* constraint) {
  sidbeam_runtime_config runtime_config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_session_config config = session_config(constraint);
  sidbeam_runtime* runtime;
  sidbeam_session* session;
  runtime_config.step_threads = in->step_threads;
  runtime_config.step_grain = 1;
  runtime_config.execute = in->execute;
  config.slots = 4;
  config.strategy = in->strategy;
  config.normalization = in->normalization;
  config.mode = in->mode;
  CHECK_OK(sidbeam_runtime_create(&runtime_config, &runtime, &err));
  CHECK_OK(sidbeam_session_create(runtime, &config, &session, &err));
  sidbeam_runtime_release(runtime);
  return session;
}

static void start_with_seeds(sidbeam_session* session, int32_t mode) {
  static const int64_t seeds[4] = {0, 1, 2, 3};
  static const float top_ps[4] = {0.3f, 0.9f, 1, 0.999f}, noise[4] = {1, 0.3f, 1e-40f, 1};
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  sampling.seeds = sampling.requests = seeds;
  if (mode == SIDBEAM_MODE_SAMPLE) sampling.top_ps = top_ps;
  if (mode == SIDBEAM_MODE_STOCHASTIC) sampling.noise_scales = noise;
  if (mode != SIDBEAM_MODE_SEARCH) start.sampling = &sampling;
  CHECK_OK(sidbeam_session_start(session, &start, &err));
}

static void step(const void* input, call_outcome* o) {
  const step_input* in = input;
  sidbeam_constraint* constraint = make_constraint(&small, ALL_KINDS);
  sidbeam_session* session = session_of(in, constraint);
  sidbeam_rows rows = SIDBEAM_ROWS_INIT;
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  float lse[16];
  for (int i = 0; i < 16; ++i) memcpy(&lse[i], &in->lse, sizeof lse[i]);
  rows.dtype = in->dtype;
  rows.data = (void*)(uintptr_t)in->row;
  rows.slots = 4;
  rows.rows = 4;
  rows.columns = 4;
  rows.slot_stride = rows.row_stride = SIDBEAM_BROADCAST;
  args.rows = &rows;
  if (in->has_lse) args.lse = lse;
  memcpy(&args.inverse_temperature, &in->inverse_temperature, sizeof(float));
  memcpy(&args.soft_cap, &in->soft_cap, sizeof(float));
  start_with_seeds(session, in->mode);
  const sidbeam_beams beams = beams_of(session);
  for (int level = 0; level < 2 && o->status == SIDBEAM_OK && beams.active[0] > 0; ++level) {
    clear_error();
    keep_status(o, sidbeam_session_step(session, &args, &err));
  }
  keep_words(o, beams.scores, 16 * sizeof(float));
  keep_words(o, beams.codes, 16 * sizeof(int32_t));
  keep_words(o, beams.errors, 4 * sizeof(int32_t));
  if (beams.log_masses != NULL) keep_words(o, beams.log_masses, 16 * sizeof(float));
  if (beams.perturbed != NULL) keep_words(o, beams.perturbed, 16 * sizeof(float));
  if (beams.log_inclusions != NULL) keep_words(o, beams.log_inclusions, 16 * sizeof(float));
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
}

static step_input input_of(int row);

static void draws_and_noise(void) {
  for (int row = 0; row < 3; ++row) {
    step_input in = input_of(row);
    for (in.mode = SIDBEAM_MODE_SAMPLE; in.mode <= SIDBEAM_MODE_STOCHASTIC; ++in.mode) {
      for (in.normalization = SIDBEAM_NORMALIZE_FULL; in.normalization <= SIDBEAM_NORMALIZE_NONE; ++in.normalization) {
        for (int warm = 0; warm < 2; ++warm) {
          in.inverse_temperature = as_bits(warm ? 0.3f : 1.0f);
          CHECK_INT(in_every_mode(step, &in).status, SIDBEAM_OK);
        }
      }
    }
  }
}

/* Denormal halves, denormal floats, ordinary floats. */
static step_input input_of(int row) {
  static const uint32_t rows[3][4] = {{0x80028001, 0x83ff8003, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}};
  static const float floats[3][4] = {{0, 0, 0, 0}, {-1e-40f, -2e-40f, -3e-40f, -4e-40f}, {-0.1f, 3.3f, 1e-7f, 2.7f}};
  step_input in = {0};
  in.dtype = row == 0 ? SIDBEAM_DTYPE_F16 : SIDBEAM_DTYPE_F32;
  in.normalization = SIDBEAM_NORMALIZE_NONE;
  memcpy(in.row, row == 0 ? (const void*)rows[0] : (const void*)floats[row], sizeof in.row);
  in.inverse_temperature = as_bits(1.0f);
  return in;
}

static void rows_and_scores(void) {
  for (int row = 0; row < 3; ++row) {
    step_input in = input_of(row);
    for (in.strategy = SIDBEAM_STRATEGY_TRIE; in.strategy <= SIDBEAM_STRATEGY_NONE; ++in.strategy) {
      for (in.normalization = SIDBEAM_NORMALIZE_FULL; in.normalization <= SIDBEAM_NORMALIZE_NONE; ++in.normalization) {
        if (in.strategy >= SIDBEAM_STRATEGY_HASH_FINAL && in.normalization == SIDBEAM_NORMALIZE_VALID) continue;
        CHECK_INT(in_every_mode(step, &in).status, SIDBEAM_OK);
      }
    }
  }
  /* The denormals are there to be seen. */
  const step_input in = input_of(1);
  const float best = as_float(in_every_mode(step, &in).words[0]);
  CHECK(best < 0 && best > -1e-38f);
}

static void inverse_temperature_and_soft_cap(void) {
  static const float accepted[] = {1e-40f, 1e-45f, 1e-38f, 0.3f, 3e38f, 0.0f, -0.0f};
  static const float refused[] = {-1e-40f, -1e-45f, -0.1f, -3e38f, INFINITY, NAN};
  for (size_t i = 0; i < COUNT(accepted) + COUNT(refused); ++i) {
    const int fails = i >= COUNT(accepted);
    const float number = fails ? refused[i - COUNT(accepted)] : accepted[i];
    step_input warm = input_of(2), capped = input_of(2);
    call_outcome o;
    warm.normalization = capped.normalization = SIDBEAM_NORMALIZE_FULL;
    warm.inverse_temperature = as_bits(number);
    capped.soft_cap = as_bits(number);
    o = in_every_mode(step, &warm);
    CHECK_INT(o.status, fails ? SIDBEAM_INVALID_ARGUMENT : SIDBEAM_OK);
    CHECK(!fails || strstr(o.message, "inverse_temperature is ") != NULL);
    o = in_every_mode(step, &capped);
    const int cap_fails = fails && number != INFINITY; /* an infinite cap means none */
    CHECK_INT(o.status, cap_fails ? SIDBEAM_INVALID_ARGUMENT : SIDBEAM_OK);
    CHECK(!cap_fails || strstr(o.message, "soft_cap is ") != NULL);
  }
}

static void given_log_sums(void) {
  static const float sums[] = {1e-40f, -1e-40f, 0.7f, 4.1f, -INFINITY, INFINITY, NAN};
  for (size_t i = 0; i < COUNT(sums); ++i) {
    for (int row = 0; row < 3; ++row) {
      step_input in = input_of(row);
      in.normalization = SIDBEAM_NORMALIZE_FULL;
      in.has_lse = 1;
      in.lse = as_bits(sums[i]);
      CHECK_INT(in_every_mode(step, &in).status, SIDBEAM_OK);
    }
  }
}

/* A host's threads with modes of their own, which tasks leave unchanged. */
static int left_another_mode;

static void run_in_other_modes(void* context, int32_t count, void (*task)(void* data, int32_t i), void* data) {
  const unsigned csr = get_float_csr();
  const int rounding = fegetround();
  (void)context;
  for (int32_t i = 0; i < count; ++i) {
    enter_float_mode(&float_modes[i % 2 == 0 ? FLUSHED_ROUNDED_UP : ROUNDED_DOWN]);
    const unsigned own = get_float_csr();
    task(data, i);
    left_another_mode |= get_float_csr() != own;
    (void)fesetround(rounding);
    set_float_csr(csr);
  }
}

static void threads_of_the_runtime_and_of_the_host(void) {
  for (int row = 0; row < 3; ++row) {
    step_input in = input_of(row);
    for (in.normalization = SIDBEAM_NORMALIZE_FULL; in.normalization <= SIDBEAM_NORMALIZE_NONE; ++in.normalization) {
      in.step_threads = 0;
      in.execute = NULL;
      const call_outcome alone = in_every_mode(step, &in);
      in.step_threads = 3;
      const call_outcome pool = in_every_mode(step, &in);
      in.execute = run_in_other_modes;
      const call_outcome host = in_every_mode(step, &in);
      CHECK(!left_another_mode);
      CHECK(memcmp(&alone, &pool, sizeof alone) == 0);
      CHECK(memcmp(&alone, &host, sizeof alone) == 0);
    }
  }
}

static void top_k(const void* input, call_outcome* o) {
  const step_input* in = input;
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  sidbeam_rows rows = SIDBEAM_ROWS_INIT;
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_constraint_set* set;
  sidbeam_state state = 0, next[3];
  int32_t codes[3] = {0};
  float log_probs[3] = {0};
  config.constraint_count = 1;
  config.constraints = &constraint;
  rows.dtype = in->dtype;
  rows.data = (void*)(uintptr_t)in->row;
  rows.rows = 1;
  rows.columns = 4;
  CHECK_OK(sidbeam_constraint_set_create(runtime, &config, &set, &err));
  keep_status(o, sidbeam_constraint_set_topk(set, NULL, &state, &rows, in->normalization, 3, codes, log_probs, next,
                                             NULL, &err));
  keep_words(o, log_probs, sizeof log_probs);
  keep_words(o, codes, sizeof codes);
  sidbeam_constraint_set_destroy(set);
  sidbeam_constraint_release(constraint);
  sidbeam_runtime_release(runtime);
}

static void stateless_top_k(void) {
  for (int row = 0; row < 3; ++row) {
    step_input in = input_of(row);
    for (in.normalization = SIDBEAM_NORMALIZE_FULL; in.normalization <= SIDBEAM_NORMALIZE_NONE; ++in.normalization)
      CHECK_INT(in_every_mode(top_k, &in).status, SIDBEAM_OK);
    in.normalization = 9; /* leaves by an error */
    CHECK_INT(in_every_mode(top_k, &in).status, SIDBEAM_INVALID_ARGUMENT);
  }
}

static void keep_plan(call_outcome* o, const sidbeam_plan* plan) {
  sidbeam_plan_info info = SIDBEAM_PLAN_INFO_INIT;
  uint64_t sections = 0; /* their bytes */
  CHECK_OK(sidbeam_plan_get_info(plan, &info, &err));
  for (int64_t i = 0; i < info.section_count; ++i) {
    sidbeam_section_info section = SIDBEAM_SECTION_INFO_INIT;
    CHECK_OK(sidbeam_plan_get_section(plan, i, &section, &err));
    sections = sections * 1000003 + (uint64_t)section.bytes;
  }
  keep_words(o, info.nodes, 5 * sizeof info.nodes[0]);
  keep_words(o, &sections, sizeof sections);
  keep_words(o, &info.file_bytes, sizeof info.file_bytes);
}

/* Estimates and the compact trie's first level are computed in double. */
static void estimate(const void* input, call_outcome* o) {
  static const int32_t codes[5] = {1000, 999, 1001, 37, 3};
  const int64_t* sids = input;
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  sidbeam_plan* plan = NULL;
  config.levels = 5;
  config.codes = codes;
  config.variable_length = 1;
  keep_status(o, sidbeam_plan_estimate(&config, *sids, &plan, &err));
  if (o->status == SIDBEAM_OK) keep_plan(o, plan);
  sidbeam_plan_destroy(plan);
}

static void estimates(void) {
  static const int64_t sids[] = {1, 12345, 999999937, INT64_C(1099511627775)};
  for (size_t i = 0; i < COUNT(sids); ++i)
    CHECK_INT(in_every_mode(estimate, &sids[i]).status, i < 3 ? SIDBEAM_OK : SIDBEAM_INVALID_ARGUMENT);
}

static void build(const void* input, call_outcome* o) {
  const int32_t* kinds = input;
  sidbeam_index* index = make_index(&small, *kinds);
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  CHECK_OK(sidbeam_index_get_info(index, &info, &err));
  CHECK_OK(sidbeam_index_verify(index, SIDBEAM_VERIFY_FULL, &err));
  keep_words(o, info.fingerprint, 32);
  for (int64_t i = 0; i < info.section_count; ++i) {
    sidbeam_section_info section = SIDBEAM_SECTION_INFO_INIT;
    CHECK_OK(sidbeam_index_get_section(index, i, &section, &err));
    o->words[32 + i] = (uint32_t)section.checksum ^ (uint32_t)(section.checksum >> 32);
  }
  sidbeam_index_release(index);
}

static void builds(void) {
  static const int32_t kinds[] = {ALL_KINDS, SIDBEAM_KIND_TRIE | SIDBEAM_KIND_COMPACT_TRIE};
  for (size_t i = 0; i < COUNT(kinds); ++i) in_every_mode(build, &kinds[i]);
}

int main(void) {
  static const test_case tests[] = {
      TEST(rows_and_scores),
      TEST(inverse_temperature_and_soft_cap),
      TEST(given_log_sums),
      TEST(stateless_top_k),
      TEST(threads_of_the_runtime_and_of_the_host),
      TEST(estimates),
      TEST(builds),
      TEST(draws_and_noise),
  };
  return RUN_TESTS(tests);
}
