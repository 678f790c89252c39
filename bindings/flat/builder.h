/* From a catalogue to an index. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_BUILDER_H
#define SIDBEAM_FLAT_BUILDER_H

static inline sidbeam_builder_config fl_builder_config(flat_in_i32 codes, int32_t variable_length, int32_t id_type,
                                                       int32_t kinds, int32_t collisions, int32_t threads,
                                                       int64_t memory_limit_bytes, const char* codebook,
                                                       int64_t hash_seed, int32_t allow_attribute_loss,
                                                       int32_t keep_priorities) {
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = codes.count > INT32_MAX ? INT32_MAX : (int32_t)codes.count;
  config.codes = codes.data;
  config.variable_length = variable_length;
  config.id_type = id_type;
  config.kinds = kinds;
  config.collisions = collisions;
  config.threads = threads;
  config.memory_limit_bytes = memory_limit_bytes;
  config.codebook = codebook;
  config.hash_seed = hash_seed;
  config.allow_attribute_loss = allow_attribute_loss;
  config.keep_priorities = keep_priorities;
  return config;
}

static inline void fl_destroy_builder(void* object) { sidbeam_builder_destroy((sidbeam_builder*)object); }

/* codes [levels]; the rest as in sidbeam_builder_config; codebook may be NULL. */
static inline flat_handle* flat_builder_create(flat_handle* runtime, flat_in_i32 codes, int32_t variable_length,
                                               int32_t id_type, int32_t kinds, int32_t collisions, int32_t threads,
                                               int64_t memory_limit_bytes, const char* codebook, int64_t hash_seed,
                                               int32_t allow_attribute_loss, int32_t keep_priorities,
                                               sidbeam_error* err) {
  sidbeam_builder_config config =
      fl_builder_config(codes, variable_length, id_type, kinds, collisions, threads, memory_limit_bytes, codebook,
                        hash_seed, allow_attribute_loss, keep_priorities);
  sidbeam_builder* builder = NULL;
  flat_handle* handle;
  void* object;
  fl_clear(err);
  object = fl_share(runtime, FLAT_RUNTIME, err);
  if (object == NULL) return NULL;
  handle = fl_box(FLAT_BUILDER, NULL, fl_destroy_builder);
  handle->levels = config.levels;
  handle->id_type = id_type;
  config.progress = fl_progress;
  config.progress_context = handle;
  if (sidbeam_builder_create((sidbeam_runtime*)object, &config, &builder, err) == SIDBEAM_OK) {
    atomic_store(&handle->object, builder);
  } else {
    flat_free(handle);
    handle = NULL;
  }
  fl_drop_user(runtime);
  return handle;
}

/* A builder, and a catalogue, reads its own number of levels per SID, whatever the caller's array has. */
static inline int fl_sids_of_levels(flat_handle* owner, int32_t kind, int32_t levels, sidbeam_error* err) {
  if (fl_is(owner, kind, err) && owner->levels != levels)
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "codes has %d levels, expected %d, those of the %s", levels, owner->levels,
            fl_kind_name(kind));
  return err->code == 0;
}

/* codes [count, levels]; lengths, ids, priorities [count] or none. */
static inline void flat_builder_add(flat_handle* builder, flat_in_i32 codes, int32_t levels, flat_in_i32 lengths,
                                    int64_t count, flat_in_i64 ids, flat_in_i64 priorities, sidbeam_error* err) {
  void* object;
  fl_clear(err);
  if (!fl_sids_of_levels(builder, FLAT_BUILDER, levels, err) || !FLAT_GIVEN(err, codes, fl_product(count, levels)) ||
      !FLAT_NEED(err, lengths, count) || !FLAT_NEED(err, ids, count) || !FLAT_NEED(err, priorities, count))
    return;
  object = fl_enter(builder, FLAT_BUILDER, err);
  if (object == NULL) return;
  (void)!sidbeam_builder_add((sidbeam_builder*)object, codes.data, lengths.data, count, ids.data, priorities.data, err);
  fl_leave(builder);
}

/* The same with names: name i is id_bytes[id_offsets[i] .. id_offsets[i+1]). */
static inline void flat_builder_add_named(flat_handle* builder, flat_in_i32 codes, int32_t levels, flat_in_i32 lengths,
                                          int64_t count, flat_in_bytes id_bytes, flat_in_i64 id_offsets,
                                          flat_in_i64 priorities, sidbeam_error* err) {
  void* object;
  fl_clear(err);
  if (!fl_sids_of_levels(builder, FLAT_BUILDER, levels, err) || !FLAT_GIVEN(err, codes, fl_product(count, levels)) ||
      !FLAT_NEED(err, lengths, count) || !FLAT_GIVEN(err, id_offsets, count + 1) ||
      !FLAT_NEED(err, priorities, count) || !FLAT_GIVEN(err, id_bytes, count > 0 ? id_offsets.data[count] : 0))
    return;
  object = fl_enter(builder, FLAT_BUILDER, err);
  if (object == NULL) return;
  (void)!sidbeam_builder_add_named((sidbeam_builder*)object, codes.data, lengths.data, count,
                                   id_bytes.data == NULL ? "" : id_bytes.data, id_offsets.data, priorities.data, err);
  fl_leave(builder);
}

static inline void flat_builder_set_metadata(flat_handle* builder, const char* key, const char* value,
                                             sidbeam_error* err) {
  void* object;
  fl_clear(err);
  object = fl_enter(builder, FLAT_BUILDER, err);
  if (object == NULL) return;
  (void)!sidbeam_builder_set_metadata((sidbeam_builder*)object, key, value, err);
  fl_leave(builder);
}

static inline void flat_builder_write(flat_handle* builder, const char* path, sidbeam_error* err) {
  void* object;
  fl_clear(err);
  object = fl_enter(builder, FLAT_BUILDER, err);
  if (object == NULL) return;
  (void)!sidbeam_builder_write((sidbeam_builder*)object, path, err);
  fl_leave(builder);
}

#endif
