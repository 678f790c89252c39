/* Streams of Arrow's, by their address. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_ARROW_H
#define SIDBEAM_FLAT_ARROW_H

/* What sidbeam_arrow_info says, in this order. */
enum {
  FLAT_ARROW_LEVELS,
  FLAT_ARROW_SHORTEST,
  FLAT_ARROW_ID_TYPE,
  FLAT_ARROW_ITEMS,
  FLAT_ARROW_PRIORITIES,
  FLAT_ARROW_PAIRS,
  FLAT_ARROW_COUNT
};

/* Releases a stream. Every call consumes one, those that fail included; this is for what fails before the call. */
static inline void flat_arrow_release(int64_t address) {
  struct ArrowArrayStream* stream = (struct ArrowArrayStream*)(intptr_t)address;
  if (stream != NULL && stream->release != NULL) stream->release(stream);
}

/* 1 if it is missing or ends with NUL. */
static inline int fl_terminated(sidbeam_error* err, const char* name, flat_in_bytes text) {
  if (err->code == 0 && text.data != NULL && (text.count < 1 || text.data[text.count - 1] != 0))
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "%s does not end with NUL", name);
  return err->code == 0;
}

/* Splits names, each of which ends with NUL; none: 0. */
static inline int32_t fl_names(flat_in_bytes list, const char* what, int32_t most, const char** names,
                               sidbeam_error* err) {
  int32_t count = 0;
  int64_t i;
  if (list.data == NULL || !fl_terminated(err, what, list)) return 0;
  for (i = 0; i < list.count; i += (int64_t)strlen(list.data + i) + 1) {
    if (count == most) {
      fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "%s has more than %d names", what, most);
      return 0;
    }
    names[count++] = list.data + i;
  }
  return count;
}

/* Names end with NUL, those of `levels` each; none: NULL. `names` [SIDBEAM_MAX_LEVELS] is what the config refers to. */
static inline int fl_arrow_config(flat_in_bytes sid, flat_in_bytes levels, flat_in_bytes level_prefix,
                                  flat_in_bytes item, flat_in_bytes priority, const char** names,
                                  sidbeam_arrow_config* config, sidbeam_error* err) {
  if (!fl_terminated(err, "sid", sid) || !fl_terminated(err, "level_prefix", level_prefix) ||
      !fl_terminated(err, "item", item) || !fl_terminated(err, "priority", priority))
    return 0;
  config->sid = sid.data;
  config->level_prefix = level_prefix.data;
  config->item = item.data;
  config->priority = priority.data;
  config->level_count = fl_names(levels, "levels", SIDBEAM_MAX_LEVELS, names, err);
  if (levels.data != NULL) config->levels = names;
  return err->code == 0;
}

enum { FLAT_MOST_ATTRIBUTES = 256 };

/* What the config of a call that adds pairs refers to. */
typedef struct fl_arrow_names {
  const char *levels[SIDBEAM_MAX_LEVELS], *attributes[FLAT_MOST_ATTRIBUTES];
} fl_arrow_names;

/* The same with names of attributes, each of which ends with NUL. */
static inline int fl_arrow_pairs_config(flat_in_bytes sid, flat_in_bytes levels, flat_in_bytes level_prefix,
                                        flat_in_bytes item, flat_in_bytes priority, flat_in_bytes attributes,
                                        int32_t all_attributes, fl_arrow_names* names, sidbeam_arrow_config* config,
                                        sidbeam_error* err) {
  const sidbeam_arrow_config defaults = SIDBEAM_ARROW_CONFIG_INIT;
  *config = defaults;
  config->attributes = names->attributes;
  config->all_attributes = all_attributes;
  config->attribute_count = fl_names(attributes, "attributes", FLAT_MOST_ATTRIBUTES, names->attributes, err);
  return err->code == 0 && fl_arrow_config(sid, levels, level_prefix, item, priority, names->levels, config, err);
}

/* stream: the address of an ArrowArrayStream. Returns the number of pairs. */
static inline int64_t flat_builder_add_arrow(flat_handle* builder, int64_t stream, flat_in_bytes sid,
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
    object = fl_enter(builder, FLAT_BUILDER, err);
  if (object == NULL) {
    flat_arrow_release(stream);
    return 0;
  }
  (void)!sidbeam_builder_add_arrow((sidbeam_builder*)object, (struct ArrowArrayStream*)(intptr_t)stream, &config,
                                   &pairs, err);
  fl_leave(builder);
  return pairs;
}

/* out [FLAT_ARROW_COUNT]; codes [SIDBEAM_MAX_LEVELS] or none. */
static inline void flat_arrow_inspect(int64_t stream, flat_in_bytes sid, flat_in_bytes levels,
                                      flat_in_bytes level_prefix, flat_in_bytes item, flat_in_bytes priority,
                                      flat_out_i64 out, flat_out_i32 codes, sidbeam_error* err) {
  sidbeam_arrow_config config = SIDBEAM_ARROW_CONFIG_INIT;
  sidbeam_arrow_info info = SIDBEAM_ARROW_INFO_INIT;
  const char* names[SIDBEAM_MAX_LEVELS];
  fl_clear(err);
  if (!FLAT_GIVEN(err, out, FLAT_ARROW_COUNT) || !FLAT_NEED(err, codes, SIDBEAM_MAX_LEVELS) ||
      !fl_arrow_config(sid, levels, level_prefix, item, priority, names, &config, err)) {
    flat_arrow_release(stream);
    return;
  }
  if (sidbeam_arrow_inspect((struct ArrowArrayStream*)(intptr_t)stream, &config, codes.data, &info, err) != SIDBEAM_OK)
    return;
  out.data[FLAT_ARROW_LEVELS] = info.levels;
  out.data[FLAT_ARROW_SHORTEST] = info.shortest;
  out.data[FLAT_ARROW_ID_TYPE] = info.id_type;
  out.data[FLAT_ARROW_ITEMS] = info.items;
  out.data[FLAT_ARROW_PRIORITIES] = info.priorities;
  out.data[FLAT_ARROW_PAIRS] = info.pairs;
}

#endif
