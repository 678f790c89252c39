/* sidbeam: a live catalogue, an index to which items come and from which they go while it serves.
 *
 *   sidbeam_catalog_open(runtime, "catalogue/", NULL, &catalog, &err);    (one writer: a process, any of its threads)
 *   sidbeam_catalog_add(catalog, &pairs, &err);                           (nobody sees it yet)
 *   sidbeam_catalog_publish(catalog, &version, &err);                     (all of it at once, or nothing)
 *   sidbeam_catalog_snapshot(catalog, 0, &index, &err);                   (the newest version, an index like any other)
 *
 * A version is an immutable index: whatever takes an index takes it, and a search in it returns, bit for bit, what an
 * index of its live items alone would. Requests that run keep the version that they began with; it goes with the last
 * that holds it. Item rows and ordinals of the base keep their numbers, and those of added items follow them in the
 * order in which they came, until a compaction (a new `generation`) numbers all anew. The rows of a SID are in the
 * order of the base, then those that were added, by priority falling, then id rising.
 *
 * In a folder a catalogue outlives its process: a base index, a log with one record per version, and a manifest that
 * names them (schemas/README.md). Whatever happens while it is written, it opens as of its last durable version, or an
 * error says what is damaged. Other processes follow it: sidbeam_catalog_follow().
 *
 * Calls may come from any thread. Those that change the catalogue wait for each other. Who asks for the newest version
 * never waits; who asks for an older one or for the info may, for a change that is under way.
 * After fork() the child can only close it (versions that it holds are of use, as indexes are).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_CATALOG_H
#define SIDBEAM_CATALOG_H

#include "arrow.h"
#include "builder.h"
#include "filter.h"
#include "index.h"

#ifdef __cplusplus
extern "C" {
#endif

/* When what was published is forced to the disk (fdatasync). What is not may be lost if the machine stops, never
 * anything before it; a process that stops loses nothing that was published. A compaction, and the end of files that no
 * kept version needs, force it in any case. */
enum {
  SIDBEAM_SYNC_PUBLISH = 0,  /* before publish returns */
  SIDBEAM_SYNC_INTERVAL = 1, /* by the first publish, sync or close that comes sync_interval_ms after the last time */
  SIDBEAM_SYNC_HOST = 2      /* by sidbeam_catalog_sync() */
};

typedef struct sidbeam_catalog_config {
  uint32_t struct_size; /* sizeof(sidbeam_catalog_config) */
  int32_t sync;         /* SIDBEAM_SYNC_* */
  int64_t sync_interval_ms;
  /* Which versions can be had and gone back to, the newest always: so many, and not older than that. The age is the
   * time from the publish that replaced a version to the newest publish: while none comes, old versions stay. */
  int64_t keep_versions; /* 0: 16 */
  int64_t keep_ms;       /* 0: whatever their age */
  int32_t residency;     /* SIDBEAM_RESIDENCY_* of the base */
  int32_t verify;        /* SIDBEAM_VERIFY_* of the base */
  /* 1: where a log is damaged, what was published before the damage is opened, and what came after it is given up;
   * 0: that is CORRUPT. (The end of a record that was never written whole is no damage: it is cut off and reported.) */
  int32_t accept_loss;
} sidbeam_catalog_config;
#define SIDBEAM_CATALOG_CONFIG_INIT \
  { (uint32_t)sizeof(sidbeam_catalog_config), SIDBEAM_SYNC_PUBLISH, 0, 0, 0, SIDBEAM_RESIDENCY_MAP, 0, 0 }

/* Pairs that are added. A pair that is live already is updated: it takes the priority and the attributes that are
 * given, and keeps those that are not. One that was removed is new again: what is not given is 0 or null. */
typedef struct sidbeam_pairs {
  uint32_t struct_size;   /* sizeof(sidbeam_pairs) */
  const int32_t* codes;   /* [count, levels] */
  const int32_t* lengths; /* [count]; NULL: full length; entries past a length are not read */
  int64_t count;
  /* Ids as the base has them: integers (u64 as the same bits), or names, of which name i is
   * id_bytes[id_offsets[i] .. id_offsets[i+1]). */
  const int64_t* ids;
  const char* id_bytes;
  const int64_t* id_offsets;                         /* [count + 1], rising */
  const int64_t* priorities;                         /* [count]; NULL: 0, or what a pair that is live has */
  const sidbeam_attribute_column* const* attributes; /* [attribute_count], each of an attribute of the base */
  int64_t attribute_count;
} sidbeam_pairs;
#define SIDBEAM_PAIRS_INIT \
  { (uint32_t)sizeof(sidbeam_pairs), NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0 }

/* How a compaction is done. */
typedef struct sidbeam_compact_config {
  uint32_t struct_size;       /* sizeof(sidbeam_compact_config) */
  int32_t threads;            /* 1 .. 1024; 0: the runtime's */
  int64_t memory_limit_bytes; /* as of a builder; 0: none */
  /* Upper limit of what is read of the catalogue, names and attributes too, and written to its folder, synced as it
   * goes; 0: none. The build between the two, in memory, is not held to it, nor is the opening of the new base (verify,
   * residency): the page cache still has it, so that the disk reads nothing. */
  int64_t bytes_per_second;
  /* As of a builder: called on the compacting thread; not 0 cancels. SIDBEAM_PHASE_*, then also GATHER and WRITE. */
  int32_t (*progress)(void* context, int32_t phase, int64_t done, int64_t total);
  void* progress_context;
} sidbeam_compact_config;
#define SIDBEAM_COMPACT_CONFIG_INIT \
  { (uint32_t)sizeof(sidbeam_compact_config), 0, 0, 0, NULL, NULL }

/* How a catalogue stands. */
typedef struct sidbeam_catalog_info {
  uint32_t struct_size;                        /* sizeof(sidbeam_catalog_info), set by the caller */
  int32_t follows;                             /* 1: another process writes it */
  int64_t version, generation, oldest_version; /* the newest version and its generation; the oldest that is kept */
  int64_t published_ns;                        /* when the newest was, since 1970, UTC */
  int64_t items, sids;                         /* live (SID, item) pairs of the newest; SIDs, those without items too */
  int64_t base_items;                          /* pairs of the base of its generation */
  int64_t added, removed;                      /* pairs added since that base, and pairs of either that have gone */
  int64_t changes;                             /* calls that changed something since the last publish */
  int32_t compact_soon;                        /* 1: 5 % of the base were added, or 20 % are gone */
  int32_t log_failed;                          /* 1: the log could not be written, so that no publish can succeed */
  /* Of the writer of a folder, otherwise 0: of the logs of all kept generations, of which not yet synced, and of the
   * files of their bases. */
  int64_t log_bytes, unsynced_bytes, base_bytes;
  int64_t memory_bytes; /* what is kept in memory, except bases and versions in use */
  int64_t cut_bytes;    /* unfinished end of the log, cut off when it was opened */
} sidbeam_catalog_info;
#define SIDBEAM_CATALOG_INFO_INIT \
  { (uint32_t)sizeof(sidbeam_catalog_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* A version that is kept. */
typedef struct sidbeam_version_info {
  uint32_t struct_size; /* sizeof(sidbeam_version_info), set by the caller */
  int32_t in_use;       /* 1: somebody besides the catalogue holds it */
  int64_t version, generation;
  int64_t published_ns;
  int64_t items;   /* live pairs */
  int64_t changed; /* pairs that came or went with it */
  int64_t bytes;   /* that it takes by itself, if nobody holds it */
  int64_t back_to; /* the version whose content it has again; 0: none */
} sidbeam_version_info;
#define SIDBEAM_VERSION_INFO_INIT \
  { (uint32_t)sizeof(sidbeam_version_info), 0, 0, 0, 0, 0, 0, 0, 0 }

/* Makes a catalogue whose version 1 is the base: an index with a trie, whose items are known by their ids. In a folder,
 * which is made or holds no catalogue yet, the base is copied; NULL: in memory. config NULL means all defaults. The
 * catalogue holds the base. Close it with sidbeam_catalog_close(). The folder should have nothing else: whoever opens
 * it to write removes files named base-N.sidx and log-N.slog that the catalogue has ceased to name.
 * Errors: INVALID_ARGUMENT (config; a folder that holds a catalogue; a version as base), MISSING_SECTION (no trie),
 * IO_ERROR, BAD_STATE (another writer), OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_catalog_create(sidbeam_index* base, const char* folder,
    const sidbeam_catalog_config* config, sidbeam_catalog** out, sidbeam_error* err);
/* Opens a folder to write it. Errors: BAD_STATE (another writer, named: process, host and since when), IO_ERROR,
 * CORRUPT (which file, and what of it), UNSUPPORTED (another format), INVALID_ARGUMENT, OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_catalog_open(sidbeam_runtime* runtime, const char* folder,
    const sidbeam_catalog_config* config, sidbeam_catalog** out, sidbeam_error* err);
/* Opens a folder to read it, whoever writes it; nothing in it is changed, not even a lock. `sync` and `accept_loss` of
 * the config have no effect. What is published later is seen after sidbeam_catalog_refresh(). Errors: as open. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_catalog_follow(sidbeam_runtime* runtime, const char* folder,
    const sidbeam_catalog_config* config, sidbeam_catalog** out, sidbeam_error* err);
/* Takes over what has been published since, each version whole; *version (may be NULL) is the newest. Where nothing
 * is new it waits for that up to wait_ms milliseconds (inotify, and a look every second). On an error the newest
 * version stays. Errors: BAD_STATE (a catalogue that does not follow), otherwise as open. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_catalog_refresh(
    sidbeam_catalog* catalog, int64_t wait_ms, int64_t* version, sidbeam_error* err);

/* Adds pairs, to be published. On an error nothing of the call has been added. Errors: INVALID_ARGUMENT with row, level
 * and value, as sidbeam_builder_add() and sidbeam_builder_set_attribute(), or more than 2 GiB between two publishes;
 * BAD_STATE (a catalogue that follows), OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_catalog_add(
    sidbeam_catalog* catalog, const sidbeam_pairs* pairs, sidbeam_error* err);
/* The pairs of an Arrow stream, as sidbeam_builder_add_arrow() reads it (the stream is always released). Columns that
 * are attributes of the base are taken, and those that are not are refused. *pairs (may be NULL) is their number. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_catalog_add_arrow(sidbeam_catalog* catalog,
    struct ArrowArrayStream* stream, const sidbeam_arrow_config* config, int64_t* pairs, sidbeam_error* err);
/* Removes all pairs of the items of a list by id, to be published. *unknown (may be NULL) is the number of entries that
 * name an item without any. Errors: INVALID_ARGUMENT (the list; item rows in place of ids), BAD_STATE,
 * OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_catalog_remove(
    sidbeam_catalog* catalog, const sidbeam_item_list* items, int64_t* unknown, sidbeam_error* err);
/* Drops all changes since the last publish. Errors: BAD_STATE. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_catalog_discard(sidbeam_catalog* catalog, sidbeam_error* err);
/* Makes the changes visible as a new version, and *version (may be NULL) its number; without changes it is the newest
 * version and nothing happens. On an error nothing has been published, and the changes wait for the next publish.
 * Errors: IO_ERROR (the log; once what it holds is uncertain no publish succeeds until the catalogue is opened again),
 * UNSUPPORTED (more than 2 GiB for one record of the log), BAD_STATE, OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_catalog_publish(
    sidbeam_catalog* catalog, int64_t* version, sidbeam_error* err);
/* Publishes the content of a version that is kept as a new version, *made (may be NULL), and drops the changes since
 * the last publish. Errors: INVALID_ARGUMENT (a version that is not kept), otherwise as publish. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_catalog_rollback(
    sidbeam_catalog* catalog, int64_t version, int64_t* made, sidbeam_error* err);
/* Builds a base of all live pairs, byte for byte what a builder would make of them with the base's options and
 * metadata, and publishes the newest content on it as a new version, *version (may be NULL): of a new generation, with
 * nothing added or removed. (Where the base keeps no priorities, its pairs have 0: sidbeam_builder_config.
 * keep_priorities.) It takes the calling thread and as much memory as a build; other threads go on to add, publish and
 * read, and what they publish meanwhile is carried over. On an error all is as it was.
 * Errors: BAD_STATE (another compaction is under way; a rollback to another generation meanwhile; a catalogue that
 * follows), CANCELLED, INVALID_ARGUMENT (config; no pair is live), IO_ERROR, OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_catalog_compact(
    sidbeam_catalog* catalog, const sidbeam_compact_config* config, int64_t* version, sidbeam_error* err);
/* Forces what was published to the disk. Errors: IO_ERROR (then no publish succeeds until it is opened again). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_catalog_sync(sidbeam_catalog* catalog, sidbeam_error* err);

/* A version that is kept, or with 0 the newest; *out gets one reference, and may outlive the catalogue.
 * Errors: INVALID_ARGUMENT (a version that is not kept, naming those that are), BAD_STATE (an older one, of a catalogue
 * whose last refresh failed), OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_catalog_snapshot(
    sidbeam_catalog* catalog, int64_t version, sidbeam_index** out, sidbeam_error* err);
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_catalog_get_info(
    const sidbeam_catalog* catalog, sidbeam_catalog_info* out, sidbeam_error* err);
/* One of the versions oldest_version .. version of the info. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_catalog_get_version(
    const sidbeam_catalog* catalog, int64_t version, sidbeam_version_info* out, sidbeam_error* err);
/* Closes it; NULL: nothing happens. Changes that were not published are dropped, so is an error of a last sync: call
 * sidbeam_catalog_sync() before where that matters. */
SIDBEAM_API void sidbeam_catalog_close(sidbeam_catalog* catalog);

#ifdef __cplusplus
}
#endif
#endif
