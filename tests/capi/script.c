/* SPDX-License-Identifier: Apache-2.0 */
#include "script.h"

#define TRY(call)                          \
  do {                                     \
    const sidbeam_status tried = (call);   \
    if (tried != SIDBEAM_OK) return tried; \
  } while (0)

typedef struct script {
  const char* path;
  sidbeam_error* error;
  sidbeam_runtime* runtime;
  sidbeam_builder* builder;
  sidbeam_index *built, *opened;
  sidbeam_constraint* constraint;
  sidbeam_session* session;
  sidbeam_constraint_set* set;
  sidbeam_plan* plan;
} script;

static sidbeam_status build(script* s, const catalogue* from) {
  const sidbeam_builder_config config = builder_config(from, ALL_KINDS);
  TRY(sidbeam_builder_create(s->runtime, &config, &s->builder, s->error));
  TRY(add_all(s->builder, from, s->error));
  TRY(sidbeam_builder_set_metadata(s->builder, "a key longer than any small string", "and a value", s->error));
  TRY(sidbeam_builder_plan(s->builder, &s->plan, s->error));
  TRY(sidbeam_builder_write(s->builder, s->path, s->error));
  return sidbeam_builder_finish(s->builder, &s->built, s->error);
}

/* Every residency that needs no privilege; the last one stays open. */
static sidbeam_status open_each(script* s) {
  static const int32_t residencies[] = {SIDBEAM_RESIDENCY_MAP, SIDBEAM_RESIDENCY_PREFAULT, SIDBEAM_RESIDENCY_COPY};
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  sidbeam_constraint_config items = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  TRY(sidbeam_index_peek(s->path, &info, s->error));
  for (size_t i = 0; i < COUNT(residencies); ++i) {
    config.residency = residencies[i];
    config.verify = (int32_t)i;
    sidbeam_index_release(s->opened);
    s->opened = NULL;
    TRY(sidbeam_index_open(s->runtime, s->path, &config, &s->opened, s->error));
  }
  TRY(sidbeam_index_verify(s->built, SIDBEAM_VERIFY_FULL, s->error));
  items.index = s->opened;
  return sidbeam_constraint_create(&items, &s->constraint, s->error);
}

static sidbeam_status search(script* s, int32_t strategy) {
  const sidbeam_rows rows = same_row(halving, 2, 4, 4);
  sidbeam_session_config config = session_config(s->constraint);
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  int64_t ordinals[8], found[16], offsets[10];
  config.slots = 2;
  config.strategy = strategy;
  step.rows = &rows;
  items.limit = 8;
  items.ordinals = ordinals;
  items.item_rows = found;
  items.offsets = offsets;
  TRY(sidbeam_session_create(s->runtime, &config, &s->session, s->error));
  TRY(sidbeam_session_start(s->session, &start, s->error));
  for (int level = 0; level < 3; ++level) TRY(sidbeam_session_step(s->session, &step, s->error));
  TRY(sidbeam_session_get_beams(s->session, &beams, s->error));
  TRY(sidbeam_session_get_items(s->session, NULL, 2, &items, s->error));
  if (beams.live[0] < 1 || beams.scores[4] != -7.0f || ordinals[0] != 0 || ordinals[4] != 0) return SIDBEAM_INTERNAL;
  sidbeam_session_destroy(s->session);
  s->session = NULL;
  return SIDBEAM_OK;
}

static sidbeam_status go_stateless(script* s) {
  static const int32_t codes[4] = {0, 1, 3, 0}, lengths[2] = {2, 1};
  const sidbeam_rows rows = same_row(halving, 0, 2, 4);
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  sidbeam_state states[2], next[4];
  int32_t best[4];
  float log_probs[4];
  uint32_t words[2];
  config.constraints = &s->constraint;
  config.constraint_count = 1;
  TRY(sidbeam_constraint_set_create(s->runtime, &config, &s->set, s->error));
  TRY(sidbeam_constraint_set_prefixes(s->set, NULL, codes, 2, lengths, 2, states, NULL, s->error));
  TRY(sidbeam_constraint_set_bitmask(s->set, NULL, states, 2, 1, words, NULL, s->error));
  TRY(sidbeam_constraint_set_topk(s->set, NULL, states, &rows, SIDBEAM_NORMALIZE_FULL, 2, best, log_probs, next, NULL,
                                  s->error));
  return words[0] == 0xc && words[1] == 1 && best[0] == 2 ? SIDBEAM_OK : SIDBEAM_INTERNAL;
}

static sidbeam_status run_steps(script* s, const sidbeam_runtime_config* config) {
  TRY(sidbeam_runtime_create(config, &s->runtime, s->error));
  TRY(build(s, &small_named));
  TRY(open_each(s));
  for (int32_t strategy = SIDBEAM_STRATEGY_TRIE; strategy <= SIDBEAM_STRATEGY_HASH_FINAL; ++strategy) {
    TRY(search(s, strategy));
  }
  return go_stateless(s);
}

sidbeam_status run_script(const sidbeam_allocator* allocator, int32_t threads, const char* path, sidbeam_error* error) {
  script s = {path, error, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  config.threads = threads;
  config.allocator = allocator;
  const sidbeam_status status = run_steps(&s, &config);
  sidbeam_constraint_set_destroy(s.set);
  sidbeam_session_destroy(s.session);
  sidbeam_plan_destroy(s.plan);
  sidbeam_constraint_release(s.constraint);
  sidbeam_index_release(s.built);
  sidbeam_index_release(s.opened);
  sidbeam_builder_destroy(s.builder);
  sidbeam_runtime_release(s.runtime);
  return status;
}
