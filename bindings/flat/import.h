/* Catalogue files. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_IMPORT_H
#define SIDBEAM_FLAT_IMPORT_H

/* The texts of sidbeam_import_info; FLAT_IMPORT_FAMILY and those after it are the families of the levels. */
enum { FLAT_IMPORT_FORMAT, FLAT_IMPORT_SUMMARY, FLAT_IMPORT_BEGIN_TOKENS, FLAT_IMPORT_END_TOKENS, FLAT_IMPORT_FAMILY };

/* Where the numbers of sidbeam_import_info stand in an array of FLAT_IMPORT_COUNT. */
enum {
  FLAT_IMPORT_LEVELS,
  FLAT_IMPORT_ROWS,
  FLAT_IMPORT_VARIABLE_LENGTH,
  FLAT_IMPORT_ID_TYPE,
  FLAT_IMPORT_CODES_FROM_DATA,
  FLAT_IMPORT_ATTRIBUTES, /* how many */
  FLAT_IMPORT_COUNT
};

static inline void fl_destroy_import(void* object) { fl_import_api->import_destroy((sidbeam_import*)object); }

/* A place for what flat_import_open makes, so that the opening, a pass over the file, can be cancelled and watched as a
 * build can: by flat_cancel and flat_get_progress. */
static inline flat_handle* flat_import_create(void) { return fl_box(FLAT_IMPORT, NULL, fl_destroy_import); }

#ifndef SWIG
/* What a config says as a live catalogue has it; owned. */
typedef struct {
  sidbeam_index* newest; /* whose codes the config refers to */
  char* attributes;
} fl_catalog_form;
#endif

static inline void fl_drop_form(fl_catalog_form* form) {
  if (form->newest != NULL) sidbeam_index_release(form->newest);
  free(form->attributes);
}

/* The type of an attribute as an import config has it, ":f32"; "" where the index has no such attribute. */
static inline const char* fl_type_suffix(const sidbeam_index* index, const char* name) {
  static const char* const types[] = {"", ":i64", ":f32", ":bool", ":string", ":strings"};
  sidbeam_attribute_info info = SIDBEAM_ATTRIBUTE_INFO_INIT;
  int64_t number = -1;
  if (sidbeam_index_find_attribute(index, name, &number, NULL) != SIDBEAM_OK || number < 0 ||
      sidbeam_index_get_attribute(index, number, &info, NULL) != SIDBEAM_OK || info.type < 1 || info.type > 5)
    return "";
  return types[info.type];
}

/* "price,region:string" with the types that the index has of those that are given none; to be freed. */
static inline char* fl_typed_attributes(const sidbeam_index* index, const char* attributes) {
  const size_t length = strlen(attributes);
  char* typed = (char*)calloc(length + 1, 2 * sizeof(":strings")); /* a name takes a byte or more, its type so many */
  char* name = (char*)calloc(length + 1, 1);
  const char* begin = attributes;
  if (typed == NULL || name == NULL) abort();
  while (1) {
    const size_t size = strcspn(begin, ",");
    memcpy(name, begin, size);
    name[size] = '\0';
    strcat(typed, name);
    if (strchr(name, ':') == NULL) strcat(typed, fl_type_suffix(index, name));
    if (begin[size] == '\0') break;
    strcat(typed, ",");
    begin += size + 1;
  }
  free(name);
  return typed;
}

/* Makes a config that of a file for a catalogue; 1: done. */
static inline int fl_take_form(flat_handle* catalog, sidbeam_import_config* config, fl_catalog_form* form,
                               sidbeam_error* err) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  void* object = fl_share(catalog, FLAT_CATALOG, err);
  if (object == NULL) return 0;
  if (sidbeam_catalog_snapshot((sidbeam_catalog*)object, 0, &form->newest, err) == SIDBEAM_OK &&
      sidbeam_index_get_info(form->newest, &info, err) == SIDBEAM_OK) {
    config->levels = config->codes_count = info.levels;
    config->codes = info.codes;
    config->variable_length = info.variable_length;
    config->text_ids = info.id_type == SIDBEAM_ID_STRING;
    if (config->attributes != NULL)
      config->attributes = form->attributes = fl_typed_attributes(form->newest, config->attributes);
  }
  fl_drop_user(catalog);
  return err->code == 0;
}

/* Arguments as the fields of sidbeam_import_config; texts may be NULL. token_base -1: numbers are codes. catalog: NULL,
 * or the live catalogue that the file is for: levels, codes, lengths and the type of ids are then its own, and so are
 * the types of attributes that are given none. */
static inline void flat_import_open(flat_handle* import, const char* path, int32_t levels, flat_in_i32 codes,
                                    int32_t variable_length, const char* format, const char* ids,
                                    const char* item_column, const char* sid_columns, const char* priority_column,
                                    const char* token_pattern, int64_t token_base, int32_t quotes, int32_t text_ids,
                                    const char* attributes, flat_handle* catalog, sidbeam_error* err) {
  sidbeam_import_config config = SIDBEAM_IMPORT_CONFIG_INIT;
  sidbeam_import* opened = NULL;
  fl_catalog_form form = {NULL, NULL};
  fl_clear(err);
  if (!fl_load_import(err) || (fl_share(import, FLAT_IMPORT, err) == NULL && err->code != 0)) return;
  if (atomic_exchange(&import->busy, 1) != 0) {
    fl_drop_user(import);
    fl_fail(err, SIDBEAM_BAD_STATE, "import is in use by another thread");
    return;
  }
  config.levels = levels;
  config.codes = codes.data;
  config.codes_count = codes.count > INT32_MAX ? INT32_MAX : (int32_t)codes.count;
  config.variable_length = variable_length;
  config.format = format;
  config.ids = ids;
  config.item_column = item_column;
  config.sid_columns = sid_columns;
  config.priority_column = priority_column;
  config.token_pattern = token_pattern;
  config.token_ids = token_base >= 0;
  config.token_base = token_base >= 0 ? token_base : 0;
  config.quotes = quotes;
  config.text_ids = text_ids;
  config.attributes = attributes;
  config.progress = fl_progress;
  config.progress_context = import;
  if (atomic_load(&import->object) != NULL) {
    fl_fail(err, SIDBEAM_BAD_STATE, "import is open already");
  } else if ((catalog == NULL || fl_take_form(catalog, &config, &form, err)) &&
             fl_import_api->import_open(path, &config, &opened, err) == SIDBEAM_OK) {
    atomic_store(&import->object, opened);
  }
  fl_drop_form(&form);
  fl_leave(import);
}

static inline void* fl_enter_import(flat_handle* import, sidbeam_error* err) {
  void* object = fl_enter(import, FLAT_IMPORT, err);
  if (object == NULL && err->code == 0) {
    fl_drop_user(import);
    fl_fail(err, SIDBEAM_BAD_STATE, "import is not open");
  }
  return object;
}

/* numbers [FLAT_IMPORT_COUNT]; codes [SIDBEAM_MAX_LEVELS], or more for later libraries. */
static inline void flat_import_get_info(flat_handle* import, flat_out_i64 numbers, flat_out_i32 codes,
                                        sidbeam_error* err) {
  sidbeam_import_info info = SIDBEAM_IMPORT_INFO_INIT;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, numbers, FLAT_IMPORT_COUNT)) return;
  object = fl_enter_import(import, err);
  if (object == NULL) return;
  if (fl_import_api->import_get_info((sidbeam_import*)object, &info, err) == SIDBEAM_OK &&
      FLAT_GIVEN(err, codes, info.levels)) {
    numbers.data[FLAT_IMPORT_LEVELS] = info.levels;
    numbers.data[FLAT_IMPORT_ROWS] = info.rows;
    numbers.data[FLAT_IMPORT_VARIABLE_LENGTH] = info.variable_length;
    numbers.data[FLAT_IMPORT_ID_TYPE] = info.id_type;
    numbers.data[FLAT_IMPORT_CODES_FROM_DATA] = info.codes_from_data;
    numbers.data[FLAT_IMPORT_ATTRIBUTES] = info.attribute_count;
    memcpy(codes.data, info.codes, (size_t)info.levels * sizeof(int32_t));
  }
  fl_leave(import);
}

/* Copies as much of a text (FLAT_IMPORT_*) as fits; returns its length. */
static inline int64_t flat_import_text(flat_handle* import, int32_t which, flat_out_bytes out, sidbeam_error* err) {
  sidbeam_import_info info = SIDBEAM_IMPORT_INFO_INIT;
  int64_t length = 0;
  void* object;
  fl_clear(err);
  object = fl_enter_import(import, err);
  if (object == NULL) return 0;
  if (fl_import_api->import_get_info((sidbeam_import*)object, &info, err) == SIDBEAM_OK) {
    const char* text = NULL;
    if (which == FLAT_IMPORT_FORMAT) text = info.format;
    if (which == FLAT_IMPORT_SUMMARY) text = info.summary;
    if (which == FLAT_IMPORT_BEGIN_TOKENS) text = info.begin_tokens;
    if (which == FLAT_IMPORT_END_TOKENS) text = info.end_tokens;
    if (which >= FLAT_IMPORT_FAMILY && which - FLAT_IMPORT_FAMILY < info.levels)
      text = info.families[which - FLAT_IMPORT_FAMILY];
    if (text == NULL) {
      fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "which is %d, expected a text of FLAT_IMPORT_*", which);
    } else {
      length = fl_text(out, text, (int64_t)strlen(text));
    }
  }
  fl_leave(import);
  return length;
}

/* type [1]: SIDBEAM_ATTRIBUTE_* of attribute i. Copies as much of its name as fits; returns the name's length. */
static inline int64_t flat_import_get_attribute(flat_handle* import, int64_t i, flat_out_i32 type, flat_out_bytes name,
                                                sidbeam_error* err) {
  sidbeam_import_info info = SIDBEAM_IMPORT_INFO_INIT;
  int64_t length = 0;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, type, 1)) return 0;
  object = fl_enter_import(import, err);
  if (object == NULL) return 0;
  if (fl_import_api->import_get_info((sidbeam_import*)object, &info, err) == SIDBEAM_OK) {
    if (i < 0 || i >= info.attribute_count) {
      fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "i is %" PRId64 ", expected less than %" PRId64, i, info.attribute_count);
    } else {
      type.data[0] = info.attribute_types[i];
      length = fl_text(name, info.attribute_names[i], (int64_t)strlen(info.attribute_names[i]));
    }
  }
  fl_leave(import);
  return length;
}

static inline int fl_import_fits(sidbeam_import* import, const flat_handle* builder, sidbeam_error* err) {
  static const char* const types[] = {"i64", "u64", "string"};
  sidbeam_import_info info = SIDBEAM_IMPORT_INFO_INIT;
  if (fl_import_api->import_get_info(import, &info, err) != SIDBEAM_OK) return 0;
  if (info.levels != builder->levels)
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "the file has SIDs of %d levels, expected %d, those of the builder",
            info.levels, builder->levels);
  else if (info.id_type != builder->id_type)
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "the file has ids of the type %s, expected %s, that of the builder",
            types[info.id_type], types[builder->id_type]);
  return err->code == 0;
}

/* All rows of the file to a builder of the same levels and type of ids. */
static inline void flat_import_add_to(flat_handle* import, flat_handle* builder, sidbeam_error* err) {
  void *from, *to;
  fl_clear(err);
  from = fl_enter_import(import, err);
  if (from == NULL) return;
  to = fl_enter(builder, FLAT_BUILDER, err);
  if (to != NULL) {
    if (fl_import_fits((sidbeam_import*)from, builder, err))
      (void)!fl_import_api->import_add_to((sidbeam_import*)from, (sidbeam_builder*)to, err);
    fl_leave(builder);
  }
  fl_leave(import);
}

/* All rows of the file to a live catalogue, for its next publish. */
static inline void flat_import_add_to_catalog(flat_handle* import, flat_handle* catalog, sidbeam_error* err) {
  void *from, *to;
  fl_clear(err);
  from = fl_enter_import(import, err);
  if (from == NULL) return;
  to = fl_share(catalog, FLAT_CATALOG, err);
  if (to != NULL) {
    (void)!fl_import_api->import_add_to_catalog((sidbeam_import*)from, (sidbeam_catalog*)to, err);
    fl_drop_user(catalog);
  }
  fl_leave(import);
}

#endif
