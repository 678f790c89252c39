/* An opened index. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_INDEX_H
#define SIDBEAM_FLAT_INDEX_H

/* Bytes that an index borrows are lent by number. The library gives them back on any thread, perhaps after the index's
 * handle is gone (a session holds the index): their numbers wait here until the language asks for them. */
typedef struct fl_loan {
  int64_t number;
  struct fl_loan* next;
} fl_loan;
#ifndef SWIG
static _Atomic(fl_loan*) fl_returned;
#endif

static inline void fl_return_loan(void* context) {
  fl_loan* loan = (fl_loan*)context;
  loan->next = atomic_load(&fl_returned);
  while (!atomic_compare_exchange_weak(&fl_returned, &loan->next, loan)) {
  }
}

/* Writes the numbers of loans that have been given back, as many as fit; returns how many. */
static inline int64_t flat_returned_loans(flat_out_i64 numbers) {
  fl_loan* loan = atomic_exchange(&fl_returned, NULL);
  int64_t count = 0;
  while (loan != NULL) {
    fl_loan* next = loan->next;
    if (numbers.data != NULL && count < numbers.count) {
      numbers.data[count++] = loan->number;
      free(loan);
    } else {
      fl_return_loan(loan);
    }
    loan = next;
  }
  return count;
}

static inline void fl_destroy_index(void* object) { sidbeam_index_release((sidbeam_index*)object); }

static inline flat_handle* flat_builder_finish(flat_handle* builder, sidbeam_error* err) {
  sidbeam_index* index = NULL;
  void* object;
  fl_clear(err);
  object = fl_enter(builder, FLAT_BUILDER, err);
  if (object == NULL) return NULL;
  (void)!sidbeam_builder_finish((sidbeam_builder*)object, &index, err);
  fl_leave(builder);
  return index == NULL ? NULL : fl_box(FLAT_INDEX, index, fl_destroy_index);
}

static inline flat_handle* flat_index_open(flat_handle* runtime, const char* path, int32_t residency, int32_t verify,
                                           sidbeam_error* err) {
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  sidbeam_index* index = NULL;
  void* object;
  fl_clear(err);
  config.residency = residency;
  config.verify = verify;
  object = fl_share(runtime, FLAT_RUNTIME, err);
  if (object == NULL) return NULL;
  (void)!sidbeam_index_open((sidbeam_runtime*)object, path, &config, &index, err);
  fl_drop_user(runtime);
  return index == NULL ? NULL : fl_box(FLAT_INDEX, index, fl_destroy_index);
}

/* Opens bytes in memory, which stay borrowed until `loan` is among flat_returned_loans. With SIDBEAM_RESIDENCY_COPY, or
 * when the call fails, they are not borrowed and the loan is not returned. */
static inline flat_handle* flat_index_open_memory(flat_handle* runtime, flat_in_bytes data, int64_t loan,
                                                  int32_t residency, int32_t verify, sidbeam_error* err) {
  const int copied = residency == SIDBEAM_RESIDENCY_COPY;
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  sidbeam_index* index = NULL;
  fl_loan* lent = NULL;
  void* object;
  fl_clear(err);
  config.residency = residency;
  config.verify = verify;
  object = fl_share(runtime, FLAT_RUNTIME, err);
  if (object == NULL) return NULL;
  if (!copied) {
    lent = (fl_loan*)malloc(sizeof(*lent));
    if (lent == NULL) {
      fl_fail(err, SIDBEAM_OUT_OF_MEMORY, "no memory for a loan");
    } else {
      lent->number = loan;
    }
  }
  if (err->code == 0 &&
      sidbeam_index_open_memory((sidbeam_runtime*)object, data.data, data.count, copied ? NULL : fl_return_loan, lent,
                                &config, &index, err) != SIDBEAM_OK)
    free(lent);
  fl_drop_user(runtime);
  return index == NULL ? NULL : fl_box(FLAT_INDEX, index, fl_destroy_index);
}

/* Where the numbers of sidbeam_index_info stand in an array of FLAT_INFO_COUNT; arrays are by level, of
 * SIDBEAM_MAX_LEVELS entries each, 0 past the last level. */
enum {
  FLAT_INFO_FORMAT_MAJOR,
  FLAT_INFO_FORMAT_MINOR,
  FLAT_INFO_LEVELS,
  FLAT_INFO_VARIABLE_LENGTH,
  FLAT_INFO_SHORTEST,
  FLAT_INFO_LONGEST,
  FLAT_INFO_ID_TYPE,
  FLAT_INFO_KINDS,
  FLAT_INFO_SECTION_COUNT,
  FLAT_INFO_METADATA_COUNT,
  FLAT_INFO_SIDS,
  FLAT_INFO_ITEMS,
  FLAT_INFO_MERGED_PAIRS,
  FLAT_INFO_COLLISIONS,
  FLAT_INFO_MAX_ITEMS_PER_SID,
  FLAT_INFO_FILE_BYTES,
  FLAT_INFO_VERIFIED,
  FLAT_INFO_VERSION,
  FLAT_INFO_GENERATION,
  FLAT_INFO_LIVE_ITEMS,
  FLAT_INFO_CODES,
  FLAT_INFO_MAX_CHILDREN = FLAT_INFO_CODES + SIDBEAM_MAX_LEVELS,
  FLAT_INFO_NODES = FLAT_INFO_MAX_CHILDREN + SIDBEAM_MAX_LEVELS,
  FLAT_INFO_COUNT = FLAT_INFO_NODES + SIDBEAM_MAX_LEVELS
};

static inline void fl_put_info(const sidbeam_index_info* info, int64_t* out, flat_out_bytes fingerprint) {
  int32_t l;
  out[FLAT_INFO_FORMAT_MAJOR] = info->format_major;
  out[FLAT_INFO_FORMAT_MINOR] = info->format_minor;
  out[FLAT_INFO_LEVELS] = info->levels;
  out[FLAT_INFO_VARIABLE_LENGTH] = info->variable_length;
  out[FLAT_INFO_SHORTEST] = info->shortest;
  out[FLAT_INFO_LONGEST] = info->longest;
  out[FLAT_INFO_ID_TYPE] = info->id_type;
  out[FLAT_INFO_KINDS] = info->kinds;
  out[FLAT_INFO_SECTION_COUNT] = info->section_count;
  out[FLAT_INFO_METADATA_COUNT] = info->metadata_count;
  out[FLAT_INFO_SIDS] = info->sids;
  out[FLAT_INFO_ITEMS] = info->items;
  out[FLAT_INFO_MERGED_PAIRS] = info->merged_pairs;
  out[FLAT_INFO_COLLISIONS] = info->collisions;
  out[FLAT_INFO_MAX_ITEMS_PER_SID] = info->max_items_per_sid;
  out[FLAT_INFO_FILE_BYTES] = info->file_bytes;
  out[FLAT_INFO_VERIFIED] = info->verified;
  out[FLAT_INFO_VERSION] = info->version;
  out[FLAT_INFO_GENERATION] = info->generation;
  out[FLAT_INFO_LIVE_ITEMS] = info->live_items;
  memset(out + FLAT_INFO_CODES, 0, (FLAT_INFO_COUNT - FLAT_INFO_CODES) * sizeof(*out));
  for (l = 0; l < fl_known_levels(info->levels); l++) {
    out[FLAT_INFO_CODES + l] = info->codes[l];
    out[FLAT_INFO_MAX_CHILDREN + l] = info->max_children[l];
    out[FLAT_INFO_NODES + l] = info->nodes[l];
  }
  fl_text(fingerprint, info->fingerprint, 32);
}

/* fingerprint: 32 bytes. */
static inline void flat_index_peek(const char* path, flat_out_i64 out, flat_out_bytes fingerprint, sidbeam_error* err) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  int32_t codes[SIDBEAM_MAX_LEVELS], max_children[SIDBEAM_MAX_LEVELS];
  int64_t nodes[SIDBEAM_MAX_LEVELS];
  fl_clear(err);
  if (!FLAT_GIVEN(err, out, FLAT_INFO_COUNT)) return;
  if (sidbeam_index_peek(path, SIDBEAM_MAX_LEVELS, codes, max_children, nodes, &info, err) == SIDBEAM_OK)
    fl_put_info(&info, out.data, fingerprint);
}

static inline void flat_index_get_info(flat_handle* index, flat_out_i64 out, flat_out_bytes fingerprint,
                                       sidbeam_error* err) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, out, FLAT_INFO_COUNT)) return;
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return;
  if (sidbeam_index_get_info((sidbeam_index*)object, &info, err) == SIDBEAM_OK)
    fl_put_info(&info, out.data, fingerprint);
  fl_drop_user(index);
}

static inline void flat_index_verify(flat_handle* index, int32_t depth, sidbeam_error* err) {
  void* object;
  fl_clear(err);
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return;
  (void)!sidbeam_index_verify((sidbeam_index*)object, depth, err);
  fl_drop_user(index);
}

/* Writes the index's file. */
static inline void flat_index_write(flat_handle* index, const char* path, sidbeam_error* err) {
  void* object;
  fl_clear(err);
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return;
  (void)!sidbeam_index_write((sidbeam_index*)object, path, err);
  fl_drop_user(index);
}

/* Returns how many bytes the index's file has, of which as many as fit are written. */
static inline int64_t flat_index_bytes(flat_handle* index, flat_out_bytes out, sidbeam_error* err) {
  const void* data = NULL;
  int64_t bytes = 0;
  void* object;
  fl_clear(err);
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return 0;
  if (sidbeam_index_bytes((sidbeam_index*)object, &data, &bytes, err) == SIDBEAM_OK)
    (void)fl_text(out, (const char*)data, bytes);
  fl_drop_user(index);
  return bytes;
}

static inline void fl_put_section(const sidbeam_section_info* info, int64_t* numbers, flat_out_bytes kind,
                                  flat_out_bytes encoding) {
  numbers[0] = info->level;
  numbers[1] = info->offset;
  numbers[2] = info->bytes;
  numbers[3] = info->checksum;
  fl_text(kind, info->kind, (int64_t)strlen(info->kind) + 1);
  fl_text(encoding, info->encoding, (int64_t)strlen(info->encoding) + 1);
}

/* numbers [4]: level, offset, bytes, checksum; kind, encoding: NUL-terminated, at most 24 bytes each. */
static inline void flat_index_get_section(flat_handle* index, int64_t i, flat_out_i64 numbers, flat_out_bytes kind,
                                          flat_out_bytes encoding, sidbeam_error* err) {
  sidbeam_section_info info = SIDBEAM_SECTION_INFO_INIT;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, numbers, 4)) return;
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return;
  if (sidbeam_index_get_section((sidbeam_index*)object, i, &info, err) == SIDBEAM_OK)
    fl_put_section(&info, numbers.data, kind, encoding);
  fl_drop_user(index);
}

/* bytes [2]: the lengths of key and value. key and value, if given, get as much as fits. */
static inline void flat_index_get_metadata(flat_handle* index, int64_t i, flat_out_i64 bytes, flat_out_bytes key,
                                           flat_out_bytes value, sidbeam_error* err) {
  const char *name = NULL, *text = NULL;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, bytes, 2)) return;
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return;
  if (sidbeam_index_get_metadata((sidbeam_index*)object, i, &name, &text, err) == SIDBEAM_OK) {
    bytes.data[0] = fl_text(key, name, (int64_t)strlen(name));
    bytes.data[1] = fl_text(value, text, (int64_t)strlen(text));
  }
  fl_drop_user(index);
}

/* Returns the length of the codebook's text, of which as much as fits is written. */
static inline int64_t flat_index_codebook(flat_handle* index, flat_out_bytes text, sidbeam_error* err) {
  const char* codebook;
  int64_t bytes;
  void* object;
  fl_clear(err);
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return 0;
  codebook = sidbeam_index_codebook((sidbeam_index*)object);
  bytes = fl_text(text, codebook, (int64_t)strlen(codebook));
  fl_drop_user(index);
  return bytes;
}

/* SIDs of many ordinals: codes [count, levels] (-1 beyond the length), lengths [count]. */
static inline void flat_index_sids(flat_handle* index, flat_in_i64 ordinals, int32_t levels, flat_out_i32 codes,
                                   flat_out_i32 lengths, sidbeam_error* err) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  int64_t i;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, codes, fl_product(ordinals.count, levels)) || !FLAT_GIVEN(err, lengths, ordinals.count)) return;
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return;
  if (sidbeam_index_get_info((sidbeam_index*)object, &info, err) == SIDBEAM_OK && info.levels != levels)
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "codes has %d levels, expected %d, those of the index", levels, info.levels);
  for (i = 0; i < fl_product(ordinals.count, levels) && err->code == 0; i++) codes.data[i] = -1;
  for (i = 0; i < ordinals.count && err->code == 0; i++)
    (void)!sidbeam_index_sid((sidbeam_index*)object, ordinals.data[i], codes.data + i * levels, lengths.data + i, err);
  fl_drop_user(index);
}

/* Ordinals of many whole SIDs, -1 where there is none: codes [count, stride], lengths [count]. */
static inline void flat_index_find_sids(flat_handle* index, flat_in_i32 codes, int64_t stride, flat_in_i32 lengths,
                                        flat_out_i64 ordinals, sidbeam_error* err) {
  int64_t i;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, codes, fl_product(lengths.count, stride)) || !FLAT_GIVEN(err, ordinals, lengths.count)) return;
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return;
  for (i = 0; i < lengths.count && err->code == 0; i++) {
    if (lengths.data[i] > stride) {
      fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "lengths[%" PRId64 "] is %d, expected at most %" PRId64, i,
              lengths.data[i], stride);
    } else {
      (void)!sidbeam_index_find_sid((sidbeam_index*)object, codes.data + i * stride, lengths.data[i], ordinals.data + i,
                                    err);
    }
  }
  fl_drop_user(index);
}

/* The length of a prefix. The library refuses one of more codes than there are levels. */
static inline int32_t fl_length(flat_in_i32 prefix) {
  return prefix.count > INT32_MAX ? INT32_MAX : (int32_t)prefix.count;
}

/* range [2]: the ordinals [lo, hi) that begin with the prefix. */
static inline void flat_index_ordinals(flat_handle* index, flat_in_i32 prefix, flat_out_i64 range, sidbeam_error* err) {
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, range, 2)) return;
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return;
  (void)!sidbeam_index_ordinals((sidbeam_index*)object, prefix.data, fl_length(prefix), range.data, range.data + 1,
                                err);
  fl_drop_user(index);
}

/* Returns the number of codes that may follow, of which as many as fit are written; end [1]: 1 if the prefix is a SID.
 * */
static inline int64_t flat_index_children(flat_handle* index, flat_in_i32 prefix, flat_out_i32 codes, flat_out_i32 end,
                                          sidbeam_error* err) {
  int64_t count = 0;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, end, 1)) return 0;
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return 0;
  (void)!sidbeam_index_children((sidbeam_index*)object, prefix.data, fl_length(prefix),
                                codes.data == NULL ? 0 : codes.count, codes.data, &count, end.data, err);
  fl_drop_user(index);
  return count;
}

/* stream: a cudaStream_t as a number; 0: the library's own. */
static inline void flat_index_upload(flat_handle* index, int32_t device_id, int32_t kinds, int32_t verify,
                                     int64_t stream, int64_t chunk_bytes, int64_t bytes_per_second,
                                     sidbeam_error* err) {
  sidbeam_upload_config config = SIDBEAM_UPLOAD_CONFIG_INIT;
  void* object;
  fl_clear(err);
  config.device_id = device_id;
  config.kinds = kinds;
  config.verify = verify;
  config.stream = (void*)(intptr_t)stream;
  config.chunk_bytes = chunk_bytes;
  config.bytes_per_second = bytes_per_second;
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return;
  (void)!sidbeam_index_upload((sidbeam_index*)object, &config, err);
  fl_drop_user(index);
}

/* out [2]: kinds and bytes on the device. */
static inline void flat_index_get_upload(flat_handle* index, int32_t device_id, flat_out_i64 out, sidbeam_error* err) {
  sidbeam_upload_info info = SIDBEAM_UPLOAD_INFO_INIT;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, out, 2)) return;
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return;
  if (sidbeam_index_get_upload((sidbeam_index*)object, device_id, &info, err) == SIDBEAM_OK) {
    out.data[0] = info.kinds;
    out.data[1] = info.bytes;
  }
  fl_drop_user(index);
}

static inline void flat_index_unload(flat_handle* index, int32_t device_id, sidbeam_error* err) {
  void* object;
  fl_clear(err);
  object = fl_share(index, FLAT_INDEX, err);
  if (object == NULL) return;
  sidbeam_index_unload((sidbeam_index*)object, device_id);
  fl_drop_user(index);
}

#endif
