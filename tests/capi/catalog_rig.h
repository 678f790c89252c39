/* Live catalogues of a few items: folders, changes, and what a version holds, as a search finds it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_CAPI_CATALOG_RIG_H
#define SIDBEAM_TESTS_CAPI_CATALOG_RIG_H

#include <sys/types.h>

#include "rules_rig.h"

/* The content of `small`, as content_of() says it. */
#define SMALL_CONTENT "012:15,10 013:11 030:12 221:13 300:14 "

/* `small` with two attributes, "price" (I64) and "region" (STRING), of which every item has a value. */
sidbeam_index* priced_index(void);

/* A folder of this process that is not there; it is removed with its files, one level deep, when the process ends.
 * Static storage, for the last eight. */
const char* fresh_folder(const char* name);
void remove_folder(const char* path);
void copy_folder(const char* from, const char* to);
/* The names of the files in a folder, in order, each followed by a space; static storage. */
const char* names_in(const char* folder);
const char* path_in(const char* folder, const char* name);

/* A catalogue of `small`, without attributes; folder NULL: in memory. */
sidbeam_catalog* make_catalog(const char* folder);
sidbeam_catalog* open_catalog(const char* folder, const sidbeam_catalog_config* config);
sidbeam_catalog* follow_catalog(const char* folder);
sidbeam_catalog_info info_of(const sidbeam_catalog* catalog);

/* Adds one pair of the SID with these digits. */
sidbeam_status add_pair(sidbeam_catalog* catalog, const char* sid, int64_t id, sidbeam_error* error);
sidbeam_status remove_item(sidbeam_catalog* catalog, int64_t id, sidbeam_error* error);
/* Adds it and publishes. */
int64_t publish_pair(sidbeam_catalog* catalog, const char* sid, int64_t id);
int64_t publish(sidbeam_catalog* catalog);

/* Versions 1 to 3 of `small` in a fresh folder, closed: 2 has item 40 too, 3 lacks item 13. */
const char* three_versions(const char* name);

/* The live pairs of an index of three levels of four codes and integer ids, found by a search: "012:15,10 013:11 ", by
 * SID; static storage, for the last four. Reports what failed in place of them. */
const char* content_of(sidbeam_index* index);
/* The same into a text of 8192 characters; leaves no test, so that threads may use it. */
void find_content(sidbeam_index* index, char* text);
/* Of a version of a catalogue, 0: the newest. */
const char* content(sidbeam_catalog* catalog, int64_t version);

/* A child that ends with what body(argument) returns, or 1 where a check fails; after a signal 1000 more than that. */
pid_t start_child(int (*body)(void* argument), void* argument);
int end_of_child(pid_t child);
int run_in_child(int (*body)(void* argument), void* argument);

#endif
