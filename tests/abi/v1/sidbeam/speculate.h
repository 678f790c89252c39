/* sidbeam: speculation, beam search by a draft model and a target model (AtSpeed). The draft writes several levels; one
 * call of the target then checks them all.
 *
 * Strict: the beams of a target session have the bits that plain search gives with the target alone, whatever the draft
 * says. A round takes the target's beams over into a draft session, which is stepped for some levels. What it kept
 * becomes a tree. The target's model is run once on the nodes, and the target's session is stepped on these rows, level
 * by level, as long as every beam that must be fed is a node. So a round gains at least one level and at most one more
 * than were drafted.
 *
 *   start both sessions' slots with the same constraints, then
 *   begin -> [ get_tree -> the draft's model -> step the draft's session -> add ] while tree.draft_count > 0
 *         -> the target's model on the nodes -> verify -> begin ... until begin says that no slot is active
 *
 * In mode STOCHASTIC the noise of a prefix is the same in both sessions, so that the draft's beams are likely to be the
 * target's, and the result is exactly the target's own draw without replacement (sampling.h).
 *
 * On CUDA both sessions are on one device, and so are the target's logits and lse. The tree and the list of slots are
 * in the host's memory: begin, add and verify (after each of its steps) wait for config.stream and fetch the sessions'
 * beams, so that what sidbeam_session_fetch() gave has new contents. They cannot be captured. What else is enqueued for
 * the sessions must be ordered with that stream: on it, or by events. The draft's step takes copies of draft_slots and
 * draft_nodes in the device's memory. The result has the bits of plain search on that device.
 *
 * Relaxed: see sidbeam_relaxed_verify(). It follows other laws than search, and has no session.
 *
 * Threads: a speculation and its two sessions are used by one thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_SPECULATE_H
#define SIDBEAM_SPECULATE_H

#include "rows.h"
#include "runtime.h"
#include "session.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sidbeam_speculation_config {
  uint32_t struct_size; /* sizeof(sidbeam_speculation_config) */
  /* Most levels that are drafted in a round, 1 .. SIDBEAM_MAX_LEVELS. The last level is never drafted: the target's row
   * of the level before decides it. */
  int32_t draft_levels;
  /* Borrowed until the speculation is destroyed. Both on the same device, in mode SEARCH or STOCHASTIC, with the same
   * slots, levels, strategy and mode; the draft has at least as many beams as the target (N >= K). Columns,
   * normalization and temperatures may differ: slot i of the draft is started by the caller as its model wants it. */
  sidbeam_session* target;
  sidbeam_session* draft;
  void* stream; /* CUDA stream of begin, add and verify; borrowed likewise, and not read on the CPU */
} sidbeam_speculation_config;
#define SIDBEAM_SPECULATION_CONFIG_INIT \
  { (uint32_t)sizeof(sidbeam_speculation_config), 1, NULL, NULL, NULL }

/* The nodes of a round, slot by slot: views that hold until the next call of the speculation. A root is a beam of the
 * target that must be fed, every other node a beam of the draft; a prefix is one node, which all that continue it
 * share. Keys and values: node n writes its own at places[n] of the unshared KV, and the lists of ancestors have the
 * form that attention.h takes. A place is used once per request, so that nothing is moved between rounds. */
typedef struct sidbeam_speculation_tree {
  uint32_t struct_size;        /* sizeof(sidbeam_speculation_tree), set by the caller */
  int32_t depth;               /* D: entries of a list of ancestors */
  int64_t count;               /* slots of the round */
  const int32_t* slots;        /* [count] in the order of begin(); rising where that named none */
  int64_t nodes;               /* at most count * (K + draft_levels * N) */
  const int64_t* node_offsets; /* [count + 1] the i-th slot has the nodes node_offsets[i] .. node_offsets[i+1] - 1 */
  /* [nodes] column of the node's last code in the target's vocabulary. -1: the one root of a slot that was just
   * started, whose logits row is that of the prompt's last position; it has no keys, values and ancestors. */
  const int64_t* tokens;
  const int32_t* codes;     /* [nodes] last code; -1 likewise */
  const int32_t* positions; /* [nodes] codes before the last one, those of the slot's start included; -1 likewise */
  const int32_t* parents;   /* [nodes] node; -1: a root */
  const int32_t* places;    /* [nodes] slot * place_stride + ...; -1 likewise */
  const int32_t* ancestors; /* [nodes, D] places of the codes on the way, the node's own last, then -1 */
  int64_t place_stride;     /* places that a slot may use during a request: the unshared KV has S * place_stride */
  /* What is drafted next. In the first step of a round the draft's beams are the target's. */
  int64_t draft_count;        /* slots; 0: the tree is complete */
  const int32_t* draft_slots; /* [draft_count] for sidbeam_step_args.slots */
  const int32_t* draft_nodes; /* [draft_count, N] node of each beam of the draft; -1: dead or ended */
} sidbeam_speculation_tree;
#define SIDBEAM_SPECULATION_TREE_INIT                                                                                \
  {                                                                                                                  \
    (uint32_t)sizeof(sidbeam_speculation_tree), 0, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, \
        NULL                                                                                                         \
  }

typedef struct sidbeam_speculation_verify_args {
  uint32_t struct_size; /* sizeof(sidbeam_speculation_verify_args) */
  int32_t unused;       /* padding; never read */
  /* The target's logits [nodes, columns]; slots is 0. Row n is that of node n. */
  const sidbeam_rows* rows;
  const float* lse; /* [nodes] as in sidbeam_step_args; NULL: computed */
} sidbeam_speculation_verify_args;
#define SIDBEAM_SPECULATION_VERIFY_ARGS_INIT \
  { (uint32_t)sizeof(sidbeam_speculation_verify_args), 0, NULL, NULL }

/* Counted since creation, over all slots. Plain search would have called the target `levels` times. */
typedef struct sidbeam_speculation_stats {
  uint32_t struct_size; /* sizeof(sidbeam_speculation_stats), set by the caller */
  int32_t unused;
  int64_t rounds;          /* rounds of single slots: their calls of the target's model */
  int64_t levels;          /* that the target's slots advanced; target calls saved: levels - rounds */
  int64_t drafted_levels;  /* that became part of a tree */
  int64_t accepted_levels; /* of these, whose beams held all of the target's that must be fed */
  int64_t nodes;           /* logits rows of the target */
  int64_t memory_bytes;    /* memory that the speculation holds, without its sessions */
} sidbeam_speculation_stats;
#define SIDBEAM_SPECULATION_STATS_INIT \
  { (uint32_t)sizeof(sidbeam_speculation_stats), 0, 0, 0, 0, 0, 0, 0 }

/* Makes a speculation and all its memory.
 * Errors: INVALID_ARGUMENT (config; sessions that do not fit each other: the message says in what), OUT_OF_MEMORY.
 * On CUDA this, begin, add and verify may fail with DEVICE_ERROR too, and the last three with BAD_STATE while their
 * stream is being captured; get_tree, get_mask and get_stats are the host's alone. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_speculation_create(
    sidbeam_runtime* runtime, const sidbeam_speculation_config* config, sidbeam_speculation** out, sidbeam_error* err);
/* Begins a round of slots that are started, passing over those that are done (slots NULL: all S, with count 0 or S, and
 * idle ones are passed over too); a round that was not verified is forgotten. The draft's slots take over the target's
 * beams: scores, histories and level, and in mode STOCHASTIC the seed, the request and the noise. *active gets the
 * number of slots in the round; 0: all are done.
 * Errors: INVALID_ARGUMENT (slots; a draft's slot under another constraint, which another version of an index is too,
 * or narrower at some level than the target's), BAD_STATE (a slot that is not started, of either session; a target's
 * slot that was stepped by others between rounds, or, on CUDA, was named twice in a step); then no slot has changed. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_speculation_begin(
    sidbeam_speculation* speculation, const int32_t* slots, int64_t count, int64_t* active, sidbeam_error* err);
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_speculation_get_tree(
    const sidbeam_speculation* speculation, sidbeam_speculation_tree* out, sidbeam_error* err);
/* Adds the beams of the draft's slots that were stepped since: all of draft_slots, or some. Slots that were not are
 * drafted no further. Errors: BAD_STATE (no round, or a draft's slot that is not where one step leads). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_speculation_add(
    sidbeam_speculation* speculation, sidbeam_error* err);
/* The tree as a dense mask: mask[n * columns + p] is 1 where node n attends to place p of its slot (counted from 0 in
 * every slot), else 0. `columns` is at least place_stride. Errors: INVALID_ARGUMENT. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_speculation_get_mask(
    const sidbeam_speculation* speculation, uint8_t* mask, int64_t columns, sidbeam_error* err);
/* Steps the target's slots on the rows of the nodes, and ends the round. Temperatures are those of the start.
 * Errors: those of sidbeam_session_step(), INVALID_ARGUMENT (rows for another number of nodes), BAD_STATE (no round).
 * Where the first step fails no slot has changed and the round goes on; after a later one the round has ended, and
 * slots are where the steps before have brought them. On CUDA the beams may fail to come back after a step
 * (DEVICE_ERROR); then the round has ended, and its slots must be started again. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_speculation_verify(
    sidbeam_speculation* speculation, const sidbeam_speculation_verify_args* args, sidbeam_error* err);
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_speculation_get_stats(
    const sidbeam_speculation* speculation, sidbeam_speculation_stats* out, sidbeam_error* err);
/* Its sessions stay. On CUDA it waits for what begin and verify enqueued. */
SIDBEAM_API void sidbeam_speculation_destroy(sidbeam_speculation* speculation);

/* Relaxed speculation (AtSpeed, Algorithm 2) draws beams at random from p, the target's distribution over all valid
 * extensions of the current beams by one code. It is a calculation over lists: extension i has the log-probabilities
 * target[i] and draft[i], those of the whole sequence, whose order is the caller's (beam m and code t as m * V + t,
 * say). p(i) is exp(inverse_temperature * target[i]), q(i) the same of draft[i], each normalized over the list; -inf is
 * no extension. Equal sequences must be one extension, and one that has ended (SIDs of variable length) is its own.
 *
 *   draw -> the drafts of a level, from q -> ... -> the target's model on the tree of all drafts -> verify, level by
 *           level, while it says so -> draw from p for the level after
 *
 *   with replacement     N = K drafts, each of which is accepted if r <= p/q, and otherwise drawn again from
 *                        norm(max(0, p - q)). Each is then a draw from p exactly, independent of the others.
 *   without replacement  the form of the paper's released code: N >= K different drafts, of which K of the accepted are
 *                        kept at random, and where too few are accepted the missing ones are drawn from norm(max(0,
 *                        p - q)) without those that are out, then, where that has no more, from p without them. It
 *                        gives min(K, extensions of the target) different ones, but only approximately by the target's
 *                        law: the accepted have density min(p, q), and which of them are kept does not depend on p, so
 *                        that beams are the flatter, the more N exceeds K. (With N=40 and K=5 Recall@5 fell to a
 *                        fifth: tests/bench/README.md.) N=K has no such choice.
 *
 * Random numbers are Philox, keyed by the seed and counted by request, draw and level (sampling.h), and sums are in
 * float64 in the order of the list, so that every machine draws the same. Calls may run at the same time; each takes up
 * to 24 bytes per extension from the runtime's allocator. */
typedef struct sidbeam_relaxed_draw_args {
  uint32_t struct_size;        /* sizeof(sidbeam_relaxed_draw_args) */
  int32_t draws;               /* N, 1 .. SIDBEAM_MAX_BEAMS */
  int64_t count;               /* extensions, 1 .. 2^32 */
  const float* log_probs;      /* [count] the draft's for q, the target's for p; finite, or -inf */
  float inverse_temperature;   /* finite and above 0; 0: 1 */
  int32_t without_replacement; /* 1: draws are different */
  int64_t seed, request;
  int32_t level; /* 0 .. SIDBEAM_MAX_LEVELS - 1 */
  int32_t unused;
} sidbeam_relaxed_draw_args;
#define SIDBEAM_RELAXED_DRAW_ARGS_INIT \
  { (uint32_t)sizeof(sidbeam_relaxed_draw_args), 1, 0, NULL, 0.0f, 0, 0, 0, 0, 0 }

typedef struct sidbeam_relaxed_verify_args {
  uint32_t struct_size;  /* sizeof(sidbeam_relaxed_verify_args) */
  int32_t beams;         /* K, 1 .. SIDBEAM_MAX_BEAMS */
  int64_t count;         /* extensions, 1 .. 2^32 */
  const float* target;   /* [count] log-probabilities, finite, or -inf */
  const float* draft;    /* [count] likewise */
  const int64_t* drafts; /* [draft_count] extensions that were drawn from q */
  int64_t draft_count;   /* K with replacement; else those of the N whose beams were kept, 0 .. SIDBEAM_MAX_BEAMS */
  float inverse_temperature;
  int32_t without_replacement;
  int64_t seed, request;
  int32_t level;
  int32_t unused;
} sidbeam_relaxed_verify_args;
#define SIDBEAM_RELAXED_VERIFY_ARGS_INIT \
  { (uint32_t)sizeof(sidbeam_relaxed_verify_args), 1, 0, NULL, NULL, NULL, 0, 0.0f, 0, 0, 0, 0, 0 }

typedef struct sidbeam_relaxed_beams {
  uint32_t struct_size; /* sizeof(sidbeam_relaxed_beams) */
  int32_t live;         /* set: beams there are, min(K, extensions of the target) without replacement */
  int64_t* extensions;  /* [K] the caller's; the beams' extensions, then -1 */
  int32_t accepted;     /* set: drafts that were accepted */
  int32_t goes_on;      /* set: 1 where there are beams, all accepted drafts, so that the next level may be verified */
} sidbeam_relaxed_beams;
#define SIDBEAM_RELAXED_BEAMS_INIT \
  { (uint32_t)sizeof(sidbeam_relaxed_beams), 0, NULL, 0, 0 }

/* drafts [N] gets extensions; -1 where none was left. Errors of both: INVALID_ARGUMENT (a count, a log-probability that
 * is NaN or +inf, a draft out of range, drawn twice without replacement, or without probability), OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_relaxed_draw(
    sidbeam_runtime* runtime, const sidbeam_relaxed_draw_args* args, int64_t* drafts, sidbeam_error* err);
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_relaxed_verify(
    sidbeam_runtime* runtime, const sidbeam_relaxed_verify_args* args, sidbeam_relaxed_beams* out, sidbeam_error* err);

#ifdef __cplusplus
}
#endif
#endif
