/* sidbeam: which items of an index may be shown, known in advance: in stock, of a region, of a campaign.
 *
 * A filter is a set of item rows of one index. It is made once, shared by requests and threads, and given to constraints
 * (constraint.h); a search under it returns what a search of an index of its items alone would. What a search reads (a
 * bit per edge of every level, 0.3 to 0.8 bytes per SID, and masks of dense nodes) is derived from the rows when a
 * constraint is first made with the filter, or by sidbeam_filter_prepare(). Lists that belong to one request, such as
 * what a user has seen, are no filters but part of the constraint.
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
  int64_t bytes;        /* that the filter takes by now */
} sidbeam_filter_info;
#define SIDBEAM_FILTER_INFO_INIT \
  { (uint32_t)sizeof(sidbeam_filter_info), 0, 0, 0, 0 }

/* The items of a list. *unknown (may be NULL) is the number of entries that name no item. *out gets one reference and
 * holds the index. Errors: INVALID_ARGUMENT (the list; ids of another type than the index's), OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_filter_from_items(
    sidbeam_index* index, const sidbeam_item_list* items, int64_t* unknown, sidbeam_filter** out, sidbeam_error* err);

enum { SIDBEAM_FILTER_AND = 0, SIDBEAM_FILTER_OR = 1, SIDBEAM_FILTER_NOT = 2 };
/* Joins filters of one index, row by row: those in all of them, in any of them, or, of a single one, the rows that are
 * not in it. Errors: INVALID_ARGUMENT (op, no filter, more than one with NOT, filters of two indexes). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_filter_combine(
    int32_t op, sidbeam_filter* const* filters, int64_t count, sidbeam_filter** out, sidbeam_error* err);
/* The filter after a change of some items: allowed [items->count], 1: its rows are in, 0: they are not; of an item that
 * comes twice the last entry counts. `filter` stays as it is, and so do constraints made with it. If it was prepared, so
 * is the new one, at the cost of a copy (0.4 ms at 1e7 items) and of what changed (about 1 us an item).
 * Errors: as sidbeam_filter_from_items(). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_filter_update(sidbeam_filter* filter,
    const sidbeam_item_list* items, const uint8_t* allowed, int64_t* unknown, sidbeam_filter** out, sidbeam_error* err);
/* Derives now what a search reads, on the runtime's threads, so that no request waits for it. */
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
