/* sidbeam: the constraint that sessions and stateless calls follow. Today it is a whole index; later an index or a
 * catalogue's snapshot, and rules.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_CONSTRAINT_H
#define SIDBEAM_CONSTRAINT_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* State of a prefix under a constraint, for good one 64-bit word: -1 is dead (no SID has the prefix), 0 is the
 * beginning. All others are opaque and mean something only with the constraint that made them; any value at all is safe
 * to pass, and one that means nothing is dead. */
typedef int64_t sidbeam_state;

typedef struct sidbeam_constraint_config {
  uint32_t struct_size; /* sizeof(sidbeam_constraint_config) */
  sidbeam_index* index; /* held by the constraint */
} sidbeam_constraint_config;
#define SIDBEAM_CONSTRAINT_CONFIG_INIT \
  { (uint32_t)sizeof(sidbeam_constraint_config), NULL }

/* What a host must know to shape its arrays, so that it needs no index at hand. */
typedef struct sidbeam_constraint_info {
  uint32_t struct_size;    /* sizeof(sidbeam_constraint_info), set by the caller */
  int32_t levels;          /* L */
  int32_t variable_length; /* 1: SIDs of 1 .. L codes; the vocabulary needs an end column */
  int32_t kinds;           /* SIDBEAM_KIND_* or'ed */
  int64_t sids, items;
  const int32_t* codes; /* [levels] V_l, without the end; valid until the constraint goes */
  char fingerprint[33]; /* of the index; see sidbeam_index_info */
  const char* codebook; /* of the index; valid until the constraint goes */
} sidbeam_constraint_info;
#define SIDBEAM_CONSTRAINT_INFO_INIT \
  { (uint32_t)sizeof(sidbeam_constraint_info), 0, 0, 0, 0, 0, NULL, {0}, NULL }

/* Makes a constraint. *out gets one reference. Errors: INVALID_ARGUMENT (config, or no index in it). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_constraint_create(
    const sidbeam_constraint_config* config, sidbeam_constraint** out, sidbeam_error* err);
SIDBEAM_API void sidbeam_constraint_retain(sidbeam_constraint* constraint);
SIDBEAM_API void sidbeam_constraint_release(sidbeam_constraint* constraint);
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_constraint_get_info(
    const sidbeam_constraint* constraint, sidbeam_constraint_info* out, sidbeam_error* err);

#ifdef __cplusplus
}
#endif
#endif
