/* sidbeam: the decoder session: slots x beams, one level a step.
 *
 *   create -> start slots -> [ the model's logits -> step -> parents, tokens, scores ] a level -> items
 *          -> stop or start
 *
 * A slot is a request. Each has its own level, so that requests join and leave a running batch. Creation takes all
 * memory: a step never allocates, never copies logits, and reads only rows of beams that are alive and not ended. A
 * session is used by one thread at a time.
 *
 * Candidates of a slot are all (m, t): m a live beam, t a code that may follow it. A step keeps the best min(width,
 * candidates), in the order score falling, parent rising, token rising; the order is exact on the f32 scores that are
 * returned, and the same inputs give the same bits whatever the batch, the thread or the instruction set. Slots left
 * over are dead: parent -1, token -1, score -inf, state -1.
 *
 *   -inf     A code whose element is -inf is no candidate; a row that is -inf throughout has none, and that is no
 *            error. A score below the range of f32 is -inf too.
 *   bad row  NaN or +inf among the elements that the normalisation reads, a caller's lse that is NaN or +inf, or a
 *            score above the range of f32. Its beam gives no candidate. A slot is in error exactly when some bad row's
 *            beam scored at least as well as the last kept beam, or fewer than `width` beams are kept. The flag stays
 *            until the slot is started again; the search goes on, and other slots never notice.
 *   the end  In an index of variable length the end is a candidate, with the element of vocabulary.end_column, reported
 *            as token codes[level]. An ended beam needs no row: it is its own only candidate at unchanged score (parent
 *            itself, token -1). It is live, but not active. A SID of full length has no end.
 *
 * On CUDA (session_config.device_type) all of this holds, and
 *   - Work is enqueued on the caller's stream and nothing waits for it. Calls of one session must be ordered: on one
 *     stream, or by events between streams. Creation, get_stats and destroy alone wait for the device.
 *   - Logits and the arrays of sidbeam_step_args are in the device's memory; lists of start, stop and get_items in the
 *     host's, read before the call returns; buffers of get_items in the device's.
 *   - Step, fetch and get_items may be captured in a CUDA graph. What a graph has fixed is the shape of the rows, the
 *     scalars and the addresses; what slots are at is read on the device, so that one graph serves slots at any level,
 *     width, prefix and index, before and after starts and stops, which are not captured. Other threads' captures are
 *     left alone, but by get_stats and destroy: CUDA waits for no device of which a stream is being captured.
 *   - What the host cannot see it cannot refuse: a step passes over slots of its list that are idle, done or -1, and a
 *     beam without a row, or rows too narrow for the slot's level, put the slot in error (SIDBEAM_SLOT_BAD_MAP).
 *     Naming a slot twice in a step's list leaves it in any state, and others unharmed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_SESSION_H
#define SIDBEAM_SESSION_H

#include "rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One opaque word of a beam's place in its constraint; -1 is dead, 0 the beginning. States mean something only with the
 * constraint that made them; any other value is safe and dead. Arrays of states are [.., W] with W =
 * sidbeam_beams.state_words, today 1. */
typedef int64_t sidbeam_state;

enum {
  /* Exact, and the fastest. Needs SIDBEAM_KIND_TRIE. (STATIC, with an exact top M.) */
  SIDBEAM_STRATEGY_TRIE = 0,
  /* Exact, by binary search in the sorted columns (DISC-PPV, exact form). Needs SIDBEAM_KIND_SORTED. */
  SIDBEAM_STRATEGY_SORTED = 1,
  /* Approximate: only the top_k best codes of a beam are looked up (PPV). With NORMALIZE_VALID, over those of them that
   * are valid. Needs SIDBEAM_KIND_SORTED. */
  SIDBEAM_STRATEGY_SORTED_TOPK = 2,
  /* Unconstrained until the last level; there each beam's top_k best codes are looked up (NEZHA, Algorithm 3), so fewer
   * may live. Fixed length only. Needs SIDBEAM_KIND_HASH. */
  SIDBEAM_STRATEGY_HASH_FINAL = 3,
  /* Unconstrained, the baseline: SIDs that do not exist have ordinal -1. Fixed length only. */
  SIDBEAM_STRATEGY_NONE = 4
};

enum {
  SIDBEAM_SLOT_OK = 0,
  SIDBEAM_SLOT_BAD_ROW = 1, /* see "bad row" above */
  SIDBEAM_SLOT_BAD_MAP =
      2 /* on CUDA: a beam that had to be fed had no row, or too narrow a one; it gave no candidate */
};

typedef struct sidbeam_session_config {
  uint32_t struct_size; /* sizeof(sidbeam_session_config) */
  /* S: requests at a time, 1 .. 2^20. */
  int32_t slots;
  /* M: beams of a request, 1 .. SIDBEAM_MAX_BEAMS; may be more than there are codes, candidates or SIDs. */
  int32_t beams;
  int32_t strategy;      /* SIDBEAM_STRATEGY_* */
  int32_t normalization; /* SIDBEAM_NORMALIZE_*; VALID is refused for HASH_FINAL and NONE */
  /* Codes that SORTED_TOPK and HASH_FINAL look up a beam; 0: M. */
  int32_t top_k;
  /* Of slots that name none; the session holds it. Its levels, L, are the session's. */
  sidbeam_constraint* constraint;
  /* Copied. NULL: code t is column t at every level. */
  const sidbeam_vocabulary* vocabulary;
  /* SIDBEAM_CPU, 0; or SIDBEAM_CUDA and a device's number. What the strategy needs of the index is uploaded where it is
   * not there yet (sidbeam_index_upload). */
  int32_t device_type, device_id;
  /* 1: the caller promises that NORMALIZE_NONE rows, or element - lse, never exceed 0, so that rows which cannot matter
   * are skipped. A broken promise costs exactness, nothing else. */
  int32_t log_probs_promised;
} sidbeam_session_config;
#define SIDBEAM_SESSION_CONFIG_INIT                                                                               \
  {                                                                                                               \
    (uint32_t)sizeof(sidbeam_session_config), 1, 1, SIDBEAM_STRATEGY_TRIE, SIDBEAM_NORMALIZE_FULL, 0, NULL, NULL, \
        SIDBEAM_CPU, 0, 0                                                                                         \
  }

typedef struct sidbeam_start_args {
  uint32_t struct_size; /* sizeof(sidbeam_start_args) */
  /* [count] different slots, 0 .. S-1; running ones are restarted. NULL: 0 .. count-1. */
  const int32_t* slots;
  int64_t count;
  /* [count], each of at most the session's levels; an entry, or all of it, may be NULL: the session's. On CUDA their
   * indexes have been uploaded. */
  sidbeam_constraint* const* constraints;
  /* [count] 1 .. M, or 0 for M; NULL: M. */
  const int32_t* widths;
  /* [count, prefix_stride] codes that are already decided; NULL: none. A prefix that no SID has leaves no live beam
   * (but with strategy NONE, to which it is as good as any). */
  const int32_t* prefixes;
  const int32_t* prefix_lengths; /* [count] 0 .. levels of the constraint */
  int64_t prefix_stride;         /* elements */
  void* stream;                  /* CUDA stream; not read on the CPU */
} sidbeam_start_args;
#define SIDBEAM_START_ARGS_INIT \
  { (uint32_t)sizeof(sidbeam_start_args), NULL, 0, NULL, NULL, NULL, NULL, 0, NULL }

typedef struct sidbeam_step_args {
  uint32_t struct_size; /* sizeof(sidbeam_step_args) */
  /* [count] different slots that are started and not done. NULL, with count 0: slot i of the rows is slot i of the
   * session, for all S, and slots that are idle or done are passed over. */
  const int32_t* slots;
  int64_t count;
  /* Logits; rows.slots is count (S where slots is NULL), or 0 with a row map. */
  const sidbeam_rows* rows;
  /* [count, M] row of each beam, -1 for beams that are not fed; only with rows.slots = 0. */
  const int32_t* row_map;
  /* Log-sum-exp of every row, of x: [rows.slots, rows.rows] or [rows.rows]; NULL: computed. With it only children are
   * read, and with -inf, a row without candidates, nothing. Not with NORMALIZE_NONE. */
  const float* lse;
  /* x = inverse_temperature * softcap(element); finite, above 0; 0 means 1. */
  float inverse_temperature;
  /* softcap(v) = soft_cap * tanh(v / soft_cap), but -inf stays -inf; finite, above 0; 0: none. */
  float soft_cap;
  void* stream; /* CUDA stream; not read on the CPU */
} sidbeam_step_args;
#define SIDBEAM_STEP_ARGS_INIT \
  { (uint32_t)sizeof(sidbeam_step_args), NULL, 0, NULL, NULL, NULL, 1.0f, 0.0f, NULL }

/* Views of the session's arrays, at fixed addresses as long as it lives; contents change with start, step and stop. On
 * CUDA get_beams gives addresses of the device, fetch of pinned memory of the host. */
typedef struct sidbeam_beams {
  uint32_t struct_size;                      /* sizeof(sidbeam_beams), set by the caller */
  int32_t slots, beams, levels, state_words; /* S, M, L, W */
  /* [S, M] beam of the level before that this one continues; -1 dead. Reorder the KV cache by it. */
  const int32_t* parents;
  /* [S, M] code that was chosen: feed it to the model; codes[level] is the end; -1 dead, or ended before. */
  const int32_t* tokens;
  /* [S, M] cumulative log-probability, falling; -inf dead. */
  const float* scores;
  const sidbeam_state* states; /* [S, M, W] */
  const int32_t* live;         /* [S] beams that are not dead; they come first */
  const int32_t* active;       /* [S] live beams that the model must be fed for; 0: the slot is done */
  const int32_t* level;        /* [S] codes decided so far; -1 idle */
  const int32_t* errors;       /* [S] SIDBEAM_SLOT_* */
} sidbeam_beams;
#define SIDBEAM_BEAMS_INIT \
  { (uint32_t)sizeof(sidbeam_beams), 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

/* The caller's buffers for what the beams stand for. Any pointer may be NULL. `count` is the number of slots asked for,
 * M and L the session's. A beam has an ordinal once its SID is complete (all levels, or ended) and in the index.
 * Without rows, offsets and truncated tell what they would be. */
typedef struct sidbeam_items {
  uint32_t struct_size;  /* sizeof(sidbeam_items) */
  int32_t limit_per_sid; /* most item rows of one SID; 0: all */
  int64_t limit;         /* capacity of rows a slot */
  int64_t* ordinals;     /* [count, M]; -1 none */
  int32_t* sids;         /* [count, M, L] codes so far, -1 beyond the length */
  int32_t* lengths;      /* [count, M] codes so far; 0 dead */
  int64_t* rows;         /* [count, limit] item rows by beam, then priority */
  int64_t* offsets;      /* [count, M + 1] beam m has rows[offsets[m] .. offsets[m+1]) of its slot; needed with rows */
  int32_t* truncated;    /* [count] 1 where a limit left item rows out */
  void* stream;          /* CUDA stream; not read on the CPU */
} sidbeam_items;
#define SIDBEAM_ITEMS_INIT \
  { (uint32_t)sizeof(sidbeam_items), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

/* Counted since creation; on CUDA on the device, graphs included. What can be skipped depends on the number of threads
 * and their pace: rows read, skipped and bad, candidates, shrinks and splits are outside the promise of same bits. On
 * CUDA no row is skipped, children are not found by masks and slots are not divided (rows_skipped, dense_rows and
 * split_slots stay 0), and a row without candidates is of no kind. */
typedef struct sidbeam_stats {
  uint32_t struct_size; /* sizeof(sidbeam_stats), set by the caller */
  int32_t reserved;
  int64_t steps;      /* calls of step */
  int64_t slot_steps; /* slots stepped */
  int64_t rows_read, rows_skipped, rows_bad;
  int64_t candidates; /* codes considered */
  int64_t dead_beams; /* beams that a step could not fill */
  int64_t shrinks;    /* times that the selection's workspace was cut back */
  int64_t list_rows, dense_rows, unconstrained_rows, probed_rows; /* rows by how their children were found */
  int64_t memory_bytes;                                           /* memory that the session holds */
  int64_t single_rows; /* rows of beams with one child, scored by themselves; not among list_rows */
  int64_t split_slots; /* slots whose rows were divided among threads */
} sidbeam_stats;
#define SIDBEAM_STATS_INIT \
  { (uint32_t)sizeof(sidbeam_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Makes a session and all its memory. It holds the runtime and the constraint.
 * Errors: INVALID_ARGUMENT, MISSING_SECTION (the strategy needs a kind that the index was built without), UNSUPPORTED
 * (a strategy of fixed length on an index of variable length), NO_DEVICE, OUT_OF_MEMORY, and those of
 * sidbeam_index_upload(). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_session_create(
    sidbeam_runtime* runtime, const sidbeam_session_config* config, sidbeam_session** out, sidbeam_error* err);
/* Starts slots at their prefix: one live beam of score 0, parent and token -1, or none. May take memory where a
 * constraint is wider than those before.
 * Errors: INVALID_ARGUMENT (slot out of range or repeated, width, prefix code out of range),
 * MISSING_SECTION, UNSUPPORTED, OUT_OF_MEMORY; on CUDA BAD_STATE (an index that is not on the device, a stream that is
 * being captured) and DEVICE_ERROR; then no slot has changed. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_session_start(
    sidbeam_session* session, const sidbeam_start_args* args, sidbeam_error* err);
/* Advances slots by one level.
 * Errors: INVALID_ARGUMENT (slots, rows, row map, lse, temperature: the message says which, what was expected and what
 * came), BAD_STATE (a slot that is idle or done, a list of none, or, where slots is NULL, none that is left to step),
 * NO_DEVICE (rows on a device that the session is not on), on CUDA DEVICE_ERROR; then no slot has changed. On CUDA,
 * memory of the host or of another device is INVALID_ARGUMENT too. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_session_step(
    sidbeam_session* session, const sidbeam_step_args* args, sidbeam_error* err);
/* Errors of this and of the calls below: INVALID_ARGUMENT (NULL, a slot out of range, one named twice where they
 * change). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_session_get_beams(
    const sidbeam_session* session, sidbeam_beams* out, sidbeam_error* err);
/* On CUDA enqueues copies of the beams to pinned memory of the session, and gives its addresses, always the same: to be
 * read when the stream has got there. On the CPU the same as get_beams. Errors: DEVICE_ERROR. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_session_fetch(
    sidbeam_session* session, sidbeam_beams* out, void* stream, sidbeam_error* err);
/* Fills the caller's buffers for `count` slots (slots NULL: 0 .. count-1), at any level. An idle slot has only dead
 * beams. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_session_get_items(
    const sidbeam_session* session, const int32_t* slots, int64_t count, sidbeam_items* out, sidbeam_error* err);
/* Makes slots idle and lets go of their constraints (slots NULL: 0 .. count-1). Stopping an idle slot does nothing. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_session_stop(
    sidbeam_session* session, const int32_t* slots, int64_t count, void* stream, sidbeam_error* err);
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_session_get_stats(
    const sidbeam_session* session, sidbeam_stats* out, sidbeam_error* err);
/* On CUDA it waits for the device first, work still enqueued and replays of graphs included; graphs that hold a step of
 * it must not be replayed any more. */
SIDBEAM_API void sidbeam_session_destroy(sidbeam_session* session);

#ifdef __cplusplus
}
#endif
#endif
