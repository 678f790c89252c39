/* SPDX-License-Identifier: Apache-2.0 */
#include "struct_subjects.h"

#include "arrow_columns.h"

/* A valid one of everything that calls take. */
static struct {
  sidbeam_runtime* runtime;
  sidbeam_plan* plan;
  sidbeam_index* index;
  sidbeam_constraint* constraint;
  sidbeam_session *session, *sampler; /* `sampler`: of mode SAMPLE */
  sidbeam_constraint_set* set;
  sidbeam_disc* disc;
  sidbeam_session *target, *draft;
  sidbeam_speculation* speculation;
  const char* path;
  float row[4];
  sidbeam_allocator allocator;
  sidbeam_device_allocator device_allocator;
  sidbeam_runtime_config runtime_config;
  sidbeam_builder_config builder_config;
  sidbeam_arrow_config arrow_config;
  sidbeam_open_config open_config;
  sidbeam_upload_config upload_config;
  sidbeam_item_list item_list;
  sidbeam_row_set row_set;
  sidbeam_term term;
  sidbeam_constraint_config constraint_config;
  sidbeam_item_limits item_limits;
  sidbeam_rows rows, logits; /* of a step, and of a stateless call */
  sidbeam_vocabulary vocabulary;
  sidbeam_session_config session_config;
  sidbeam_start_args start_args;
  sidbeam_step_args step_args;
  sidbeam_items items;
  sidbeam_constraint_set_config set_config;
  sidbeam_sampling sampling;
  sidbeam_sampled sampled;
  sidbeam_disc_config disc_config;
  sidbeam_disc_draws disc_draws;
  sidbeam_disc_results disc_results;
  sidbeam_speculation_config speculation_config;
  sidbeam_speculation_verify_args verify_args;
  sidbeam_relaxed_draw_args relaxed_draw_args;
  sidbeam_relaxed_verify_args relaxed_verify_args;
  sidbeam_relaxed_beams relaxed_beams;
  sidbeam_attribute_column attribute_column;
  sidbeam_plan_info plan_info;
  sidbeam_arrow_info arrow_info;
  sidbeam_index_info index_info;
  sidbeam_section_info section_info;
  sidbeam_attribute_info attribute_info;
  sidbeam_upload_info upload_info;
  sidbeam_filter_info filter_info;
  sidbeam_constraint_info constraint_info;
  sidbeam_beams beams;
  sidbeam_stats stats;
  sidbeam_speculation_tree tree;
  sidbeam_speculation_stats speculation_stats;
  sidbeam_catalog* catalog;
  sidbeam_catalog_config catalog_config;
  sidbeam_pairs pairs;
  sidbeam_compact_config compact_config;
  sidbeam_catalog_info catalog_info;
  sidbeam_version_info version_info;
} w;

static void* allocate(void* context, int64_t bytes, int64_t alignment) {
  void* memory = NULL;
  (void)context;
  return posix_memalign(&memory, (size_t)(alignment < 8 ? 8 : alignment), (size_t)bytes) == 0 ? memory : NULL;
}

static void release(void* context, void* memory, int64_t bytes, int64_t alignment) {
  (void)context, (void)bytes, (void)alignment;
  free(memory);
}

static void* allocate_there(void* context, int32_t device_id, int64_t bytes, void* stream) {
  (void)context, (void)device_id, (void)bytes, (void)stream;
  return NULL;
}

static void release_there(void* context, int32_t device_id, void* memory, int64_t bytes, void* stream) {
  (void)context, (void)device_id, (void)memory, (void)bytes, (void)stream;
}

static const sidbeam_state beginning[1] = {0};
static const int64_t key[1] = {0};
static int32_t code[1];
static int64_t offset[1];
static float log_prob[1];

static void fill_speculation(void) {
  static const int64_t drafts[1] = {0};
  static int64_t extensions[1];
  w.speculation_config = (sidbeam_speculation_config)SIDBEAM_SPECULATION_CONFIG_INIT;
  w.verify_args = (sidbeam_speculation_verify_args)SIDBEAM_SPECULATION_VERIFY_ARGS_INIT;
  w.verify_args.rows = &w.logits;
  w.relaxed_draw_args = (sidbeam_relaxed_draw_args)SIDBEAM_RELAXED_DRAW_ARGS_INIT;
  w.relaxed_draw_args.count = 4;
  w.relaxed_draw_args.log_probs = halving;
  w.relaxed_verify_args = (sidbeam_relaxed_verify_args)SIDBEAM_RELAXED_VERIFY_ARGS_INIT;
  w.relaxed_verify_args.count = 4;
  w.relaxed_verify_args.target = w.relaxed_verify_args.draft = halving;
  w.relaxed_verify_args.drafts = drafts;
  w.relaxed_verify_args.draft_count = 1;
  w.relaxed_beams = (sidbeam_relaxed_beams)SIDBEAM_RELAXED_BEAMS_INIT;
  w.relaxed_beams.extensions = extensions;
}

static void fill_inputs(void) {
  w.allocator = (sidbeam_allocator)SIDBEAM_ALLOCATOR_INIT;
  w.allocator.allocate = allocate, w.allocator.release = release;
  w.device_allocator = (sidbeam_device_allocator)SIDBEAM_DEVICE_ALLOCATOR_INIT;
  w.device_allocator.allocate = allocate_there, w.device_allocator.release = release_there;
  w.runtime_config = (sidbeam_runtime_config)SIDBEAM_RUNTIME_CONFIG_INIT;
  w.builder_config = builder_config(&small, ALL_KINDS);
  w.attribute_column = (sidbeam_attribute_column)SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  w.attribute_column.name = "price";
  w.attribute_column.integers = small.ids;
  w.arrow_config = (sidbeam_arrow_config)SIDBEAM_ARROW_CONFIG_INIT;
  w.open_config = (sidbeam_open_config)SIDBEAM_OPEN_CONFIG_INIT;
  w.upload_config = (sidbeam_upload_config)SIDBEAM_UPLOAD_CONFIG_INIT;
  w.constraint_config = (sidbeam_constraint_config)SIDBEAM_CONSTRAINT_CONFIG_INIT;
  w.constraint_config.index = w.index;
  w.item_list = (sidbeam_item_list)SIDBEAM_ITEM_LIST_INIT;
  w.row_set = (sidbeam_row_set)SIDBEAM_ROW_SET_INIT;
  w.row_set.data = key;
  w.row_set.bytes = sizeof key;
  w.term = (sidbeam_term)SIDBEAM_TERM_INIT;
  w.term.attribute = "price";
  w.term.op = SIDBEAM_TERM_IS_NULL;
  w.item_limits = (sidbeam_item_limits)SIDBEAM_ITEM_LIMITS_INIT;
  w.rows = same_row(w.row, 1, 4, 4);
  w.logits = make_rows(w.row, 0, 1, 4);
  w.vocabulary = (sidbeam_vocabulary)SIDBEAM_VOCABULARY_INIT;
  w.vocabulary.levels = 3;
  w.session_config = session_config(w.constraint);
  w.start_args = (sidbeam_start_args)SIDBEAM_START_ARGS_INIT;
  w.step_args = (sidbeam_step_args)SIDBEAM_STEP_ARGS_INIT;
  w.step_args.rows = &w.rows;
  w.items = (sidbeam_items)SIDBEAM_ITEMS_INIT;
  w.set_config = (sidbeam_constraint_set_config)SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  w.set_config.constraints = &w.constraint;
  w.set_config.constraint_count = 1;
  w.sampling = (sidbeam_sampling)SIDBEAM_SAMPLING_INIT;
  w.sampling.seeds = w.sampling.requests = key;
  w.sampled = (sidbeam_sampled)SIDBEAM_SAMPLED_INIT;
  w.sampled.codes = code;
  w.disc_config = (sidbeam_disc_config)SIDBEAM_DISC_CONFIG_INIT;
  w.disc_draws = (sidbeam_disc_draws)SIDBEAM_DISC_DRAWS_INIT;
  w.disc_results = (sidbeam_disc_results)SIDBEAM_DISC_RESULTS_INIT;
  fill_speculation();
  w.catalog_config = (sidbeam_catalog_config)SIDBEAM_CATALOG_CONFIG_INIT;
  w.pairs = (sidbeam_pairs)SIDBEAM_PAIRS_INIT;
  w.compact_config = (sidbeam_compact_config)SIDBEAM_COMPACT_CONFIG_INIT;
}

static void fill_outputs(void) {
  w.catalog_info = (sidbeam_catalog_info)SIDBEAM_CATALOG_INFO_INIT;
  w.version_info = (sidbeam_version_info)SIDBEAM_VERSION_INFO_INIT;
  w.plan_info = (sidbeam_plan_info)SIDBEAM_PLAN_INFO_INIT;
  w.arrow_info = (sidbeam_arrow_info)SIDBEAM_ARROW_INFO_INIT;
  w.index_info = (sidbeam_index_info)SIDBEAM_INDEX_INFO_INIT;
  w.section_info = (sidbeam_section_info)SIDBEAM_SECTION_INFO_INIT;
  w.attribute_info = (sidbeam_attribute_info)SIDBEAM_ATTRIBUTE_INFO_INIT;
  w.upload_info = (sidbeam_upload_info)SIDBEAM_UPLOAD_INFO_INIT;
  w.filter_info = (sidbeam_filter_info)SIDBEAM_FILTER_INFO_INIT;
  w.constraint_info = (sidbeam_constraint_info)SIDBEAM_CONSTRAINT_INFO_INIT;
  w.beams = (sidbeam_beams)SIDBEAM_BEAMS_INIT;
  w.stats = (sidbeam_stats)SIDBEAM_STATS_INIT;
  w.tree = (sidbeam_speculation_tree)SIDBEAM_SPECULATION_TREE_INIT;
  w.speculation_stats = (sidbeam_speculation_stats)SIDBEAM_SPECULATION_STATS_INIT;
}

/* A disc whose only result is decided, by a dead draw after another. */
static void decide_all(void) {
  static const int64_t ordinals[2] = {-1, -1};
  static const float zeros[2] = {0};
  sidbeam_disc_draws draws = SIDBEAM_DISC_DRAWS_INIT;
  int64_t numbers[2];
  w.disc_config.side_by_side = 2;
  CHECK_OK(sidbeam_disc_create(w.runtime, &w.disc_config, &w.disc, &err));
  CHECK_OK(sidbeam_disc_next(w.disc, 2, numbers, &draws.count, &err));
  draws.draws = numbers;
  draws.ordinals = ordinals;
  draws.log_probs = draws.log_masses = zeros;
  CHECK_OK(sidbeam_disc_add(w.disc, &draws, &err));
}

/* A builder of `small` with an attribute that has no values yet. */
static sidbeam_builder* with_attribute(void) {
  sidbeam_builder* builder = NULL;
  CHECK_OK(sidbeam_builder_create(w.runtime, &w.builder_config, &builder, &err));
  CHECK_OK(sidbeam_builder_declare_attribute(builder, "price", SIDBEAM_ATTRIBUTE_I64, &err));
  CHECK_OK(add_all(builder, &small, &err));
  return builder;
}

void prepare(void) {
  setenv("SIDBEAM_CUDA_LIBRARY", "/nowhere/libsidbeam_cuda.so.1", 1);
  memcpy(w.row, halving, sizeof w.row);
  w.path = temporary_path("structs.sidx");
  w.runtime = make_runtime();
  w.builder_config = builder_config(&small, ALL_KINDS);
  sidbeam_builder* builder = with_attribute();
  CHECK_OK(sidbeam_builder_plan(builder, &w.plan, &err));
  CHECK_OK(sidbeam_builder_write(builder, w.path, &err));
  CHECK_OK(sidbeam_builder_finish(builder, &w.index, &err));
  sidbeam_builder_destroy(builder);
  w.constraint = constrain(w.index);
  w.set = make_set(&w.constraint, 1, NULL);
  fill_inputs();
  fill_outputs();
  w.session = make_session(&w.session_config);
  start_all(w.session);
  step_all(w.session, halving);
  sidbeam_session_config sampler = session_config(w.constraint);
  sampler.mode = SIDBEAM_MODE_SAMPLE;
  sampler.normalization = SIDBEAM_NORMALIZE_FULL;
  w.sampler = make_session(&sampler);
  decide_all();
  w.target = make_session(&w.session_config);
  w.draft = make_session(&w.session_config);
  w.speculation_config.target = w.target;
  w.speculation_config.draft = w.draft;
  CHECK_OK(sidbeam_speculation_create(w.runtime, &w.speculation_config, &w.speculation, &err));
  CHECK_OK(sidbeam_catalog_create(w.index, NULL, NULL, &w.catalog, &err));
}

/* A round of one node, the beginning. */
static void begin_round(void) {
  int64_t active = 0;
  start_all(w.target);
  start_all(w.draft);
  CHECK_OK(sidbeam_speculation_begin(w.speculation, NULL, 0, &active, &err));
}

void finish(void) {
  sidbeam_catalog_close(w.catalog);
  sidbeam_session_destroy(w.session);
  sidbeam_session_destroy(w.sampler);
  sidbeam_constraint_set_destroy(w.set);
  sidbeam_disc_destroy(w.disc);
  sidbeam_speculation_destroy(w.speculation);
  sidbeam_session_destroy(w.target);
  sidbeam_session_destroy(w.draft);
  sidbeam_constraint_release(w.constraint);
  sidbeam_index_release(w.index);
  sidbeam_plan_destroy(w.plan);
  sidbeam_runtime_release(w.runtime);
}

/* Calls that take a struct, with all else valid; what they make is released. */
#define TAKER(name, call) \
  static sidbeam_status name(void* given) { return call; }
#define MAKER(name, type, call, release)    \
  static sidbeam_status name(void* given) { \
    type* made = NULL;                      \
    const sidbeam_status status = call;     \
    release(made);                          \
    return status;                          \
  }
/* The struct as a member of another. */
#define PART(name, type, outer, member, whole) \
  static sidbeam_status name(void* given) {    \
    type copy = w.outer;                       \
    copy.member = given;                       \
    return whole(&copy);                       \
  }
MAKER(runtime_create, sidbeam_runtime, sidbeam_runtime_create(given, &made, &err), sidbeam_runtime_release)
MAKER(builder_create, sidbeam_builder, sidbeam_builder_create(w.runtime, given, &made, &err), sidbeam_builder_destroy)
MAKER(plan_estimate, sidbeam_plan, sidbeam_plan_estimate(given, 30, &made, &err), sidbeam_plan_destroy)
static sidbeam_status read_arrow(const sidbeam_arrow_config* config, sidbeam_arrow_info* info) {
  const arrow_column values = numbers("", "i", 3, OF(int32_t, 0, 1, 2)),
                     sid = lists("sid", "+w:3", 1, NULL, 0, &values);
  const arrow_column item = numbers("item", "l", 1, OF(int64_t, 7)), rank = numbers("priority", "l", 1, OF(int64_t, 7));
  const arrow_column one = batch(1, &sid, &item, &rank, NULL);
  const arrow_column* const batches[] = {&one};
  arrow_source source = source_of(batches, 1);
  struct ArrowArrayStream stream;
  sidbeam_builder* builder = NULL;
  arrow_export(&source, &stream);
  if (info != NULL) return sidbeam_arrow_inspect(&stream, config, NULL, info, &err);
  sidbeam_status status = sidbeam_builder_create(w.runtime, &w.builder_config, &builder, &err);
  if (status == SIDBEAM_OK) status = sidbeam_builder_add_arrow(builder, &stream, config, NULL, &err);
  sidbeam_builder_destroy(builder);
  return status;
}
static sidbeam_status set_attribute(void* given) {
  sidbeam_builder* builder = with_attribute();
  const sidbeam_status status = sidbeam_builder_set_attribute(builder, given, small.count, &err);
  sidbeam_builder_destroy(builder);
  return status;
}
TAKER(add_arrow, read_arrow(given, NULL))
TAKER(arrow_inspect_config, read_arrow(given, &w.arrow_info))
TAKER(arrow_inspect, read_arrow(NULL, given))
MAKER(index_open, sidbeam_index, sidbeam_index_open(w.runtime, w.path, given, &made, &err), sidbeam_index_release)
MAKER(constraint_create, sidbeam_constraint, sidbeam_constraint_create(given, &made, &err), sidbeam_constraint_release)
MAKER(filter_from_items, sidbeam_filter, sidbeam_filter_from_items(w.index, given, NULL, &made, &err),
      sidbeam_filter_release)
MAKER(filter_from_rows, sidbeam_filter, sidbeam_filter_from_rows(w.index, given, &made, &err), sidbeam_filter_release)
static sidbeam_status filter_from_term(void* given) {
  sidbeam_builder* builder = with_attribute();
  sidbeam_index* index = NULL;
  sidbeam_filter* filter = NULL;
  CHECK_OK(sidbeam_builder_finish(builder, &index, &err));
  const sidbeam_status status = sidbeam_filter_from_term(index, given, &filter, &err);
  sidbeam_filter_release(filter);
  sidbeam_index_release(index);
  sidbeam_builder_destroy(builder);
  return status;
}
MAKER(constraint_exclude, sidbeam_constraint, sidbeam_constraint_exclude(w.constraint, given, &made, &err),
      sidbeam_constraint_release)
PART(excluded_part, sidbeam_constraint_config, constraint_config, excluded, constraint_create)
PART(allowed_part, sidbeam_constraint_config, constraint_config, allowed, constraint_create)
TAKER(constraint_items, sidbeam_constraint_items(w.constraint, NULL, 0, given, NULL, offset, NULL, NULL, &err))
static sidbeam_status filter_get_info(void* given) {
  sidbeam_filter* filter = NULL;
  sidbeam_status status = sidbeam_filter_from_items(w.index, &w.item_list, NULL, &filter, &err);
  if (status == SIDBEAM_OK) status = sidbeam_filter_get_info(filter, given, &err);
  sidbeam_filter_release(filter);
  return status;
}
MAKER(session_create, sidbeam_session, sidbeam_session_create(w.runtime, given, &made, &err), sidbeam_session_destroy)
MAKER(set_create, sidbeam_constraint_set, sidbeam_constraint_set_create(w.runtime, given, &made, &err),
      sidbeam_constraint_set_destroy)
MAKER(disc_create, sidbeam_disc, sidbeam_disc_create(w.runtime, given, &made, &err), sidbeam_disc_destroy)
TAKER(disc_add, sidbeam_disc_add(w.disc, given, &err))
TAKER(disc_get, sidbeam_disc_get(w.disc, given, &err))
MAKER(speculation_create, sidbeam_speculation, sidbeam_speculation_create(w.runtime, given, &made, &err),
      sidbeam_speculation_destroy)
TAKER(speculation_verify, (begin_round(), sidbeam_speculation_verify(w.speculation, given, &err)))
TAKER(speculation_get_tree, sidbeam_speculation_get_tree(w.speculation, given, &err))
TAKER(speculation_get_stats, sidbeam_speculation_get_stats(w.speculation, given, &err))
TAKER(relaxed_draw, sidbeam_relaxed_draw(w.runtime, given, w.relaxed_beams.extensions, &err))
TAKER(relaxed_verify, sidbeam_relaxed_verify(w.runtime, given, &w.relaxed_beams, &err))
TAKER(relaxed_verify_beams, sidbeam_relaxed_verify(w.runtime, &w.relaxed_verify_args, given, &err))
TAKER(index_upload, sidbeam_index_upload(w.index, given, &err))
TAKER(session_start, sidbeam_session_start(w.session, given, &err))
TAKER(session_step, (start_all(w.session), sidbeam_session_step(w.session, given, &err)))
TAKER(session_get_items, sidbeam_session_get_items(w.session, NULL, 0, given, &err))
TAKER(set_mask, sidbeam_constraint_set_mask(w.set, NULL, beginning, given, w.row, NULL, &err))
TAKER(set_topk, sidbeam_constraint_set_topk(w.set, NULL, beginning, given, SIDBEAM_NORMALIZE_NONE, 1, code, log_prob,
                                            NULL, NULL, &err))
TAKER(set_sample_logits, sidbeam_constraint_set_sample(w.set, NULL, beginning, given, SIDBEAM_NORMALIZE_FULL, NULL,
                                                       &w.sampling, &w.sampled, NULL, &err))
TAKER(set_sample_sampling, sidbeam_constraint_set_sample(w.set, NULL, beginning, &w.logits, SIDBEAM_NORMALIZE_FULL,
                                                         NULL, given, &w.sampled, NULL, &err))
TAKER(set_sample, sidbeam_constraint_set_sample(w.set, NULL, beginning, &w.logits, SIDBEAM_NORMALIZE_FULL, NULL,
                                                &w.sampling, given, NULL, &err))
TAKER(plan_get_info, sidbeam_plan_get_info(w.plan, given, &err))
TAKER(plan_get_section, sidbeam_plan_get_section(w.plan, 1, given, &err))
TAKER(index_get_info, sidbeam_index_get_info(w.index, given, &err))
TAKER(index_peek, sidbeam_index_peek(w.path, 0, NULL, NULL, NULL, given, &err))
TAKER(index_get_section, sidbeam_index_get_section(w.index, 1, given, &err))
TAKER(index_get_attribute, sidbeam_index_get_attribute(w.index, 0, given, &err))
TAKER(index_get_upload, sidbeam_index_get_upload(w.index, 0, given, &err))
TAKER(constraint_get_info, sidbeam_constraint_get_info(w.constraint, given, &err))
TAKER(session_get_beams, sidbeam_session_get_beams(w.session, given, &err))
TAKER(session_fetch, sidbeam_session_fetch(w.session, given, NULL, &err))
TAKER(session_get_stats, sidbeam_session_get_stats(w.session, given, &err))
PART(runtime_create_allocator, sidbeam_runtime_config, runtime_config, allocator, runtime_create)
PART(runtime_create_device_allocator, sidbeam_runtime_config, runtime_config, device_allocator, runtime_create)
PART(session_create_vocabulary, sidbeam_session_config, session_config, vocabulary, session_create)
static sidbeam_status sampler_start(const sidbeam_start_args* args) {
  return sidbeam_session_start(w.sampler, args, &err);
}
PART(session_start_sampling, sidbeam_start_args, start_args, sampling, sampler_start)
PART(set_create_vocabulary, sidbeam_constraint_set_config, set_config, vocabulary, set_create)
PART(speculation_verify_rows, sidbeam_speculation_verify_args, verify_args, rows, speculation_verify)
PART(session_step_rows, sidbeam_step_args, step_args, rows, session_step)

static sidbeam_status catalog_create(void* given) {
  sidbeam_catalog* made = NULL;
  const sidbeam_status status = sidbeam_catalog_create(w.index, NULL, given, &made, &err);
  CHECK((made != NULL) == (status == SIDBEAM_OK));
  sidbeam_catalog_close(made);
  return status;
}

static sidbeam_status catalog_add(void* given) { return sidbeam_catalog_add(w.catalog, given, &err); }
static sidbeam_status catalog_remove(void* given) { return sidbeam_catalog_remove(w.catalog, given, NULL, &err); }
static sidbeam_status catalog_compact(void* given) { return sidbeam_catalog_compact(w.catalog, given, NULL, &err); }
static sidbeam_status catalog_get_info(void* given) { return sidbeam_catalog_get_info(w.catalog, given, &err); }
static sidbeam_status catalog_get_version(void* given) {
  sidbeam_catalog_info info = SIDBEAM_CATALOG_INFO_INIT;
  const sidbeam_status status = sidbeam_catalog_get_info(w.catalog, &info, &err);
  return status != SIDBEAM_OK ? status : sidbeam_catalog_get_version(w.catalog, info.version, given, &err);
}

const subject subjects[] = {
    {"sidbeam_allocator", INPUT, &w.allocator, runtime_create_allocator, SIDBEAM_OK, 0, NULL},
    {"sidbeam_device_allocator", INPUT, &w.device_allocator, runtime_create_device_allocator, SIDBEAM_OK, 0, NULL},
    {"sidbeam_runtime_config", INPUT, &w.runtime_config, runtime_create, SIDBEAM_OK, 0, NULL},
    {"sidbeam_builder_config", INPUT, &w.builder_config, builder_create, SIDBEAM_OK, 0, NULL},
    {"sidbeam_builder_config", INPUT, &w.builder_config, plan_estimate, SIDBEAM_OK, 0, NULL},
    {"sidbeam_attribute_column", INPUT, &w.attribute_column, set_attribute, SIDBEAM_OK, 0, NULL},
    {"sidbeam_arrow_config", INPUT, &w.arrow_config, add_arrow, SIDBEAM_OK, 0, NULL},
    {"sidbeam_arrow_config", INPUT, &w.arrow_config, arrow_inspect_config, SIDBEAM_OK, 0, NULL},
    {"sidbeam_open_config", INPUT, &w.open_config, index_open, SIDBEAM_OK, 0, NULL},
    {"sidbeam_upload_config", INPUT, &w.upload_config, index_upload, SIDBEAM_NO_DEVICE, 0, NULL},
    {"sidbeam_row_set", INPUT, &w.row_set, filter_from_rows, SIDBEAM_OK, 0, NULL},
    {"sidbeam_term", INPUT, &w.term, filter_from_term, SIDBEAM_OK, 0, NULL},
    {"sidbeam_item_list", INPUT, &w.item_list, filter_from_items, SIDBEAM_OK, 0, NULL},
    {"sidbeam_item_list", INPUT, &w.item_list, constraint_exclude, SIDBEAM_OK, 0, NULL},
    {"sidbeam_item_list", INPUT, &w.item_list, excluded_part, SIDBEAM_OK, 0, NULL},
    {"sidbeam_item_list", INPUT, &w.item_list, allowed_part, SIDBEAM_OK, 0, NULL},
    {"sidbeam_constraint_config", INPUT, &w.constraint_config, constraint_create, SIDBEAM_OK, 0, NULL},
    {"sidbeam_item_limits", INPUT, &w.item_limits, constraint_items, SIDBEAM_OK, 0, NULL},
    {"sidbeam_rows", INPUT, &w.rows, session_step_rows, SIDBEAM_OK, 0, NULL},
    {"sidbeam_rows", INPUT, &w.logits, set_mask, SIDBEAM_OK, 0, NULL},
    {"sidbeam_rows", INPUT, &w.logits, set_topk, SIDBEAM_OK, 0, NULL},
    {"sidbeam_vocabulary", INPUT, &w.vocabulary, session_create_vocabulary, SIDBEAM_OK, 0, NULL},
    {"sidbeam_vocabulary", INPUT, &w.vocabulary, set_create_vocabulary, SIDBEAM_OK, 0, NULL},
    {"sidbeam_session_config", INPUT, &w.session_config, session_create, SIDBEAM_OK, 0, NULL},
    {"sidbeam_start_args", INPUT, &w.start_args, session_start, SIDBEAM_OK, 0, NULL},
    {"sidbeam_step_args", INPUT, &w.step_args, session_step, SIDBEAM_OK, 0, NULL},
    {"sidbeam_items", INPUT, &w.items, session_get_items, SIDBEAM_OK, 0, NULL},
    {"sidbeam_constraint_set_config", INPUT, &w.set_config, set_create, SIDBEAM_OK, 0, NULL},
    {"sidbeam_rows", INPUT, &w.logits, set_sample_logits, SIDBEAM_OK, 0, NULL},
    {"sidbeam_sampling", INPUT, &w.sampling, session_start_sampling, SIDBEAM_OK, 0, NULL},
    {"sidbeam_sampling", INPUT, &w.sampling, set_sample_sampling, SIDBEAM_OK, 0, NULL},
    {"sidbeam_sampled", INPUT, &w.sampled, set_sample, SIDBEAM_OK, 0, NULL},
    {"sidbeam_disc_config", INPUT, &w.disc_config, disc_create, SIDBEAM_OK, 0, NULL},
    {"sidbeam_disc_draws", INPUT, &w.disc_draws, disc_add, SIDBEAM_OK, 0, NULL},
    {"sidbeam_disc_results", INPUT, &w.disc_results, disc_get, SIDBEAM_OK, 0, NULL},
    {"sidbeam_speculation_config", INPUT, &w.speculation_config, speculation_create, SIDBEAM_OK, 0, NULL},
    {"sidbeam_speculation_verify_args", INPUT, &w.verify_args, speculation_verify, SIDBEAM_OK, 0, NULL},
    {"sidbeam_rows", INPUT, &w.logits, speculation_verify_rows, SIDBEAM_OK, 0, NULL},
    {"sidbeam_relaxed_draw_args", INPUT, &w.relaxed_draw_args, relaxed_draw, SIDBEAM_OK, 0, NULL},
    {"sidbeam_relaxed_verify_args", INPUT, &w.relaxed_verify_args, relaxed_verify, SIDBEAM_OK, 0, NULL},
    {"sidbeam_relaxed_beams", INPUT, &w.relaxed_beams, relaxed_verify_beams, SIDBEAM_OK, 0, NULL},
    {"sidbeam_catalog_config", INPUT, &w.catalog_config, catalog_create, SIDBEAM_OK, 0, NULL},
    {"sidbeam_pairs", INPUT, &w.pairs, catalog_add, SIDBEAM_OK, 0, NULL},
    {"sidbeam_item_list", INPUT, &w.item_list, catalog_remove, SIDBEAM_OK, 0, NULL},
    {"sidbeam_compact_config", INPUT, &w.compact_config, catalog_compact, SIDBEAM_OK, 0, NULL},
    {"sidbeam_catalog_info", OUTPUT, &w.catalog_info, catalog_get_info, SIDBEAM_OK, 0, NULL},
    {"sidbeam_version_info", OUTPUT, &w.version_info, catalog_get_version, SIDBEAM_OK, 0, NULL},
    {"sidbeam_plan_info", OUTPUT, &w.plan_info, plan_get_info, SIDBEAM_OK, 0, NULL},
    {"sidbeam_arrow_info", OUTPUT, &w.arrow_info, arrow_inspect, SIDBEAM_OK, 0, NULL},
    {"sidbeam_index_info", OUTPUT, &w.index_info, index_get_info, SIDBEAM_OK, 0, NULL},
    {"sidbeam_index_info", OUTPUT, &w.index_info, index_peek, SIDBEAM_OK, 0, NULL},
    {"sidbeam_section_info", OUTPUT, &w.section_info, index_get_section, SIDBEAM_OK, 0, NULL},
    {"sidbeam_section_info", OUTPUT, &w.section_info, plan_get_section, SIDBEAM_OK, 0, NULL},
    {"sidbeam_attribute_info", OUTPUT, &w.attribute_info, index_get_attribute, SIDBEAM_OK, 0, NULL},
    {"sidbeam_upload_info", OUTPUT, &w.upload_info, index_get_upload, SIDBEAM_OK, 1, NULL},
    {"sidbeam_filter_info", OUTPUT, &w.filter_info, filter_get_info, SIDBEAM_OK, 0, NULL},
    {"sidbeam_constraint_info", OUTPUT, &w.constraint_info, constraint_get_info, SIDBEAM_OK, 0, NULL},
    {"sidbeam_beams", OUTPUT, &w.beams, session_get_beams, SIDBEAM_OK, 0, NULL},
    {"sidbeam_beams", OUTPUT, &w.beams, session_fetch, SIDBEAM_OK, 0, NULL},
    {"sidbeam_stats", OUTPUT, &w.stats, session_get_stats, SIDBEAM_OK, 0, NULL},
    {"sidbeam_speculation_tree", OUTPUT, &w.tree, speculation_get_tree, SIDBEAM_OK, 0, NULL},
    {"sidbeam_speculation_stats", OUTPUT, &w.speculation_stats, speculation_get_stats, SIDBEAM_OK, 0, NULL},
};

const size_t subject_count = COUNT(subjects);
