/* Live catalogues. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_CATALOG_H
#define SIDBEAM_FLAT_CATALOG_H

static inline void fl_destroy_catalog(void* object) { sidbeam_catalog_close((sidbeam_catalog*)object); }

/* NULL with an error if the catalogue is NULL. */
static inline flat_handle* fl_box_catalog(sidbeam_catalog* catalog, sidbeam_error* err) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  sidbeam_index* index = NULL;
  flat_handle* handle;
  if (catalog == NULL) return NULL;
  handle = fl_box(FLAT_CATALOG, catalog, fl_destroy_catalog);
  if (sidbeam_catalog_snapshot(catalog, 0, &index, err) == SIDBEAM_OK) {
    if (sidbeam_index_get_info(index, &info, err) == SIDBEAM_OK) handle->levels = info.levels;
    sidbeam_index_release(index);
  }
  if (err->code == 0) return handle;
  flat_free(handle);
  return NULL;
}

static inline sidbeam_catalog_config fl_catalog_config(int32_t sync, int64_t sync_interval_ms, int64_t keep_versions,
                                                       int64_t keep_ms, int32_t residency, int32_t verify,
                                                       int32_t accept_loss) {
  sidbeam_catalog_config config = SIDBEAM_CATALOG_CONFIG_INIT;
  config.sync = sync;
  config.sync_interval_ms = sync_interval_ms;
  config.keep_versions = keep_versions;
  config.keep_ms = keep_ms;
  config.residency = residency;
  config.verify = verify;
  config.accept_loss = accept_loss;
  return config;
}

/* in_memory: 1 takes no folder, which not every language can tell from an empty text; the rest as in
 * sidbeam_catalog_config. */
static inline flat_handle* flat_catalog_create(flat_handle* base, int32_t in_memory, const char* folder, int32_t sync,
                                               int64_t sync_interval_ms, int64_t keep_versions, int64_t keep_ms,
                                               int32_t residency, int32_t verify, sidbeam_error* err) {
  const sidbeam_catalog_config config =
      fl_catalog_config(sync, sync_interval_ms, keep_versions, keep_ms, residency, verify, 0);
  sidbeam_catalog* catalog = NULL;
  void* object;
  fl_clear(err);
  object = fl_share(base, FLAT_INDEX, err);
  if (object == NULL) return NULL;
  (void)!sidbeam_catalog_create((sidbeam_index*)object, in_memory != 0 ? NULL : folder, &config, &catalog, err);
  fl_drop_user(base);
  return fl_box_catalog(catalog, err);
}

/* follows: 1 opens it to read what another process writes. */
static inline flat_handle* flat_catalog_open(flat_handle* runtime, const char* folder, int32_t follows, int32_t sync,
                                             int64_t sync_interval_ms, int64_t keep_versions, int64_t keep_ms,
                                             int32_t residency, int32_t verify, int32_t accept_loss,
                                             sidbeam_error* err) {
  const sidbeam_catalog_config config =
      fl_catalog_config(sync, sync_interval_ms, keep_versions, keep_ms, residency, verify, accept_loss);
  sidbeam_catalog* catalog = NULL;
  void* object;
  fl_clear(err);
  object = fl_share(runtime, FLAT_RUNTIME, err);
  if (object == NULL) return NULL;
  (void)!(follows != 0 ? sidbeam_catalog_follow : sidbeam_catalog_open)((sidbeam_runtime*)object, folder, &config,
                                                                        &catalog, err);
  fl_drop_user(runtime);
  return fl_box_catalog(catalog, err);
}

/* Fills in all but the attributes; returns 1 if the arrays are as long as `count` says. */
static inline int fl_pairs(flat_in_i32 codes, int32_t levels, flat_in_i32 lengths, int64_t count, flat_in_i64 ids,
                           flat_in_bytes id_bytes, flat_in_i64 id_offsets, flat_in_i64 priorities, sidbeam_pairs* out,
                           sidbeam_error* err) {
  const int64_t size = fl_product(count, levels);
  if (!FLAT_AS_MANY(err, codes, size) || !FLAT_GIVEN(err, codes, size) || !FLAT_AS_MANY(err, lengths, count) ||
      !FLAT_AS_MANY(err, ids, count) || !FLAT_AS_MANY(err, priorities, count))
    return 0;
  if (id_offsets.data != NULL && (!FLAT_AS_MANY(err, id_offsets, fl_product(count, 1) + 1) ||
                                  !FLAT_GIVEN(err, id_bytes, count > 0 ? id_offsets.data[count] : 0)))
    return 0;
  out->codes = codes.data;
  out->lengths = lengths.data;
  out->count = count;
  out->ids = ids.data;
  out->id_bytes = id_bytes.data == NULL && id_offsets.data != NULL ? "" : id_bytes.data;
  out->id_offsets = id_offsets.data;
  out->priorities = priorities.data;
  return 1;
}

/* codes [count, levels]; lengths, ids, priorities [count] or none; in place of ids names, of which name i is
 * id_bytes[id_offsets[i] .. id_offsets[i+1]); columns: of the attributes, or NULL. */
static inline void flat_catalog_add(flat_handle* catalog, flat_in_i32 codes, int32_t levels, flat_in_i32 lengths,
                                    int64_t count, flat_in_i64 ids, flat_in_bytes id_bytes, flat_in_i64 id_offsets,
                                    flat_in_i64 priorities, flat_handle* columns, sidbeam_error* err) {
  sidbeam_pairs pairs = SIDBEAM_PAIRS_INIT;
  const fl_columns* values = NULL;
  void* object;
  fl_clear(err);
  if (!fl_sids_of_levels(catalog, FLAT_CATALOG, levels, err) ||
      !fl_pairs(codes, levels, lengths, count, ids, id_bytes, id_offsets, priorities, &pairs, err))
    return;
  if (columns != NULL && (values = (const fl_columns*)fl_enter(columns, FLAT_COLUMNS, err)) == NULL) return;
  if (values != NULL && values->used > 0 && values->count != count)
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "attributes have %" PRId64 " values, expected %" PRId64 ", one per pair",
            values->count, count);
  pairs.attributes = values == NULL ? NULL : values->pointers;
  pairs.attribute_count = values == NULL ? 0 : values->used;
  object = fl_share(catalog, FLAT_CATALOG, err);
  if (object != NULL) {
    (void)!sidbeam_catalog_add((sidbeam_catalog*)object, &pairs, err);
    fl_drop_user(catalog);
  }
  if (columns != NULL) fl_leave(columns);
}

/* As flat_builder_add_arrow. */
static inline int64_t flat_catalog_add_arrow(flat_handle* catalog, int64_t stream, flat_in_bytes sid,
                                             flat_in_bytes levels, flat_in_bytes level_prefix, flat_in_bytes item,
                                             flat_in_bytes priority, flat_in_bytes attributes, int32_t all_attributes,
                                             sidbeam_error* err) {
  fl_arrow_names names;
  sidbeam_arrow_config config;
  int64_t pairs = 0;
  void* object = NULL;
  fl_clear(err);
  if (fl_arrow_pairs_config(sid, levels, level_prefix, item, priority, attributes, all_attributes, &names, &config,
                            err))
    object = fl_share(catalog, FLAT_CATALOG, err);
  if (object == NULL) {
    flat_arrow_release(stream);
    return 0;
  }
  (void)!sidbeam_catalog_add_arrow((sidbeam_catalog*)object, (struct ArrowArrayStream*)(intptr_t)stream, &config,
                                   &pairs, err);
  fl_drop_user(catalog);
  return pairs;
}

/* The items of a list, as fl_item_list has it; returns the number of entries that have none. */
static inline int64_t flat_catalog_remove(flat_handle* catalog, int32_t by, flat_in_i64 numbers, flat_in_bytes names,
                                          flat_in_i64 offsets, sidbeam_error* err) {
  sidbeam_item_list items = SIDBEAM_ITEM_LIST_INIT;
  int64_t unknown = 0;
  void* object;
  fl_clear(err);
  /* An empty list is the same of ids, names and item rows. */
  if (numbers.count > 0 || offsets.count > 1) (void)fl_item_list(by, numbers, names, offsets, &items, err);
  object = fl_share(catalog, FLAT_CATALOG, err);
  if (object == NULL) return 0;
  (void)!sidbeam_catalog_remove((sidbeam_catalog*)object, &items, &unknown, err);
  fl_drop_user(catalog);
  return unknown;
}

static inline void flat_catalog_discard(flat_handle* catalog, sidbeam_error* err) {
  void* object;
  fl_clear(err);
  object = fl_share(catalog, FLAT_CATALOG, err);
  if (object == NULL) return;
  (void)!sidbeam_catalog_discard((sidbeam_catalog*)object, err);
  fl_drop_user(catalog);
}

/* Returns the newest version, as the next three do. */
static inline int64_t flat_catalog_publish(flat_handle* catalog, sidbeam_error* err) {
  int64_t version = 0;
  void* object;
  fl_clear(err);
  object = fl_share(catalog, FLAT_CATALOG, err);
  if (object == NULL) return 0;
  (void)!sidbeam_catalog_publish((sidbeam_catalog*)object, &version, err);
  fl_drop_user(catalog);
  return version;
}

static inline int64_t flat_catalog_rollback(flat_handle* catalog, int64_t version, sidbeam_error* err) {
  int64_t made = 0;
  void* object;
  fl_clear(err);
  object = fl_share(catalog, FLAT_CATALOG, err);
  if (object == NULL) return 0;
  (void)!sidbeam_catalog_rollback((sidbeam_catalog*)object, version, &made, err);
  fl_drop_user(catalog);
  return made;
}

/* Languages wait a little at a time, so that they hear of what interrupts them. */
static inline int64_t flat_catalog_refresh(flat_handle* catalog, int64_t wait_ms, sidbeam_error* err) {
  int64_t version = 0;
  void* object;
  fl_clear(err);
  object = fl_share(catalog, FLAT_CATALOG, err);
  if (object == NULL) return 0;
  (void)!sidbeam_catalog_refresh((sidbeam_catalog*)object, wait_ms, &version, err);
  fl_drop_user(catalog);
  return version;
}

static inline void fl_destroy_nothing(void* object) { (void)object; }

/* What one compaction is cancelled and watched by: flat_cancel and flat_get_progress. */
static inline flat_handle* flat_compaction_create(void) {
  flat_handle* handle = fl_box(FLAT_COMPACTION, NULL, fl_destroy_nothing);
  atomic_store(&handle->object, handle); /* which nobody looks at; NULL would be a closed one */
  return handle;
}

static inline int64_t flat_catalog_compact(flat_handle* catalog, flat_handle* compaction, int32_t threads,
                                           int64_t memory_limit_bytes, int64_t bytes_per_second, sidbeam_error* err) {
  sidbeam_compact_config config = SIDBEAM_COMPACT_CONFIG_INIT;
  int64_t version = 0;
  void* object;
  fl_clear(err);
  config.threads = threads;
  config.memory_limit_bytes = memory_limit_bytes;
  config.bytes_per_second = bytes_per_second;
  config.progress = fl_progress;
  config.progress_context = compaction;
  if (fl_enter(compaction, FLAT_COMPACTION, err) == NULL) return 0;
  object = fl_share(catalog, FLAT_CATALOG, err);
  if (object != NULL) {
    (void)!sidbeam_catalog_compact((sidbeam_catalog*)object, &config, &version, err);
    fl_drop_user(catalog);
  }
  fl_leave(compaction);
  return version;
}

static inline void flat_catalog_sync(flat_handle* catalog, sidbeam_error* err) {
  void* object;
  fl_clear(err);
  object = fl_share(catalog, FLAT_CATALOG, err);
  if (object == NULL) return;
  (void)!sidbeam_catalog_sync((sidbeam_catalog*)object, err);
  fl_drop_user(catalog);
}

/* version 0: the newest. */
static inline flat_handle* flat_catalog_snapshot(flat_handle* catalog, int64_t version, sidbeam_error* err) {
  sidbeam_index* index = NULL;
  void* object;
  fl_clear(err);
  object = fl_share(catalog, FLAT_CATALOG, err);
  if (object == NULL) return NULL;
  (void)!sidbeam_catalog_snapshot((sidbeam_catalog*)object, version, &index, err);
  fl_drop_user(catalog);
  return index == NULL ? NULL : fl_box(FLAT_INDEX, index, fl_destroy_index);
}

/* Where the numbers of sidbeam_catalog_info stand in an array of FLAT_CATALOG_COUNT. */
enum {
  FLAT_CATALOG_FOLLOWS,
  FLAT_CATALOG_VERSION,
  FLAT_CATALOG_GENERATION,
  FLAT_CATALOG_OLDEST_VERSION,
  FLAT_CATALOG_PUBLISHED_NS,
  FLAT_CATALOG_ITEMS,
  FLAT_CATALOG_SIDS,
  FLAT_CATALOG_BASE_ITEMS,
  FLAT_CATALOG_ADDED,
  FLAT_CATALOG_REMOVED,
  FLAT_CATALOG_CHANGES,
  FLAT_CATALOG_COMPACT_SOON,
  FLAT_CATALOG_LOG_FAILED,
  FLAT_CATALOG_LOG_BYTES,
  FLAT_CATALOG_UNSYNCED_BYTES,
  FLAT_CATALOG_BASE_BYTES,
  FLAT_CATALOG_MEMORY_BYTES,
  FLAT_CATALOG_CUT_BYTES,
  FLAT_CATALOG_COUNT
};

static inline void fl_put_catalog_info(const sidbeam_catalog_info* info, int64_t* out) {
  out[FLAT_CATALOG_FOLLOWS] = info->follows;
  out[FLAT_CATALOG_VERSION] = info->version;
  out[FLAT_CATALOG_GENERATION] = info->generation;
  out[FLAT_CATALOG_OLDEST_VERSION] = info->oldest_version;
  out[FLAT_CATALOG_PUBLISHED_NS] = info->published_ns;
  out[FLAT_CATALOG_ITEMS] = info->items;
  out[FLAT_CATALOG_SIDS] = info->sids;
  out[FLAT_CATALOG_BASE_ITEMS] = info->base_items;
  out[FLAT_CATALOG_ADDED] = info->added;
  out[FLAT_CATALOG_REMOVED] = info->removed;
  out[FLAT_CATALOG_CHANGES] = info->changes;
  out[FLAT_CATALOG_COMPACT_SOON] = info->compact_soon;
  out[FLAT_CATALOG_LOG_FAILED] = info->log_failed;
  out[FLAT_CATALOG_LOG_BYTES] = info->log_bytes;
  out[FLAT_CATALOG_UNSYNCED_BYTES] = info->unsynced_bytes;
  out[FLAT_CATALOG_BASE_BYTES] = info->base_bytes;
  out[FLAT_CATALOG_MEMORY_BYTES] = info->memory_bytes;
  out[FLAT_CATALOG_CUT_BYTES] = info->cut_bytes;
}

static inline void flat_catalog_get_info(flat_handle* catalog, flat_out_i64 out, sidbeam_error* err) {
  sidbeam_catalog_info info = SIDBEAM_CATALOG_INFO_INIT;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, out, FLAT_CATALOG_COUNT)) return;
  object = fl_share(catalog, FLAT_CATALOG, err);
  if (object == NULL) return;
  if (sidbeam_catalog_get_info((sidbeam_catalog*)object, &info, err) == SIDBEAM_OK)
    fl_put_catalog_info(&info, out.data);
  fl_drop_user(catalog);
}

/* Where the numbers of sidbeam_version_info stand, FLAT_VERSION_COUNT for each version. */
enum {
  FLAT_VERSION_VERSION,
  FLAT_VERSION_GENERATION,
  FLAT_VERSION_PUBLISHED_NS,
  FLAT_VERSION_ITEMS,
  FLAT_VERSION_CHANGED,
  FLAT_VERSION_BYTES,
  FLAT_VERSION_BACK_TO,
  FLAT_VERSION_IN_USE,
  FLAT_VERSION_COUNT
};

static inline void fl_put_version(const sidbeam_version_info* info, int64_t* out) {
  out[FLAT_VERSION_VERSION] = info->version;
  out[FLAT_VERSION_GENERATION] = info->generation;
  out[FLAT_VERSION_PUBLISHED_NS] = info->published_ns;
  out[FLAT_VERSION_ITEMS] = info->items;
  out[FLAT_VERSION_CHANGED] = info->changed;
  out[FLAT_VERSION_BYTES] = info->bytes;
  out[FLAT_VERSION_BACK_TO] = info->back_to;
  out[FLAT_VERSION_IN_USE] = info->in_use;
}

/* Returns how many versions are kept, of which as many as fit are written, the oldest first. */
static inline int64_t flat_catalog_versions(flat_handle* catalog, flat_out_i64 out, sidbeam_error* err) {
  sidbeam_catalog_info all = SIDBEAM_CATALOG_INFO_INIT;
  int64_t version, count = 0;
  void* object;
  fl_clear(err);
  object = fl_share(catalog, FLAT_CATALOG, err);
  if (object == NULL) return 0;
  (void)!sidbeam_catalog_get_info((sidbeam_catalog*)object, &all, err);
  for (version = all.oldest_version; version <= all.version && err->code == 0; version++) {
    sidbeam_version_info info = SIDBEAM_VERSION_INFO_INIT;
    const sidbeam_status status = sidbeam_catalog_get_version((sidbeam_catalog*)object, version, &info, err);
    if (status == SIDBEAM_INVALID_ARGUMENT) fl_clear(err); /* no longer kept: another thread has published */
    if (status != SIDBEAM_OK) continue;
    if (out.data != NULL && (count + 1) * FLAT_VERSION_COUNT <= out.count)
      fl_put_version(&info, out.data + count * FLAT_VERSION_COUNT);
    count++;
  }
  fl_drop_user(catalog);
  return count;
}

#endif
