/* sidbeam: an opened index, shared by every session and thread.
 *
 * An index is immutable and reference-counted: open it once, share it. SIDs are sorted (code by code, the end of a SID
 * after every code) and distinct; a SID's position is its ordinal. An item row is a position in the list of items,
 * which is ordered by ordinal, then priority falling, then id rising.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_INDEX_H
#define SIDBEAM_INDEX_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where an opened file lives. Replacing a mapped file by rename is safe; truncating or overwriting it in place is not,
 * and COPY is there for those who cannot exclude it. */
enum {
  /* Mapped; pages come in when they are first read. */
  SIDBEAM_RESIDENCY_MAP = 0,
  /* Mapped, and every page read before open returns. */
  SIDBEAM_RESIDENCY_PREFAULT = 1,
  /* As PREFAULT, and locked in memory (needs the limit for it, see ulimit -l). */
  SIDBEAM_RESIDENCY_LOCK = 2,
  /* Read into the allocator's memory, on huge pages where the system has them; the file is closed. */
  SIDBEAM_RESIDENCY_COPY = 3
};

/* How much is checked. At any depth, a damaged file never makes a function of this library touch memory outside the
 * file. The caller's own arrays are not so protected: a caller that sizes an array by the counts of the info and fills
 * it with what the SIDs give needs an index verified to FULL (`verified` says so). */
enum {
  SIDBEAM_VERIFY_HEADER = 0,    /* the header, and every section's bounds, alignment and size; constant time */
  SIDBEAM_VERIFY_CHECKSUMS = 1, /* and every section's checksum; reads the whole file */
  SIDBEAM_VERIFY_FULL = 2       /* and the structure itself: order, ranges, counts, agreement between sections */
};

typedef struct sidbeam_open_config {
  uint32_t struct_size; /* sizeof(sidbeam_open_config) */
  int32_t residency;    /* SIDBEAM_RESIDENCY_* */
  int32_t verify;       /* SIDBEAM_VERIFY_* */
} sidbeam_open_config;
#define SIDBEAM_OPEN_CONFIG_INIT \
  { (uint32_t)sizeof(sidbeam_open_config), SIDBEAM_RESIDENCY_MAP, SIDBEAM_VERIFY_HEADER }

/* What the header says, and how far the rest was checked. Arrays are by level and valid until the index goes: borrowed,
 * in every info, so that a caller has nothing to size. (sidbeam_index_peek, without an index, has its caller's.) */
typedef struct sidbeam_index_info {
  uint32_t struct_size; /* sizeof(sidbeam_index_info), set by the caller */
  int32_t format_major, format_minor;
  int32_t levels;              /* L */
  int32_t variable_length;     /* 1: SIDs of shortest .. longest codes */
  int32_t shortest, longest;   /* codes of the shortest and the longest SID that is in it */
  int32_t id_type;             /* SIDBEAM_ID_* */
  int32_t kinds;               /* SIDBEAM_KIND_* or'ed */
  const int32_t* codes;        /* [levels] V_l, the end not counted */
  const int32_t* max_children; /* [levels] most continuations of a prefix of l codes, the end counted */
  const int64_t* nodes;        /* [levels] distinct prefixes of l+1 codes */
  int64_t sids, items;         /* distinct SIDs; item rows */
  int64_t merged_pairs;        /* identical (SID, item) pairs that were merged when it was built */
  int64_t collisions;          /* SIDs with more than one item */
  int64_t max_items_per_sid;
  int64_t file_bytes;
  int64_t section_count, metadata_count;
  char fingerprint[33]; /* XXH3-128 of levels, codes, SIDs and items, in hexadecimal; not of kinds or metadata */
  /* SIDBEAM_VERIFY_*, the depth to which this index was found sound: when it was opened or, if that was deeper, by
   * sidbeam_index_verify since. FULL for one that a builder finished; HEADER from sidbeam_index_peek. */
  int32_t verified;
  char attribute_digest[33]; /* XXH3-128 of the attributes' names, types and values; zeros where there are none */
  int64_t attribute_count;   /* columns of values by item row; see sidbeam_index_get_attribute() */
  /* Of a version of a live catalogue (catalog.h), whose sids and items count those that have gone too; its fingerprint
   * and attribute_digest are of its base's, of what was added and of what is live; max_children, nodes, collisions and
   * max_items_per_sid are at most what they say; file_bytes is 0, and its sections are its base's. An older version
   * that is made again, since nobody held it, counts what came after it as gone, and has other hashes. Otherwise 0, 0
   * and items. */
  int64_t version, generation, live_items;
} sidbeam_index_info;
#define SIDBEAM_INDEX_INFO_INIT                                                                                     \
  {                                                                                                                 \
    (uint32_t)sizeof(sidbeam_index_info), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, {0}, 0, \
        {0}, 0, 0, 0, 0                                                                                             \
  }

typedef struct sidbeam_section_info {
  uint32_t struct_size; /* sizeof(sidbeam_section_info), set by the caller */
  int32_t level;        /* -1 where it belongs to no level */
  const char* kind;     /* "tokens", "row_pointers", ...; static storage */
  const char* encoding; /* "u16", "u32", "u64", "bits", ...; static storage */
  int64_t offset, bytes;
  int64_t checksum; /* XXH3-64, as the same bits */
} sidbeam_section_info;
#define SIDBEAM_SECTION_INFO_INIT \
  { (uint32_t)sizeof(sidbeam_section_info), 0, NULL, NULL, 0, 0, 0 }

/* Reads and checks the header of the file at `path`, nothing else. The arrays by level, those of sidbeam_index_info
 * (codes, max_children, nodes), are the caller's, of `capacity` entries each, of which the first out->levels are
 * written; out points to them. Those that are NULL are not asked for, and with none the capacity may be 0. Errors: as
 * open, and INVALID_ARGUMENT (a capacity below the file's levels, of which there are at most SIDBEAM_MAX_LEVELS); then
 * nothing is written. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_peek(const char* path, int32_t capacity, int32_t* codes,
    int32_t* max_children, int64_t* nodes, sidbeam_index_info* out, sidbeam_error* err);
/* Opens a file; config NULL means all defaults. *out gets one reference.
 * Errors: INVALID_ARGUMENT (config), IO_ERROR (path and reason), CORRUPT (what is wrong and where), UNSUPPORTED (a
 * newer format, an unknown required section), OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_open(sidbeam_runtime* runtime, const char* path,
    const sidbeam_open_config* config, sidbeam_index** out, sidbeam_error* err);
/* Opens the bytes of a file that are in memory: `bytes` of them from `data` on, an address that is a multiple of 64.
 * They are borrowed: release(context), if given, is called once, on the thread that gives back the last reference; it
 * is not called when this call fails. COPY takes any address and calls release before this call returns. LOCK is
 * refused; PREFAULT is MAP. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_open_memory(sidbeam_runtime* runtime, const void* data,
    int64_t bytes, void (*release)(void* context), void* context, const sidbeam_open_config* config,
    sidbeam_index** out, sidbeam_error* err);
SIDBEAM_API void sidbeam_index_retain(sidbeam_index* index);
SIDBEAM_API void sidbeam_index_release(sidbeam_index* index);

/* Checks an opened index to a SIDBEAM_VERIFY_* depth, on the runtime's threads. Its info reports that depth from then
 * on. Errors: CORRUPT. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_verify(
    const sidbeam_index* index, int32_t depth, sidbeam_error* err);
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_get_info(
    const sidbeam_index* index, sidbeam_index_info* out, sidbeam_error* err);
/* Section i, 0 <= i < info.section_count, in the order of the file. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_get_section(
    const sidbeam_index* index, int64_t i, sidbeam_section_info* out, sidbeam_error* err);
/* Key and value of entry i, 0 <= i < info.metadata_count, sorted by key. Pointers are valid until the index goes. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_get_metadata(
    const sidbeam_index* index, int64_t i, const char** key, const char** value, sidbeam_error* err);
/* The codebook text that the builder was given; "" where there was none. Valid until the index goes; NULL for a NULL
 * index. */
SIDBEAM_API const char* sidbeam_index_codebook(const sidbeam_index* index);

/* The bytes of the index's file, wherever they came from: what a builder wrote, or would have written. *data is at a
 * multiple of 64 and valid until the index goes; sidbeam_index_open_memory() opens it, or a copy at such an address.
 * Errors: UNSUPPORTED (a version of a live catalogue has none: sidbeam_catalog_compact() makes a base of it). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_bytes(
    const sidbeam_index* index, const void** data, int64_t* bytes, sidbeam_error* err);
/* Writes these bytes to `path`, with the care of sidbeam_builder_write(): beside it, synced, renamed; the owner, mode,
 * access list and extended attributes of an old file are kept, or the call fails. The path may be that of the file
 * which is mapped. What is damaged is written as it is: `verified` of the info says how far that was looked at.
 * Errors: UNSUPPORTED (as above), IO_ERROR (with path and reason), OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_write(
    const sidbeam_index* index, const char* path, sidbeam_error* err);

/* The SID of an ordinal: *length codes are written to codes [levels], and the rest is left alone. In a damaged index
 * they may be any codes of their levels, but *length of them are written, or none. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_sid(
    const sidbeam_index* index, int64_t ordinal, int32_t* codes, int32_t* length, sidbeam_error* err);
/* The ordinal of a whole SID, codes [length], or -1 where there is no such SID. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_find_sid(
    const sidbeam_index* index, const int32_t* codes, int32_t length, int64_t* ordinal, sidbeam_error* err);
/* The ordinals [*lo, *hi) of the SIDs that begin with prefix [length] of 0 .. levels codes; *lo = *hi where there
 * are none.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED (a version of a live catalogue with added items: they are no range). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_ordinals(
    const sidbeam_index* index, const int32_t* prefix, int32_t length, int64_t* lo, int64_t* hi, sidbeam_error* err);
/* The codes that may follow prefix [length] of fewer than `levels` codes, rising. *count is their number; the first
 * `capacity` are written to codes (may be NULL with capacity 0). *end is 1 where the prefix is itself a SID, otherwise
 * 0. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_children(const sidbeam_index* index, const int32_t* prefix,
    int32_t length, int64_t capacity, int32_t* codes, int64_t* count, int32_t* end, sidbeam_error* err);
/* The item rows [*lo, *hi) of an ordinal. Errors: as above; sidbeam_index_items() lists them in any index. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_item_rows(
    const sidbeam_index* index, int64_t ordinal, int64_t* lo, int64_t* hi, sidbeam_error* err);
/* The item rows of `count` ordinals in their order, say of a runner's result; -1 has none. They are what
 * sidbeam_session_get_items gives for beams of these SIDs, with the same limits (limit_per_sid and limit, 0: none) and
 * `distinct`: item_rows [limit] (NULL, with any limit: only the sizes), offsets [count + 1], truncated [1] (NULL: not
 * wanted).
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_items(const sidbeam_index* index, const int64_t* ordinals,
    int64_t count, int64_t limit_per_sid, int64_t limit, int32_t distinct, int64_t* item_rows, int64_t* offsets,
    int32_t* truncated, sidbeam_error* err);
/* The ordinal that an item row belongs to. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_item_ordinal(
    const sidbeam_index* index, int64_t item_row, int64_t* ordinal, sidbeam_error* err);
/* The id of an item row: with integer ids *id (u64 as the same bits), *name NULL and *bytes 0; with string ids *name,
 * not NUL-terminated, of *bytes bytes, valid until the index goes, and *id -1. name and bytes may be NULL. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_item_id(
    const sidbeam_index* index, int64_t item_row, int64_t* id, const char** name, int64_t* bytes, sidbeam_error* err);
/* The priority of an item row, of which the rows of a SID have the highest first. Where identical pairs were merged it
 * is the highest of theirs. (Those of pairs that were added to a live catalogue are always known.) Errors:
 * MISSING_SECTION (the index was built without keep_priorities), INVALID_ARGUMENT. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_item_priority(
    const sidbeam_index* index, int64_t item_row, int64_t* priority, sidbeam_error* err);
/* The first item row >= from_item_row with this id, or -1. With string ids pass name, of `bytes` bytes, which is not
 * NULL even where it is empty; with integer ids pass id, and NULL as name. An id of the other type is INVALID_ARGUMENT.
 * This is one pass over the ids: for tools, not for requests. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_find_item(const sidbeam_index* index, int64_t id,
    const char* name, int64_t bytes, int64_t from_item_row, int64_t* item_row, sidbeam_error* err);

/* Attributes: columns of values by item row, by which filters choose items (the builder is given them, and the file
 * keeps them). An attribute is one of info.attribute_count, in the order of their names. A row may be null in any. */
enum {
  SIDBEAM_ATTRIBUTE_I64 = 1,        /* integers */
  SIDBEAM_ATTRIBUTE_F32 = 2,        /* numbers, never NaN */
  SIDBEAM_ATTRIBUTE_BOOL = 3,       /* 0 or 1 */
  SIDBEAM_ATTRIBUTE_STRING = 4,     /* text in UTF-8 */
  SIDBEAM_ATTRIBUTE_STRING_LIST = 5 /* distinct texts in an order, or none (which is not null): an item's categories */
};

typedef struct sidbeam_attribute_info {
  uint32_t struct_size; /* sizeof(sidbeam_attribute_info), set by the caller */
  int32_t type;         /* SIDBEAM_ATTRIBUTE_* */
  const char* name;     /* UTF-8, NUL-terminated; valid until the index goes */
  int64_t nulls;        /* item rows without a value */
  int64_t distinct;     /* different values (of lists: strings in them); -1 for I64 and F32, where nobody counts them */
  int64_t codes;        /* strings of all lists, of STRING_LIST; otherwise 0 */
  /* The least and greatest values of I64 and BOOL, and of F32; 0 where there are none. */
  int64_t least, greatest;
  double least_number, greatest_number;
} sidbeam_attribute_info;
#define SIDBEAM_ATTRIBUTE_INFO_INIT \
  { (uint32_t)sizeof(sidbeam_attribute_info), 0, NULL, 0, 0, 0, 0, 0, 0, 0 }

/* Attribute i, 0 <= i < info.attribute_count. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_get_attribute(
    const sidbeam_index* index, int64_t i, sidbeam_attribute_info* out, sidbeam_error* err);
/* The number of the attribute of this name, or -1. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_find_attribute(
    const sidbeam_index* index, const char* name, int64_t* attribute, sidbeam_error* err);
/* Values of item rows [item_row, item_row + count). valid [count], which may be NULL, gets 1, or 0 where a row is null,
 * and its value is then 0, its list empty. Of I64 and BOOL the values themselves; of STRING codes: the number of the
 * row's string in the attribute's dictionary, where the strings are sorted by bytes (of a version of a live catalogue
 * those of its base, and behind them what came since, sorted too). In a damaged index a code may be of no string.
 * Errors: INVALID_ARGUMENT (an attribute of another type, rows that are not there). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_attribute_integers(const sidbeam_index* index,
    int64_t attribute, int64_t item_row, int64_t count, int64_t* values, uint8_t* valid, sidbeam_error* err);
/* The same of F32. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_attribute_numbers(const sidbeam_index* index,
    int64_t attribute, int64_t item_row, int64_t count, float* values, uint8_t* valid, sidbeam_error* err);
/* The same of STRING_LIST: the codes of row item_row + i are codes[offsets[i] .. offsets[i+1]). offsets [count + 1],
 * none above info.codes; codes [capacity], or NULL with any capacity: only the offsets. Errors: also INVALID_ARGUMENT
 * for a capacity below offsets[count], which is then written all the same. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_attribute_lists(const sidbeam_index* index,
    int64_t attribute, int64_t item_row, int64_t count, int64_t* offsets, int64_t capacity, int64_t* codes,
    uint8_t* valid, sidbeam_error* err);
/* The string of an attribute's code, 0 <= code < info.distinct: *text, not NUL-terminated, of *bytes bytes, valid until
 * the index goes. Only of STRING and STRING_LIST. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_attribute_string(
    const sidbeam_index* index, int64_t attribute, int64_t code, const char** text, int64_t* bytes, sidbeam_error* err);

/* An index on a CUDA device: a copy of the sections that decoding reads (never item ids, names or attributes), shared
 * by all sessions and constraint sets on that device. */
typedef struct sidbeam_upload_config {
  uint32_t struct_size; /* sizeof(sidbeam_upload_config) */
  int32_t device_id;
  int32_t kinds;  /* SIDBEAM_KIND_* or'ed, those that strategies need; 0: all that the index has */
  int32_t verify; /* 1: the structure is checked on the device, to the depth of SIDBEAM_VERIFY_FULL; 0: it is not */
  /* Stream of the copies; NULL: one of the library's own. */
  void* stream;
  int64_t chunk_bytes;      /* copied at a time, through two pinned buffers of this size, 4096 .. 2^30; 0: 8 MiB */
  int64_t bytes_per_second; /* upper limit of the rate, so that other copies have room; 0: none */
} sidbeam_upload_config;
#define SIDBEAM_UPLOAD_CONFIG_INIT \
  { (uint32_t)sizeof(sidbeam_upload_config), 0, 0, 1, NULL, 0, 0 }

typedef struct sidbeam_upload_info {
  uint32_t struct_size; /* sizeof(sidbeam_upload_info), set by the caller */
  int32_t kinds;        /* SIDBEAM_KIND_* that are there; 0: none */
  int64_t bytes;        /* on the device */
} sidbeam_upload_info;
#define SIDBEAM_UPLOAD_INFO_INIT \
  { (uint32_t)sizeof(sidbeam_upload_info), 0, 0 }

/* Copies an index to a device; config NULL means all defaults. Returns when the copy is complete, so that work on any
 * stream may use it. If all of it is there already, nothing happens. A kind that is missing is brought by a second
 * copy, so name all kinds at once. Creating a session or a constraint set uploads what it needs and does not find.
 * Of a version of a live catalogue its base is copied, once for all versions of a generation, and beside it what has
 * been added since and, where something has gone, a bit for each row, SID and edge; at the same rate, in the same
 * chunks. Where the base is there, a start brings these two itself. A session that lists distinct items also needs what
 * base and additions repeat, together, and brings it anew for each publish that adds: that costs as much as the base
 * has items with several SIDs.
 * Errors: INVALID_ARGUMENT, MISSING_SECTION (a kind that the index lacks), NO_DEVICE, OUT_OF_MEMORY, CORRUPT (verify),
 * DEVICE_ERROR; then nothing has changed, but of a version the parts stay that came before the error. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_upload(
    sidbeam_index* index, const sidbeam_upload_config* config, sidbeam_error* err);
/* What is on the device of number device_id; does not touch it. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_index_get_upload(
    const sidbeam_index* index, int32_t device_id, sidbeam_upload_info* out, sidbeam_error* err);
/* Gives up the index's own hold on its copies on device device_id; releasing the index does so too. Sessions, slots and
 * sets keep theirs. The memory goes back once the last of them is gone and the work that they enqueued is done; nothing
 * waits for that. Of a version of a live catalogue, or its base, all copies of its generation go: the base and what all
 * versions have beside it. */
SIDBEAM_API void sidbeam_index_unload(sidbeam_index* index, int32_t device_id);

#ifdef __cplusplus
}
#endif
#endif
