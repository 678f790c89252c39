/* Every public struct of the library, or of the runner's, with the size of its first version, of a later one, and of
 * one that never was. Inputs may ask for nothing that this library does not know; outputs have zeros there.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "struct_subjects.h"

#ifdef RUNNER_STRUCTS
#include <sidbeam/runner_api.h>
#define ABI_RECORD "../abi/runner_v1.inc"
#else
#define ABI_RECORD "../abi/abi_v1.inc"
#endif

enum { GROWTH = 24, GUARD = 0xA5 };

/* The size of each struct's first version, from the record of the ABI. */
static const struct {
  const char* type;
  size_t first, known;
} versions[] = {
#define STRUCT(type, bytes) {#type, bytes, sizeof(type)},
#define FIELD(type, field, at, bytes)
#define CONSTANT(name, value)
#define ENTRY(place, name)
#include ABI_RECORD
};
#undef STRUCT
#undef FIELD

static const struct {
  const char *type, *name;
  size_t at, bytes;
} fields[] = {
#define STRUCT(type, bytes)
#define FIELD(type, field, at, bytes) {#type, #field, at, bytes},
#include ABI_RECORD
};
#undef STRUCT
#undef FIELD

/* Of an error, which every library of ours reports by. */
enum {
#define STRUCT(type, bytes) FIRST_##type = bytes,
#define FIELD(type, field, at, bytes)
#include "../abi/abi_v1.inc"
};

/* The subject's struct with another struct_size, in a buffer whose rest is filled with GUARD. */
typedef union room {
  uint32_t struct_size;
  int64_t words[512];
  unsigned char bytes[4096];
} room;

static size_t first_of(const subject* s) {
  for (size_t i = 0; i < COUNT(versions); ++i)
    if (strcmp(versions[i].type, s->type) == 0) return versions[i].first;
  fail_check(__FILE__, __LINE__, s->type, ": expected in tests/abi/abi_v1.inc");
  return 0;
}

static size_t known_of(const subject* s) {
  uint32_t size = 0;
  memcpy(&size, s->value, sizeof size); /* as its _INIT macro says */
  return size;
}

static void sized(const subject* s, size_t size, room* out) {
  memset(out, GUARD, sizeof *out);
  memcpy(out, s->value, known_of(s) < size ? known_of(s) : size);
  if (size >= sizeof out->struct_size || size == 0) out->struct_size = (uint32_t)size;
}

static int all_are(const room* r, size_t from, size_t to, int byte) {
  for (; from < to; ++from)
    if (r->bytes[from] != byte) return 0;
  return 1;
}

/* Whether all fields that end within `end` bytes are equal, except struct_size. Bytes between fields are nobody's. */
static int same_fields(const subject* s, const room* a, const room* b, size_t end) {
  for (size_t i = 0; i < COUNT(fields); ++i) {
    if (strcmp(fields[i].type, s->type) != 0 || fields[i].at == 0 || fields[i].at + fields[i].bytes > end) continue;
    if (s->differs != NULL && strcmp(fields[i].name, s->differs) == 0) continue;
    if (memcmp(a->bytes + fields[i].at, b->bytes + fields[i].at, fields[i].bytes) != 0) return 0;
  }
  return 1;
}

/* A call whose outcome must be that of a valid struct. */
static void check_taken(const subject* s, room* given) {
  clear_error();
  const sidbeam_status status = s->call(given);
  if (status != s->status) printf("%s:\n", s->type);
  if (status != s->status) check_ok(__FILE__, __LINE__, "call", status);
  CHECK_INT(status, s->status);
}

/* What an output contains with today's size. */
static room answer_of(const subject* s) {
  room now;
  sized(s, known_of(s), &now);
  check_taken(s, &now);
  return now;
}

static void every_struct_has_a_subject(void) {
  for (size_t i = 0; i < COUNT(versions); ++i) {
    int found = strcmp(versions[i].type, "sidbeam_error") == 0;
    for (size_t k = 0; k < subject_count; ++k) found += strcmp(versions[i].type, subjects[k].type) == 0;
    if (!found) printf("%s:\n", versions[i].type);
    CHECK(found);
    CHECK(versions[i].first <= versions[i].known && versions[i].known + GROWTH < sizeof(room) / 2);
  }
}

static void an_init_macro_says_the_size_and_leaves_all_else_to_the_call(void) {
  for (size_t i = 0; i < subject_count; ++i) {
    const subject* s = &subjects[i];
    if (s->kind == HANDED_OUT) continue;
    for (size_t k = 0; k < COUNT(versions); ++k)
      if (strcmp(versions[k].type, s->type) == 0) CHECK_INT(known_of(s), versions[k].known);
    if (s->kind == OUTPUT) {
      room empty;
      sized(s, known_of(s), &empty);
      CHECK(all_are(&empty, sizeof empty.struct_size, known_of(s), 0));
    }
  }
}

/* A caller compiled with the first header: the bytes after its struct are not part of it. */
static void structs_of_the_first_version_are_taken(void) {
  for (size_t i = 0; i < subject_count; ++i) {
    const subject* s = &subjects[i];
    const size_t first = first_of(s);
    if (s->kind == HANDED_OUT) continue;
    room given, before;
    sized(s, first, &given);
    before = given;
    check_taken(s, &given);
    CHECK(all_are(&given, first, sizeof given, GUARD));
    CHECK_INT(given.struct_size, first);
    if (s->kind == INPUT) CHECK(memcmp(&given, &before, sizeof given) == 0);
    if (s->kind == OUTPUT) {
      const room now = answer_of(s);
      CHECK(same_fields(s, &given, &now, first));
    }
  }
}

static void a_longer_input_is_taken_while_its_tail_is_zero(void) {
  for (size_t i = 0; i < subject_count; ++i) {
    const subject* s = &subjects[i];
    if (s->kind != INPUT) continue;
    const size_t known = known_of(s);
    room given;
    sized(s, known + GROWTH, &given);
    memset(given.bytes + known, 0, GROWTH);
    check_taken(s, &given);
    for (size_t at = known; at < known + GROWTH; ++at) {
      char expected[80];
      snprintf(expected, sizeof expected, "asks for something at byte %zu that library ", at);
      given.bytes[at] = 1;
      CHECK_FAILS(s->call(&given), SIDBEAM_UNSUPPORTED, expected, "does not know, expected zero");
      given.bytes[at] = 0;
    }
  }
}

static void a_longer_output_ends_in_zeros(void) {
  for (size_t i = 0; i < subject_count; ++i) {
    const subject* s = &subjects[i];
    if (s->kind != OUTPUT) continue;
    const size_t known = known_of(s);
    const room now = answer_of(s);
    room given;
    sized(s, known + GROWTH, &given);
    check_taken(s, &given);
    CHECK_INT(given.struct_size, known + GROWTH);
    CHECK(same_fields(s, &given, &now, known));
    CHECK(all_are(&given, known, known + GROWTH, 0));
    CHECK(all_are(&given, known + GROWTH, sizeof given, GUARD));
  }
}

/* Outputs are not all zero; otherwise the tests above would pass for a library that writes nothing. */
static void outputs_are_written(void) {
  for (size_t i = 0; i < subject_count; ++i) {
    const subject* s = &subjects[i];
    if (s->kind != OUTPUT || s->stays_zero) continue;
    const room now = answer_of(s);
    CHECK(!all_are(&now, 4, first_of(s), 0));
  }
}

static void structs_of_a_size_that_none_has_are_refused(void) {
  for (size_t i = 0; i < subject_count; ++i) {
    const subject* s = &subjects[i];
    const size_t first = first_of(s), sizes[] = {0, 4, first - 1, sizeof(room) + 1, UINT32_MAX};
    if (s->kind == HANDED_OUT) continue;
    for (size_t k = 0; k < COUNT(sizes); ++k) {
      char expected[100];
      room given, before;
      snprintf(expected, sizeof expected,
               "struct_size is %zu, expected at least %zu and at most 4096: begin with its _INIT", sizes[k], first);
      sized(s, sizes[k], &given);
      before = given;
      CHECK_FAILS(s->call(&given), SIDBEAM_INVALID_ARGUMENT, expected);
      CHECK(memcmp(&given, &before, sizeof given) == 0);
    }
  }
}

/* Fails with a message in `given`, which has room for its struct_size. */
static void fail_into(room* given, size_t size) {
  memset(given, GUARD, sizeof *given);
  given->struct_size = (uint32_t)size;
  CHECK_INT(sidbeam_runtime_create(NULL, NULL, (sidbeam_error*)given), SIDBEAM_INVALID_ARGUMENT);
  CHECK_INT(given->struct_size, size);
}

static void an_error_grows_like_any_output(void) {
  const size_t first = FIRST_sidbeam_error, known = sizeof(sidbeam_error);
  const size_t sizes[] = {first, known, known + 1, known + GROWTH};
  for (size_t i = 0; i < COUNT(sizes); ++i) {
    room given;
    fail_into(&given, sizes[i]);
    const sidbeam_error* written = (const sidbeam_error*)&given;
    CHECK_INT(written->code, SIDBEAM_INVALID_ARGUMENT);
    CHECK_TEXT(written->message, "out is NULL, expected an object");
    if (sizes[i] > known) CHECK(all_are(&given, known, sizes[i], 0));
    CHECK(all_are(&given, sizes[i], sizeof given, GUARD));
  }
}

static void an_error_of_a_size_that_none_has_is_left_unwritten(void) {
  const size_t sizes[] = {0, 4, 8, FIRST_sidbeam_error - 1, sizeof(room) + 1, UINT32_MAX};
  for (size_t i = 0; i < COUNT(sizes); ++i) {
    room given;
    fail_into(&given, sizes[i]);
    CHECK(all_are(&given, sizeof given.struct_size, sizeof given, GUARD));
  }
}

int main(void) {
  static const test_case tests[] = {
      TEST(prepare),
      TEST(every_struct_has_a_subject),
      TEST(an_init_macro_says_the_size_and_leaves_all_else_to_the_call),
      TEST(structs_of_the_first_version_are_taken),
      TEST(a_longer_input_is_taken_while_its_tail_is_zero),
      TEST(a_longer_output_ends_in_zeros),
      TEST(outputs_are_written),
      TEST(structs_of_a_size_that_none_has_are_refused),
      TEST(an_error_grows_like_any_output),
      TEST(an_error_of_a_size_that_none_has_is_left_unwritten),
      TEST(finish),
  };
  return RUN_TESTS(tests);
}
