/* sidbeam: the decoder session: slots x beams, one level per step.
 *
 *   create -> start slots -> [ the model's logits -> step -> parents, codes, scores ] per level -> items
 *          -> stop or start
 *
 * A slot holds a request. Each has its own level, so that requests join and leave a running batch. Creation takes all
 * memory: a step never allocates, never copies logits, and reads only the logits rows of beams that are alive and not
 * ended. One thread uses a session at a time.
 *
 * Candidates of a slot are all (m, t): m a live beam, t a code that may follow it. A step keeps the best min(width,
 * candidates), in the order score falling, parent rising, code rising; the width is the slot's or, where it has one per
 * level, the level's. The order is exact on the f32 scores that are returned, and the same inputs give the same bits
 * whatever the batch, the thread or the instruction set. Beams left over are dead: parent -1, code -1, score -inf,
 * state -1.
 *
 *   -inf     A code whose element is -inf is no candidate. A logits row that is -inf throughout gives no candidate,
 *            which is no error. A score below the range of f32 is -inf too.
 *   bad row  A logits row is bad if an element that the normalization reads is NaN or +inf, if the caller's lse for it
 *            is NaN or +inf, or if a score exceeds the range of f32. Its beam gives no candidate. A slot is in error
 *            exactly when the beam of some bad row scored at least as well as the last kept beam, or fewer than `width`
 *            beams are kept. The flags stay until the slot is started again; the search goes on, and other slots never
 *            notice.
 *   the end  In an index of variable length the end is a candidate, with the element of vocabulary.end_column, reported
 *            as code V_l. An ended beam needs no logits row: it is its own only candidate at unchanged score (parent
 *            itself, code -1). It is live, but not active. A SID of full length has no end.
 *
 * Lists of slots: NULL means all S slots in order, with a count of 0 or S.
 *
 * This is mode SEARCH. In the modes that sample (sampling.h) beams are draws that stay in their rows, in no order and
 * with dead ones between them (SAMPLE), or are ordered and chosen by perturbed scores (STOCHASTIC).
 *
 * On CUDA (session_config.device_type) all of this holds, and
 *   - Work is enqueued on the caller's stream and nothing waits for it. Calls of one session must be ordered: on one
 *     stream, or by events between streams. Creation, get_stats and get_counters wait for the session's own work, and
 *     so does destroy if the session was ever fetched; otherwise its memory is freed after that work. Nothing waits for
 *     the whole device.
 *   - Logits and the arrays of sidbeam_step_args are in the device's memory; lists of start, stop and get_items in the
 *     host's, read before the call returns; buffers of get_items in the device's.
 *   - Step, children, fetch and get_items may be captured in a CUDA graph. A graph fixes the shape of the logits, the
 *     scalars and the addresses. What slots hold is read on the device, so that one graph serves slots at any level,
 *     width, temperature, prefix, index and rules, before and after starts and stops, which are not captured.
 *   - The bits of a filter are uploaded once, by the creation of a session or set whose constraint has it, or the first
 *     start that does, which then waits for the copy. They go with the filter, after the work that reads them. So is
 *     what a version of a live catalogue has beside its base (sidbeam_index_upload() of the version: ahead), with which
 *     a graph goes on as with any index; after a compaction the new base is uploaded first. Lists of
 *     constraints are copied by each start (session_config.max_listed), from pinned memory: it waits only for the copy
 *     of the start of a slot S starts before.
 *   - Nobody can see launches of a graph. get_stats, get_counters and destroy wait for those that a later call of the
 *     session was ordered after (a stop on the same stream, say); others must have ended before.
 *   - Captures of other streams go on whatever is called, in any thread and mode. During one of a stream that is not
 *     non-blocking CUDA forbids the default stream, and calls on it fail with BAD_STATE.
 *   - The host cannot refuse what it cannot see. A step passes over slots of its list that are idle, done or -1. A beam
 *     without a logits row, or logits too narrow for the slot's level or too wide to be truncated (sampling.h), put the
 *     slot in error (SIDBEAM_SLOT_BAD_MAP). A slot that a step's list names twice is left in any state, and others
 *     unharmed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_SESSION_H
#define SIDBEAM_SESSION_H

#include "constraint.h"
#include "rows.h"
#include "sampling.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  /* Exact, and the fastest. Needs SIDBEAM_KIND_TRIE. (STATIC, with an exact top M.) */
  SIDBEAM_STRATEGY_TRIE = 0,
  /* Exact, by binary search in the sorted columns (DISC-PPV, exact form). Needs SIDBEAM_KIND_SORTED. */
  SIDBEAM_STRATEGY_SORTED = 1,
  /* Approximate: only the top_k best codes of a beam are looked up (PPV). NORMALIZE_VALID then covers those of them
   * that are valid. Needs SIDBEAM_KIND_SORTED. */
  SIDBEAM_STRATEGY_SORTED_TOPK = 2,
  /* Unconstrained until the last level; there each beam's top_k best codes are looked up (NEZHA, Algorithm 3), so fewer
   * may live. Fixed length only. Needs SIDBEAM_KIND_HASH. */
  SIDBEAM_STRATEGY_HASH_FINAL = 3,
  /* Unconstrained, the baseline: SIDs that do not exist have ordinal -1. Fixed length only. */
  SIDBEAM_STRATEGY_NONE = 4
};

/* What is wrong with a slot, or'ed together; 0 is nothing. */
enum {
  SIDBEAM_SLOT_BAD_ROW = 1, /* "bad row" above: an element or a score */
  SIDBEAM_SLOT_BAD_LSE = 2, /* "bad row" above: a caller's lse that is NaN or +inf */
  /* On CUDA: a beam that had to be fed had no logits row, or one that is too narrow, or too wide to be truncated; it
   * gave no candidate. */
  SIDBEAM_SLOT_BAD_MAP = 4
};

typedef struct sidbeam_session_config {
  uint32_t struct_size; /* sizeof(sidbeam_session_config) */
  /* S: requests at a time, 1 .. 2^20; 0: 1. */
  int32_t slots;
  /* M: beams of a request, 1 .. SIDBEAM_MAX_BEAMS; may be more than there are codes, candidates or SIDs. At a level
   * after the first, M times the codes (the end counted), both rounded up to powers of two, is at most 2^32: 4096 beams
   * up to 2^20 codes, 256 up to 2^24. */
  int32_t beams;
  int32_t strategy;      /* SIDBEAM_STRATEGY_* */
  int32_t normalization; /* SIDBEAM_NORMALIZE_*; VALID is refused for HASH_FINAL and NONE */
  /* Codes per beam that SORTED_TOPK and HASH_FINAL look up; 0: M. */
  int32_t top_k;
  /* The constraint of slots that name none; the session holds it. Its levels, L, are the session's. */
  sidbeam_constraint* constraint;
  /* Copied. NULL: code t is column t at every level. */
  const sidbeam_vocabulary* vocabulary;
  /* SIDBEAM_DEVICE_CPU and 0, or SIDBEAM_DEVICE_CUDA and a device's number. Sections that the strategy needs are
   * uploaded if they are not on the device yet (sidbeam_index_upload). */
  int32_t device_type, device_id;
  /* 1: the caller promises that NORMALIZE_NONE rows, or element - lse, never exceed 0; logits rows that cannot matter
   * are then skipped. A broken promise costs exactness, nothing else. */
  int32_t log_probs_promised;
  int32_t unused; /* padding of the first version; never read */
  /* SIDBEAM_MODE_*: what the beams are (sampling.h). SAMPLE: with strategy TRIE, SORTED or NONE, or with SORTED_TOPK if
   * the top-k of every start is 1 .. top_k. STOCHASTIC: with TRIE or SORTED. */
  int32_t mode;
  /* On CUDA: the most item rows that a constraint of a slot may list, those it excludes or, with an allow list, those
   * it leaves; 1 .. 2^24, or 0: 4096. Each of them takes 48 * (L + 1) bytes per slot there and half
   * as much pinned memory: at creation where this is given or `constraint` has rules, otherwise by the first start
   * under rules; stats.memory_bytes tells. On the CPU, which reads lists in place, it is checked and otherwise ignored.
   */
  int64_t max_listed;
} sidbeam_session_config;
#define SIDBEAM_SESSION_CONFIG_INIT                                                                               \
  {                                                                                                               \
    (uint32_t)sizeof(sidbeam_session_config), 1, 1, SIDBEAM_STRATEGY_TRIE, SIDBEAM_NORMALIZE_FULL, 0, NULL, NULL, \
        SIDBEAM_DEVICE_CPU, 0, 0, 0, SIDBEAM_MODE_SEARCH, 0                                                       \
  }

typedef struct sidbeam_start_args {
  uint32_t struct_size; /* sizeof(sidbeam_start_args) */
  /* [count] different slots, 0 .. S-1; running ones are restarted. NULL: all S, with count 0 or S. */
  const int32_t* slots;
  int64_t count;
  /* [count], each of at most the session's levels, and of the codebook of the session's constraint, where both name
   * one. NULL, or an entry that is NULL: the session's. On CUDA their indexes must have been uploaded. */
  sidbeam_constraint* const* constraints;
  /* Most beams that a step keeps: [count], or [count, width_levels] if that is given, 1 .. M, or 0 for M; NULL: M. */
  const int32_t* widths;
  /* [count, prefix_stride] codes that are already decided; NULL: none. A prefix that no SID has leaves no live beam
   * (except with strategy NONE, which takes any). */
  const int32_t* prefixes;
  const int32_t* prefix_lengths; /* [count] 0 .. levels of the constraint */
  int64_t prefix_stride;         /* elements, at least 0; 0: L; SIDBEAM_BROADCAST: one prefix for all slots */
  /* [count] temperature and soft-cap of the slot's steps, unless a step brings its own: see sidbeam_step_args. NULL: 0,
   * which means 1 and none. */
  const float* inverse_temperatures;
  const float* soft_caps;
  void* stream;                     /* CUDA stream; not read on the CPU */
  const sidbeam_sampling* sampling; /* of these slots; needed in the modes that sample, NULL in mode SEARCH */
  /* W, 1 .. L: the step of level l keeps at most widths[i, min(l, W-1)] beams, so that a slot may be searched broadly
   * at one level and narrowly at another; what is said of `width` above is then said of the level's. 0: a width per
   * slot. Not above 1 in mode SAMPLE, whose draws stay in their rows; in mode STOCHASTIC widths must not rise, since a
   * draw from fewer prefixes than it has SIDs would not be the model's. */
  int32_t width_levels;
} sidbeam_start_args;
#define SIDBEAM_START_ARGS_INIT \
  { (uint32_t)sizeof(sidbeam_start_args), NULL, 0, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0 }

typedef struct sidbeam_step_args {
  uint32_t struct_size; /* sizeof(sidbeam_step_args) */
  /* [count] different slots that are started and not done. NULL, with count 0 or S: all S, except those that are idle
   * or done; if none is left, the step fails with BAD_STATE. */
  const int32_t* slots;
  int64_t count;
  /* Logits; rows.slots is the number of slots of the call, or 0 with a row map. */
  const sidbeam_rows* rows;
  /* [count, M] logits row of each beam, -1 for beams that are not fed; only with rows.slots = 0. */
  const int32_t* row_map;
  /* Log-sum-exp of every logits row, of x: [rows.slots, rows.rows] or [rows.rows]; NULL: computed. If it is given, only
   * valid codes are read. A row whose lse is -inf has no candidates and is not read. Not with NORMALIZE_NONE. */
  const float* lse;
  /* x = inverse_temperature * softcap(element), where softcap(v) = soft_cap * tanh(v / soft_cap), except that -inf
   * stays -inf. Each is finite and above 0, or 0 for the slot's (sidbeam_start_args), where 0 in turn means 1 or none.
   * A soft_cap of +inf is none, whatever the slot has. */
  float inverse_temperature;
  float soft_cap;
  /* [count] the same per slot; NULL: the scalars, which must be 0 where there is an array. On CUDA they are read on the
   * device, where a value that is not allowed puts the slot in error (SIDBEAM_SLOT_BAD_ROW). */
  const float* inverse_temperatures;
  const float* soft_caps;
  void* stream; /* CUDA stream; not read on the CPU */
  /* For hosts that compute the logits of sidbeam_session_children() alone: `rows` are one row of just those, in the
   * order of its columns, for the same slots (rows.slots 0, rows.rows 1), and these are its offsets, [count * M + 1].
   * lse is [count, M] then. A beam with another number of logits than children has a bad row (SIDBEAM_SLOT_BAD_ROW).
   * NULL: whole rows. UNSUPPORTED where that call is, and on CUDA. */
  const int64_t* child_offsets;
} sidbeam_step_args;
#define SIDBEAM_STEP_ARGS_INIT \
  { (uint32_t)sizeof(sidbeam_step_args), NULL, 0, NULL, NULL, NULL, 0.0f, 0.0f, NULL, NULL, NULL, NULL }

/* Views of the session's arrays, at fixed addresses as long as it lives; contents change with start, step and stop. On
 * CUDA get_beams gives addresses of the device, fetch of pinned memory of the host. */
typedef struct sidbeam_beams {
  uint32_t struct_size;         /* sizeof(sidbeam_beams), set by the caller */
  int32_t slots, beams, levels; /* S, M, L */
  /* [S, M] beam of the previous level that this one continues; -1 dead. Reorder the KV cache by it. */
  const int32_t* parents;
  /* [S, M] code that was chosen: feed it to the model; V_l is the end; -1 dead, or ended before. */
  const int32_t* codes;
  const float* scores;         /* [S, M] cumulative log-probability, falling in mode SEARCH; -inf dead */
  const sidbeam_state* states; /* [S, M]; -1 dead, 0 the beginning, others opaque: constraint.h */
  const int32_t* live;         /* [S] beams that are not dead; they come first, except in mode SAMPLE */
  const int32_t* active;       /* [S] live beams that the model must be fed for; 0: the slot is done */
  const int32_t* level;        /* [S] codes decided so far; -1 idle */
  const int32_t* errors;       /* [S] SIDBEAM_SLOT_* or'ed */
  /* Of the modes that sample (sampling.h), otherwise NULL; -inf dead. */
  const float* log_masses; /* [S, M] log of the valid mass, summed over the levels: log x */
  /* Of mode STOCHASTIC: beams are in the order of perturbed score falling, parent rising, code rising. */
  const float* perturbed;      /* [S, M] */
  const float* log_inclusions; /* [S, M] log q, given the threshold */
  const float* thresholds;     /* [S] kappa: perturbed score of the best prefix that was left out; -inf: none was */
} sidbeam_beams;
#define SIDBEAM_BEAMS_INIT \
  { (uint32_t)sizeof(sidbeam_beams), 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

/* The caller's buffers for what the beams stand for; any pointer may be NULL. `count` is the number of slots asked for,
 * M and L the session's. A beam has an ordinal once its SID is complete (all levels, or ended) and in the index.
 * Without item_rows, offsets and truncated say what they would be, so that a zeroed limit asks for sizes. */
typedef struct sidbeam_items {
  uint32_t struct_size;  /* sizeof(sidbeam_items) */
  int64_t limit_per_sid; /* most item rows of one SID; 0: no limit */
  int64_t limit;      /* most item rows of a slot, and the stride of item_rows; 0: no limit, only without item_rows */
  int64_t* ordinals;  /* [count, M]; -1 none */
  int32_t* sids;      /* [count, M, L] codes so far, -1 beyond the length */
  int32_t* lengths;   /* [count, M] codes so far; 0 dead */
  int64_t* item_rows; /* [count, limit] by beam, then priority */
  int64_t* offsets; /* [count, M + 1] beam m has item_rows[offsets[m] .. offsets[m+1]) of its slot; needed with them */
  int32_t* truncated; /* [count] 1 where a limit left item rows out (that the cap would have listed) */
  void* stream;       /* CUDA stream; not read on the CPU */
  /* 1: an item that several SIDs have is listed once, with the first beam whose SID has it, as if the others did not
   * have it; limits then cut this shorter list. 0: with each of them. Items are told apart by their ids. The first such
   * call for an index goes once through its ids, and takes memory if items have several SIDs; on CUDA it waits for the
   * device, must not be captured, and makes later starts of this session do the same for indexes that are new. */
  int32_t distinct;
  /* At most `cap` item rows of a slot per value of this attribute of its index, as in sidbeam_item_limits; what is left
   * makes room for what comes after it, and limits cut the shorter list. NULL and 0: no cap. On CUDA this call takes
   * no cap, and no came_short: copy the ordinals to the host and give them to sidbeam_constraint_items(). */
  const char* cap_attribute;
  int64_t cap;
  /* [count] 1 where the cap left item rows out and the list is shorter than `limit` (or limit is 0): more beams may
   * find more. */
  int32_t* came_short;
} sidbeam_items;
#define SIDBEAM_ITEMS_INIT \
  { (uint32_t)sizeof(sidbeam_items), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL }

/* Counted since creation; on CUDA by the device, graphs included. How many logits rows can be skipped depends on the
 * number of threads and their pace, so the counts of logits rows are outside the promise of same bits. On CUDA no row
 * is skipped. */
typedef struct sidbeam_stats {
  uint32_t struct_size;                      /* sizeof(sidbeam_stats), set by the caller */
  int64_t steps;                             /* calls of step */
  int64_t rows_read, rows_skipped, rows_bad; /* logits rows */
  int64_t dead_beams;                        /* beams that a step could not fill */
  int64_t memory_bytes;                      /* memory that the session holds */
} sidbeam_stats;
#define SIDBEAM_STATS_INIT \
  { (uint32_t)sizeof(sidbeam_stats), 0, 0, 0, 0, 0, 0 }

/* Makes a session and all its memory. It holds the runtime and the constraint.
 * Errors: INVALID_ARGUMENT, MISSING_SECTION (the strategy needs a kind that the index was built without), UNSUPPORTED
 * (a strategy of fixed length on an index of variable length; one other than TRIE with rules, or with items that came
 * or went in a live catalogue), NO_DEVICE, OUT_OF_MEMORY, and those of sidbeam_index_upload(). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_session_create(
    sidbeam_runtime* runtime, const sidbeam_session_config* config, sidbeam_session** out, sidbeam_error* err);
/* Starts slots at their prefix: one live beam of score 0, parent and code -1, or none. May take memory where a
 * constraint is wider than those before or, on CUDA, is the first with rules.
 * Errors: INVALID_ARGUMENT (slot out of range or repeated, width, prefix code out of range, temperature, soft-cap, a
 * constraint of another codebook or, on CUDA, one that lists more than max_listed: the message names both),
 * MISSING_SECTION, UNSUPPORTED, OUT_OF_MEMORY; on CUDA BAD_STATE (an index that is not on the device, a stream that is
 * being captured) and DEVICE_ERROR; then no slot has changed. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_session_start(
    sidbeam_session* session, const sidbeam_start_args* args, sidbeam_error* err);
/* Advances slots by one level.
 * Errors: INVALID_ARGUMENT (slots, rows, row map, lse, temperature: the message says which, what was expected and what
 * came), BAD_STATE (a slot that is idle or done, an empty list, or, where slots is NULL, no slot that is left to step),
 * NO_DEVICE (logits on another device than the session), on CUDA DEVICE_ERROR; then no slot has changed. On CUDA,
 * memory of the host or of another device is INVALID_ARGUMENT too. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_session_step(
    sidbeam_session* session, const sidbeam_step_args* args, sidbeam_error* err);
/* Which columns of its logits row the next step reads of each beam, for hosts that compute no others: the rest of the
 * logits row may hold anything. They are those of the codes that may follow the beam, in the order of codes, the end
 * last; beams that are dead, ended, or of a slot that is idle or done have none. A column that stands for several codes
 * is named once per code. Beam m of the i-th slot of the list has the columns offsets[i*M + m] .. offsets[i*M + m + 1];
 * offsets [count * M + 1] count them all, and the first `capacity` are written to columns (may be NULL with capacity
 * 0), of which the rest may hold anything afterwards. lse_given is 1 if that step will bring sidbeam_step_args.lse.
 * On CUDA all arrays are in the device's memory, `slots` included, and are written on `stream` (CUDA stream; not read
 * on the CPU); the call may be captured, like the step that it comes before. Entries of the list that a step passes
 * over have no columns; a column from 2^31 on is named -1.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED (a step that reads more: NORMALIZE_FULL or LEVEL without lse, a strategy other
 * than TRIE, a mode that samples; on the CPU a column from 2^31 on), on CUDA DEVICE_ERROR. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_session_children(const sidbeam_session* session,
    const int32_t* slots, int64_t count, int32_t lse_given, int64_t capacity, int64_t* offsets, int32_t* columns,
    void* stream, sidbeam_error* err);
/* Errors of this and of the calls below: INVALID_ARGUMENT (NULL, a slot out of range, one named twice where they
 * change). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_session_get_beams(
    const sidbeam_session* session, sidbeam_beams* out, sidbeam_error* err);
/* On CUDA enqueues copies of the beams to pinned memory of the session, and gives its addresses, always the same: read
 * them once the stream has reached that point. On the CPU the same as get_beams. Errors: DEVICE_ERROR. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_session_fetch(
    sidbeam_session* session, sidbeam_beams* out, void* stream, sidbeam_error* err);
/* Fills the caller's buffers for `count` slots, at any level (slots NULL: all S, with count 0 or S). An idle slot has
 * only dead beams. Errors also: with a cap those of sidbeam_constraint_items(), which name the slot whose index it
 * does not fit, and OUT_OF_MEMORY, since the session keeps room to count in; nothing is written then. UNSUPPORTED (a
 * cap on CUDA). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_session_get_items(
    const sidbeam_session* session, const int32_t* slots, int64_t count, sidbeam_items* out, sidbeam_error* err);
/* Makes slots idle and releases their constraints (slots NULL: all S, with count 0 or S). Stopping an idle slot does
 * nothing. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_session_stop(
    sidbeam_session* session, const int32_t* slots, int64_t count, void* stream, sidbeam_error* err);
/* On CUDA this and get_counters wait for what the session's calls enqueued, and for launches of graphs that a later
 * call of the session was ordered after; other launches are counted if they have ended. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_session_get_stats(
    const sidbeam_session* session, sidbeam_stats* out, sidbeam_error* err);
/* Internal counters by name, for those who tune the library; they come and go with versions. *count is their number;
 * the first `capacity` are written: names (static storage, may be NULL) and values. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_session_get_counters(const sidbeam_session* session,
    int64_t capacity, const char** names, int64_t* values, int64_t* count, sidbeam_error* err);
/* On CUDA the session's memory is freed after what its calls enqueued, and after launches of graphs that a later call
 * of the session was ordered after; other launches must have ended. Graphs that hold a call of the session must not be
 * launched afterwards. */
SIDBEAM_API void sidbeam_session_destroy(sidbeam_session* session);

#ifdef __cplusplus
}
#endif
#endif
