/* sidbeam: statuses, errors, constants and the words of every header. Start with sidbeam.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_BASE_H
#define SIDBEAM_BASE_H

#include <stddef.h>
#include <stdint.h>

/* Version of the package that these headers came with; sidbeam_version() is that of the library. */
#define SIDBEAM_VERSION_MAJOR 0
#define SIDBEAM_VERSION_MINOR 1
#define SIDBEAM_VERSION_PATCH 0
/* Version of the functions and structs below, and the SOVERSION of the library. It stays the same when functions or
 * trailing struct fields are added. */
#define SIDBEAM_ABI_VERSION 1u

#ifndef SIDBEAM_API
#if defined(SWIG)
#define SIDBEAM_API
#elif defined(__GNUC__)
#define SIDBEAM_API __attribute__((visibility("default")))
#else
#define SIDBEAM_API
#endif
#endif

#ifndef SIDBEAM_NODISCARD
#if defined(__GNUC__) && !defined(SWIG)
#define SIDBEAM_NODISCARD __attribute__((warn_unused_result))
#else
#define SIDBEAM_NODISCARD
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Words. Every header, message and binding uses each of them for one thing.
 *   code        one element of a SID: at level l an integer in [0, V_l)
 *   SID         the codes of an item, one per level, or fewer where lengths vary; the end of such a SID is written V_l
 *   prefix      the first codes of a SID, possibly none
 *   node        a prefix that some SID of the index has
 *   ordinal     position of a SID among the sorted, distinct SIDs of an index
 *   item row    position in an index's list of items, which is ordered by ordinal, then priority, then id
 *   beam        one of the M hypotheses of a request: a prefix and its score
 *   slot        place of one request in a session; it has M beams
 *   logits row  the model's output for one beam: `columns` elements, among them those of a level's codes
 *   filter      a set of item rows of an index
 *   constraint  what a beam must stay inside: the SIDs of an index, or of those of its items that rules allow
 * Levels, codes, slots, beams and their numbers are int32_t; ordinals, item rows, array lengths and bytes int64_t. */

enum {
  SIDBEAM_MAX_LEVELS = 255,    /* codes of the longest SID */
  SIDBEAM_MAX_CODES = 1 << 24, /* V_l; the end counts as one where lengths vary */
  SIDBEAM_MAX_BEAMS = 4096     /* M */
};

/* Element type of logits. */
enum { SIDBEAM_DTYPE_F32 = 0, SIDBEAM_DTYPE_F16 = 1, SIDBEAM_DTYPE_BF16 = 2 };

/* Where memory is and work is done. The CPU has the device number 0 only. */
enum { SIDBEAM_DEVICE_CPU = 0, SIDBEAM_DEVICE_CUDA = 1 };

/* A stride of 0 means dense, so that a zeroed struct is right. This one means that all entries are the same one. */
#define SIDBEAM_BROADCAST INT64_MIN

/* What an index can hold, or'ed together. Each kind serves the session strategies named. */
enum {
  SIDBEAM_KIND_TRIE = 1,   /* stacked CSR with dense masks where children are many: trie, and the stateless forms */
  SIDBEAM_KIND_SORTED = 2, /* the SIDs in order, by columns: sorted, sorted_topk */
  SIDBEAM_KIND_HASH = 4,   /* a hash set of whole SIDs, and the columns it is checked against: hash_final */
  /* The trie in its compact form, for the same strategies, states and results: from the first level on at which at most
   * 64 SIDs share a prefix it keeps the codes SID by SID, without a list per node (12 bytes per item instead of 32 at
   * 1e8 uniform SIDs of 8 codes out of 2048). Implies SIDBEAM_KIND_TRIE. Where no level after the first is like that,
   * the index is an ordinary trie and reported as one; otherwise as SIDBEAM_KIND_TRIE | SIDBEAM_KIND_COMPACT_TRIE. */
  SIDBEAM_KIND_COMPACT_TRIE = 8
};

/* Outcome of a call: 0 is success. A number that you do not know is a failure of a kind that was added later;
 * sidbeam_status_name() names it. */
typedef int32_t sidbeam_status;
enum {
  SIDBEAM_OK = 0,
  SIDBEAM_INVALID_ARGUMENT = 1,  /* an argument, a struct field or a value in a caller's array; the message names it */
  SIDBEAM_OUT_OF_MEMORY = 2,     /* the allocator returned NULL, or the build would exceed its memory limit */
  SIDBEAM_IO_ERROR = 3,          /* the operating system refused: no such file, no space, no permission */
  SIDBEAM_CORRUPT = 4,           /* the bytes of an index are damaged, or are not an index */
  SIDBEAM_UNSUPPORTED = 5,       /* made for a newer library, or a combination that is not offered */
  SIDBEAM_MISSING_SECTION = 6,   /* the index was built without what this call needs; the message names the option */
  SIDBEAM_COLLISION = 7,         /* two items share a SID and the builder was told to refuse that */
  SIDBEAM_CANCELLED = 8,         /* the progress callback asked to stop */
  SIDBEAM_BAD_STATE = 9,         /* called at the wrong time: a slot that is done, a builder that has been sorted */
  SIDBEAM_NO_DEVICE = 10,        /* the device, its driver or its plugin is missing */
  SIDBEAM_INTERNAL = 11,         /* a defect of this library */
  SIDBEAM_DEVICE_ERROR = 12,     /* the device reported an error, in this call or in work enqueued before it */
  SIDBEAM_QUEUE_FULL = 13,       /* the runner holds as many requests as it may; nothing was taken */
  SIDBEAM_DEADLINE_EXCEEDED = 14 /* the request's deadline passed before it could start */
};

/* Where a failing call writes its message. The caller owns it; only the call that it is passed to writes it, and only
 * when that call fails, so it stays right where a language moves work between threads. NULL is allowed everywhere. A
 * message is one line of UTF-8: what, what was expected, what came. In the names that it quotes, bytes that a terminal
 * would obey (control characters, marks that turn the direction of writing) and bytes that are not UTF-8 are written as
 * \xNN. */
typedef struct sidbeam_error {
  /* sizeof(sidbeam_error); one smaller than its first version, or larger than 4096, is left unwritten. */
  uint32_t struct_size;
  int32_t code;      /* the status that the call returned */
  char message[504]; /* NUL-terminated; truncated where it does not fit */
} sidbeam_error;
#define SIDBEAM_ERROR_INIT                    \
  {                                           \
    (uint32_t)sizeof(sidbeam_error), 0, { 0 } \
  }

/* Version of the library that is loaded, for instance "0.1.0"; static storage. */
SIDBEAM_API const char* sidbeam_version(void);
/* SIDBEAM_ABI_VERSION of the library that is loaded. */
SIDBEAM_API uint32_t sidbeam_abi_version(void);
/* "ok", "invalid argument", ...; "unknown status" for numbers that this library does not know; static storage. */
SIDBEAM_API const char* sidbeam_status_name(sidbeam_status code);
/* The instruction set that this library uses by default on this machine: "baseline", "avx2", "avx512" or "neon"; static
 * storage. */
SIDBEAM_API const char* sidbeam_cpu_target(void);

/* Handles. Each is opaque:
 *   runtime             immutable: share freely, release from any thread.
 *   index, filter, constraint    immutable, reference-counted: share freely, retain and release from any thread.
 *   constraint_set      immutable: many threads may use it, one destroys it.
 *   plan                immutable: many threads may read it, one destroys it.
 *   catalog             many threads may use it; its own header says which calls wait for others. One closes it.
 *   builder, session, disc, speculation    one thread at a time, any thread.
 * Releasing or destroying NULL does nothing. */
typedef struct sidbeam_runtime sidbeam_runtime;
typedef struct sidbeam_builder sidbeam_builder;
typedef struct sidbeam_plan sidbeam_plan;
typedef struct sidbeam_index sidbeam_index;
typedef struct sidbeam_catalog sidbeam_catalog;
typedef struct sidbeam_filter sidbeam_filter;
typedef struct sidbeam_constraint sidbeam_constraint;
typedef struct sidbeam_constraint_set sidbeam_constraint_set;
typedef struct sidbeam_session sidbeam_session;
typedef struct sidbeam_disc sidbeam_disc;
typedef struct sidbeam_speculation sidbeam_speculation;

#ifdef __cplusplus
}
#endif
#endif
