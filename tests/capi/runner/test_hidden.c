/* The step from hidden states as engines with their own model call it: three levels by it and by product and step, and
 * everything that is refused, after which the session goes on. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <sidbeam/hidden.h>

#include "../failing_allocations.h"
#include "../fixtures.h"

enum { LEVELS = 3, CODES = 4, WIDTH = 5, BEAMS = 4, SLOTS = 2 };

/* Small multiples of 1/4: sums are exact. */
static float weights[CODES * WIDTH] __attribute__((aligned(16)));
static float states[SLOTS * BEAMS * WIDTH], logits[SLOTS * BEAMS * CODES];
static const float bias[CODES] = {0.25f, -0.5f, 0.0f, 1.0f};

static void fill(void) {
  for (int i = 0; i < CODES * WIDTH; ++i) weights[i] = (float)(i * 7 % 9 - 4) / 4;
  for (int i = 0; i < SLOTS * BEAMS * WIDTH; ++i) states[i] = (float)(i * 5 % 11 - 5) / 4;
  for (int row = 0; row < SLOTS * BEAMS; ++row) {
    for (int code = 0; code < CODES; ++code) {
      float sum = bias[code];
      for (int i = 0; i < WIDTH; ++i) sum += states[row * WIDTH + i] * weights[code * WIDTH + i];
      logits[row * CODES + code] = sum;
    }
  }
}

static sidbeam_session_config session_of(sidbeam_constraint* constraint, int32_t normalization) {
  sidbeam_session_config config = session_config(constraint);
  config.slots = SLOTS;
  config.beams = BEAMS;
  config.normalization = normalization;
  return config;
}

static sidbeam_output_layer_config layer_config(void) {
  sidbeam_output_layer_config config = SIDBEAM_OUTPUT_LAYER_CONFIG_INIT;
  fill();
  config.weights = weights;
  config.columns = CODES;
  config.width = WIDTH;
  config.bias = bias;
  return config;
}

static sidbeam_status create(sidbeam_session* session, const sidbeam_output_layer* layer, int32_t path,
                             sidbeam_hidden** out, sidbeam_error* error) {
  sidbeam_hidden_config config = SIDBEAM_HIDDEN_CONFIG_INIT;
  config.session = session;
  config.layer = layer;
  config.path = path;
  return sidbeam_hidden_create(&config, out, error);
}

typedef struct world {
  sidbeam_constraint* constraint;
  sidbeam_session* session;
  sidbeam_output_layer* layer;
  sidbeam_hidden* hidden;
} world;

static world make_world(int32_t normalization, int32_t path) {
  world made;
  const sidbeam_output_layer_config config = layer_config();
  made.constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  const sidbeam_session_config session = session_of(made.constraint, normalization);
  made.session = make_session(&session);
  start_all(made.session);
  CHECK_OK(sidbeam_output_layer_create(&config, &made.layer, &err));
  CHECK_OK(create(made.session, made.layer, path, &made.hidden, &err));
  return made;
}

static void drop(world made) {
  sidbeam_hidden_destroy(made.hidden);
  sidbeam_output_layer_destroy(made.layer);
  sidbeam_session_destroy(made.session);
  sidbeam_constraint_release(made.constraint);
}

static sidbeam_rows state_rows(void) { return make_rows(states, SLOTS, BEAMS, WIDTH); }

static void steps_as_product_and_step_do(void) {
  const int32_t normalizations[] = {SIDBEAM_NORMALIZE_VALID, SIDBEAM_NORMALIZE_FULL};
  for (int n = 0; n < 2; ++n) {
    const world by_hidden = make_world(normalizations[n], SIDBEAM_HIDDEN_FASTEST);
    const world by_hand = make_world(normalizations[n], SIDBEAM_HIDDEN_FASTEST);
    const sidbeam_rows rows = state_rows(), product = make_rows(logits, SLOTS, BEAMS, CODES);
    for (int level = 0; level < LEVELS; ++level) {
      sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
      sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
      args.hidden = &rows;
      step.rows = &product;
      CHECK_OK(sidbeam_hidden_step(by_hidden.hidden, &args, &err));
      CHECK_OK(sidbeam_session_step(by_hand.session, &step, &err));
      const sidbeam_beams a = beams_of(by_hidden.session), b = beams_of(by_hand.session);
      CHECK_I32(a.codes, b.codes, SLOTS * BEAMS);
      CHECK_I32(a.parents, b.parents, SLOTS * BEAMS);
      CHECK_F32(a.scores, b.scores, SLOTS * BEAMS);
    }
    sidbeam_hidden_stats stats = SIDBEAM_HIDDEN_STATS_INIT;
    CHECK_OK(sidbeam_hidden_get_stats(by_hidden.hidden, &stats, &err));
    CHECK_INT(stats.steps, LEVELS);
    CHECK_INT(stats.product_slots, n == 0 ? 0 : LEVELS * SLOTS);
    CHECK_INT(stats.child_slots + stats.union_slots, n == 0 ? LEVELS * SLOTS : 0);
    drop(by_hidden);
    drop(by_hand);
  }
}

static void layers_that_cannot_be_are_refused(void) {
  sidbeam_output_layer_config config = layer_config();
  sidbeam_output_layer* layer = NULL;
  CHECK_FAILS(sidbeam_output_layer_create(NULL, &layer, &err), SIDBEAM_INVALID_ARGUMENT, "config is NULL");
  config.weights = NULL;
  CHECK_FAILS(sidbeam_output_layer_create(&config, &layer, &err), SIDBEAM_INVALID_ARGUMENT, "config.weights is NULL");
  config = layer_config();
  config.width = 0;
  CHECK_FAILS(sidbeam_output_layer_create(&config, &layer, &err), SIDBEAM_INVALID_ARGUMENT, "config.width is 0");
  config = layer_config();
  config.row_stride = WIDTH - 1;
  CHECK_FAILS(sidbeam_output_layer_create(&config, &layer, &err), SIDBEAM_INVALID_ARGUMENT, "config.row_stride is 4");
  /* The last row's offset is one of elements, but not of bytes. */
  config.row_stride = INT64_MAX / (CODES - 1) / 4;
  CHECK_FAILS(sidbeam_output_layer_create(&config, &layer, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.row_stride is 768614336404564650, which overflows over 4 of them");
  config = layer_config();
  config.dtype = 3;
  CHECK_FAILS(sidbeam_output_layer_create(&config, &layer, &err), SIDBEAM_INVALID_ARGUMENT, "config.dtype is 3");
  config = layer_config();
  config.soft_cap = -1.0f;
  CHECK_FAILS(sidbeam_output_layer_create(&config, &layer, &err), SIDBEAM_INVALID_ARGUMENT, "config.soft_cap is -1");
  config = layer_config();
  config.cpu_target = "sse9";
  CHECK_FAILS(sidbeam_output_layer_create(&config, &layer, &err), SIDBEAM_UNSUPPORTED,
              "config.cpu_target is \"sse9\", expected baseline");
  config = layer_config();
  config.device_type = 2;
  CHECK_FAILS(sidbeam_output_layer_create(&config, &layer, &err), SIDBEAM_INVALID_ARGUMENT, "config.device_type is 2");
  config = layer_config();
  config.device_id = 1;
  CHECK_FAILS(sidbeam_output_layer_create(&config, &layer, &err), SIDBEAM_INVALID_ARGUMENT, "config.device_id is 1");
  CHECK_INT(setenv("SIDBEAM_RUNNER_CUDA_LIBRARY", "/nonexistent", 1), 0); /* where the plugin has been built */
  config = layer_config();
  config.device_type = SIDBEAM_DEVICE_CUDA;
  CHECK_FAILS(sidbeam_output_layer_create(&config, &layer, &err), SIDBEAM_INVALID_ARGUMENT, "rows of 20 bytes",
              "a multiple of 16 bytes on CUDA");
  config.row_stride = 8;
  CHECK_FAILS(sidbeam_output_layer_create(&config, &layer, &err), SIDBEAM_NO_DEVICE, "the runner's CUDA plugin");
  CHECK(layer == NULL);
}

static void steps_that_cannot_be_are_refused_and_move_nothing(void) {
  const world made = make_world(SIDBEAM_NORMALIZE_VALID, SIDBEAM_HIDDEN_FASTEST);
  sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
  sidbeam_rows rows = state_rows();
  const int32_t twice[] = {1, 1}, map[SLOTS * BEAMS] = {0, -1, -1, -1, -1, -1, -1, -1};
  const float temperatures[SLOTS] = {1.0f, NAN};
  CHECK_FAILS(sidbeam_hidden_step(made.hidden, &args, &err), SIDBEAM_INVALID_ARGUMENT, "args.hidden is NULL");
  args.hidden = &rows;
  rows.columns = WIDTH + 1;
  CHECK_FAILS(sidbeam_hidden_step(made.hidden, &args, &err), SIDBEAM_INVALID_ARGUMENT, "hidden.columns is 6",
              "expected 5, the width of the output layer");
  rows = state_rows();
  args.path = 3;
  CHECK_FAILS(sidbeam_hidden_step(made.hidden, &args, &err), SIDBEAM_INVALID_ARGUMENT, "args.path is 3");
  args.path = SIDBEAM_HIDDEN_FASTEST;
  rows.device_type = SIDBEAM_DEVICE_CUDA;
  CHECK_FAILS(sidbeam_hidden_step(made.hidden, &args, &err), SIDBEAM_NO_DEVICE, "hidden.device_type is 1");
  rows = state_rows();
  rows.dtype = SIDBEAM_DTYPE_BF16;
  CHECK_FAILS(sidbeam_hidden_step(made.hidden, &args, &err), SIDBEAM_INVALID_ARGUMENT, "hidden.dtype is 2");
  rows = state_rows();
  rows.row_stride = INT64_MAX;
  CHECK_FAILS(sidbeam_hidden_step(made.hidden, &args, &err), SIDBEAM_INVALID_ARGUMENT,
              "hidden.row_stride is 9223372036854775807, which overflows over 4 of them");
  rows = state_rows();
  rows.row_stride = INT64_MAX / BEAMS / 8;
  CHECK_FAILS(sidbeam_hidden_step(made.hidden, &args, &err), SIDBEAM_INVALID_ARGUMENT, "which overflows over");
  rows = state_rows();
  rows.data = (const char*)states + 1;
  CHECK_FAILS(sidbeam_hidden_step(made.hidden, &args, &err), SIDBEAM_INVALID_ARGUMENT, "hidden.data is not aligned");
  rows = state_rows();
  rows.slots = 1;
  CHECK_FAILS(sidbeam_hidden_step(made.hidden, &args, &err), SIDBEAM_INVALID_ARGUMENT, "hidden.slots is 1");
  rows = make_rows(states, 0, SLOTS * BEAMS, WIDTH);
  args.row_map = map;
  CHECK_FAILS(sidbeam_hidden_step(made.hidden, &args, &err), SIDBEAM_INVALID_ARGUMENT, "beam 0 of slot 1 must be fed");
  args.row_map = NULL;
  rows = state_rows();
  args.slots = twice;
  args.count = 2;
  CHECK_FAILS(sidbeam_hidden_step(made.hidden, &args, &err), SIDBEAM_INVALID_ARGUMENT,
              "slots[1] is 1, which is named before");
  args.slots = NULL;
  args.count = 0;
  args.inverse_temperatures = temperatures;
  CHECK_FAILS(sidbeam_hidden_step(made.hidden, &args, &err), SIDBEAM_INVALID_ARGUMENT,
              "inverse_temperatures[1] is nan");
  args.inverse_temperatures = NULL;
  CHECK_INT(beams_of(made.session).level[0], 0);
  CHECK_INT(beams_of(made.session).level[1], 0);
  for (int level = 0; level < LEVELS; ++level) CHECK_OK(sidbeam_hidden_step(made.hidden, &args, &err));
  CHECK_FAILS(sidbeam_hidden_step(made.hidden, &args, &err), SIDBEAM_BAD_STATE, "expected one to step");
  drop(made);
}

static void children_alone_are_refused_where_a_step_reads_more(void) {
  const world made = make_world(SIDBEAM_NORMALIZE_LEVEL, SIDBEAM_HIDDEN_CHILDREN);
  const sidbeam_rows rows = state_rows();
  int64_t offsets[SLOTS * BEAMS + 1];
  sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
  args.hidden = &rows;
  CHECK_FAILS(sidbeam_hidden_step(made.hidden, &args, &err), SIDBEAM_UNSUPPORTED, "normalization is 1");
  args.path = SIDBEAM_HIDDEN_PRODUCT; /* of this step, whatever the object's is */
  CHECK_OK(sidbeam_hidden_step(made.hidden, &args, &err));
  start_all(made.session);
  CHECK_FAILS(sidbeam_session_children(made.session, NULL, 0, 0, 0, offsets, NULL, NULL, &err), SIDBEAM_UNSUPPORTED,
              "reads more than children");
  CHECK_FAILS(sidbeam_session_children(made.session, NULL, 0, 2, 0, offsets, NULL, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT, "lse_given is 2");
  CHECK_FAILS(sidbeam_session_children(made.session, NULL, 0, 1, 1, offsets, NULL, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT, "columns is NULL");
  CHECK_OK(sidbeam_session_children(made.session, NULL, 0, 1, 0, offsets, NULL, NULL, &err));
  CHECK_INT(offsets[SLOTS * BEAMS], SLOTS * 3); /* of the root: 0, 2, 3 */
  drop(made);
}

#ifdef SIDBEAM_MALLOC_FAULTS
static sidbeam_status use(void* context, sidbeam_error* error) {
  const world* made = context;
  const sidbeam_output_layer_config config = layer_config();
  sidbeam_output_layer* layer = NULL;
  sidbeam_hidden* hidden = NULL;
  sidbeam_status status = sidbeam_output_layer_create(&config, &layer, error);
  if (status == SIDBEAM_OK) status = create(made->session, layer, SIDBEAM_HIDDEN_FASTEST, &hidden, error);
  sidbeam_hidden_destroy(hidden);
  sidbeam_output_layer_destroy(layer);
  return status;
}

static void a_failure_at_any_call_is_out_of_memory_and_steps_allocate_nothing(void) {
  world made = make_world(SIDBEAM_NORMALIZE_VALID, SIDBEAM_HIDDEN_FASTEST);
  const allocating_work work = {use, &made, 0, 0};
  CHECK(fail_every_allocation(&work) > 10);
  const sidbeam_rows rows = state_rows();
  sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
  args.hidden = &rows;
  malloc_faults_begin(-1, 0);
  for (int level = 0; level < LEVELS; ++level) CHECK_OK(sidbeam_hidden_step(made.hidden, &args, &err));
  malloc_faults_end();
  CHECK_INT(malloc_calls(), 0);
  drop(made);
}
#endif

int main(void) {
  const test_case tests[] = {
      TEST(steps_as_product_and_step_do),
      TEST(layers_that_cannot_be_are_refused),
      TEST(steps_that_cannot_be_are_refused_and_move_nothing),
      TEST(children_alone_are_refused_where_a_step_reads_more),
#ifdef SIDBEAM_MALLOC_FAULTS
      TEST(a_failure_at_any_call_is_out_of_memory_and_steps_allocate_nothing),
#endif
  };
  return RUN_TESTS(tests);
}
