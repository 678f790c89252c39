/* sidbeam: from a catalogue to an index.
 *
 *   create -> add, add ... -> write (a file) or finish (an index in memory)
 *
 * A catalogue is a list of (SID, item) pairs. Many items may share a SID and an item may have several. The same pairs
 * and options give the same bytes, whatever the order in which they came, the number of calls that brought them and the
 * number of threads.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_BUILDER_H
#define SIDBEAM_BUILDER_H

#include "index.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SIDBEAM_ID_I64 = 0, SIDBEAM_ID_U64 = 1, SIDBEAM_ID_STRING = 2 };

/* What to do where several items share a SID. Identical (SID, item) pairs are always merged and counted; the highest of
 * their priorities stays. */
enum {
  SIDBEAM_COLLISIONS_KEEP = 0,  /* all of them, by priority falling, then id rising */
  SIDBEAM_COLLISIONS_ERROR = 1, /* fail with SIDBEAM_COLLISION, naming the SID */
  SIDBEAM_COLLISIONS_FIRST = 2  /* only the first in that order */
};

/* Phases that the progress callback reports. */
enum {
  SIDBEAM_PHASE_SORT = 0,
  SIDBEAM_PHASE_SCAN = 1,
  SIDBEAM_PHASE_EMIT = 2,
  SIDBEAM_PHASE_CHECKSUM = 3,
  SIDBEAM_PHASE_SYNC = 4,
  SIDBEAM_PHASE_GATHER = 5, /* of a compaction (catalog.h): pairs that have been read */
  SIDBEAM_PHASE_WRITE = 6   /* of a compaction: bytes that have been written */
};

typedef struct sidbeam_builder_config {
  uint32_t struct_size;    /* sizeof(sidbeam_builder_config) */
  int32_t levels;          /* L, codes of a SID (of the longest one): 1 .. SIDBEAM_MAX_LEVELS */
  const int32_t* codes;    /* [levels] V_l: codes of level l are 0 .. codes[l]-1; copied */
  int32_t variable_length; /* 0: every SID has `levels` codes; 1: from 1 to `levels` */
  int32_t id_type;         /* SIDBEAM_ID_*; u64 ids travel as the same bits in int64 */
  int32_t kinds;           /* SIDBEAM_KIND_* or'ed; 0 means SIDBEAM_KIND_TRIE */
  int32_t collisions;      /* SIDBEAM_COLLISIONS_* */
  int32_t threads;         /* 1 .. 1024; 0: the runtime's */
  /* Checked before the sort, for what the sort needs, and exactly before the index is laid out. */
  int64_t memory_limit_bytes; /* a build that needs more (sidbeam_plan_info.peak_bytes) fails; 0: none */
  /* Fingerprint of the codebook (tokenizer) that made the SIDs, any text; copied. Sessions, sets, runners and draft
   * heads refuse catalogues of different codebooks together, where both name one. NULL or "": unknown, which goes with
   * all. */
  const char* codebook;
  /* Called on the building thread, often enough for an interactive program; done and total count in units of the phase.
   * A return other than 0 cancels: the call then fails with CANCELLED and leaves no file behind. Must not throw or use
   * the builder. NULL: none. */
  int32_t (*progress)(void* context, int32_t phase, int64_t done, int64_t total);
  void* progress_context;
  /* With SIDBEAM_KIND_HASH: the seed of the hash set, which is kept in the file. Set one where strangers choose the
   * SIDs, and keep it and the file to yourself. 0: the first seed of a public list that places every SID near where its
   * key begins, the same for the same catalogue. The build fails on SIDs chosen to crowd the set under all of these. */
  int64_t hash_seed;
  /* 0: a file is not replaced if its owner, mode, access list (ACL) or an extended attribute could not be kept;
   * 1: it is replaced all the same, and the attributes that are left grant nobody more than the old file did. */
  int32_t allow_attribute_loss;
  int32_t unused; /* padding of the first version; never read */
  /* 1: the file keeps the priorities, by item row (sidbeam_index_item_priority), so that the same index can be made of
   * it again; 0: it keeps the order alone. They take nothing where all are equal, and otherwise 2, 4 or 8 bytes an item
   * row, as few as their range allows. */
  int32_t keep_priorities;
} sidbeam_builder_config;
#define SIDBEAM_BUILDER_CONFIG_INIT                                                                                   \
  {                                                                                                                   \
    (uint32_t)sizeof(sidbeam_builder_config), 0, NULL, 0, SIDBEAM_ID_I64, SIDBEAM_KIND_TRIE, SIDBEAM_COLLISIONS_KEEP, \
        0, 0, NULL, NULL, NULL, 0, 0, 0, 0                                                                            \
  }

/* Sizes of an index that has not been built; sidbeam_plan_get_section() gives its sections. */
typedef struct sidbeam_plan_info {
  uint32_t struct_size;  /* sizeof(sidbeam_plan_info), set by the caller */
  int32_t exact;         /* 1: counted; 0: expected for SIDs drawn uniformly (real SIDs share prefixes and need less) */
  int32_t levels;        /* L */
  int64_t sids, items;   /* distinct SIDs; (SID, item) pairs */
  int64_t file_bytes;    /* the whole file */
  int64_t peak_bytes;    /* most memory that the build takes, the file's contents included */
  int64_t section_count; /* of the file */
  const int64_t* nodes;  /* [levels] distinct prefixes of l+1 codes; valid until the plan goes */
} sidbeam_plan_info;
#define SIDBEAM_PLAN_INFO_INIT \
  { (uint32_t)sizeof(sidbeam_plan_info), 0, 0, 0, 0, 0, 0, 0, NULL }

/* Values of one attribute for the rows of an add; sidbeam_builder_set_attribute(). Of the arrays of values those are
 * read that its type needs. Nothing is read of a row that is null. */
typedef struct sidbeam_attribute_column {
  uint32_t struct_size; /* sizeof(sidbeam_attribute_column) */
  const char* name;     /* of the attribute */
  /* Which rows have a value, at most one of them; both NULL: all. */
  const uint8_t* valid;      /* [count] bytes, 0: null */
  const uint8_t* valid_bits; /* [ceil(count / 8)] bits, 0: null, the lowest first (Arrow's order) */
  const int64_t* integers;   /* [count] of I64 */
  const float* numbers;      /* [count] of F32; NaN is refused; -0 becomes 0 */
  const uint8_t* bools;      /* [count] of BOOL; 0: false */
  /* STRING and STRING_LIST: string i is text[offsets[i] .. offsets[i+1]), of valid UTF-8; offsets rises. The value of
   * row i is string i; with `lists`, which STRING_LIST needs, it is strings lists[i] .. lists[i+1], of which the first
   * of equal ones stays. With codes, [count] or [lists[count]], the strings are a dictionary instead, of string_count
   * entries: value i is string codes[i]. */
  const char* text;
  const int64_t* offsets; /* [strings + 1] */
  const int64_t* lists;   /* [count + 1], rising from 0 or more */
  const int64_t* codes;
  int64_t string_count; /* with codes; otherwise not read */
} sidbeam_attribute_column;
#define SIDBEAM_ATTRIBUTE_COLUMN_INIT \
  { (uint32_t)sizeof(sidbeam_attribute_column), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0 }

/* Makes an empty builder, for one thread at a time. It holds a reference to the runtime.
 * Errors: INVALID_ARGUMENT (levels, codes, kinds ... with the value and what was expected), OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_builder_create(
    sidbeam_runtime* runtime, const sidbeam_builder_config* config, sidbeam_builder** out, sidbeam_error* err);
/* Adds `count` pairs and copies what it needs. codes [count, levels], row-major. lengths [count], or NULL for full
 * length; entries past a length are not read. ids [count], or NULL: the id is then the pair's number, counted over all
 * calls, and either all calls give ids or none does. priorities [count], or NULL for 0.
 * Errors: INVALID_ARGUMENT with row, level and value (a code out of range; a length of 0, above levels, or below it
 * where lengths are fixed; ids here and none before), BAD_STATE after plan, write or finish, OUT_OF_MEMORY. On an error
 * nothing of this call has been added. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_builder_add(sidbeam_builder* builder, const int32_t* codes,
    const int32_t* lengths, int64_t count, const int64_t* ids, const int64_t* priorities, sidbeam_error* err);
/* The same for string ids: name i is id_bytes[id_offsets[i] .. id_offsets[i+1]); id_offsets [count + 1] rises. Only
 * with id_type STRING. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_builder_add_named(sidbeam_builder* builder, const int32_t* codes,
    const int32_t* lengths, int64_t count, const char* id_bytes, const int64_t* id_offsets, const int64_t* priorities,
    sidbeam_error* err);
/* Declares an attribute of the items, SIDBEAM_ATTRIBUTE_*, before the first add; in any order, up to 256. A name has 1
 * to 128 bytes of UTF-8 without control characters. One that is declared already, of the same type, stays as it is.
 * Errors: INVALID_ARGUMENT (name, type, a name of another type), BAD_STATE after an add. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_builder_declare_attribute(
    sidbeam_builder* builder, const char* name, int32_t type, sidbeam_error* err);
/* Gives the rows of the last add (of any kind), which were `count`, the values of an attribute, and copies them. Rows
 * that are given none are null. Attributes belong to the pair: where identical (SID, item) pairs merge, null gives way
 * to a value, and two values that differ make plan, write and finish fail with INVALID_ARGUMENT, naming attribute, item
 * and rows; an item under several SIDs may have another value under each.
 * Errors: INVALID_ARGUMENT with attribute, row and what was expected (a name that was not declared, another count, a
 * row that has a value already, NaN, text that is not UTF-8, offsets and codes out of range), BAD_STATE after plan,
 * write or finish, OUT_OF_MEMORY. On an error the rows have no value of this attribute. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_builder_set_attribute(
    sidbeam_builder* builder, const sidbeam_attribute_column* column, int64_t count, sidbeam_error* err);
/* Keeps a key and a value (UTF-8, NUL-terminated, copied) in the file; a key given again replaces. Metadata is sorted
 * by key. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_builder_set_metadata(
    sidbeam_builder* builder, const char* key, const char* value, sidbeam_error* err);
/* Sorts what was added, so that write and finish need not, and gives exact sizes. *out is to be given back with
 * sidbeam_plan_destroy(). Errors: those of write, except the file's. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_builder_plan(
    sidbeam_builder* builder, sidbeam_plan** out, sidbeam_error* err);
/* Expected sizes for `sids` distinct SIDs drawn uniformly, one item each, without building anything. With variable
 * length, all count as of full length; priorities that are kept, as of 8 bytes. peak_bytes assumes that ids come with
 * the pairs and that prefixes spread evenly; it leaves out attributes and the bytes of string ids. Errors:
 * INVALID_ARGUMENT (config, or more SIDs than the codes allow). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_plan_estimate(
    const sidbeam_builder_config* config, int64_t sids, sidbeam_plan** out, sidbeam_error* err);
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_plan_get_info(
    const sidbeam_plan* plan, sidbeam_plan_info* out, sidbeam_error* err);
/* Section i, 0 <= i < info.section_count, in the order of the file; its checksum is 0. Offsets of an estimate are
 * estimates. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_plan_get_section(
    const sidbeam_plan* plan, int64_t i, sidbeam_section_info* out, sidbeam_error* err);
SIDBEAM_API void sidbeam_plan_destroy(sidbeam_plan* plan);
/* Writes the index beside `path`, syncs it, renames it to `path` and syncs the folder: a reader sees the old file or
 * the whole new one. On an error or a cancellation the old file is as it was and nothing else is left, unless it was
 * the folder that could not be synced: then the new file is in its place, and the message says so. A process that is
 * killed as it renames leaves a file .sidbeam-*.tmp, which the next write into that folder removes; on network file
 * systems it does so once the file is a day old. A full disk or quota is an error of this call, never a signal.
 * A symbolic link is followed, even to a file that does not exist yet; only regular files are replaced. Owner, mode,
 * access list and extended attributes of the old file are kept, or the call fails before it sorts (see
 * allow_attribute_loss). Attributes that describe the contents (security.capability, .ima, .evm) are not carried over.
 * Other hard links to the old file keep the old contents. May be called again, for another path.
 * Errors: INVALID_ARGUMENT (nothing added, or SIDs that crowd the hash set), COLLISION, CANCELLED, IO_ERROR (with path
 * and reason), OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_builder_write(
    sidbeam_builder* builder, const char* path, sidbeam_error* err);
/* The same index in memory; *out gets one reference. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_builder_finish(
    sidbeam_builder* builder, sidbeam_index** out, sidbeam_error* err);
SIDBEAM_API void sidbeam_builder_destroy(sidbeam_builder* builder);

#ifdef __cplusplus
}
#endif
#endif
