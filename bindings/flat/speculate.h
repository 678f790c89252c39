/* Speculation: rounds over two sessions, and relaxed draws. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_SPECULATE_H
#define SIDBEAM_FLAT_SPECULATE_H

#ifndef SWIG
/* What a speculation's handle holds: it uses the sessions, whose handles may be closed before it. */
typedef struct fl_speculation {
  sidbeam_speculation* speculation;
  flat_handle *target, *draft;
} fl_speculation;
#endif

static inline void fl_destroy_speculation(void* object) {
  fl_speculation* own = (fl_speculation*)object;
  sidbeam_speculation_destroy(own->speculation);
  fl_drop_user(own->draft);
  fl_drop_user(own->target);
  free(own);
}

/* As in sidbeam_speculation_config. The handles of the sessions are held. */
static inline flat_handle* flat_speculation_create(flat_handle* runtime, flat_handle* target, flat_handle* draft,
                                                   int32_t draft_levels, int64_t stream, sidbeam_error* err) {
  sidbeam_speculation_config config = SIDBEAM_SPECULATION_CONFIG_INIT;
  flat_handle* handle = NULL;
  fl_speculation* own;
  void* object;
  fl_clear(err);
  object = fl_share(runtime, FLAT_RUNTIME, err);
  if (object == NULL) return NULL;
  config.draft_levels = draft_levels;
  config.stream = (void*)(intptr_t)stream;
  config.target = (sidbeam_session*)fl_share(target, FLAT_SESSION, err);
  config.draft = (sidbeam_session*)fl_share(draft, FLAT_SESSION, err);
  own = (fl_speculation*)calloc(1, sizeof(*own));
  if (own == NULL) abort();
  own->target = target;
  own->draft = draft;
  if (err->code == 0 &&
      sidbeam_speculation_create((sidbeam_runtime*)object, &config, &own->speculation, err) == SIDBEAM_OK) {
    handle = fl_box(FLAT_SPECULATION, own, fl_destroy_speculation);
  } else {
    if (config.draft != NULL) fl_drop_user(draft);
    if (config.target != NULL) fl_drop_user(target);
    free(own);
  }
  fl_drop_user(runtime);
  return handle;
}

/* A speculation and its sessions, until fl_leave_speculation; or NULL with an error. */
static inline fl_speculation* fl_enter_speculation(flat_handle* handle, sidbeam_error* err) {
  fl_speculation* own = (fl_speculation*)fl_enter(handle, FLAT_SPECULATION, err);
  if (own == NULL) return NULL;
  if (fl_enter(own->target, FLAT_SESSION, err) != NULL) {
    if (fl_enter(own->draft, FLAT_SESSION, err) != NULL) return own;
    fl_leave(own->target);
  }
  fl_leave(handle);
  return NULL;
}

static inline void fl_leave_speculation(flat_handle* handle, const fl_speculation* own) {
  fl_leave(own->draft);
  fl_leave(own->target);
  fl_leave(handle);
}

/* slots [count], or none for all S, with count 0 or S. Returns the number of slots in the round. */
static inline int64_t flat_speculation_begin(flat_handle* speculation, flat_in_i32 slots, int64_t count,
                                             sidbeam_error* err) {
  int64_t active = 0;
  fl_speculation* object;
  fl_clear(err);
  if (!FLAT_NEED(err, slots, count)) return 0;
  object = fl_enter_speculation(speculation, err);
  if (object == NULL) return 0;
  if (sidbeam_speculation_begin(object->speculation, slots.data, count, &active, err) != SIDBEAM_OK) active = 0;
  fl_leave_speculation(speculation, object);
  return active;
}

/* Where a tree's arrays are, and their shapes, in an array of FLAT_TREE_COUNT. */
enum {
  FLAT_TREE_DEPTH,
  FLAT_TREE_SLOT_COUNT,
  FLAT_TREE_NODES,
  FLAT_TREE_PLACE_STRIDE,
  FLAT_TREE_DRAFT_COUNT,
  FLAT_TREE_SLOTS, /* addresses from here on */
  FLAT_TREE_NODE_OFFSETS,
  FLAT_TREE_TOKENS,
  FLAT_TREE_CODES,
  FLAT_TREE_POSITIONS,
  FLAT_TREE_PARENTS,
  FLAT_TREE_PLACES,
  FLAT_TREE_ANCESTORS,
  FLAT_TREE_DRAFT_SLOTS,
  FLAT_TREE_DRAFT_NODES,
  FLAT_TREE_COUNT
};

/* Addresses are fixed, and good while a view retains the speculation. */
static inline void flat_speculation_get_tree(flat_handle* speculation, flat_out_i64 out, sidbeam_error* err) {
  sidbeam_speculation_tree tree = SIDBEAM_SPECULATION_TREE_INIT;
  fl_speculation* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, out, FLAT_TREE_COUNT)) return;
  object = (fl_speculation*)fl_enter(speculation, FLAT_SPECULATION, err);
  if (object == NULL) return;
  if (sidbeam_speculation_get_tree(object->speculation, &tree, err) == SIDBEAM_OK) {
    out.data[FLAT_TREE_DEPTH] = tree.depth;
    out.data[FLAT_TREE_SLOT_COUNT] = tree.count;
    out.data[FLAT_TREE_NODES] = tree.nodes;
    out.data[FLAT_TREE_PLACE_STRIDE] = tree.place_stride;
    out.data[FLAT_TREE_DRAFT_COUNT] = tree.draft_count;
    out.data[FLAT_TREE_SLOTS] = (int64_t)(intptr_t)tree.slots;
    out.data[FLAT_TREE_NODE_OFFSETS] = (int64_t)(intptr_t)tree.node_offsets;
    out.data[FLAT_TREE_TOKENS] = (int64_t)(intptr_t)tree.tokens;
    out.data[FLAT_TREE_CODES] = (int64_t)(intptr_t)tree.codes;
    out.data[FLAT_TREE_POSITIONS] = (int64_t)(intptr_t)tree.positions;
    out.data[FLAT_TREE_PARENTS] = (int64_t)(intptr_t)tree.parents;
    out.data[FLAT_TREE_PLACES] = (int64_t)(intptr_t)tree.places;
    out.data[FLAT_TREE_ANCESTORS] = (int64_t)(intptr_t)tree.ancestors;
    out.data[FLAT_TREE_DRAFT_SLOTS] = (int64_t)(intptr_t)tree.draft_slots;
    out.data[FLAT_TREE_DRAFT_NODES] = (int64_t)(intptr_t)tree.draft_nodes;
  }
  fl_leave(speculation);
}

static inline void flat_speculation_add(flat_handle* speculation, sidbeam_error* err) {
  fl_speculation* object;
  fl_clear(err);
  object = fl_enter_speculation(speculation, err);
  if (object == NULL) return;
  (void)!sidbeam_speculation_add(object->speculation, err);
  fl_leave_speculation(speculation, object);
}

/* mask [nodes, columns]. */
static inline void flat_speculation_get_mask(flat_handle* speculation, flat_out_bytes mask, int64_t columns,
                                             sidbeam_error* err) {
  sidbeam_speculation_tree tree = SIDBEAM_SPECULATION_TREE_INIT;
  fl_speculation* object;
  fl_clear(err);
  object = (fl_speculation*)fl_enter(speculation, FLAT_SPECULATION, err);
  if (object == NULL) return;
  if (sidbeam_speculation_get_tree(object->speculation, &tree, err) == SIDBEAM_OK &&
      FLAT_GIVEN(err, mask, fl_product(tree.nodes, columns)))
    (void)!sidbeam_speculation_get_mask(object->speculation, (uint8_t*)mask.data, columns, err);
  fl_leave(speculation);
}

/* logits [nodes, columns], with slots 0; lse [nodes] or none. */
static inline void flat_speculation_verify(flat_handle* speculation, flat_memory logits, int64_t elements,
                                           int32_t dtype, int32_t device_type, int32_t device_id, int64_t slots,
                                           int64_t rows, int64_t columns, int64_t slot_stride, int64_t row_stride,
                                           flat_in_f32 lse, sidbeam_error* err) {
  sidbeam_speculation_verify_args args = SIDBEAM_SPECULATION_VERIFY_ARGS_INIT;
  sidbeam_rows described = SIDBEAM_ROWS_INIT;
  fl_speculation* object;
  fl_clear(err);
  if (!fl_rows("logits", logits, elements, dtype, device_type, device_id, slots, rows, columns, slot_stride, row_stride,
               &described, err) ||
      !FLAT_NEED(err, lse, rows))
    return;
  object = fl_enter_speculation(speculation, err);
  if (object == NULL) return;
  args.rows = &described;
  args.lse = lse.data;
  (void)!sidbeam_speculation_verify(object->speculation, &args, err);
  fl_leave_speculation(speculation, object);
}

/* Where the numbers of sidbeam_speculation_stats stand in an array of FLAT_SPECULATION_STATS_COUNT. */
enum {
  FLAT_SPECULATION_STATS_ROUNDS,
  FLAT_SPECULATION_STATS_LEVELS,
  FLAT_SPECULATION_STATS_DRAFTED_LEVELS,
  FLAT_SPECULATION_STATS_ACCEPTED_LEVELS,
  FLAT_SPECULATION_STATS_NODES,
  FLAT_SPECULATION_STATS_COUNT
};

static inline void flat_speculation_get_stats(flat_handle* speculation, flat_out_i64 out, sidbeam_error* err) {
  sidbeam_speculation_stats stats = SIDBEAM_SPECULATION_STATS_INIT;
  fl_speculation* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, out, FLAT_SPECULATION_STATS_COUNT)) return;
  object = (fl_speculation*)fl_enter(speculation, FLAT_SPECULATION, err);
  if (object == NULL) return;
  if (sidbeam_speculation_get_stats(object->speculation, &stats, err) == SIDBEAM_OK) {
    out.data[FLAT_SPECULATION_STATS_ROUNDS] = stats.rounds;
    out.data[FLAT_SPECULATION_STATS_LEVELS] = stats.levels;
    out.data[FLAT_SPECULATION_STATS_DRAFTED_LEVELS] = stats.drafted_levels;
    out.data[FLAT_SPECULATION_STATS_ACCEPTED_LEVELS] = stats.accepted_levels;
    out.data[FLAT_SPECULATION_STATS_NODES] = stats.nodes;
  }
  fl_leave(speculation);
}

/* As in sidbeam_relaxed_draw_args; `drafts` has room for as many as are drawn. */
static inline void flat_relaxed_draw(flat_handle* runtime, flat_in_f32 log_probs, float inverse_temperature,
                                     int32_t without_replacement, int64_t seed, int64_t request, int32_t level,
                                     flat_out_i64 drafts, sidbeam_error* err) {
  sidbeam_relaxed_draw_args args = SIDBEAM_RELAXED_DRAW_ARGS_INIT;
  void* object;
  fl_clear(err);
  args.draws = fl_narrow(drafts.count);
  args.count = log_probs.count;
  args.log_probs = log_probs.data;
  args.inverse_temperature = inverse_temperature;
  args.without_replacement = without_replacement;
  args.seed = seed;
  args.request = request;
  args.level = level;
  object = fl_share(runtime, FLAT_RUNTIME, err);
  if (object == NULL) return;
  (void)!sidbeam_relaxed_draw((sidbeam_runtime*)object, &args, drafts.data, err);
  fl_drop_user(runtime);
}

/* Where the numbers of sidbeam_relaxed_beams stand in an array of FLAT_RELAXED_COUNT. */
enum { FLAT_RELAXED_LIVE, FLAT_RELAXED_ACCEPTED, FLAT_RELAXED_GOES_ON, FLAT_RELAXED_COUNT };

/* As in sidbeam_relaxed_verify_args; `extensions` has room for as many as there are beams. */
static inline void flat_relaxed_verify(flat_handle* runtime, flat_in_f32 target, flat_in_f32 draft, flat_in_i64 drafts,
                                       float inverse_temperature, int32_t without_replacement, int64_t seed,
                                       int64_t request, int32_t level, flat_out_i64 extensions, flat_out_i32 out,
                                       sidbeam_error* err) {
  sidbeam_relaxed_verify_args args = SIDBEAM_RELAXED_VERIFY_ARGS_INIT;
  sidbeam_relaxed_beams beams = SIDBEAM_RELAXED_BEAMS_INIT;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, out, FLAT_RELAXED_COUNT)) return;
  if (draft.data != NULL && draft.count != target.count) {
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "draft has %" PRId64 " elements, expected %" PRId64 ", as target",
            draft.count, target.count);
    return;
  }
  args.beams = fl_narrow(extensions.count);
  args.count = target.count;
  args.target = target.data;
  args.draft = draft.data;
  args.drafts = drafts.data;
  args.draft_count = drafts.count;
  args.inverse_temperature = inverse_temperature;
  args.without_replacement = without_replacement;
  args.seed = seed;
  args.request = request;
  args.level = level;
  beams.extensions = extensions.data;
  object = fl_share(runtime, FLAT_RUNTIME, err);
  if (object == NULL) return;
  if (sidbeam_relaxed_verify((sidbeam_runtime*)object, &args, &beams, err) == SIDBEAM_OK) {
    out.data[FLAT_RELAXED_LIVE] = beams.live;
    out.data[FLAT_RELAXED_ACCEPTED] = beams.accepted;
    out.data[FLAT_RELAXED_GOES_ON] = beams.goes_on;
  }
  fl_drop_user(runtime);
}

#endif
