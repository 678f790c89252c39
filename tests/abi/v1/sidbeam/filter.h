/* sidbeam: which items of an index may be shown, known in advance: in stock, of a region, of a campaign.
 *
 * A filter is a set of item rows of one index. It is made once, shared by requests and threads, and given to
 * constraints (constraint.h); a search under it returns what a search of an index of its items alone would. What a
 * search reads (a bit per edge of every level, 0.3 to 0.8 bytes per SID, and masks of dense nodes) is derived from the
 * rows when a constraint is first made with the filter, or by sidbeam_filter_prepare(). Lists that belong to one
 * request, such as what a user has seen, are no filters but part of the constraint.
 *
 * The first derivation, or the first list of a request, also makes tables that stay with the index, by which a change
 * goes from an item up to the beginning: 0.17 bytes per edge of levels whose nodes have several, per SID of a compact
 * trie and per item row where SIDs have several. Where lengths vary, they take 0.3 bytes per edge of every level and,
 * from the first list or update on, 5 bytes per SID (9 where a level has 2^32 edges).
 *
 * Filters are immutable and reference-counted: share freely, retain and release from any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FILTER_H
#define SIDBEAM_FILTER_H

#include "index.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Items of an index. An entry that names none is ignored and counted, one that comes twice is ignored. */
enum {
  /* By the caller's ids, with all their rows. The first such list makes a hash table of the index's ids, which stays
   * with it (about 13 bytes and 30 ns per item). */
  SIDBEAM_ITEMS_BY_ID = 0,
  SIDBEAM_ITEMS_BY_ROW = 1 /* by item rows; quickest where they rise */
};
typedef struct sidbeam_item_list {
  uint32_t struct_size;   /* sizeof(sidbeam_item_list) */
  int32_t by;             /* SIDBEAM_ITEMS_BY_* */
  const int64_t* numbers; /* [count] integer ids (u64 as the same bits), or item rows; NULL where names are given */
  const char* names;      /* string ids: entry i is names[offsets[i] .. offsets[i+1]) */
  const int64_t* offsets; /* [count + 1], rising */
  int64_t count;
} sidbeam_item_list;
#define SIDBEAM_ITEM_LIST_INIT \
  { (uint32_t)sizeof(sidbeam_item_list), SIDBEAM_ITEMS_BY_ID, NULL, NULL, NULL, 0 }

typedef struct sidbeam_filter_info {
  uint32_t struct_size; /* sizeof(sidbeam_filter_info), set by the caller */
  int32_t prepared;     /* 1: what a search reads has been derived */
  int64_t items;        /* item rows in the filter */
  int64_t sids;         /* SIDs with such a row; -1 until it is prepared */
  int64_t bytes;        /* that the filter takes by now, here and on devices */
} sidbeam_filter_info;
#define SIDBEAM_FILTER_INFO_INIT \
  { (uint32_t)sizeof(sidbeam_filter_info), 0, 0, 0, 0 }

/* The items of a list. *unknown (may be NULL) is the number of entries that name no item. *out gets one reference and
 * holds the index. Errors: INVALID_ARGUMENT (the list; ids of another type than the index's), OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_filter_from_items(
    sidbeam_index* index, const sidbeam_item_list* items, int64_t* unknown, sidbeam_filter** out, sidbeam_error* err);

/* Item rows as a host has them. */
enum {
  /* A bit per row, lowest bit of a byte first: Arrow's order, numpy.packbits(bitorder="little"). More may follow. */
  SIDBEAM_ROWS_BITS = 0,
  SIDBEAM_ROWS_BYTES = 1,  /* a byte per row, 0: the row is not in the set; as many as there are rows */
  SIDBEAM_ROWS_ROARING = 2 /* a 32-bit Roaring bitmap in its portable format, whole; it may be damaged */
};
typedef struct sidbeam_row_set {
  uint32_t struct_size; /* sizeof(sidbeam_row_set) */
  int32_t encoding;     /* SIDBEAM_ROWS_* */
  const void* data;
  int64_t bytes;  /* of data */
  int64_t offset; /* of BITS: the bit of row 0, as in a slice of an Arrow array; otherwise 0 */
} sidbeam_row_set;
#define SIDBEAM_ROW_SET_INIT \
  { (uint32_t)sizeof(sidbeam_row_set), SIDBEAM_ROWS_BITS, NULL, 0, 0 }
/* Errors: INVALID_ARGUMENT (the set; too few bits, another number of bytes than rows; what is wrong with a Roaring
 * bitmap, and at which byte; a row that no item has), OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_filter_from_rows(
    sidbeam_index* index, const sidbeam_row_set* rows, sidbeam_filter** out, sidbeam_error* err);

/* A question to one attribute of the items. Integers take integers, and numbers that are whole. Numbers are rounded to
 * 32 bits, as those of the attribute were, so that AT_MOST 0.1 finds a stored 0.1. Bools take EQUAL and NOT_EQUAL.
 * Strings compare by bytes. Lists of strings take CONTAINS. A row that is null fails all but IS_NULL. */
enum {
  SIDBEAM_TERM_EQUAL = 1,
  SIDBEAM_TERM_NOT_EQUAL = 2,
  SIDBEAM_TERM_LESS = 3,
  SIDBEAM_TERM_AT_MOST = 4,
  SIDBEAM_TERM_GREATER = 5,
  SIDBEAM_TERM_AT_LEAST = 6,
  SIDBEAM_TERM_IN = 7,       /* any number of values */
  SIDBEAM_TERM_BETWEEN = 8,  /* two values, which count too */
  SIDBEAM_TERM_CONTAINS = 9, /* a list that has one of any number of values */
  SIDBEAM_TERM_IS_NULL = 10  /* no value */
};
typedef struct sidbeam_term {
  uint32_t struct_size; /* sizeof(sidbeam_term) */
  int32_t op;           /* SIDBEAM_TERM_* */
  const char* attribute;
  /* The values, in the one array that is not NULL (none with IS_NULL, or with a count of 0). */
  const int64_t* integers;
  const double* numbers; /* not NaN */
  const uint8_t* bools;
  const char* const* strings; /* NUL-terminated, UTF-8 */
  int64_t count;
} sidbeam_term;
#define SIDBEAM_TERM_INIT \
  { (uint32_t)sizeof(sidbeam_term), 0, NULL, NULL, NULL, NULL, NULL, 0 }
/* Errors: INVALID_ARGUMENT (an attribute that the index has not, naming those it has; an operator that its type has
 * not; values of another type or number), OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_filter_from_term(
    sidbeam_index* index, const sidbeam_term* term, sidbeam_filter** out, sidbeam_error* err);

/* A filter from its text, for commands, services and logs:
 *
 *   price<20 and region in (us, ca) and not brand="x"
 *
 *   filter  = all { "or" all }
 *   all     = single { "and" single }
 *   single  = "not" single | "(" filter ")" | "true" | "false" | term
 *   term    = column                                      a column of bools that is true
 *           | column ( "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=" ) value
 *           | column [ "not" ] "in" list
 *           | column [ "not" ] "between" value "and" value      both bounds count
 *           | column [ "not" ] "contains" ( value | list )      a list of strings that has one of the values
 *           | column "is" [ "not" ] "null"
 *   list    = "(" [ value { "," value } ] ")"
 *   column  = word | quoted                               an attribute; a keyword needs quotes
 *   value   = integer | number | "true" | "false" | word | quoted
 *   word    = a letter, "_" or a character that is not ASCII, then also digits, "-" and "."
 *   quoted  = text in "double" or 'single' quotes; \\ \" \' \n \t \r, a byte \xNN, a UTF-16 unit \uNNNN
 *   integer = [ "-" ] digits, of 64 bits              number = a decimal fraction or with an exponent, finite
 *
 * Keywords (and or not in between contains is null true false) may be in any case; as a value all but null, true and
 * false are words. `true` alone passes all rows, `false` none. A text has at most 1 MiB, 1,024 terms, and at one place
 * 200 open parentheses and `not`s. `not` turns rows around: those that are null pass `not price<20`, and `price not
 * between 1 and 2`, which is short for `not price between 1 and 2`; they fail `price!=2`.
 *
 * Errors: INVALID_ARGUMENT (the byte at which the text goes wrong, what was expected and what was found; otherwise
 * those of sidbeam_filter_from_term()), OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_filter_parse(
    sidbeam_index* index, const char* text, int64_t bytes, sidbeam_filter** out, sidbeam_error* err);
/* The text of a filter that was parsed, made of a term, or combined from such: one line, of which a filter of the same
 * rows is parsed. *bytes is its length; the first `capacity` bytes are written to text (may be NULL with capacity 0),
 * without a NUL. Errors: UNSUPPORTED (a filter of items, rows or an update has no text). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_filter_text(
    const sidbeam_filter* filter, int64_t capacity, char* text, int64_t* bytes, sidbeam_error* err);

enum { SIDBEAM_FILTER_AND = 0, SIDBEAM_FILTER_OR = 1, SIDBEAM_FILTER_NOT = 2 };
/* Joins filters [count] of one index, row by row: those in all of them, in any of them, or, of a single one, the rows
 * that are not in it. Errors: INVALID_ARGUMENT (op, no filter, more than one with NOT, filters of two indexes). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_filter_combine(
    int32_t op, sidbeam_filter* const* filters, int64_t count, sidbeam_filter** out, sidbeam_error* err);
/* The filter after a change of some items: allowed [items->count], 1: its rows are in, 0: they are not; of an item that
 * comes twice the last entry counts. `filter` stays as it is, and so do constraints made with it. If it was prepared,
 * so is the new one, at the cost of a copy (0.4 ms at 1e7 items) and of what changed (about 1 us an item).
 * Errors: as sidbeam_filter_from_items(). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_filter_update(sidbeam_filter* filter,
    const sidbeam_item_list* items, const uint8_t* allowed, int64_t* unknown, sidbeam_filter** out, sidbeam_error* err);
/* The same filter on another version of a live catalogue (catalog.h), or on another index. What was parsed or made of
 * terms is asked of that index's items. A set of items or rows has the same rows where both are versions on one base,
 * or that base, and none that came later; otherwise it is refused. If it was prepared, so is the new one, on the same
 * base at the cost of a copy and of what came and went since. Errors: INVALID_ARGUMENT (a set on another base; as
 * sidbeam_filter_from_term()), OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_filter_on(
    const sidbeam_filter* filter, sidbeam_index* index, sidbeam_filter** out, sidbeam_error* err);
/* Derives now what a search reads, on the runtime's threads, so that no request waits for it.
 * Errors: MISSING_SECTION (an index without a trie), OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_filter_prepare(const sidbeam_filter* filter, sidbeam_error* err);
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_filter_get_info(
    const sidbeam_filter* filter, sidbeam_filter_info* out, sidbeam_error* err);
/* The rows as bits, one per item row, lowest first, in *words 64-bit words; valid until the filter goes. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_filter_rows(
    const sidbeam_filter* filter, const uint64_t** bits, int64_t* words, sidbeam_error* err);
SIDBEAM_API void sidbeam_filter_retain(sidbeam_filter* filter);
SIDBEAM_API void sidbeam_filter_release(sidbeam_filter* filter);

#ifdef __cplusplus
}
#endif
#endif
