/* A history of a live catalogue in a folder, of which every step makes the next version: additions, removals, rollbacks
 * to other generations, compactions, and bases that go. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_CAPI_CATALOG_HISTORY_H
#define SIDBEAM_TESTS_CAPI_CATALOG_HISTORY_H

#include "catalog_rig.h"

enum { HISTORY_VERSIONS = 11, HISTORY_KEEPS = 4 };

typedef struct history {
  const char* folder;
  sidbeam_index* base;
  sidbeam_runtime* runtime;
  sidbeam_catalog* catalog; /* NULL: not made yet, or closed */
  int32_t sync;             /* SIDBEAM_SYNC_* */
  char contents[HISTORY_VERSIONS + 1][200];
} history;

/* Runs it once, to know what each version has to hold. */
void begin_history(history* of, const char* folder);
void end_history(history* of);
/* Makes a version, where those before it were made; version 1 is the base. A step that has failed can be done again. */
sidbeam_status make_version(history* of, int64_t version, sidbeam_error* error);
sidbeam_status open_history(history* of, sidbeam_error* error);
void close_history(history* of);
/* The catalogue's newest version is this one, and what is kept holds what it has to. */
void check_versions(history* of, int64_t version);
/* Publishes, and compacts with nothing kept: no file is left but those that one generation needs. */
void check_that_it_goes_on(history* of);

#endif
