/* sidbeam: catalogues as people have them, into a builder. A library of its own, libsidbeam_import.so.1: JSON, CSV and
 * NumPy's formats stay out of the core.
 *
 *   sidbeam_builder *builder;
 *   if (sidbeam_import_build(runtime, "items.jsonl", NULL, NULL, &builder, &err)) ...
 *   if (sidbeam_builder_write(builder, "items.sidx", &err)) ...
 *
 * or, where the caller wants to see what is in the file before a builder is made:
 *
 *   open (surveys the file) -> get_info -> sidbeam_builder_create -> add_to -> destroy
 *
 * Formats are told by their content:
 *   lcrec    one JSON object, an item per key: {"17": ["<a_236>", "<b_231>"]}, {"17": "<a_236><b_231>"},
 *            {"17": {"sid": ...}}
 *   records  a JSON list of objects: [{"item": "B07", "sid": [3, 1, 2]}, ...]
 *   jsonl    one such object per line
 *   csv      separated by commas or tabs, with or without names; the SID in one column or in a column per level
 *   npy      integers, or floats that are whole, [N, L], in C or Fortran order
 *   npz      the same as one of several arrays, with ids and priorities in others; not compressed. Their checksums
 *            are checked
 *   raw      little-endian int32 [N, levels]; by its name (.raw, .i32) or by `format`
 *   xllm     records of an int64 id and three int32, little-endian; by `format` alone
 * In JSON and CSV a SID is a list of tokens, a list of numbers, one string of either, or a list of several SIDs. An
 * item that comes with several SIDs has all of them. Files of raw and npy have no ids: these come from a file of their
 * own, or are the rows' numbers. Ids that are all integers are kept as integers, others as strings of valid UTF-8. One
 * that is written as missing values are ("nan", "NULL", "<NA>") is an error where all others are numbers, unless
 * strings are asked for (text_ids), and where it comes in two records; otherwise it is a string like any other.
 *
 * A token is a family, what stands around its number, and a code, the number: "<a_12>" is code 12 of the family <a_*>.
 * Each level has one family, which is found in the file; plain numbers are the family *. A token of another family is
 * an error. Tokens without a number that begin (or end) every SID are its begin (end) tokens: reported, and no codes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_IMPORT_H
#define SIDBEAM_IMPORT_H

#include "builder.h"

/* Version of the functions and structs below, and the SOVERSION of their library. */
#define SIDBEAM_IMPORT_ABI_VERSION 1u

#ifdef __cplusplus
extern "C" {
#endif

/* A file that has been surveyed. One thread at a time, any thread. Destroying NULL does nothing. */
typedef struct sidbeam_import sidbeam_import;

/* Phases that the progress callback reports, beside those of builder.h; done and total count bytes or rows. */
enum { SIDBEAM_PHASE_SURVEY = 16, SIDBEAM_PHASE_READ = 17 };

/* Quotes in CSV. Of its own accord the library takes a field as quoted (RFC 4180) where a quote begins it and one ends
 * it, and refuses a file that makes sense in both ways. */
enum { SIDBEAM_QUOTES_AUTO = 0, SIDBEAM_QUOTES_RFC4180 = 1, SIDBEAM_QUOTES_TEXT = 2 };

/* Zeros and NULLs ask for what the file says. Strings are NUL-terminated UTF-8; all is copied. */
typedef struct sidbeam_import_config {
  uint32_t struct_size;    /* sizeof(sidbeam_import_config) */
  int32_t levels;          /* codes of a SID (of the longest one); 0: from the file */
  const int32_t* codes;    /* [codes_count] codes of each level, or one number for all; NULL: 1 + the file's largest */
  int32_t codes_count;     /* 0, 1 or the number of levels */
  int32_t variable_length; /* 1: SIDs of different lengths. Rows of npy and raw then end with -1 (or NaN), columns per
                            * level in CSV with missing cells, for codes that a SID does not have */
  const char* format;      /* one of the names above; NULL or "auto": by content */
  const char* ids;         /* file of the ids of npy and raw rows: .npy of integers, or text, one per line */
  const char* item_column; /* field (jsonl, records), column (csv) or array (npz) of the item's id. NULL: one of item,
                            * item_id, iid, id, asin, docid, goods_id. A CSV file without names has numbers: "2" */
  /* The same of the SID; "c0,c1,c2" is a column per level. NULL: one of sid, sids, semantic_id, semantic_ids, codes,
   * tokens, token_ids; in CSV also columns per level such as c0,c1,c2 or level_1,level_2, if none is missing and no
   * other column of what may be codes has nearly the name of one more. */
  const char* sid_columns;
  const char* priority_column; /* the same of the item's priority. NULL: "priority" in JSON and npz, none in CSV */
  /* Families where the file alone does not tell them: one per level, separated by spaces, * for the code, as in
   * "<a_*> <b_*>"; or one for all, in which {level} may stand for the level's number, as in "<s{level}_*>". A star or
   * backslash that is part of a token has a backslash before it. */
  const char* token_pattern;
  /* 1: numbers are token ids of a vocabulary in which the codes of level 0 begin at token_base, and those of each
   * level where the one before ends. Needs `codes`. */
  int32_t token_ids;
  int32_t quotes; /* SIDBEAM_QUOTES_*; csv */
  int64_t token_base;
  /* As in sidbeam_builder_config: a return other than 0 cancels the call. Called with a total of 0 while the library
   * waits for a pipe. */
  int32_t (*progress)(void* context, int32_t phase, int64_t done, int64_t total);
  void* progress_context;
  /* 1: messages name options as the sidbeam command does ("--variable-length"), not as fields. */
  int32_t command_options;
  int32_t text_ids; /* 1: ids are strings, even if all are integers: for a builder of SIDBEAM_ID_STRING */
  /* Fields (jsonl, records, lcrec's objects) or columns (csv) that are attributes of the items, separated by commas,
   * each with a type or without, as in "price,region:string": i64, f32, bool, string, or strings for lists of them.
   * Without one the file tells: integers are i64, other numbers f32, true and false bool, text string, lists of texts
   * strings; in CSV, what is none of the first three is a string, and | separates strings. null, a field that a record
   * lacks and an empty cell are null. NULL: none. */
  const char* attributes;
} sidbeam_import_config;
#define SIDBEAM_IMPORT_CONFIG_INIT                                                                                   \
  {                                                                                                                  \
    (uint32_t)sizeof(sidbeam_import_config), 0, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, NULL, \
        0, 0, NULL                                                                                                   \
  }

/* What the survey saw. Pointers are valid until the import is destroyed. */
typedef struct sidbeam_import_info {
  uint32_t struct_size;        /* sizeof(sidbeam_import_info), set by the caller */
  int32_t levels;              /* L */
  const int32_t* codes;        /* [L] codes of each level, as sidbeam_builder_config has them */
  const char* const* families; /* [L] family of each level, * for the code: "<a_*>"; "*": plain numbers */
  const char* format;
  const char* begin_tokens; /* separated by spaces; "": none */
  const char* end_tokens;
  /* "3 levels, families <a_*> <b_*> <c_*>, 10,310 items, begin token <|sid_begin|>": one line for people. */
  const char* summary;
  int64_t rows; /* (SID, item) pairs of the file, those that will merge included */
  int32_t variable_length;
  int32_t id_type;         /* SIDBEAM_ID_* that the builder must have */
  int32_t codes_from_data; /* 1: 1 + the largest of the file */
  int32_t unused;
  int64_t attribute_count;
  const char* const* attribute_names; /* [attribute_count] */
  const int32_t* attribute_types;     /* [attribute_count] SIDBEAM_ATTRIBUTE_* */
} sidbeam_import_info;
#define SIDBEAM_IMPORT_INFO_INIT \
  { (uint32_t)sizeof(sidbeam_import_info), 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, NULL, NULL }

/* SIDBEAM_IMPORT_ABI_VERSION of the library that is loaded. */
SIDBEAM_API uint32_t sidbeam_import_abi_version(void);
/* Opens the file and reads it once, from end to end, to learn what is in it; of npy, raw and xllm, where `codes` are
 * given, the header alone. Files are read in pieces of a few MiB, longer records in pieces of their size; what comes
 * through a pipe is kept in memory whole. `config` may be NULL. *out is to be given back with sidbeam_import_destroy().
 * Errors: INVALID_ARGUMENT (config, or a format that cannot be told), CORRUPT (a row that is no catalogue's: file, line
 * or row, item, what was expected and what came), UNSUPPORTED (Parquet and its like: the message says what reads them),
 * IO_ERROR, CANCELLED, OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_import_open(
    const char* path, const sidbeam_import_config* config, sidbeam_import** out, sidbeam_error* err);
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_import_get_info(
    const sidbeam_import* import, sidbeam_import_info* out, sidbeam_error* err);
/* Reads the file again and adds all its rows to a builder of the levels, codes, lengths and id type in the info, for
 * which it declares the attributes; then sets as metadata, where there is such a thing, the keys (their values are
 * JSON)
 *   sidbeam.families      ["<a_*>", "<b_*>", "<c_*>"], as in the info
 *   sidbeam.begin_tokens  ["<|sid_begin|>"]; sidbeam.end_tokens likewise
 *   sidbeam.token_base    151669, where token_ids was set
 * On an error the builder has some of the rows: destroy it.
 * Errors: those of open, of sidbeam_builder_add(), and of the calls that give a builder attributes. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_import_add_to(
    sidbeam_import* import, sidbeam_builder* builder, sidbeam_error* err);
/* The same into a live catalogue (catalog.h), for its next publish; no metadata is set. Levels, the type of ids
 * (text_ids), attributes and, where its base was built of tokens, their families must be those of the catalogue: give
 * levels, codes and lengths of its info in the config.
 * Where no record has a priority, pairs that are live keep theirs. On an error the catalogue may have some of the rows:
 * sidbeam_catalog_discard(). Errors: those of open and of sidbeam_catalog_add(). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_import_add_to_catalog(
    sidbeam_import* import, sidbeam_catalog* catalog, sidbeam_error* err);
/* All of it: opens `path`, makes a builder of the file's levels, codes, lengths and id type and otherwise as `builder`
 * says (NULL: as SIDBEAM_BUILDER_CONFIG_INIT), and adds all rows. *out is to be given back with
 * sidbeam_builder_destroy(). Errors: those of the calls named. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_import_build(sidbeam_runtime* runtime, const char* path,
    const sidbeam_import_config* config, const sidbeam_builder_config* builder, sidbeam_builder** out,
    sidbeam_error* err);
SIDBEAM_API void sidbeam_import_destroy(sidbeam_import* import);

#ifdef __cplusplus
}
#endif
#endif
