/* Tools for replaying the shared cases. SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"

case_state state;
const record* now;
sidbeam_error err;

_Noreturn void fail(const char* what, int64_t at) {
  printf("case %s\nline %d (%s): %s", state.line, now->line, now->kind, what);
  if (at >= 0) printf(" differs at %" PRId64, at);
  if (err.code != 0) printf(": %s: %s", sidbeam_status_name(err.code), err.message);
  printf("\n");
  exit(EXIT_FAILURE);
}

void succeed(const char* what) {
  if (err.code != 0) fail(what, -1);
}

/* The arguments of the call: absent fields are arrays that are none. */
flat_in_i32 in_i32(const char* name) {
  const field* found = find_field(now, name, FIELD_I32);
  const flat_in_i32 array = {found == NULL ? NULL : (const int32_t*)found->data, found == NULL ? 0 : found->count};
  return array;
}
flat_in_i64 in_i64(const char* name) {
  const field* found = find_field(now, name, FIELD_I64);
  const flat_in_i64 array = {found == NULL ? NULL : (const int64_t*)found->data, found == NULL ? 0 : found->count};
  return array;
}
flat_in_f32 in_f32(const char* name) {
  const field* found = find_field(now, name, FIELD_F32);
  const flat_in_f32 array = {found == NULL ? NULL : (const float*)found->data, found == NULL ? 0 : found->count};
  return array;
}
int32_t i32_of(const char* name) { return (int32_t)number_of(now, name); }

/* Memory for as many elements as are wanted, and the wanted elements for comparison. */
static void* made(int64_t count, size_t bytes) {
  void* memory = malloc((size_t)count * bytes + 1);
  if (memory == NULL) abort();
  return memory;
}
flat_out_i32 out_i32(int64_t count) {
  const flat_out_i32 array = {(int32_t*)made(count, sizeof(int32_t)), count};
  return array;
}
flat_out_i64 out_i64(int64_t count) {
  const flat_out_i64 array = {(int64_t*)made(count, sizeof(int64_t)), count};
  return array;
}

void same_i32(const char* name, const int32_t* got) {
  const flat_in_i32 want = in_i32(name);
  for (int64_t i = 0; i < want.count; ++i) {
    if (got[i] != want.data[i]) fail(name, i);
  }
  state.compared += want.count;
}
void same_i64(const char* name, const int64_t* got) {
  const flat_in_i64 want = in_i64(name);
  for (int64_t i = 0; i < want.count; ++i) {
    if (got[i] != want.data[i]) fail(name, i);
  }
  state.compared += want.count;
}
/* The same bits; any NaN equals any other. */
void same_f32(const char* name, const float* got) {
  const flat_in_f32 want = in_f32(name);
  for (int64_t i = 0; i < want.count; ++i) {
    const int both_nan = got[i] != got[i] && want.data[i] != want.data[i];
    if (!both_nan && memcmp(got + i, want.data + i, sizeof(float)) != 0) fail(name, i);
  }
  state.compared += want.count;
}
void same_number(const char* name, int64_t got) {
  if (got != number_of(now, name)) fail(name, 0);
  ++state.compared;
}

given_logits logits_of(const char* name) {
  given_logits given = {{NULL}, 0, 0, 0};
  for (int i = 0; i < now->fields; ++i) {
    const field* found = &now->field[i];
    if (strcmp(found->name, name) != 0) continue;
    given.dtype = (int32_t)(found->type - FIELD_F32);
    given.count = found->count;
    given.bytes = (size_t)found->count * (found->type == FIELD_F32 ? 4 : 2);
    given.memory.data = made(1, given.bytes);
    memcpy(given.memory.data, found->data, given.bytes);
    return given;
  }
  fail(name, -1);
}

void close_handle(flat_handle** handle) {
  flat_free(*handle);
  *handle = NULL;
}

/* In an order that a garbage collector may choose: a used object before its users. */
void end_case(void) {
  for (; state.index_count > 0; --state.index_count) {
    close_handle(&state.indexes[state.index_count - 1]);
    close_handle(&state.constraints[state.index_count - 1]);
  }
  close_handle(&state.session);
  close_handle(&state.set);
  close_handle(&state.disc);
}

void do_case(void) {
  end_case();
  state.line = text_of(now, "line");
}

static void add_lines(flat_handle* builder, int32_t levels) {
  const flat_in_i32 sids = in_i32("sids");
  const int64_t count = sids.count / levels;
  const field* names = find_field(now, "names", FIELD_STR);
  if (names == NULL) {
    flat_builder_add(builder, sids, levels, in_i32("lengths"), count, in_i64("ids"), in_i64("priorities"), &err);
  } else {
    const flat_out_i64 offsets = out_i64(count + 1);
    const flat_in_i64 rises = {offsets.data, count + 1};
    const char* text = (const char*)names->data;
    flat_in_bytes bytes;
    char* joined = (char*)made(count, 64);
    offsets.data[0] = 0;
    for (int64_t i = 0; i < count; ++i) {
      const size_t length = strlen(text);
      memcpy(joined + offsets.data[i], text, length);
      offsets.data[i + 1] = offsets.data[i] + (int64_t)length;
      text += length + 1;
    }
    bytes.data = joined;
    bytes.count = offsets.data[count];
    flat_builder_add_named(builder, sids, levels, in_i32("lengths"), count, bytes, rises, in_i64("priorities"), &err);
    free(joined);
    free(offsets.data);
  }
  succeed("adding");
}

static void check_names(flat_handle* index, flat_in_i64 item_rows) {
  const field* want = find_field(now, "want_names", FIELD_STR);
  const flat_out_i64 lengths = out_i64(item_rows.count), ids = out_i64(item_rows.count);
  const flat_out_bytes none = {NULL, 0};
  flat_out_bytes names;
  const char *text = (const char*)want->data, *got;
  flat_index_item_ids(index, item_rows, ids, lengths, &err);
  succeed("flat_index_item_ids");
  names.count = flat_index_item_names(index, item_rows, none, &err);
  names.data = (char*)made(names.count, 1);
  if (flat_index_item_names(index, item_rows, names, &err) != names.count) fail("length of the names", -1);
  got = names.data;
  for (int64_t i = 0; i < item_rows.count; ++i) {
    const int64_t length = (int64_t)strlen(text);
    if (lengths.data[i] != length || memcmp(got, text, (size_t)length) != 0) fail("want_names", i);
    text += length + 1;
    got += length;
  }
  state.compared += item_rows.count;
  free(names.data);
  free(lengths.data);
  free(ids.data);
}

static void check_item_rows(flat_handle* index) {
  const int64_t items = number_of(now, "want_items");
  const flat_out_i64 rows = out_i64(items), got = out_i64(items), none = {NULL, 0};
  const flat_in_i64 asked = {rows.data, items};
  for (int64_t i = 0; i < items; ++i) rows.data[i] = i;
  flat_index_item_ordinals(index, asked, got, &err);
  succeed("flat_index_item_ordinals");
  same_i64("want_ordinals", got.data);
  if (i32_of("id_type") == SIDBEAM_ID_STRING) {
    check_names(index, asked);
  } else {
    flat_index_item_ids(index, asked, got, none, &err);
    succeed("flat_index_item_ids");
    same_i64("want_ids", got.data);
  }
  free(rows.data);
  free(got.data);
}

static void check_info(flat_handle* index) {
  int64_t info[FLAT_INFO_COUNT] = {0};
  char fingerprint[32];
  const flat_out_i64 out = {info, FLAT_INFO_COUNT};
  const flat_out_bytes bytes = {fingerprint, sizeof fingerprint};
  flat_index_get_info(index, out, bytes, &err);
  succeed("flat_index_get_info");
  same_number("want_levels", info[FLAT_INFO_LEVELS]);
  same_number("want_shortest", info[FLAT_INFO_SHORTEST]);
  same_number("want_longest", info[FLAT_INFO_LONGEST]);
  same_number("want_kinds", info[FLAT_INFO_KINDS]);
  same_number("want_sids", info[FLAT_INFO_SIDS]);
  same_number("want_items", info[FLAT_INFO_ITEMS]);
  same_number("want_merged_pairs", info[FLAT_INFO_MERGED_PAIRS]);
  same_number("want_collisions", info[FLAT_INFO_COLLISIONS]);
  same_number("want_max_items_per_sid", info[FLAT_INFO_MAX_ITEMS_PER_SID]);
}

void do_index(void) {
  const flat_in_i32 codes = in_i32("codes");
  flat_handle* builder = flat_builder_create(state.runtime, codes, i32_of("variable_length"), i32_of("id_type"),
                                             i32_of("kinds"), i32_of("collisions"), 0, 0, NULL, 0, 0, 0, &err);
  succeed("flat_builder_create");
  add_lines(builder, (int32_t)codes.count);
  state.indexes[state.index_count] = flat_builder_finish(builder, &err);
  succeed("flat_builder_finish");
  flat_free(builder);
  state.constraints[state.index_count] = flat_constraint_create(state.indexes[state.index_count], &err);
  succeed("flat_constraint_create");
  check_info(state.indexes[state.index_count]);
  check_item_rows(state.indexes[state.index_count]);
  ++state.index_count;
}
