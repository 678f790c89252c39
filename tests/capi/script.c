/* SPDX-License-Identifier: Apache-2.0 */
#include "script.h"

#include "arrow_columns.h"

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
  sidbeam_disc* disc;
  sidbeam_session *target, *draft;
  sidbeam_speculation* speculation;
  sidbeam_filter* filters[4];
} script;

static const char kStrings[] = "an attribute of strings", kLists[] = "an attribute of lists of them";

/* The first two pairs once more, which merge with those that are there, by a stream whose calls may fail too. */
static sidbeam_status add_arrow(script* s) {
  const arrow_column values = numbers("", "l", 6, OF(int64_t, 2, 2, 1, 0, 1, 2));
  const arrow_column sid = lists("a column whose name is no small string", "+w:3", 2, NULL, 0, &values);
  const arrow_column item = texts("item", "u", 2, OF(int32_t, 0, 8, 11), "thirteenten");
  const arrow_column brand = texts(kStrings, "u", 2, OF(int32_t, 0, 1, 2), "ab");
  const arrow_column one = batch(2, &sid, &item, &brand, NULL);
  const arrow_column* const batches[] = {&one};
  arrow_source source = source_of(batches, 1);
  struct ArrowArrayStream stream;
  sidbeam_arrow_config config = SIDBEAM_ARROW_CONFIG_INIT;
  sidbeam_arrow_info info = SIDBEAM_ARROW_INFO_INIT;
  config.sid = sid.name;
  config.all_attributes = 1;
  arrow_export(&source, &stream);
  TRY(sidbeam_arrow_inspect(&stream, &config, NULL, &info, s->error));
  arrow_export(&source, &stream);
  return sidbeam_builder_add_arrow(s->builder, &stream, &config, NULL, s->error);
}

/* Strings for the rows of the last add, one by one and in lists. */
static sidbeam_status set_attributes(script* s, int64_t count) {
  static const int64_t offsets[8] = {0, 1, 2, 3, 4, 5, 6, 7}, codes[7] = {1, 0, 1, 0, 0, 0, 0};
  sidbeam_attribute_column column = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  column.name = kStrings;
  column.text = "abcdefg";
  column.offsets = offsets;
  TRY(sidbeam_builder_set_attribute(s->builder, &column, count, s->error));
  column.name = kLists;
  column.lists = offsets;
  column.codes = codes;
  column.string_count = 2;
  return sidbeam_builder_set_attribute(s->builder, &column, count, s->error);
}

static sidbeam_status build(script* s, const catalogue* from) {
  const sidbeam_builder_config config = builder_config(from, ALL_KINDS);
  TRY(sidbeam_builder_create(s->runtime, &config, &s->builder, s->error));
  TRY(sidbeam_builder_declare_attribute(s->builder, kStrings, SIDBEAM_ATTRIBUTE_STRING, s->error));
  TRY(sidbeam_builder_declare_attribute(s->builder, kLists, SIDBEAM_ATTRIBUTE_STRING_LIST, s->error));
  TRY(add_all(s->builder, from, s->error));
  TRY(set_attributes(s, from->count));
  TRY(add_arrow(s));
  TRY(sidbeam_builder_set_metadata(s->builder, "a key longer than any small string", "and a value", s->error));
  TRY(sidbeam_builder_plan(s->builder, &s->plan, s->error));
  TRY(sidbeam_builder_write(s->builder, s->path, s->error));
  TRY(sidbeam_builder_finish(s->builder, &s->built, s->error));
  return sidbeam_index_write(s->built, s->path, s->error);
}

/* Every residency that needs no privilege; the last one stays open. */
static sidbeam_status open_each(script* s) {
  static const int32_t residencies[] = {SIDBEAM_RESIDENCY_MAP, SIDBEAM_RESIDENCY_PREFAULT, SIDBEAM_RESIDENCY_COPY};
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  sidbeam_constraint_config items = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  TRY(sidbeam_index_peek(s->path, 0, NULL, NULL, NULL, &info, s->error));
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
  items.cap_attribute = kLists;
  items.cap = 1;
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

static sidbeam_status draw(script* s, int32_t mode) {
  static const int64_t keys[2] = {5, 5};
  const sidbeam_rows rows = same_row(halving, 2, 4, 4);
  sidbeam_session_config config = session_config(s->constraint);
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  config.slots = 2;
  config.mode = mode;
  sampling.seeds = sampling.requests = keys;
  start.sampling = &sampling;
  step.rows = &rows;
  TRY(sidbeam_session_create(s->runtime, &config, &s->session, s->error));
  TRY(sidbeam_session_start(s->session, &start, s->error));
  for (int level = 0; level < 3; ++level) TRY(sidbeam_session_step(s->session, &step, s->error));
  TRY(sidbeam_session_get_beams(s->session, &beams, s->error));
  if (beams.live[0] != 4 || memcmp(beams.codes, beams.codes + 4, 4 * sizeof *beams.codes) != 0) return SIDBEAM_INTERNAL;
  sidbeam_session_destroy(s->session);
  s->session = NULL;
  return SIDBEAM_OK;
}

static sidbeam_status go_stateless(script* s) {
  static const int32_t codes[4] = {0, 1, 3, 0}, lengths[2] = {2, 1};
  const sidbeam_rows rows = same_row(halving, 0, 2, 4);
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  static const int64_t keys[2] = {5, 5};
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sidbeam_sampled sampled = SIDBEAM_SAMPLED_INIT;
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
  sampling.seeds = sampling.requests = keys;
  sampled.codes = best;
  TRY(sidbeam_constraint_set_sample(s->set, NULL, states, &rows, SIDBEAM_NORMALIZE_FULL, NULL, &sampling, &sampled,
                                    NULL, s->error));
  return words[0] == 0xc && words[1] == 1 && (best[0] == 2 || best[0] == 3) ? SIDBEAM_OK : SIDBEAM_INTERNAL;
}

/* The items of ordinals with at most one per string of theirs. */
static sidbeam_status list_capped(script* s, const sidbeam_constraint* constraint) {
  static const int64_t ordinals[3] = {0, 3, 2};
  sidbeam_item_limits limits = SIDBEAM_ITEM_LIMITS_INIT;
  int64_t offsets[4];
  int32_t came_short = -1;
  limits.cap_attribute = kStrings;
  limits.cap = 1;
  TRY(sidbeam_constraint_items(constraint, ordinals, 3, &limits, NULL, offsets, NULL, &came_short, s->error));
  return came_short == 0 ? SIDBEAM_OK : SIDBEAM_INTERNAL; /* no two have the same */
}

/* Filters whose handles go at once: of a text, whose text is asked for, and of rows as bits. */
static sidbeam_status parse_filters(script* s) {
  static const char text[] = "not 'an attribute of strings' in (a, 'a string that no small string holds')";
  static const uint8_t bits[1] = {0x2a};
  sidbeam_row_set rows = SIDBEAM_ROW_SET_INIT;
  sidbeam_filter *parsed = NULL, *opposite = NULL, *of_bits = NULL;
  int64_t bytes = 0;
  rows.data = bits;
  rows.bytes = 1;
  sidbeam_status status = sidbeam_filter_parse(s->opened, text, (int64_t)sizeof text - 1, &parsed, s->error);
  if (status == SIDBEAM_OK) status = sidbeam_filter_combine(SIDBEAM_FILTER_NOT, &parsed, 1, &opposite, s->error);
  if (status == SIDBEAM_OK) status = sidbeam_filter_text(opposite, 0, NULL, &bytes, s->error);
  if (status == SIDBEAM_OK) status = sidbeam_filter_from_rows(s->opened, &rows, &of_bits, s->error);
  sidbeam_filter_release(parsed);
  sidbeam_filter_release(opposite);
  sidbeam_filter_release(of_bits);
  return status;
}

/* A search under a filter and lists of two kinds. */
static sidbeam_status follow_rules(script* s) {
  static const int64_t rows[4] = {0, 1, 3, 5}, offsets[3] = {0, 6, 9};
  static const uint8_t allowed[4] = {1, 1, 0, 1};
  sidbeam_constraint* const whole = s->constraint;
  sidbeam_item_list by_row = SIDBEAM_ITEM_LIST_INIT, by_name = SIDBEAM_ITEM_LIST_INIT;
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  sidbeam_constraint *ruled = NULL, *more = NULL;
  by_row.by = SIDBEAM_ITEMS_BY_ROW;
  by_row.numbers = rows;
  by_row.count = 4;
  by_name.names = "twelveten";
  by_name.offsets = offsets;
  by_name.count = 2;
  config.index = s->opened;
  config.excluded = &by_name;
  TRY(sidbeam_filter_from_items(s->opened, &by_row, NULL, &s->filters[0], s->error));
  TRY(parse_filters(s));
  TRY(sidbeam_filter_combine(SIDBEAM_FILTER_NOT, s->filters, 1, &s->filters[1], s->error));
  TRY(sidbeam_filter_combine(SIDBEAM_FILTER_OR, s->filters, 2, &s->filters[2], s->error));
  TRY(sidbeam_filter_prepare(s->filters[2], s->error));
  TRY(sidbeam_filter_update(s->filters[2], &by_row, allowed, NULL, &s->filters[3], s->error));
  config.filter = s->filters[3];
  sidbeam_status status = sidbeam_constraint_create(&config, &ruled, s->error);
  if (status == SIDBEAM_OK) status = sidbeam_constraint_exclude(ruled, &by_row, &more, s->error);
  sidbeam_constraint_release(more);
  if (status == SIDBEAM_OK) status = list_capped(s, ruled);
  if (status == SIDBEAM_OK) {
    s->constraint = ruled;
    status = search(s, SIDBEAM_STRATEGY_TRIE);
    s->constraint = whole;
    sidbeam_session_destroy(s->session);
    s->session = NULL;
  }
  sidbeam_constraint_release(ruled);
  return status;
}

/* Draws that are accepted for sure, of SIDs by turns. */
static sidbeam_status decide(script* s) {
  static const int64_t ordinals[8] = {0, 1, 0, 1, 0, 1, 2, 3};
  static const float zeros[8] = {0};
  sidbeam_disc_config config = SIDBEAM_DISC_CONFIG_INIT;
  sidbeam_disc_draws draws = SIDBEAM_DISC_DRAWS_INIT;
  int64_t numbers[8];
  config.results = 3;
  config.side_by_side = config.without_replacement = 1;
  TRY(sidbeam_disc_create(s->runtime, &config, &s->disc, s->error));
  draws.draws = numbers;
  draws.ordinals = ordinals;
  draws.log_probs = draws.log_masses = zeros;
  do {
    TRY(sidbeam_disc_next(s->disc, 8, numbers, &draws.count, s->error));
    TRY(sidbeam_disc_add(s->disc, &draws, s->error));
    draws.ordinals = ordinals + 4;
  } while (draws.count > 0);
  sidbeam_disc_results none = SIDBEAM_DISC_RESULTS_INIT;
  return sidbeam_disc_get(s->disc, &none, s->error);
}

/* Rounds of one drafted level, whose target is stepped to its end. */
static sidbeam_status speculate(script* s) {
  sidbeam_session_config config = session_config(s->constraint);
  sidbeam_speculation_config how = SIDBEAM_SPECULATION_CONFIG_INIT;
  sidbeam_speculation_tree tree = SIDBEAM_SPECULATION_TREE_INIT;
  sidbeam_speculation_verify_args verify = SIDBEAM_SPECULATION_VERIFY_ARGS_INIT;
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  int64_t active = 1;
  TRY(sidbeam_session_create(s->runtime, &config, &s->target, s->error));
  TRY(sidbeam_session_create(s->runtime, &config, &s->draft, s->error));
  how.target = s->target;
  how.draft = s->draft;
  TRY(sidbeam_speculation_create(s->runtime, &how, &s->speculation, s->error));
  TRY(sidbeam_session_start(s->target, &start, s->error));
  TRY(sidbeam_session_start(s->draft, &start, s->error));
  for (;;) {
    TRY(sidbeam_speculation_begin(s->speculation, NULL, 0, &active, s->error));
    if (active == 0) break;
    for (;;) {
      TRY(sidbeam_speculation_get_tree(s->speculation, &tree, s->error));
      const sidbeam_rows rows = same_row(halving, 0, tree.nodes, 4);
      step.rows = verify.rows = &rows;
      step.slots = tree.draft_slots;
      step.count = tree.draft_count;
      step.row_map = tree.draft_nodes;
      if (tree.draft_count == 0) {
        TRY(sidbeam_speculation_verify(s->speculation, &verify, s->error));
        break;
      }
      TRY(sidbeam_session_step(s->draft, &step, s->error));
      TRY(sidbeam_speculation_add(s->speculation, s->error));
    }
  }
  TRY(sidbeam_session_get_beams(s->target, &beams, s->error));
  return beams.scores[0] == -7.0f ? SIDBEAM_OK : SIDBEAM_INTERNAL;
}

static sidbeam_status relax(script* s) {
  static const float log_probs[4] = {-1, -2, -3, -4};
  int64_t drafts[2], found[2];
  sidbeam_relaxed_draw_args draw = SIDBEAM_RELAXED_DRAW_ARGS_INIT;
  sidbeam_relaxed_verify_args verify = SIDBEAM_RELAXED_VERIFY_ARGS_INIT;
  sidbeam_relaxed_beams out = SIDBEAM_RELAXED_BEAMS_INIT;
  draw.draws = verify.beams = 2;
  draw.count = verify.count = 4;
  draw.log_probs = verify.draft = verify.target = log_probs;
  draw.without_replacement = verify.without_replacement = 1;
  verify.drafts = drafts;
  verify.draft_count = 2;
  out.extensions = found;
  TRY(sidbeam_relaxed_draw(s->runtime, &draw, drafts, s->error));
  TRY(sidbeam_relaxed_verify(s->runtime, &verify, &out, s->error));
  return out.live == 2 && out.goes_on == 1 ? SIDBEAM_OK : SIDBEAM_INTERNAL;
}

static sidbeam_status run_steps(script* s, const sidbeam_runtime_config* config) {
  TRY(sidbeam_runtime_create(config, &s->runtime, s->error));
  TRY(build(s, &small_named));
  TRY(open_each(s));
  for (int32_t strategy = SIDBEAM_STRATEGY_TRIE; strategy <= SIDBEAM_STRATEGY_HASH_FINAL; ++strategy) {
    TRY(search(s, strategy));
  }
  TRY(draw(s, SIDBEAM_MODE_SAMPLE));
  TRY(draw(s, SIDBEAM_MODE_STOCHASTIC));
  TRY(decide(s));
  TRY(speculate(s));
  TRY(relax(s));
  TRY(follow_rules(s));
  return go_stateless(s);
}

sidbeam_status run_script(const sidbeam_allocator* allocator, int32_t threads, const char* path, sidbeam_error* error) {
  script s = {.path = path, .error = error};
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  config.threads = threads;
  config.allocator = allocator;
  const sidbeam_status status = run_steps(&s, &config);
  sidbeam_constraint_set_destroy(s.set);
  sidbeam_disc_destroy(s.disc);
  sidbeam_speculation_destroy(s.speculation);
  sidbeam_session_destroy(s.target);
  sidbeam_session_destroy(s.draft);
  sidbeam_session_destroy(s.session);
  sidbeam_plan_destroy(s.plan);
  sidbeam_constraint_release(s.constraint);
  for (size_t i = 0; i < COUNT(s.filters); ++i) sidbeam_filter_release(s.filters[i]);
  sidbeam_index_release(s.built);
  sidbeam_index_release(s.opened);
  sidbeam_builder_destroy(s.builder);
  sidbeam_runtime_release(s.runtime);
  return status;
}
