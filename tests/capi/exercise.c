/* SPDX-License-Identifier: Apache-2.0 */
#include "exercise.h"

#include <math.h>
#include <stdlib.h>

static int steps_done, rows_done, draws_done, rounds_done;
int exercised_steps(void) { return steps_done; }
int exercised_rows(void) { return rows_done; }
int exercised_draws(void) { return draws_done; }
int exercised_rounds(void) { return rounds_done; }

enum { MOST = 64, BEAMS = 5, ROOM = 96, UNWRITTEN = -77 };

typedef struct exercise {
  sidbeam_runtime* runtime;
  sidbeam_index* index;
  sidbeam_constraint* constraint;
  sidbeam_index_info info;
  float* row; /* [columns] */
  int64_t columns;
  uint32_t noise;
  int broken;
  volatile int64_t sink; /* receives values that are only read to be touched */
} exercise;

static int tried(exercise* e, sidbeam_status status) {
  if (status == SIDBEAM_INTERNAL) ++e->broken;
  return status == SIDBEAM_OK;
}

static uint32_t next_noise(exercise* e) {
  e->noise = e->noise * 1664525u + 1013904223u;
  return e->noise >> 8;
}

static void read_header(exercise* e) {
  for (int64_t i = 0; i < e->info.section_count; ++i) {
    sidbeam_section_info section = SIDBEAM_SECTION_INFO_INIT;
    if (tried(e, sidbeam_index_get_section(e->index, i, &section, NULL)))
      e->sink += section.kind[0] + section.encoding[0];
  }
  for (int64_t i = 0; i < e->info.metadata_count; ++i) {
    const char *key = NULL, *value = NULL;
    if (tried(e, sidbeam_index_get_metadata(e->index, i, &key, &value, NULL))) e->sink += key[0] + value[0];
  }
  e->sink += sidbeam_index_codebook(e->index)[0];
}

static void read_items(exercise* e) {
  for (int64_t item_row = 0; item_row < e->info.items && item_row < MOST; ++item_row) {
    int64_t ordinal = 0, id = 0, bytes = 0, found = 0, priority = 0;
    const char* name = NULL;
    if (sidbeam_index_item_priority(e->index, item_row, &priority, NULL) == SIDBEAM_OK) e->sink += (int)priority;
    (void)tried(e, sidbeam_index_item_ordinal(e->index, item_row, &ordinal, NULL));
    if (!tried(e, sidbeam_index_item_id(e->index, item_row, &id, &name, &bytes, NULL))) continue;
    for (int64_t i = 0; i < bytes; ++i) e->sink += name[i];
    if (name != NULL)
      (void)tried(e, sidbeam_index_find_item(e->index, id, name, bytes, 0, &found, NULL));
    else
      (void)tried(e, sidbeam_index_find_item(e->index, id, NULL, 0, 0, &found, NULL));
  }
}

static void read_attribute(exercise* e, int64_t attribute) {
  sidbeam_attribute_info info = SIDBEAM_ATTRIBUTE_INFO_INIT;
  const int64_t rows = e->info.items < MOST ? e->info.items : MOST;
  int64_t values[MOST], offsets[MOST + 1], found = -1, bytes = 0;
  float numbers[MOST];
  uint8_t valid[MOST];
  const char* text = NULL;
  if (!tried(e, sidbeam_index_get_attribute(e->index, attribute, &info, NULL))) return;
  (void)tried(e, sidbeam_index_find_attribute(e->index, info.name, &found, NULL));
  e->broken += found != attribute;
  for (int at_end = 0; at_end < 2; ++at_end) {
    const int64_t first = at_end ? e->info.items - rows : 0;
    (void)tried(e, sidbeam_index_attribute_integers(e->index, attribute, first, rows, values, valid, NULL));
    (void)tried(e, sidbeam_index_attribute_numbers(e->index, attribute, first, rows, numbers, valid, NULL));
    if (!tried(e, sidbeam_index_attribute_lists(e->index, attribute, first, rows, offsets, 0, NULL, valid, NULL)))
      continue;
    int64_t* codes = malloc((size_t)(offsets[rows] + 1) * sizeof *codes);
    if (codes != NULL)
      (void)tried(e, sidbeam_index_attribute_lists(e->index, attribute, first, rows, offsets, offsets[rows], codes,
                                                   valid, NULL));
    free(codes);
  }
  for (int64_t code = 0; code < info.distinct && code < MOST; ++code) {
    if (!tried(e, sidbeam_index_attribute_string(e->index, attribute, code, &text, &bytes, NULL))) continue;
    for (int64_t i = 0; i < bytes; ++i) e->sink += text[i];
  }
}

static void look_up_sids(exercise* e) {
  for (int64_t ordinal = 0; ordinal < e->info.sids && ordinal < MOST; ++ordinal) {
    int32_t codes[SIDBEAM_MAX_LEVELS], length = 0;
    int64_t lo = 0, hi = 0;
    for (size_t l = 0; l < SIDBEAM_MAX_LEVELS; ++l) codes[l] = UNWRITTEN;
    (void)tried(e, sidbeam_index_item_rows(e->index, ordinal, &lo, &hi, NULL));
    if (!tried(e, sidbeam_index_sid(e->index, ordinal, codes, &length, NULL))) continue;
    for (int32_t l = 0; l < length; ++l) e->broken += codes[l] == UNWRITTEN;
    (void)tried(e, sidbeam_index_find_sid(e->index, codes, length, &lo, NULL));
    for (int32_t cut = 0; cut <= length; ++cut) {
      (void)tried(e, sidbeam_index_ordinals(e->index, codes, cut, &lo, &hi, NULL));
    }
  }
}

/* Every prefix that the children lead to, at most a few per level. */
static void walk_children(exercise* e, int32_t* prefix, int32_t length) {
  int32_t codes[MOST], end = 0;
  int64_t count = 0, lo = 0, hi = 0;
  (void)tried(e, sidbeam_index_ordinals(e->index, prefix, length, &lo, &hi, NULL));
  if (length >= e->info.levels) return;
  if (!tried(e, sidbeam_index_children(e->index, prefix, length, MOST, codes, &count, &end, NULL))) return;
  for (int64_t i = 0; i < count && i < (length < 3 ? 4 : 1); ++i) {
    prefix[length] = codes[i];
    walk_children(e, prefix, length + 1);
  }
}

static sidbeam_rows rows_of(exercise* e, int64_t slots, int64_t rows) {
  sidbeam_rows result = SIDBEAM_ROWS_INIT;
  result.data = e->row;
  result.slots = slots;
  result.rows = rows;
  result.columns = e->columns;
  result.slot_stride = SIDBEAM_BROADCAST; /* one logits row for all */
  result.row_stride = SIDBEAM_BROADCAST;
  return result;
}

static sidbeam_vocabulary vocabulary_of(const exercise* e) {
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = e->info.levels;
  vocabulary.end_column = e->columns - 1;
  return vocabulary;
}

/* The same lists under a cap by each attribute that takes one. */
static void read_capped(exercise* e, sidbeam_session* session, sidbeam_items items) {
  int32_t came_short[2];
  items.came_short = came_short;
  for (int64_t i = 0; i < e->info.attribute_count; ++i) {
    sidbeam_attribute_info attribute = SIDBEAM_ATTRIBUTE_INFO_INIT;
    if (!tried(e, sidbeam_index_get_attribute(e->index, i, &attribute, NULL))) return;
    if (attribute.type == SIDBEAM_ATTRIBUTE_F32) continue;
    items.cap_attribute = attribute.name;
    items.cap = 1 + i;
    items.distinct = i % 2 == 1;
    if (tried(e, sidbeam_session_get_items(session, NULL, 0, &items, NULL))) e->sink += items.offsets[BEAMS];
  }
}

static void read_results(exercise* e, sidbeam_session* session) {
  int64_t ordinals[2 * BEAMS], item_rows[2 * 8], offsets[2 * (BEAMS + 1)];
  int32_t sids[2 * BEAMS * SIDBEAM_MAX_LEVELS], lengths[2 * BEAMS], truncated[2];
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.limit = 8;
  items.ordinals = ordinals;
  items.sids = sids;
  items.lengths = lengths;
  items.item_rows = item_rows;
  items.offsets = offsets;
  items.truncated = truncated;
  if (!tried(e, sidbeam_session_get_items(session, NULL, 0, &items, NULL))) return;
  for (int64_t i = offsets[0]; i < offsets[BEAMS]; ++i) e->sink += item_rows[i];
  read_capped(e, session, items);
}

static sidbeam_session* session_of(exercise* e, int32_t strategy, int32_t normalization, int32_t mode) {
  const sidbeam_vocabulary vocabulary = vocabulary_of(e);
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  sidbeam_session* session = NULL;
  config.slots = 2;
  config.beams = BEAMS;
  config.strategy = strategy;
  config.normalization = normalization;
  config.mode = mode;
  config.constraint = e->constraint;
  config.vocabulary = &vocabulary;
  return tried(e, sidbeam_session_create(e->runtime, &config, &session, NULL)) ? session : NULL;
}

/* The first slot at the beginning, the second after a code. */
static int start(exercise* e, sidbeam_session* session, int32_t mode) {
  const int64_t keys[2] = {next_noise(e), 1};
  const int32_t top_ks[2] = {0, 3};
  const float top_ps[2] = {0.7f, 1};
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  int32_t prefixes[2] = {0, 0}, lengths[2] = {0, 1};
  prefixes[1] = (int32_t)(next_noise(e) % (uint32_t)e->info.codes[0]);
  args.prefixes = prefixes;
  args.prefix_stride = 1;
  args.prefix_lengths = lengths;
  sampling.seeds = sampling.requests = keys;
  if (mode == SIDBEAM_MODE_SAMPLE) sampling.top_ks = top_ks;
  if (mode == SIDBEAM_MODE_SAMPLE) sampling.top_ps = top_ps;
  if (mode != SIDBEAM_MODE_SEARCH) args.sampling = &sampling;
  return tried(e, sidbeam_session_start(session, &args, NULL));
}

static void read_children(exercise* e, const sidbeam_session* session) {
  int64_t offsets[2 * BEAMS + 1];
  int32_t columns[MOST];
  if (!tried(e, sidbeam_session_children(session, NULL, 0, 1, MOST, offsets, columns, NULL, NULL))) return;
  for (int64_t i = 0; i < offsets[2 * BEAMS] && i < MOST; ++i) e->broken += columns[i] < 0 || columns[i] >= e->columns;
}

/* The steps that succeeded. */
static int decode(exercise* e, int32_t strategy, int32_t normalization, int32_t mode) {
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  sidbeam_stats stats = SIDBEAM_STATS_INIT;
  sidbeam_session* session = session_of(e, strategy, normalization, mode);
  const sidbeam_rows rows = rows_of(e, 2, BEAMS);
  int steps = 0;
  if (session == NULL) return 0;
  step.rows = &rows;
  if (start(e, session, mode)) {
    for (int32_t level = 0; level <= e->info.levels; ++level) {
      read_children(e, session);
      if (!tried(e, sidbeam_session_step(session, &step, NULL))) break;
      ++steps;
      read_results(e, session);
    }
  }
  (void)tried(e, sidbeam_session_get_stats(session, &stats, NULL));
  sidbeam_session_destroy(session);
  return steps;
}

/* Of either kind, by trie or by columns, whichever there is. */
static void draw(exercise* e) {
  const int32_t mode = next_noise(e) % 2 == 0 ? SIDBEAM_MODE_SAMPLE : SIDBEAM_MODE_STOCHASTIC;
  const int32_t strategy = next_noise(e) % 2 == 0 ? SIDBEAM_STRATEGY_TRIE : SIDBEAM_STRATEGY_SORTED;
  const int32_t other = SIDBEAM_STRATEGY_TRIE + SIDBEAM_STRATEGY_SORTED - strategy;
  const int32_t normalization = next_noise(e) % 2 == 0 ? SIDBEAM_NORMALIZE_FULL : SIDBEAM_NORMALIZE_LEVEL;
  draws_done += decode(e, strategy, normalization, mode);
  if (draws_done == 0) draws_done += decode(e, other, normalization, mode);
}

/* Drafts as many levels as there are to draft, then verifies; 0 where nothing is left, or something was refused. */
static int run_round(exercise* e, sidbeam_speculation* speculation, sidbeam_session* drafting) {
  sidbeam_speculation_verify_args verify = SIDBEAM_SPECULATION_VERIFY_ARGS_INIT;
  sidbeam_speculation_tree tree = SIDBEAM_SPECULATION_TREE_INIT;
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  sidbeam_rows rows;
  int64_t active = 0;
  if (!tried(e, sidbeam_speculation_begin(speculation, NULL, 0, &active, NULL)) || active == 0) return 0;
  for (;;) {
    if (!tried(e, sidbeam_speculation_get_tree(speculation, &tree, NULL))) return 0;
    for (int64_t n = 0; n < tree.nodes; ++n) e->broken += tree.parents[n] >= n || tree.tokens[n] >= e->columns;
    rows = rows_of(e, 0, tree.nodes);
    if (tree.draft_count == 0) break;
    step.slots = tree.draft_slots;
    step.count = tree.draft_count;
    step.rows = &rows;
    step.row_map = tree.draft_nodes;
    if (!tried(e, sidbeam_session_step(drafting, &step, NULL))) return 0;
    if (!tried(e, sidbeam_speculation_add(speculation, NULL))) return 0;
  }
  verify.rows = &rows;
  return tried(e, sidbeam_speculation_verify(speculation, &verify, NULL));
}

static void speculate(exercise* e) {
  const int32_t mode = next_noise(e) % 2 == 0 ? SIDBEAM_MODE_SEARCH : SIDBEAM_MODE_STOCHASTIC;
  sidbeam_session* target = session_of(e, SIDBEAM_STRATEGY_TRIE, SIDBEAM_NORMALIZE_FULL, mode);
  sidbeam_session* drafting = session_of(e, SIDBEAM_STRATEGY_TRIE, SIDBEAM_NORMALIZE_VALID, mode);
  sidbeam_speculation_config config = SIDBEAM_SPECULATION_CONFIG_INIT;
  sidbeam_speculation* speculation = NULL;
  config.draft_levels = 2;
  config.target = target;
  config.draft = drafting;
  if (target != NULL && drafting != NULL && start(e, target, mode) && start(e, drafting, mode) &&
      tried(e, sidbeam_speculation_create(e->runtime, &config, &speculation, NULL))) {
    for (int32_t round = 0; round < e->info.levels && run_round(e, speculation, drafting); ++round) ++rounds_done;
  }
  sidbeam_speculation_destroy(speculation);
  sidbeam_session_destroy(target);
  sidbeam_session_destroy(drafting);
}

static void sample(exercise* e, const sidbeam_constraint_set* set, const sidbeam_state* states) {
  const sidbeam_rows rows = rows_of(e, 0, 4);
  const int64_t keys[4] = {0, 1, 2, next_noise(e)};
  int32_t codes[4];
  float log_probs[4], log_masses[4];
  sidbeam_state next[4];
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sidbeam_sampled sampled = SIDBEAM_SAMPLED_INIT;
  sampling.seeds = sampling.requests = keys;
  sampled.codes = codes;
  sampled.log_probs = log_probs;
  sampled.log_masses = log_masses;
  sampled.next = next;
  if (!tried(e, sidbeam_constraint_set_sample(set, NULL, states, &rows, SIDBEAM_NORMALIZE_LEVEL, NULL, &sampling,
                                              &sampled, NULL, NULL)))
    return;
  for (int i = 0; i < 4; ++i) e->broken += codes[i] < -1 || codes[i] >= e->columns;
}

static void use_set(exercise* e, const sidbeam_constraint_set* set) {
  const sidbeam_rows rows = rows_of(e, 0, 4);
  sidbeam_state states[4] = {0, -1, 0, 0}, next[12];
  int32_t codes[4], lengths[4] = {0, 1, 1, 1}, best[12];
  float log_probs[12];
  uint32_t words[4 * ROOM];
  for (int i = 0; i < 4; ++i) codes[i] = (int32_t)(next_noise(e) % (uint32_t)e->info.codes[0]);
  (void)tried(e, sidbeam_constraint_set_prefixes(set, NULL, codes, 1, lengths, 4, states, NULL, NULL));
  for (int32_t level = 0; level <= e->info.levels; ++level) {
    if (e->columns <= 32 * ROOM) {
      (void)tried(e, sidbeam_constraint_set_bitmask(set, NULL, states, 4, ROOM, words, NULL, NULL));
    }
    sample(e, set, states);
    if (!tried(e, sidbeam_constraint_set_topk(set, NULL, states, &rows, SIDBEAM_NORMALIZE_VALID, 3, best, log_probs,
                                              next, NULL, NULL))) {
      return;
    }
    for (int i = 0; i < 4; ++i) codes[i] = best[3 * i + (int)(next_noise(e) % 3)];
    (void)tried(e, sidbeam_constraint_set_advance(set, NULL, states, 4, NULL, codes, 4, states, NULL, NULL));
    if (level % 2 == 0) states[next_noise(e) % 4] = next[next_noise(e) % 12];
  }
  states[0] = (sidbeam_state)((uint64_t)next_noise(e) << 40 | next_noise(e));
  (void)tried(e, sidbeam_constraint_set_bitmask(set, NULL, states, 4, ROOM, words, NULL, NULL));
  /* Last, since it writes -inf over the row that all others read. */
  rows_done += tried(e, sidbeam_constraint_set_mask(set, NULL, states, &rows, e->row, NULL, NULL));
}

static void use_stateless_forms(exercise* e) {
  const sidbeam_vocabulary vocabulary = vocabulary_of(e);
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  sidbeam_constraint_set* set = NULL;
  config.constraints = &e->constraint;
  config.constraint_count = 1;
  config.vocabulary = &vocabulary;
  if (tried(e, sidbeam_constraint_set_create(e->runtime, &config, &set, NULL))) use_set(e, set);
  sidbeam_constraint_set_destroy(set);
}

/* A filter of some of the rows, or of what some attribute is not; perhaps changed. */
static sidbeam_filter* some_filter(exercise* e, const sidbeam_item_list* list) {
  sidbeam_attribute_info attribute = SIDBEAM_ATTRIBUTE_INFO_INIT;
  sidbeam_term term = SIDBEAM_TERM_INIT;
  sidbeam_filter *filters[3] = {NULL, NULL, NULL}, *filter = NULL;
  const uint8_t allowed[ROOM] = {1, 0, 1, 1};
  const int64_t count = e->info.attribute_count;
  if (count > 0 && next_noise(e) % 2 == 0 &&
      tried(e, sidbeam_index_get_attribute(e->index, next_noise(e) % count, &attribute, NULL))) {
    term.attribute = attribute.name;
    term.op = SIDBEAM_TERM_IS_NULL;
    (void)tried(e, sidbeam_filter_from_term(e->index, &term, &filters[0], NULL));
  } else {
    (void)tried(e, sidbeam_filter_from_items(e->index, list, NULL, &filters[0], NULL));
  }
  if (filters[0] != NULL) (void)tried(e, sidbeam_filter_combine(SIDBEAM_FILTER_NOT, filters, 1, &filters[1], NULL));
  if (filters[1] != NULL && tried(e, sidbeam_filter_prepare(filters[1], NULL)))
    (void)tried(e, sidbeam_filter_update(filters[1], list, allowed, NULL, &filters[2], NULL));
  for (int i = 0; i < 3; ++i) {
    if (filters[i] == NULL) continue;
    sidbeam_filter_release(filter);
    filter = filters[i];
  }
  return filter;
}

/* Searches, and whatever else takes a constraint, under a filter, with excluded items or an allow list. */
static void follow_rules(exercise* e) {
  sidbeam_constraint* const whole = e->constraint;
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  sidbeam_item_list list = SIDBEAM_ITEM_LIST_INIT;
  sidbeam_constraint* more = NULL;
  int64_t rows[ROOM];
  for (int i = 0; i < ROOM; ++i) rows[i] = (int64_t)(next_noise(e) % (uint64_t)(e->info.items + 2));
  list.by = SIDBEAM_ITEMS_BY_ROW;
  list.numbers = rows;
  list.count = 1 + next_noise(e) % ROOM;
  const int counted[4] = {steps_done, rows_done, draws_done, rounds_done}; /* without rules */
  config.index = e->index;
  config.filter = next_noise(e) % 2 == 0 ? some_filter(e, &list) : NULL;
  config.excluded = next_noise(e) % 2 == 0 ? &list : NULL;
  config.allowed = next_noise(e) % 3 == 0 ? &list : NULL;
  e->constraint = NULL;
  if (tried(e, sidbeam_constraint_create(&config, &e->constraint, NULL))) {
    list.count = 1;
    if (tried(e, sidbeam_constraint_exclude(e->constraint, &list, &more, NULL))) {
      sidbeam_constraint_release(e->constraint);
      e->constraint = more;
    }
    for (int32_t normalization = SIDBEAM_NORMALIZE_FULL; normalization <= SIDBEAM_NORMALIZE_VALID; normalization += 2)
      (void)decode(e, SIDBEAM_STRATEGY_TRIE, normalization, SIDBEAM_MODE_SEARCH);
    draw(e);
    use_stateless_forms(e);
    sidbeam_constraint_release(e->constraint);
  }
  sidbeam_filter_release(config.filter);
  e->constraint = whole;
  steps_done = counted[0], rows_done = counted[1], draws_done = counted[2], rounds_done = counted[3];
}

int exercise_index(sidbeam_runtime* runtime, sidbeam_index* index, uint32_t noise) {
  exercise e = {runtime, index, NULL, SIDBEAM_INDEX_INFO_INIT, NULL, 0, noise, 0, 0};
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  int32_t prefix[SIDBEAM_MAX_LEVELS] = {0}, widest = 0;
  config.index = index;
  steps_done = rows_done = draws_done = rounds_done = 0;
  if (!tried(&e, sidbeam_index_get_info(index, &e.info, NULL))) return 1;
  read_header(&e);
  read_items(&e);
  for (int64_t i = 0; i < e.info.attribute_count; ++i) read_attribute(&e, i);
  look_up_sids(&e);
  walk_children(&e, prefix, 0);
  for (int32_t l = 0; l < e.info.levels; ++l) widest = e.info.codes[l] > widest ? e.info.codes[l] : widest;
  e.columns = (int64_t)widest + 1;
  /* A damaged header may ask for rows of a million columns; reading those would only cost time. */
  if (widest <= 8192) e.row = malloc(sizeof(float) * (size_t)e.columns);
  if (e.row != NULL && tried(&e, sidbeam_constraint_create(&config, &e.constraint, NULL))) {
    for (int64_t c = 0; c < e.columns; ++c) e.row[c] = -(float)(next_noise(&e) % 64) / 8;
    for (int32_t strategy = SIDBEAM_STRATEGY_TRIE; strategy <= SIDBEAM_STRATEGY_NONE; ++strategy) {
      const int32_t normalization = SIDBEAM_NORMALIZE_FULL + (int32_t)(next_noise(&e) % 4);
      steps_done += decode(&e, strategy, normalization, SIDBEAM_MODE_SEARCH);
    }
    if (noise % 2 == 0)
      draw(&e);
    else
      speculate(&e);
    use_stateless_forms(&e);
    follow_rules(&e);
    sidbeam_constraint_release(e.constraint);
  }
  free(e.row);
  return e.broken;
}
