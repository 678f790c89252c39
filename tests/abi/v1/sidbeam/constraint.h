/* sidbeam: the constraint that sessions and stateless calls follow: an index, and rules on its items.
 *
 * A request under rules returns, bit for bit, what a search of an index of the allowed items alone would return; only
 * ordinals and item rows are the index's. An item row is allowed if it is in the filter, not excluded, and, where there
 * is an allow list, on that. A SID is allowed if one of its rows is, and lists of items leave the others out. Where
 * nothing is allowed, or nothing below a prefix, a slot starts done, with no live beam; that is no error. Only strategy
 * TRIE takes rules, and the stateless forms do. A constraint with rules is made for one request and cheap: its memory
 * goes back to the index, for the next one.
 *
 * Rules are inside the search, whose beams are all spent on what is allowed. Caps ("at most 2 of a brand") are not:
 * they thin out the list of what the beams have found, exactly but afterwards, since whether an item comes too late
 * depends on the others. A list may come short, and says so: sidbeam_item_limits below, sidbeam_items (session.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_CONSTRAINT_H
#define SIDBEAM_CONSTRAINT_H

#include "filter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* State of a prefix under a constraint, for good one 64-bit word: -1 is dead (no SID has the prefix), 0 is the
 * beginning. All others are opaque and mean something only with the constraint that made them; any value at all is safe
 * to pass, and one that means nothing is dead. */
typedef int64_t sidbeam_state;

typedef struct sidbeam_constraint_config {
  uint32_t struct_size;   /* sizeof(sidbeam_constraint_config) */
  sidbeam_index* index;   /* held by the constraint */
  sidbeam_filter* filter; /* of this index, held by the constraint; NULL: all items */
  /* Read before the call returns. */
  const sidbeam_item_list* excluded; /* NULL: none */
  const sidbeam_item_list* allowed;  /* NULL: no allow list; an empty one allows nothing */
} sidbeam_constraint_config;
#define SIDBEAM_CONSTRAINT_CONFIG_INIT \
  { (uint32_t)sizeof(sidbeam_constraint_config), NULL, NULL, NULL, NULL }

/* What a host must know to shape its arrays, so that it needs no index at hand. */
typedef struct sidbeam_constraint_info {
  uint32_t struct_size;    /* sizeof(sidbeam_constraint_info), set by the caller */
  int32_t levels;          /* L */
  int32_t variable_length; /* 1: SIDs of 1 .. L codes; the vocabulary needs an end column */
  int32_t kinds;           /* SIDBEAM_KIND_* or'ed */
  int64_t sids, items;
  const int32_t* codes;                      /* [levels] V_l, without the end; valid until the constraint goes */
  char fingerprint[33];                      /* of the index; see sidbeam_index_info */
  const char* codebook;                      /* of the index; valid until the constraint goes */
  int32_t rules;                             /* 1: there are a filter or lists, or items that have gone (catalog.h) */
  int64_t allowed_sids, allowed_items;       /* those of the index without rules */
  int64_t unknown_excluded, unknown_allowed; /* entries of the lists that name no item */
} sidbeam_constraint_info;
#define SIDBEAM_CONSTRAINT_INFO_INIT \
  { (uint32_t)sizeof(sidbeam_constraint_info), 0, 0, 0, 0, 0, NULL, {0}, NULL, 0, 0, 0, 0, 0 }

/* Makes a constraint. *out gets one reference. With a filter that is not prepared, this prepares it; the first one with
 * lists makes the tables of filter.h (3 to 6 ns per SID, 27 where lengths vary).
 * Errors: INVALID_ARGUMENT (config, no index in it, a filter of another index, a list), MISSING_SECTION (rules on an
 * index without a trie), OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_constraint_create(
    const sidbeam_constraint_config* config, sidbeam_constraint** out, sidbeam_error* err);
/* The same constraint with further excluded items, at the cost of these: say what a user has clicked since.
 * `constraint` stays as it is. The info of the new one counts the unknown entries of both. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_constraint_exclude(
    sidbeam_constraint* constraint, const sidbeam_item_list* excluded, sidbeam_constraint** out, sidbeam_error* err);
SIDBEAM_API void sidbeam_constraint_retain(sidbeam_constraint* constraint);
SIDBEAM_API void sidbeam_constraint_release(sidbeam_constraint* constraint);
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_constraint_get_info(
    const sidbeam_constraint* constraint, sidbeam_constraint_info* out, sidbeam_error* err);

/* How far a list of items goes. Rows are taken in their order, best first: one is listed unless `distinct` leaves it
 * out, or else the cap, or else a limit. What is left out counts for nothing afterwards. */
typedef struct sidbeam_item_limits {
  uint32_t struct_size;  /* sizeof(sidbeam_item_limits) */
  int64_t limit_per_sid; /* most item rows of one SID; 0: no limit */
  int64_t limit;         /* most item rows of all, and the room of item_rows; 0: no limit, only without item_rows */
  int32_t distinct;      /* 1: an item that several SIDs have is listed once: see sidbeam_items */
  /* Most item rows per value of an attribute, say 2 of a brand; NULL and 0: no cap. Of I64, BOOL, STRING or
   * STRING_LIST, whose rows count for each string that they have and are left out once one of these is at the cap. Null
   * and an empty list are no value: such rows are never left out, and count for none. */
  const char* cap_attribute;
  int64_t cap;
} sidbeam_item_limits;
#define SIDBEAM_ITEM_LIMITS_INIT \
  { (uint32_t)sizeof(sidbeam_item_limits), 0, 0, 0, NULL, 0 }
/* sidbeam_index_items() of the rows that the constraint allows, and with a cap. This lists what a runner's result has
 * found. `limits` may be NULL: none. Of the flags, which may be NULL, *truncated is 1 if a limit left out rows that the
 * cap would have listed, and *came_short is 1 if the cap left rows out and the list is shorter than `limit` (or limit
 * is 0): more beams may find more. The time is that of the rows of these SIDs, as far as they are looked at, and the
 * memory that of the values that are listed.
 * Errors: as sidbeam_index_items(); INVALID_ARGUMENT (a cap below 0 or without an attribute, an attribute without a
 * cap, or of F32, or that the index has not, naming those it has). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_constraint_items(const sidbeam_constraint* constraint,
    const int64_t* ordinals, int64_t count, const sidbeam_item_limits* limits, int64_t* item_rows, int64_t* offsets,
    int32_t* truncated, int32_t* came_short, sidbeam_error* err);

#ifdef __cplusplus
}
#endif
#endif
