/* Reading the file of shared cases, whose format is in README.md. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_BINDINGS_CASE_FILE_H
#define SIDBEAM_TESTS_BINDINGS_CASE_FILE_H

#include <stdint.h>

typedef enum field_type { FIELD_I32, FIELD_I64, FIELD_F32, FIELD_F16, FIELD_BF16, FIELD_STR } field_type;

typedef struct field {
  const char* name;
  field_type type;
  int64_t count;
  void* data; /* [count] elements; of str, texts one after the other, each with its NUL */
} field;

enum { MOST_FIELDS = 40 };

typedef struct record {
  const char* kind;
  int line; /* of the file, where it begins */
  int fields;
  field field[MOST_FIELDS];
} record;

typedef struct case_file {
  char* text;
  int64_t count;
  record* records;
} case_file;

/* The whole file; ends the process with a message if it is missing or malformed. */
case_file read_cases(const char* path);
void free_cases(case_file* cases);

/* The field of this name, or NULL; its type must be this one. */
const field* find_field(const record* from, const char* name, field_type type);
/* One number, which must be there. */
int64_t number_of(const record* from, const char* name);
/* A text, which must be there. */
const char* text_of(const record* from, const char* name);

#endif
