/* sidbeam: the runner, a library of its own (libsidbeam_runner.so.1): history tokens in, items out.
 *
 *   open a model -> create a runner -> [ run, or submit -> done ] per request -> close -> destroy, release
 *
 * It loads a generative recommender's own checkpoint (config.json and safetensors of T5, mT5, umT5, Llama, Mistral,
 * Qwen2, Qwen3 or Phi-3, or a LoRA adapter of one), reads the prompt once on one row, and writes SIDs by beam search
 * over a constraint, a level per pass. The prompt's keys and values are stored once and shared by all beams; beams find
 * what they wrote themselves through lists of ancestors, so that nothing is moved between levels (xGR's xAttention;
 * attention.h has it as a function). Requests wait in one bounded queue for a lane, which is what one batch needs of
 * memory and, on a GPU, a stream (xSchedule).
 *
 *   sidbeam_model_config weights = SIDBEAM_MODEL_CONFIG_INIT;
 *   TRY(sidbeam_model_open("model", &weights, &model, &err));
 *   sidbeam_runner_config how = SIDBEAM_RUNNER_CONFIG_INIT;
 *   how.model = model, how.constraint = constraint, how.vocabulary = &vocabulary, how.beams = 50, how.max_prompt = 64;
 *   TRY(sidbeam_runner_create(runtime, &how, &runner, &err));
 *   sidbeam_request request = SIDBEAM_REQUEST_INIT;
 *   request.tokens = history, request.positions = 60, request.done = print_items;
 *   TRY(sidbeam_runner_run(runner, &request, &err));
 *
 * On the CPU results have the same bits whatever the batch, the threads, the instruction set and the order of arrival.
 * Everything is sized at creation: after the first request a runner allocates nothing and makes no thread.
 *
 * Scores are log-probabilities, as a session's: `normalization` says over what. SIDBEAM_NORMALIZE_FULL multiplies all
 * of the output layer, LEVEL and VALID only the rows of the level's codes, VALID where beams have few children only
 * theirs.
 *
 * With a second, smaller model (sidbeam_runner_config.draft) that writes levels ahead the model is run less often, and
 * results stay the same to the bit. With NEZHA's draft head (sidbeam_runner_config.head) it is run once per request. A
 * runner may draw instead of searching: SIDs without replacement, by stochastic beams (mode), or sets of beams by
 * relaxed speculation (SIDBEAM_SPECULATE_RELAXED).
 *
 * attention.h has more functions of this library, runner_api.h all of them in one table, for hosts that dlopen it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_RUNNER_H
#define SIDBEAM_RUNNER_H

#include "draft.h"
#include "hidden.h"
#include "runtime.h"
#include "session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Handles. A model is immutable and reference-counted: share it, release it from any thread. A runner may be used by
 * many threads at once; one destroys it. A forked child may use models on the CPU that it inherits. One on CUDA it may
 * only release, which leaves the device alone; a runner that would use it is refused with BAD_STATE. */
typedef struct sidbeam_model sidbeam_model;
typedef struct sidbeam_runner sidbeam_runner;

/* Version of the functions and structs of the runner's headers, and the library's SOVERSION. */
#define SIDBEAM_RUNNER_ABI_VERSION 1u
/* SIDBEAM_RUNNER_ABI_VERSION of the library that is loaded. */
SIDBEAM_API uint32_t sidbeam_runner_abi_version(void);

/* How weights are held in memory. Products are in f32 whatever they are; widening is exact, so that f32, f16 and bf16
 * weights of the same values give the same bits. */
enum {
  SIDBEAM_WEIGHTS_STORED = 0, /* as in the file */
  SIDBEAM_WEIGHTS_F32 = 1,
  SIDBEAM_WEIGHTS_F16 = 2,  /* rounded to nearest where the file's are wider */
  SIDBEAM_WEIGHTS_BF16 = 3, /* likewise */
  /* Matrices as 8-bit integers with an f32 scale per output, rounded to nearest; embeddings and norms stay as stored.
   * Approximate. On CUDA the output layer stays as stored, too, and a matrix is widened for each product: that saves
   * memory, and costs time. */
  SIDBEAM_WEIGHTS_INT8 = 4
};

typedef struct sidbeam_model_config {
  uint32_t struct_size; /* sizeof(sidbeam_model_config) */
  int32_t weights;      /* SIDBEAM_WEIGHTS_* */
  /* SIDBEAM_DEVICE_CPU and 0, or SIDBEAM_DEVICE_CUDA and a device's number. */
  int32_t device_type, device_id;
  const sidbeam_allocator* allocator; /* copied; of the weights on the CPU. NULL: that of the C library */
  /* The folder of the model that an adapter changes, see sidbeam_model_open(). NULL: found beside it. */
  const char* base;
  /* Called during the call, on its thread, as the log of sidbeam_runtime_config is: a warning names the tensors that
   * the file has and config.json does not ask for (more layers, biases), the first five of them. NULL: no log. */
  void (*log)(void* context, int32_t level, const char* message);
  void* log_context;
} sidbeam_model_config;
#define SIDBEAM_MODEL_CONFIG_INIT \
  { (uint32_t)sizeof(sidbeam_model_config), SIDBEAM_WEIGHTS_STORED, SIDBEAM_DEVICE_CPU, 0, NULL, NULL, NULL, NULL }

typedef struct sidbeam_model_info {
  uint32_t struct_size;   /* sizeof(sidbeam_model_info), set by the caller */
  char family[16];        /* "t5", "mt5", "umt5", "llama", "mistral", "qwen2", "qwen3" or "phi3" */
  int32_t layers;         /* of the decoder */
  int32_t encoder_layers; /* 0: a decoder alone */
  int32_t hidden, heads, kv_heads, head_dim;
  int32_t weights;       /* SIDBEAM_WEIGHTS_* as held; of the matrices */
  int64_t vocabulary;    /* rows of the embedding: token ids are 0 .. vocabulary-1 */
  int64_t max_positions; /* that the config names, or its attention's window if that is less; 0: none */
  int64_t parameters;    /* elements of all weights */
  int64_t memory_bytes;  /* that the model holds now: the first runner with NORMALIZE_FULL on the CPU adds to it */
} sidbeam_model_info;
#define SIDBEAM_MODEL_INFO_INIT \
  { (uint32_t)sizeof(sidbeam_model_info), {0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Opens the folder of a checkpoint: config.json, and model.safetensors or the shards that model.safetensors.index.json
 * names, of F64, F32, F16 or BF16. Names may be under "module." or "_orig_mod.", and without "model."; a model saved
 * without its output layer must be tied. The weights are read piece by piece while they are packed, in no more memory
 * than they come to and some MiB: a file that is truncated during the call is IO_ERROR. Nothing of it is needed
 * afterwards. *out gets one reference.
 *
 * A folder with adapter_config.json and adapter_model.safetensors is that of a LoRA adapter (PEFT), which is merged
 * with the model that it changes: that of config.base, or the same folder's, or one beside the folder that is called as
 * the last part of base_model_name_or_path. Taken are ranks and alphas by pattern (names, no regular expressions),
 * rslora, biases, modules_to_save, and layers of embedding and output unless they are one tensor (tied, or a T5's):
 * there PEFT's own results differ with the way that they are had. Other forms (DoRA, PiSSA and more) are refused.
 *
 * All weights must be finite, and in the type in which they are held: others, which would give scores to some requests
 * and none to others, or pass for 8-bit integers, are refused. A mixture of experts (qwen3_moe) is another family: its
 * rows would have to be grouped by expert between the products.
 *
 * Errors: INVALID_ARGUMENT (config; a weight that its 16 bits do not hold), IO_ERROR, CORRUPT (a file that is not what
 * its name says, a tensor of another shape, one that is missing, a weight that is not finite: the message names the
 * tensor and the element), UNSUPPORTED (a model of another family, a setting that is not implemented, an adapter
 * without its base; GGUF or pytorch_model.bin, with the line that converts them), NO_DEVICE, OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_model_open(
    const char* folder, const sidbeam_model_config* config, sidbeam_model** out, sidbeam_error* err);
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_model_get_info(
    const sidbeam_model* model, sidbeam_model_info* out, sidbeam_error* err);
SIDBEAM_API void sidbeam_model_retain(sidbeam_model* model);
SIDBEAM_API void sidbeam_model_release(sidbeam_model* model);

/* A request at one level, between the model and the step: what runner_config.adjust may change. All pointers are valid
 * during the call alone. On CUDA `logits`, `row_beams` and the beams are in device memory, and the callback enqueues
 * its work on `stream`. */
typedef struct sidbeam_level {
  uint32_t struct_size;  /* sizeof(sidbeam_level), set by the library */
  int32_t level;         /* 0 .. L-1 */
  int64_t request;       /* its number */
  void* request_context; /* sidbeam_request.context */
  sidbeam_constraint* constraint;
  /* [rows, columns] logits, row r at logits + r*row_stride; to be changed in place. */
  float* logits;
  int64_t rows, columns, row_stride;
  /* Code t has column columns_of->offsets[level] + t, or columns_of->maps[level][t]; the end columns_of->end_column.
   * With NORMALIZE_FULL that is the runner's own vocabulary; otherwise the rows hold the end and the level's codes
   * alone. */
  const sidbeam_vocabulary* columns_of;
  const int32_t* row_beams; /* [rows] beam that each row belongs to, rising; one row, of beam 0, at level 0 */
  const sidbeam_beams* beams;
  int32_t slot; /* of the request in `beams` */
  int32_t unused;
  void* stream; /* CUDA stream; NULL on the CPU */
} sidbeam_level;

/* How a draft's levels are verified (AtSpeed; speculate.h). */
enum {
  /* Results have the bits that the target gives alone, whatever the draft; on CUDA except for the rounding of products
   * and of attention, which have other numbers of rows there. */
  SIDBEAM_SPECULATE_STRICT = 0,
  /* Draws from the target's distribution, verified as sidbeam_relaxed_verify() does. At each level p is that of all
   * valid continuations, by one code, of the request's different beams, by their whole log-probability; q is the same
   * of the draft. A level goes on where all beams are nodes of the round's tree; where the tree has no drafts, beams
   * are drawn from p. Random numbers are keyed by seed and sampling_request of a request, and counted by level and
   * draw, so that results repeat, in any batch, lane and order of arrival.
   *   with replacement     (without_replacement 0) N = M: given the beams of the level before, each of a request's
   *                        beams is a draw from p, exactly and independently, whatever the draft. A result has as many
   *                        SIDs as beams were asked for, unless there is none at all; the same may be there repeatedly.
   *   without replacement  N >= M: a result has different SIDs, min(beams, continuations there are) at each level, only
   *                        approximately by the target's law (the form of the paper's code).
   * inverse_temperature and soft_cap act on the logits of each level, as in a search, before they are normalized; p is
   * of the log-probabilities that this gives. (That of sidbeam_relaxed_verify() acts on those of the whole sequence,
   * which is another law; here it is 1.)
   * Where SIDs vary in length, the end is a continuation as codes are. A beam that has ended has one continuation,
   * itself, with the log-probability that it has, and is there at the next level only if that is drawn. The draws of
   * the first level at which all beams have ended are the result.
   * Logits of `model` that are NaN or +inf where they are read end the request; those of the draft only draft nothing.
   * Strategy TRIE. */
  SIDBEAM_SPECULATE_RELAXED = 1
};

typedef struct sidbeam_runner_config {
  uint32_t struct_size; /* sizeof(sidbeam_runner_config) */
  int32_t beams;        /* M: 1 .. SIDBEAM_MAX_BEAMS, the most that a request may ask for */
  sidbeam_model* model; /* held */
  /* Of requests that name none; held. Other constraints must have the same number of codes per level. */
  sidbeam_constraint* constraint;
  /* Copied: the token of each code, which is its row of the embedding and of the output layer. NULL: code t of every
   * level is token t. Variable lengths need its end_column. A code may have no token, -1 in its map: NORMALIZE_FULL
   * refuses constraints with SIDs that have such a code (the runner's own at creation; a request's own is done as
   * INVALID_ARGUMENT); with LEVEL and VALID the code's logit is -inf, so that these SIDs are never found. */
  const sidbeam_vocabulary* vocabulary;
  /* [begin_count] tokens after every prompt, before the first code (OpenOneRec's <|sid_begin|>); of a T5 the first
   * tokens of the decoder. Copied. NULL: none; of a T5 the decoder_start_token_id of its config. With begin tokens a
   * decoder alone takes an empty prompt: a new user, of whom nothing is known. */
  const int32_t* begin_tokens;
  int64_t begin_count;
  int32_t normalization;               /* SIDBEAM_NORMALIZE_*; NONE: `adjust` makes log-probabilities of the logits */
  int32_t strategy;                    /* SIDBEAM_STRATEGY_*, of the sessions */
  float inverse_temperature, soft_cap; /* as in sidbeam_step_args; 0: 1 and none */
  /* Most positions of a prompt, begin_tokens excluded, and most tokens per position; 0: 512, or what the model has room
   * for if that is less, and 1. */
  int64_t max_prompt;
  int32_t max_group;
  /* Requests that may wait; 0: 1024. One more is refused with QUEUE_FULL. */
  int32_t queue_requests;

  /* Lanes: batches that may run at the same time, each with memory of its own; 0: 1. */
  int32_t lanes;
  /* 1: a thread per lane, made at creation, runs what is submitted. */
  int32_t lane_threads;
  /* Threads of one request's products, the lane's included, by `execute`; 0 or 1: the lane's alone. */
  int32_t request_threads;
  /* A batch leaves when it has batch_requests requests or batch_rows rows (prompt positions + M * (L - 1) of each, with
   * a head + L), or when its oldest request has waited wait_us; a free lane then takes it. 0: one request, no limit of
   * rows, no wait, which is best on CPUs: they run requests side by side. A request with a deadline waits for others
   * for half of the time to it at most; one of sidbeam_runner_run() waits for none, and is a batch of its own. */
  int32_t batch_requests;
  int64_t batch_rows, wait_us;
  /* The host's own threads instead of lane_threads: runs task(data) soon, on any thread, once, and returns 1; 0: it
   * cannot, and what waits is done as BAD_STATE unless another task is there and will come to it. Called when a lane
   * gets work, by any call or task; may run the task before it returns. A task waits where a batch gathers. close()
   * waits for every task. NULL, without lane_threads: only sidbeam_runner_run() works. */
  int32_t (*post)(void* context, void (*task)(void* data), void* data);
  void* post_context;
  /* The host's threads for request_threads: as in sidbeam_runtime_config. */
  void (*execute)(void* context, int32_t count, void (*task)(void* data, int32_t i), void* data);
  void* execute_context;

  /* Called per request and level on the lane's thread, between model and step; 0: go on, else the request ends as
   * CANCELLED. Must not throw or call the runner. NULL: none. */
  int32_t (*adjust)(void* context, const sidbeam_level* level);
  void* adjust_context;
  const sidbeam_allocator* allocator; /* copied; of the runner's arrays on the CPU. NULL: that of the C library */
  /* Instruction set of the model's arithmetic on the CPU, as in sidbeam_runtime_config; NULL: the best there is. */
  const char* cpu_target;

  /* Speculation: a smaller model of the same vocabulary, held, where `model` is: on the CPU, or on its CUDA device.
   * NULL: none. In a round it writes all levels that are left but the last by beam search of its own, and one pass of
   * `model` checks them; the first round's passes read the prompt as well. The requests of a batch go through rounds
   * together. `adjust` must be NULL, requests have no shared_kv, and a running request that is cancelled ends at its
   * next round. On CUDA the lane's thread waits for the device after every level, drafted or verified, since trees are
   * made on the host; logits stay on the device, except with SIDBEAM_SPECULATE_RELAXED, which draws on the host. */
  sidbeam_model* draft;
  int32_t speculate; /* SIDBEAM_SPECULATE_* */
  /* N, M .. SIDBEAM_MAX_BEAMS: beams of the draft's search; 0: M. A request of fewer beams than M drafts as many fewer
   * than N. More of them cost the target more rows, and make it more likely that a level is accepted. */
  int32_t draft_beams;
  int32_t without_replacement; /* 1: of SIDBEAM_SPECULATE_RELAXED, see there; needed where N > M */
  /* SIDBEAM_MODE_SEARCH or SIDBEAM_MODE_STOCHASTIC (sampling.h): a request then gets a draw of SIDs without replacement
   * by the model's own law, keyed by its seed and sampling_request, best perturbed score first. With a draft, which
   * shares the noise, it has the same bits (on CUDA as SIDBEAM_SPECULATE_STRICT says). Not with
   * SIDBEAM_SPECULATE_RELAXED. */
  int32_t mode;

  /* SIDBEAM_STRATEGY_SORTED_TOPK and HASH_FINAL: codes per beam that are looked up; 0: M. */
  int32_t top_k;
  /* SIDBEAM_HIDDEN_*: how a level's logits are computed. Where NORMALIZE_VALID, strategy TRIE and no `adjust` let a
   * step read the beams' children alone (hidden.h), FASTEST multiplies just their rows of the output layer if that is
   * expected to cost less than a product with all of the level's, by what both cost on the model's own output layer:
   * every lane measures it when it is made, in about a millisecond. CHILDREN does so at all levels; PRODUCT never does.
   * Results have the same bits. What has no children's products, with which FASTEST is PRODUCT and CHILDREN is refused
   * with UNSUPPORTED: int8 weights (a row by itself would be of the checkpoint's numbers, not of the rounded ones),
   * CUDA (the host does not see levels), a draft (its tree is multiplied before it is known which nodes are reached), a
   * head (whose rows are codes, a few hundred), and mode STOCHASTIC (its steps read whole rows). */
  int32_t output_path;
  /* A draft head (draft.h), held; it works where `model` is. NULL: none. The prompt, begin_tokens and a placeholder per
   * level are one pass of the model: the last layer's states, after its norm, are h_0 at the last position before the
   * placeholders and h_1 .. h_L at theirs, in f32. From these the head writes SIDs as sidbeam_draft_decoder_run() does,
   * on the CPU to the bit, on CUDA except for the rounding of products, which have other numbers of rows there; and the
   * model passes no more. SIDs are verified by `strategy`, TRIE at every level or HASH_FINAL at the last.
   * `vocabulary` is not read, since codes are not tokens here; `adjust` sees logits of a level's codes alone; `draft`
   * must be NULL and `mode` SEARCH. SIDs have one length, and where constraint and head name a codebook, it is the
   * same. */
  sidbeam_draft_head* head;
  const int32_t* placeholders; /* [placeholder_count] tokens, copied */
  int64_t placeholder_count;   /* L */
  /* On CUDA: the most item rows that the rules of a request may list, as in sidbeam_session_config; 0: 4096. One that
   * lists more is done as INVALID_ARGUMENT. */
  int64_t max_listed;
} sidbeam_runner_config;
#define SIDBEAM_RUNNER_CONFIG_INIT                                                                                    \
  {                                                                                                                   \
    (uint32_t)sizeof(sidbeam_runner_config), 1, NULL, NULL, NULL, NULL, 0, SIDBEAM_NORMALIZE_FULL,                    \
        SIDBEAM_STRATEGY_TRIE, 0.0f, 0.0f, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
        NULL, SIDBEAM_SPECULATE_STRICT, 0, 0, SIDBEAM_MODE_SEARCH, 0, SIDBEAM_HIDDEN_FASTEST, NULL, NULL, 0, 0        \
  }

/* Keys and values that the host computed: of the first positions of a prompt (after RoPE, before the group's
 * repetition), or, of a T5, of the cross attention over the encoder's output. In the host's memory or, with a model on
 * CUDA, in that of the model's device, where what writes them must have ended when the request is submitted. This
 * struct is copied by the call that takes the request; the arrays of pointers and what they point to are borrowed until
 * done() is called. */
typedef struct sidbeam_shared_kv {
  uint32_t struct_size;           /* sizeof(sidbeam_shared_kv) */
  int32_t dtype;                  /* SIDBEAM_DTYPE_* */
  int32_t device_type, device_id; /* SIDBEAM_DEVICE_CPU and 0: host memory, whatever device the model is on */
  int64_t length;                 /* positions, 1 .. max_prompt */
  const void* const* keys;        /* [layers], each [length, kv_heads, head_dim], dense */
  const void* const* values;      /* [layers], each [length, kv_heads, head_dim], dense */
} sidbeam_shared_kv;
#define SIDBEAM_SHARED_KV_INIT \
  { (uint32_t)sizeof(sidbeam_shared_kv), SIDBEAM_DTYPE_F32, SIDBEAM_DEVICE_CPU, 0, 0, NULL, NULL }

/* What became of a request. Pointers are valid during done() alone. */
typedef struct sidbeam_result {
  uint32_t struct_size; /* sizeof(sidbeam_result), set by the library */
  /* OK; CANCELLED; DEADLINE_EXCEEDED; INVALID_ARGUMENT (NaN or +inf in logits that mattered, as a slot in error); or
   * what failed. */
  sidbeam_status status;
  const char* message;     /* "" with OK */
  int64_t request;         /* its number */
  int32_t live;            /* SIDs found, best first; 0 unless OK */
  int32_t levels;          /* L */
  const int32_t* sids;     /* [live, L] codes; -1 past the end of a shorter SID */
  const float* scores;     /* [live] */
  const int64_t* ordinals; /* [live]; -1 where strategy NONE found no SID */
  /* That the request ran under: of its index are the ordinals' items, which sidbeam_constraint_items() lists. */
  sidbeam_constraint* constraint;
  int64_t queued_us, run_us; /* waiting, and running until done() */
  int32_t batch;             /* requests that ran with it, itself included */
  /* With a draft, otherwise 0: rounds, each a pass of the target. Without one the target passes `levels` times, with a
   * head once. */
  int32_t rounds;
  int32_t drafted_levels;  /* that became part of a round's tree */
  int32_t accepted_levels; /* of these, whose beams held all of the target's that must be fed: passes saved */
  /* Of run_us, what the draft's model and search took in these rounds: of the whole batch, which each of its requests
   * waits for. */
  int64_t draft_us;
} sidbeam_result;

typedef struct sidbeam_request {
  uint32_t struct_size; /* sizeof(sidbeam_request) */
  int32_t beams;        /* 1 .. M; 0: M */
  /* [positions, group] token ids, copied. The embeddings of a position's tokens are summed; -1 is no token. Group 0 is
   * 1. At least one position or begin_tokens is there, also after a shared_kv; a T5 has at least one position for its
   * encoder (of an empty history, the end of sequence), since its decoder attends to that alone. */
  const int32_t* tokens;
  int64_t positions;
  int32_t group;
  int32_t priority; /* higher starts earlier; among equals the order of arrival decides */
  /* NULL: the runner's, otherwise one of its levels, codes and, where both name one, codebook. Held until done, so that
   * swaps do not touch it. */
  sidbeam_constraint* constraint;
  const sidbeam_shared_kv* shared_kv; /* copied, its arrays borrowed; NULL: none */
  /* Microseconds from this call on within which the request must start; 0: none. One that has passed, or is negative,
   * is DEADLINE_EXCEEDED, told when a thread next looks at the queue: at the latest when a lane becomes free. A request
   * that has started is finished. */
  int64_t deadline_us;
  /* Called exactly once for each request that was taken, with no lock held: on the lane's thread, within run() on the
   * caller's or, for a request that waits, on the thread that cancels it or closes the runner. Must not throw. May
   * submit and cancel; run, drain and close fail with BAD_STATE there, and destroy does nothing. */
  void (*done)(void* context, const sidbeam_result* result);
  void* context;
  /* Keys of the random numbers of a runner that draws (STOCHASTIC, RELAXED), the caller's own, as seeds and requests of
   * sidbeam_sampling: equal pairs draw alike, which those of different users should not. Otherwise 0. */
  int64_t seed, sampling_request;
  /* [width_levels] copied: level l keeps at most widths[min(l, width_levels-1)] beams, 1 .. `beams`, or 0 for `beams`;
   * a draft (runner_config.draft) as many more than these as it has beams more than M. width_levels 0: `beams` at every
   * level; else 1 .. L. Not with SIDBEAM_SPECULATE_RELAXED; with mode STOCHASTIC they must not rise (session.h). */
  const int32_t* widths;
  int32_t width_levels;
} sidbeam_request;
#define SIDBEAM_REQUEST_INIT \
  { (uint32_t)sizeof(sidbeam_request), 0, NULL, 0, 0, 0, NULL, NULL, 0, NULL, NULL, 0, 0, NULL, 0 }

/* Counted since creation. Percentiles are of finished requests, to 4 %, in microseconds: P50, P90, P99, P99.9. */
typedef struct sidbeam_runner_stats {
  uint32_t struct_size; /* sizeof(sidbeam_runner_stats), set by the caller */
  int32_t lanes;
  int32_t queued, running; /* requests now */
  int64_t submitted;       /* taken: each ends as one of the next four */
  int64_t finished, failed, cancelled, expired;
  int64_t refused; /* QUEUE_FULL; not among `submitted` */
  int64_t batches, batch_requests, batch_rows;
  int64_t busy_us, up_us; /* of all lanes together; since creation. Use of lanes: busy / (up * lanes) */
  int64_t queued_us[4], run_us[4], total_us[4];
  int64_t memory_bytes; /* that the runner holds, without the models */
  /* Speculation, summed over the requests that were run: the results' own numbers, the levels that the rounds gained,
   * and the logits rows that they asked of the target. Passes of the target saved: round_levels - rounds. What a batch
   * of n requests takes for drafting is in draft_us n times, as in their run_us, so that it may exceed busy_us. */
  int64_t rounds, round_levels, drafted_levels, accepted_levels, nodes, draft_us;
} sidbeam_runner_stats;
#define SIDBEAM_RUNNER_STATS_INIT                                                                                      \
  {                                                                                                                    \
    (uint32_t)sizeof(sidbeam_runner_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, {0}, {0}, 0, 0, 0, 0, 0, 0, \
        0                                                                                                              \
  }

/* Makes a runner, its lanes' memory and its threads. It holds the runtime, the models, the head and the constraint.
 * Errors: INVALID_ARGUMENT (also a draft of another vocabulary, or of fewer beams than M; a head of another width,
 * catalogue or codebook), UNSUPPORTED (also a draft that is not where the model is, what SIDBEAM_SPECULATE_RELAXED
 * excludes, and a head for SIDs of variable length), MISSING_SECTION (as sidbeam_session_create), NO_DEVICE,
 * OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_runner_create(
    sidbeam_runtime* runtime, const sidbeam_runner_config* config, sidbeam_runner** out, sidbeam_error* err);
/* Runs one request on this thread, as soon as it is its turn and a lane is free, and calls done() before it returns;
 * its status is the result's. Errors: those of submit, BAD_STATE (within a callback of this runner), and what the
 * result says. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_runner_run(
    sidbeam_runner* runner, const sidbeam_request* request, sidbeam_error* err);
/* Takes a request and returns; *id (may be NULL) gets its number, 1, 2, ... done() may be called before it returns.
 * Errors, after which done() is not called: INVALID_ARGUMENT (a token out of the vocabulary, a prompt that is too long,
 * or empty where it may not be, beams, a constraint of another codebook: the message names both), QUEUE_FULL,
 * DEADLINE_EXCEEDED (a negative deadline), BAD_STATE (closed; neither lane_threads nor post). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_runner_submit(
    sidbeam_runner* runner, const sidbeam_request* request, int64_t* id, sidbeam_error* err);
/* Ends the request of this id: a waiting one is done as CANCELLED before this returns; a running one ends at its next
 * level, if there is one. A number that is not there any more does nothing. Errors: INVALID_ARGUMENT (a number never
 * given). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_runner_cancel(
    sidbeam_runner* runner, int64_t id, sidbeam_error* err);
/* Waits until no request is waiting or running, or timeout_us have passed (0: no limit); *idle (may be NULL) says
 * which. Errors: BAD_STATE (within a callback of this runner). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_runner_drain(
    sidbeam_runner* runner, int64_t timeout_us, int32_t* idle, sidbeam_error* err);
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_runner_get_stats(
    const sidbeam_runner* runner, sidbeam_runner_stats* out, sidbeam_error* err);
/* Takes no more requests, ends the waiting ones as CANCELLED, waits for the running ones and for the lanes' threads.
 * Afterwards no callback is called. Closing again does nothing. Errors: BAD_STATE (within a callback of this runner:
 * nothing has changed). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_runner_close(sidbeam_runner* runner, sidbeam_error* err);
/* Closes, if that has not been done, and frees. Within a callback of this runner, where it cannot, it does nothing. A
 * forked child may only destroy a runner that it inherits, which frees nothing; other calls fail with BAD_STATE. */
SIDBEAM_API void sidbeam_runner_destroy(sidbeam_runner* runner);

#ifdef __cplusplus
}
#endif
#endif
