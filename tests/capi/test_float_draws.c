/* The caller's floating-point mode in what draws and speculates, as test_float_mode.c has it for searches.
 * SPDX-License-Identifier: Apache-2.0 */
#include "disc_rig.h"
#include "float_modes.h"

enum { ROWS = 3, COLUMNS = 4 };
/* Ordinary floats, denormals, and a row in which one of them decides. */
static const float rows_of_floats[ROWS][COLUMNS] = {
    {-0.1f, 3.3f, 1e-7f, 2.7f}, {-1e-40f, -2e-40f, -3e-40f, -4e-40f}, {1e-40f, 0, -1e-40f, 0.5f}};
static const int64_t keys[4] = {7, 7, 8, 9};

static struct {
  sidbeam_runtime* runtime;
  sidbeam_constraint* constraint;
  sidbeam_constraint_set* set;
  sidbeam_session *target, *draft;
  sidbeam_speculation* speculation;
} w;

static void end_world(void) {
  sidbeam_speculation_destroy(w.speculation);
  sidbeam_session_destroy(w.target);
  sidbeam_session_destroy(w.draft);
  sidbeam_constraint_set_destroy(w.set);
  sidbeam_constraint_release(w.constraint);
  sidbeam_runtime_release(w.runtime);
  memset(&w, 0, sizeof w);
}

static void begin_world(void) {
  w.runtime = make_runtime();
  w.constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  w.set = make_set(&w.constraint, 1, NULL);
}

/* One row for every row of the call. */
static sidbeam_rows same_for(const float* row, int64_t count) {
  sidbeam_rows rows = make_rows(row, 0, count, COLUMNS);
  rows.row_stride = SIDBEAM_BROADCAST;
  return rows;
}

typedef struct row_input {
  const float* row;
  int32_t normalization, top_k;
  float inverse_temperature, top_p;
} row_input;

static void sample(const void* input, call_outcome* o) {
  const row_input* in = input;
  const sidbeam_state states[4] = {0, 0, 0, 0};
  float warm[4], top_ps[4], log_probs[4] = {0}, log_masses[4] = {0};
  int32_t top_ks[4], codes[4] = {0};
  sidbeam_state next[4] = {0};
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sidbeam_sampled sampled = SIDBEAM_SAMPLED_INIT;
  const sidbeam_rows rows = same_for(in->row, 4);
  for (int i = 0; i < 4; ++i) {
    warm[i] = in->inverse_temperature;
    top_ks[i] = in->top_k;
    top_ps[i] = in->top_p;
  }
  sampling.seeds = sampling.requests = keys;
  sampling.top_ks = top_ks;
  sampling.top_ps = top_ps;
  sampled.codes = codes;
  sampled.log_probs = log_probs;
  sampled.log_masses = log_masses;
  sampled.next = next;
  keep_status(o, sidbeam_constraint_set_sample(w.set, NULL, states, &rows, in->normalization, warm, &sampling, &sampled,
                                               NULL, &err));
  keep_words(o, codes, sizeof codes);
  keep_words(o, log_probs, sizeof log_probs);
  keep_words(o, log_masses, sizeof log_masses);
  keep_words(o, next, sizeof next);
}

static void stateless_draws(void) {
  begin_world();
  for (int row = 0; row < ROWS; ++row) {
    row_input in = {rows_of_floats[row], 0, 0, 0, 1};
    for (in.normalization = SIDBEAM_NORMALIZE_FULL; in.normalization <= SIDBEAM_NORMALIZE_LEVEL; ++in.normalization) {
      static const float warm[] = {0, 0.3f, 1e-40f}, top_ps[] = {1, 0.3f, 0.999f, 1e-40f};
      for (size_t i = 0; i < COUNT(warm); ++i) {
        for (size_t k = 0; k < COUNT(top_ps); ++k) {
          in.inverse_temperature = warm[i];
          in.top_p = top_ps[k];
          in.top_k = k % 2 == 0 ? 0 : 3;
          CHECK_INT(in_every_mode(sample, &in).status, SIDBEAM_OK);
        }
      }
    }
  }
  row_input refused = {rows_of_floats[0], SIDBEAM_NORMALIZE_FULL, 0, 1, -1e-40f};
  CHECK_INT(in_every_mode(sample, &refused).status, SIDBEAM_INVALID_ARGUMENT); /* no top-p, in any mode */
  end_world();
}

/* Some dead, the others with acceptance of every size; a log_mass that rounding left above 0. */
static fate mixed_fate(int64_t number) {
  static const float log_masses[] = {-0.3f, -1.7f, 1e-40f, -1e-40f, 0.0005f, -4.1f};
  const fate came = {number % 5 == 4 ? -1 : number % 7, log_masses[number % 6]};
  return came;
}

static void run_disc(const void* input, call_outcome* o) {
  static disc_outcome results;
  const sidbeam_disc_config* config = input;
  const size_t n = (size_t)config->results;
  (void)run_config(config, 5, mixed_fate, &results);
  keep_words(o, results.ordinals, n * sizeof results.ordinals[0]);
  keep_words(o, results.draws, n * sizeof results.draws[0]);
  keep_words(o, results.accepted, n * sizeof results.accepted[0]);
  keep_words(o, results.used, n * sizeof results.used[0]);
  keep_words(o, results.log_probs, n * sizeof results.log_probs[0]);
  keep_words(o, results.log_masses, n * sizeof results.log_masses[0]);
}

static void discs(void) {
  for (int32_t without = 0; without < 2; ++without) {
    sidbeam_disc_config config = disc_config(without ? 4 : 16, 3, 2);
    config.without_replacement = without;
    config.attempts = without ? 20 : 0;
    (void)in_every_mode(run_disc, &config);
  }
}

static const float target_list[6] = {-0.1f, -2.3f, -1e-40f, -7.7f, -0.9f, -INFINITY},
                   draft_list[6] = {-1.3f, -0.2f, -2e-40f, -0.7f, -INFINITY, -4.4f};

static void relax(const void* input, call_outcome* o) {
  const int32_t* without = input;
  int64_t drafts[4] = {0}, extensions[4] = {0};
  sidbeam_relaxed_draw_args draw = SIDBEAM_RELAXED_DRAW_ARGS_INIT;
  sidbeam_relaxed_verify_args args = SIDBEAM_RELAXED_VERIFY_ARGS_INIT;
  sidbeam_relaxed_beams beams = SIDBEAM_RELAXED_BEAMS_INIT;
  draw.draws = 4;
  draw.count = args.count = 6;
  draw.log_probs = args.draft = draft_list;
  draw.inverse_temperature = args.inverse_temperature = 0.7f;
  draw.without_replacement = args.without_replacement = *without;
  beams.extensions = extensions;
  args.beams = 4;
  args.target = target_list;
  args.drafts = drafts;
  args.draft_count = 4;
  for (int64_t request = 0; request < 12 && o->status == SIDBEAM_OK; ++request) {
    draw.request = args.request = request;
    keep_status(o, sidbeam_relaxed_draw(w.runtime, &draw, drafts, &err));
    keep_words(o, drafts, sizeof drafts);
    if (o->status != SIDBEAM_OK) return;
    keep_status(o, sidbeam_relaxed_verify(w.runtime, &args, &beams, &err));
    keep_words(o, extensions, sizeof extensions);
    keep_words(o, &beams.accepted, sizeof beams.accepted);
  }
}

static void relaxed_draws(void) {
  begin_world();
  for (int32_t without = 0; without < 2; ++without) CHECK_INT(in_every_mode(relax, &without).status, SIDBEAM_OK);
  end_world();
}

static void start(sidbeam_session* session, int32_t mode) {
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  sampling.seeds = sampling.requests = keys;
  if (mode == SIDBEAM_MODE_STOCHASTIC) args.sampling = &sampling;
  CHECK_OK(sidbeam_session_start(session, &args, &err));
}

typedef struct speculation_input {
  const float* row;
  int32_t mode;
} speculation_input;

/* A round: two levels drafted and verified. Returns whether there was one. */
static int run_round(const float* row, call_outcome* o) {
  sidbeam_speculation_tree tree = SIDBEAM_SPECULATION_TREE_INIT;
  sidbeam_speculation_verify_args args = SIDBEAM_SPECULATION_VERIFY_ARGS_INIT;
  sidbeam_rows rows;
  int64_t active = 0;
  CHECK_OK(sidbeam_speculation_begin(w.speculation, NULL, 0, &active, &err));
  if (active == 0) return 0;
  for (;;) {
    sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
    CHECK_OK(sidbeam_speculation_get_tree(w.speculation, &tree, &err));
    rows = same_for(row, tree.nodes);
    if (tree.draft_count == 0) break;
    step.slots = tree.draft_slots;
    step.count = tree.draft_count;
    step.rows = &rows;
    step.row_map = tree.draft_nodes;
    CHECK_OK(sidbeam_session_step(w.draft, &step, &err));
    CHECK_OK(sidbeam_speculation_add(w.speculation, &err));
  }
  keep_words(o, tree.codes, (size_t)tree.nodes * sizeof(int32_t));
  args.rows = &rows;
  keep_status(o, sidbeam_speculation_verify(w.speculation, &args, &err));
  return 1;
}

static void speculate(const void* input, call_outcome* o) {
  const speculation_input* in = input;
  const sidbeam_beams beams = beams_of(w.target);
  start(w.target, in->mode);
  start(w.draft, in->mode);
  while (run_round(in->row, o)) {
    keep_words(o, beams.scores, 4 * sizeof(float));
    keep_words(o, beams.states, 4 * sizeof(sidbeam_state));
    if (in->mode == SIDBEAM_MODE_STOCHASTIC) keep_words(o, beams.log_inclusions, 4 * sizeof(float));
  }
}

static void speculations(void) {
  static const int32_t modes[] = {SIDBEAM_MODE_SEARCH, SIDBEAM_MODE_STOCHASTIC};
  for (size_t m = 0; m < COUNT(modes); ++m) {
    sidbeam_speculation_config config = SIDBEAM_SPECULATION_CONFIG_INIT;
    begin_world();
    sidbeam_session_config session = session_config(w.constraint);
    session.mode = modes[m];
    session.normalization = SIDBEAM_NORMALIZE_FULL;
    w.target = make_session(&session);
    session.normalization = SIDBEAM_NORMALIZE_VALID;
    w.draft = make_session(&session);
    config.target = w.target;
    config.draft = w.draft;
    config.draft_levels = 2;
    CHECK_OK(sidbeam_speculation_create(w.runtime, &config, &w.speculation, &err));
    for (int row = 0; row < ROWS; ++row) {
      const speculation_input in = {rows_of_floats[row], modes[m]};
      CHECK_INT(in_every_mode(speculate, &in).status, SIDBEAM_OK);
    }
    end_world();
  }
}

/* Steps by the children alone, with a log-sum-exp that the caller gives. */
static void step_children(const void* input, call_outcome* o) {
  const float* row = input;
  int64_t offsets[5];
  int32_t columns[16];
  float logits[16], lse[4];
  const sidbeam_beams beams = beams_of(w.target);
  start(w.target, SIDBEAM_MODE_SEARCH);
  for (int level = 0; level < 3; ++level) {
    sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
    CHECK_OK(sidbeam_session_children(w.target, NULL, 0, 1, 16, offsets, columns, NULL, &err));
    for (int64_t i = 0; i < offsets[4]; ++i) logits[i] = row[columns[i]];
    for (int m = 0; m < 4; ++m) lse[m] = row[1];
    const sidbeam_rows rows = make_rows(logits, 0, 1, offsets[4]);
    args.rows = &rows;
    args.child_offsets = offsets;
    args.lse = lse;
    keep_status(o, sidbeam_session_step(w.target, &args, &err));
    keep_words(o, offsets, sizeof offsets);
    keep_words(o, beams.scores, 4 * sizeof(float));
    keep_words(o, beams.codes, 4 * sizeof(int32_t));
  }
}

static void children(void) {
  begin_world();
  sidbeam_session_config session = session_config(w.constraint);
  session.normalization = SIDBEAM_NORMALIZE_FULL;
  w.target = make_session(&session);
  for (int row = 0; row < ROWS; ++row) CHECK_INT(in_every_mode(step_children, rows_of_floats[row]).status, SIDBEAM_OK);
  end_world();
}

int main(void) {
  static const test_case tests[] = {TEST(stateless_draws), TEST(discs), TEST(relaxed_draws), TEST(speculations),
                                    TEST(children)};
  after_test = end_world;
  return RUN_TESTS(tests);
}
