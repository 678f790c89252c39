/* The parser of the shared cases. SPDX-License-Identifier: Apache-2.0 */
#include "case_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* const type_names[] = {"i32", "i64", "f32", "f16", "bf16", "str"};
static const size_t type_bytes[] = {4, 8, 4, 2, 2, 1};

static void* reserve(size_t bytes) {
  void* memory = calloc(1, bytes == 0 ? 1 : bytes);
  if (memory == NULL) abort();
  return memory;
}

static void refuse(int line, const char* what) {
  fprintf(stderr, "cases: line %d: %s\n", line, what);
  exit(EXIT_FAILURE);
}

static char* read_text(const char* path) {
  FILE* file = fopen(path, "rb");
  char* text;
  long bytes;
  if (file == NULL) {
    perror(path);
    exit(EXIT_FAILURE);
  }
  fseek(file, 0, SEEK_END);
  bytes = ftell(file);
  rewind(file);
  text = (char*)reserve((size_t)bytes + 1);
  if (fread(text, 1, (size_t)bytes, file) != (size_t)bytes) refuse(0, "reading failed");
  fclose(file);
  return text;
}

/* The next word of a line, ended in place; NULL at the line's end. */
static char* next_word(char** rest) { return strtok_r(NULL, " ", rest); }

/* Percent-decodes in place; returns the length. */
static size_t decode(char* text) {
  char* out = text;
  for (const char* in = text; *in != 0; ++in) {
    unsigned byte = (unsigned char)*in;
    if (*in == '%' && sscanf(in + 1, "%2x", &byte) == 1) in += 2;
    *out++ = (char)byte;
  }
  *out = 0;
  return (size_t)(out - text);
}

static void put_number(field* to, int64_t i, const char* word) {
  switch (type_bytes[to->type]) {
    case 8:
      ((int64_t*)to->data)[i] = strtoll(word, NULL, 10);
      break;
    case 4: /* an i32, or the bits of an f32 */
      ((uint32_t*)to->data)[i] = (uint32_t)strtoll(word, NULL, 10);
      break;
    default:
      ((uint16_t*)to->data)[i] = (uint16_t)strtoll(word, NULL, 10);
  }
}

static void parse_values(field* to, char** rest, size_t line_bytes, int line) {
  size_t used = 0;
  int64_t i;
  to->data = reserve(to->type == FIELD_STR ? line_bytes + 1 : (size_t)to->count * type_bytes[to->type]);
  for (i = 0; i < to->count; ++i) {
    char* word = next_word(rest);
    if (word == NULL) refuse(line, "fewer values than its count");
    if (to->type == FIELD_STR) {
      const size_t bytes = decode(word);
      memcpy((char*)to->data + used, word, bytes + 1);
      used += bytes + 1;
    } else {
      put_number(to, i, word);
    }
  }
  if (next_word(rest) != NULL) refuse(line, "more values than its count");
}

static field parse_field(char* text, int line) {
  const size_t line_bytes = strlen(text);
  char* rest = NULL;
  const char* name = strtok_r(text, " ", &rest);
  const char* type = next_word(&rest);
  const char* count = next_word(&rest);
  field parsed = {name, FIELD_I32, 0, NULL};
  if (count == NULL) refuse(line, "expected name, type and count");
  while (strcmp(type, type_names[parsed.type]) != 0) {
    if (parsed.type == FIELD_STR) refuse(line, "unknown type");
    parsed.type = (field_type)(parsed.type + 1);
  }
  parsed.count = strtoll(count, NULL, 10);
  parse_values(&parsed, &rest, line_bytes, line);
  return parsed;
}

/* Puts a field into the last record, or begins one with it. */
static void keep(case_file* cases, const field* parsed, int64_t* room, int line) {
  record* last;
  if (strcmp(parsed->name, "record") == 0) {
    if (cases->count == *room) {
      *room = *room * 2 + 64;
      cases->records = (record*)realloc(cases->records, (size_t)*room * sizeof(record));
      if (cases->records == NULL) abort();
    }
    last = &cases->records[cases->count++];
    memset(last, 0, sizeof *last);
    last->kind = (const char*)parsed->data;
    last->line = line;
    return;
  }
  if (cases->count == 0) refuse(line, "a field before the first record");
  last = &cases->records[cases->count - 1];
  if (last->fields == MOST_FIELDS) refuse(line, "too many fields");
  last->field[last->fields++] = *parsed;
}

case_file read_cases(const char* path) {
  case_file cases = {read_text(path), 0, NULL};
  int64_t room = 0;
  char *at = cases.text, *end;
  for (int line = 1; (end = strchr(at, '\n')) != NULL; ++line, at = end + 1) {
    *end = 0;
    if (*at == '#') continue;
    const field parsed = parse_field(at, line);
    keep(&cases, &parsed, &room, line);
  }
  return cases;
}

void free_cases(case_file* cases) {
  for (int64_t i = 0; i < cases->count; ++i) {
    for (int k = 0; k < cases->records[i].fields; ++k) free(cases->records[i].field[k].data);
    free((void*)(uintptr_t)cases->records[i].kind);
  }
  free(cases->records);
  free(cases->text);
}

const field* find_field(const record* from, const char* name, field_type type) {
  for (int i = 0; i < from->fields; ++i) {
    if (strcmp(from->field[i].name, name) != 0) continue;
    if (from->field[i].type != type) refuse(from->line, name);
    return &from->field[i];
  }
  return NULL;
}

int64_t number_of(const record* from, const char* name) {
  for (int i = 0; i < from->fields; ++i) {
    const field* found = &from->field[i];
    if (strcmp(found->name, name) != 0 || found->count != 1) continue;
    if (found->type == FIELD_I64) return *(const int64_t*)found->data;
    if (found->type == FIELD_I32) return *(const int32_t*)found->data;
  }
  refuse(from->line, name);
  return 0;
}

const char* text_of(const record* from, const char* name) {
  const field* found = find_field(from, name, FIELD_STR);
  if (found == NULL) refuse(from->line, name);
  return (const char*)found->data;
}
