/* Messages in the words that the languages share: what C has as fields of structs they have as arguments. How each
 * writes constants, functions and NULL is its own business. See flat.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_WORDS_H
#define SIDBEAM_FLAT_WORDS_H

typedef struct fl_word {
  const char *c, *here;
} fl_word;

/* Arrays of rows, and what follows their dot: a property of the array. */
static const fl_word fl_arrays[] = {{"rows", "logits"}, {"logits", "logits"}, {"hidden", "hidden"}, {NULL, NULL}};
static const fl_word fl_properties[] = {{"slots", "the number of slots of "},
                                        {"rows", "the number of rows of "},
                                        {"columns", "the number of columns of "},
                                        {"slot_stride", "the slot stride of "},
                                        {"row_stride", "the row stride of "},
                                        {"dtype", "the dtype of "},
                                        {"device_type", "the device of "},
                                        {"device_id", "the device number of "},
                                        {"data", ""},
                                        {NULL, NULL}};
/* Sets of item rows, which C calls rows too. */
static const fl_word fl_row_sets[] = {{"bytes", "the number of bytes of rows"},
                                      {"offset", "the first bit of rows"},
                                      {"encoding", "the encoding of rows"},
                                      {NULL, NULL}};
/* Structs whose fields are arguments. */
static const fl_word fl_structs[] = {{"config", ""},   {"model_config", ""}, {"args", ""},    {"request", ""},
                                     {"sampling", ""}, {"start", ""},        {"options", ""}, {"draws", ""},
                                     {"term", ""},     {NULL, NULL}};
/* Counts that come with an array, or are its shape. */
static const fl_word fl_counts[] = {{"begin_count", "the number of begin_tokens"},
                                    {"placeholder_count", "the number of placeholders"},
                                    {"constraint_count", "the number of constraints"},
                                    {"draft_count", "the number of drafts"},
                                    {"level_count", "the number of levels"},
                                    {"codes_count", "the number of codes"},
                                    {"in_count", "the number of states"},
                                    {"attribute_count", "the number of attributes"},
                                    {"string_count", "the number of strings"},
                                    {"width_levels", "the number of levels of widths"},
                                    {NULL, NULL}};

static inline const char* fl_find_word(const fl_word* words, const char* word, int64_t bytes) {
  for (; words->c != NULL; ++words)
    if ((int64_t)strlen(words->c) == bytes && memcmp(words->c, word, (size_t)bytes) == 0) return words->here;
  return NULL;
}

static inline const char* fl_word_end(const char* at, const char* end) {
  while (at < end && (*at == '_' || (*at >= '0' && *at <= '9') || ((*at | 32) >= 'a' && (*at | 32) <= 'z'))) ++at;
  return at;
}

/* Text that goes on being counted where it has no room. */
typedef struct fl_line {
  flat_out_bytes out;
  int64_t bytes;
} fl_line;

static inline void fl_put(fl_line* line, const char* text, int64_t bytes) {
  for (int64_t i = 0; i < bytes; ++i, ++line->bytes)
    if (line->bytes < line->out.count) line->out.data[line->bytes] = text[i];
}

/* Writes the name that is [name, stop), or all of "name.field"; returns where the message goes on. */
static inline const char* fl_put_name(fl_line* line, const char* name, const char* stop, const char* end) {
  const char* const part = stop < end ? stop + 1 : end;
  const char* const count = fl_find_word(fl_counts, name, stop - name);
  if (part < end && *stop == '.' && (*part == '%' || fl_word_end(part, end) > part)) {
    const char* const after = fl_word_end(part, end);
    const char* const array = fl_find_word(fl_arrays, name, stop - name);
    const char* const property = array == NULL ? NULL : fl_find_word(fl_properties, part, after - part);
    const char* const of_set =
        stop - name == 4 && memcmp(name, "rows", 4) == 0 ? fl_find_word(fl_row_sets, part, after - part) : NULL;
    const int is_file = after - part == 4 && memcmp(part, "json", 4) == 0;
    if (property != NULL) {
      fl_put(line, property, (int64_t)strlen(property));
      fl_put(line, array, (int64_t)strlen(array));
      return after;
    }
    if (of_set != NULL) {
      fl_put(line, of_set, (int64_t)strlen(of_set));
      return after;
    }
    if (!is_file && fl_find_word(fl_structs, name, stop - name) != NULL) return part;
  }
  if (count != NULL)
    fl_put(line, count, (int64_t)strlen(count));
  else
    fl_put(line, name, stop - name);
  return stop;
}

/* The message in these words; returns its bytes, which may be more than there is room for. What is in a path, or begins
 * a quotation, is nobody's name. */
static inline int64_t flat_words(flat_in_bytes message, flat_out_bytes words) {
  fl_line line = {words, 0};
  const char* const end = message.data + message.count;
  char before = ' ';
  for (const char* at = message.data; at < end;) {
    const char* const stop = fl_word_end(at, end);
    if (stop == at) {
      before = *at;
      fl_put(&line, at++, 1);
    } else if (strchr("./'\"-", before) == NULL) {
      at = fl_put_name(&line, at, stop, end);
    } else {
      fl_put(&line, at, stop - at);
      at = stop;
    }
  }
  return line.bytes;
}

#endif
