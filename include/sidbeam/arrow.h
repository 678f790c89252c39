/* sidbeam: catalogues in Arrow's memory layout, by its C data interface: from pyarrow, polars, pandas, DuckDB, Spark,
 * or whatever else exports a stream of record batches. Needs no library of Arrow's.
 *
 *   sidbeam_arrow_config columns = SIDBEAM_ARROW_CONFIG_INIT;             (the usual names)
 *   sidbeam_builder_add_arrow(builder, &stream, &columns, NULL, &err);    (instead of sidbeam_builder_add)
 *
 * The structs without a prefix are Arrow's own, under its guards, so that this header and Arrow's agree in either
 * order: https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_ARROW_H
#define SIDBEAM_ARROW_H

#include "builder.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

#endif /* ARROW_C_DATA_INTERFACE */

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};

#endif /* ARROW_C_STREAM_INTERFACE */

/* Which columns of the record batches hold what. A name that is NULL stands for the usual ones, of which at most one
 * may be there:
 *   SIDs        sid sids semantic_id semantic_ids codes tokens token_ids
 *   items       item item_id iid id asin docid goods_id; where there is none the id is the pair's number
 *   priorities  priority; where there is none they are 0
 * SIDs are a column of lists of codes (list, large list, list view, fixed-size list), or of lists of such lists where
 * an item has several; or a column per level, named by `levels` or by a prefix and a number. A stream of arrays that
 * are no structs is a column of SIDs.
 *
 * Codes are integers of any type, or floats that are whole. Items and priorities are so too, but floats only below 2^53
 * (f32: 2^24), from where on they do not tell neighbours apart; with id_type STRING, items are text (string, large
 * string, string view, binary), of valid UTF-8. Items may come in a dictionary. Tokens as text ("<a_12>") are not read
 * here: their families and numbers are the business of the importers.
 *
 * Attributes of the items are columns of integers, floats, bool, text (in a dictionary or not) or lists of text, which
 * become I64, F32, BOOL, STRING and STRING_LIST. They keep their names, and are declared unless the builder has them
 * already; integers may go into its F32. A null and NaN are null, but a null in a list is an error, and so is a number
 * that the type cannot hold.
 *
 * A null among the codes is an error, except behind the last code of a SID where lengths vary. (NaN counts as null.) A
 * null in the place of a SID, an item or a priority is an error. */
typedef struct sidbeam_arrow_config {
  uint32_t struct_size;          /* sizeof(sidbeam_arrow_config) */
  int32_t level_count;           /* length of `levels` */
  const char* sid;               /* the column of SIDs */
  const char* const* levels;     /* [level_count] instead: the column of each level; NULL: none are named so */
  const char* level_prefix;      /* instead: the columns named by this and a number, which counts on from 0 or 1 */
  const char* item;              /* the column of items; "": there is none, whatever the names */
  const char* priority;          /* the column of priorities; "": there is none */
  const char* const* attributes; /* [attribute_count] columns that are attributes; NULL: none */
  int64_t attribute_count;
  int32_t all_attributes; /* 1: instead, all columns that nothing else uses */
  int32_t unused;
} sidbeam_arrow_config;
#define SIDBEAM_ARROW_CONFIG_INIT \
  { (uint32_t)sizeof(sidbeam_arrow_config), 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0 }

/* What a stream holds, by sidbeam_arrow_inspect(). */
typedef struct sidbeam_arrow_info {
  uint32_t struct_size;      /* sizeof(sidbeam_arrow_info), set by the caller */
  int32_t levels;            /* codes of the longest SID */
  int32_t shortest;          /* codes of the shortest one; less than `levels`: lengths vary */
  int32_t id_type;           /* the SIDBEAM_ID_* that suits the column of items; I64 where there is none */
  int32_t items, priorities; /* 1: there is such a column */
  int64_t pairs;             /* (SID, item) pairs */
} sidbeam_arrow_info;
#define SIDBEAM_ARROW_INFO_INIT \
  { (uint32_t)sizeof(sidbeam_arrow_info), 0, 0, 0, 0, 0, 0 }

/* Adds the pairs of all record batches of a stream, one batch after the other, and copies what it needs: never more
 * than one batch is held. config NULL means all defaults; *pairs, if given, becomes the number of pairs. The stream is
 * consumed: it is released exactly once, before the call returns, whatever it returns and wrong arguments included.
 *
 * Batches may be empty, and sliced (offset), and each may have its own dictionary; metadata and extension types are
 * ignored. What can be checked of an array is: its children, buffers, lengths, offsets and the indices of dictionaries.
 * The sizes of its buffers cannot: a producer whose buffers are shorter than the lengths that it states makes this call
 * read past them. Take streams only from code that you would let run in this process.
 *
 * Errors: INVALID_ARGUMENT with column, row (of the stream, from 0), value and what was expected; a column that is not
 * there, or two that fit; and what sidbeam_builder_add() refuses. IO_ERROR with the text of the stream, where it fails
 * (OUT_OF_MEMORY where it says ENOMEM). BAD_STATE, OUT_OF_MEMORY. On an error nothing of this call has been added, not
 * even of the batches before. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_builder_add_arrow(sidbeam_builder* builder,
    struct ArrowArrayStream* stream, const sidbeam_arrow_config* config, int64_t* pairs, sidbeam_error* err);
/* What a builder for this stream must be told: reads all of it and adds nothing. codes [SIDBEAM_MAX_LEVELS], if given,
 * gets the codes per level, as many as occur, for `info.levels` levels. The stream is consumed, as above. Any lengths
 * are allowed, and nulls behind the last code. Errors: those of sidbeam_builder_add_arrow(); then nothing is
 * written. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_arrow_inspect(struct ArrowArrayStream* stream,
    const sidbeam_arrow_config* config, int32_t* codes, sidbeam_arrow_info* out, sidbeam_error* err);

#ifdef __cplusplus
}
#endif
#endif
