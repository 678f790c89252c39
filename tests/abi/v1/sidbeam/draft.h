/* sidbeam: NEZHA's draft head, in the runner's library: hidden states of one prefill in, items out.
 *
 *   open a head -> create a decoder -> run per batch -> destroy, release
 *
 * The host's model reads the prompt and L placeholders in one pass; its last layer gives h_0 (the prompt) and
 * h_1 .. h_L (the placeholders). From these alone the head writes SIDs by beam search, with no further pass:
 *
 *   s_1 = h_0,  logits_l = W_l [h_l ; s_l] + b_l,  s_(l+1) = transition_l(s_l, embedding_l(code_l)),  l = 1 .. L
 *
 * (Level l there is level l - 1 of sessions and of the arrays below.) The beams are a session's: of the same logits
 * they have the order, ties and bits that session.h promises, and results have the same bits whatever the batch, the
 * threads and the instruction set.
 *
 *   TRY(sidbeam_draft_head_open("head.sdraft", NULL, &head, &err));
 *   sidbeam_draft_config how = SIDBEAM_DRAFT_CONFIG_INIT;
 *   how.head = head, how.index = index, how.requests = 8, how.beams = 512;
 *   TRY(sidbeam_draft_decoder_create(runtime, &how, &decoder, &err));
 *   sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;
 *   const sidbeam_rows hidden = sidbeam_rows_dense(states, SIDBEAM_DTYPE_F32, 8, levels + 1, width);
 *   args.hidden = &hidden;
 *   TRY(sidbeam_draft_decoder_run(decoder, &args, &result, &err));
 *
 * On CUDA (sidbeam_draft_config.device_type) a run is enqueued on the caller's stream, and nothing waits for it; hidden
 * states and results are in the device's memory. What differs:
 *   - Calls of one decoder must be ordered: on one stream, or by events between streams.
 *   - Products are cuBLASLt's. Their inputs are rounded to the type of the weights (f16 and bf16), while states are
 *     kept in f32; so scores differ from the CPU's by rounding, and where prefixes are about as probable, beams may.
 *     A request's results have the same bits in any run of as many requests.
 *   - A decode may be captured in a CUDA graph, a start may not: run is both, and sidbeam_draft_decoder_start() and
 *     _decode() are its halves. A graph fixes the number of requests and the address and shape of the hidden states;
 *     constraints and widths are those of the start before its launch.
 *   - Libraries load their kernels at the first product of a shape, that is of a number of requests, which therefore
 *     must not be captured. Later runs allocate nothing.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_DRAFT_H
#define SIDBEAM_DRAFT_H

#include "runtime.h"
#include "session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Handles. A head is immutable and reference-counted: share it, release it from any thread. A decoder serves one thread
 * at a time, any thread. A forked child may use the heads that it inherits. It may only destroy decoders, and of those
 * only ones on which no other thread was in a call. Neither touches the parent's devices; calls on a decoder on CUDA
 * fail with BAD_STATE. */
typedef struct sidbeam_draft_head sidbeam_draft_head;
typedef struct sidbeam_draft_decoder sidbeam_draft_decoder;

/* What the linear head of a level multiplies. */
enum {
  SIDBEAM_DRAFT_INPUT_BOTH = 0,   /* [h_l ; s_l] */
  SIDBEAM_DRAFT_INPUT_HIDDEN = 1, /* h_l: no state, and so no transition (the paper's NEZHA-1) */
  SIDBEAM_DRAFT_INPUT_STATE = 2   /* s_l: no placeholders (NEZHA-2); h_1 .. h_L are not read */
};

/* How the embedding e of the chosen code changes the state s. */
enum {
  SIDBEAM_DRAFT_TRANSITION_RNN = 0, /* tanh(W_i e + b_i + W_r s + b_r), PyTorch's RNNCell */
  SIDBEAM_DRAFT_TRANSITION_GRU = 1, /* PyTorch's GRUCell; its rows are those of the gates reset, update, new */
  SIDBEAM_DRAFT_TRANSITION_ADD = 2, /* s + e (NEZHA-3) */
  SIDBEAM_DRAFT_TRANSITION_NONE = 3 /* s stays h_0 */
};

/* How SIDs are kept from being invalid. */
enum {
  /* Exactly, at every level: the best beams among valid prefixes. Needs SIDBEAM_KIND_TRIE. */
  SIDBEAM_DRAFT_VERIFY_TRIE = 0,
  /* At the last level, where each beam's top_k best codes are looked up (the paper's Algorithm 3), so that fewer SIDs
   * than beams may come back. Needs SIDBEAM_KIND_HASH. */
  SIDBEAM_DRAFT_VERIFY_HASH = 1,
  /* Not at all (NEZHA-4): SIDs that do not exist have ordinal -1. */
  SIDBEAM_DRAFT_VERIFY_NONE = 2
};

/* The weights of a head, for a file. All arrays of numbers are dense and of one dtype, rows in PyTorch's order. D:
 * hidden, E: embedding, I: 2D with INPUT_BOTH (the columns of h_l first), else D; G: 3D with TRANSITION_GRU, else D. */
typedef struct sidbeam_draft_weights {
  uint32_t struct_size; /* sizeof(sidbeam_draft_weights) */
  int32_t levels;       /* L: 1 .. SIDBEAM_MAX_LEVELS */
  int32_t hidden;       /* D: 1 .. 65536 */
  int32_t embedding;    /* E: 1 .. 65536; 0: D, the only one with TRANSITION_ADD; not read with TRANSITION_NONE */
  int32_t input;        /* SIDBEAM_DRAFT_INPUT_* */
  int32_t transition;   /* SIDBEAM_DRAFT_TRANSITION_*; NONE with INPUT_HIDDEN */
  int32_t dtype;        /* SIDBEAM_DTYPE_* of the arrays, and of the file */
  int32_t unused;
  const int32_t* codes;            /* [L] V_l: 1 .. SIDBEAM_MAX_CODES */
  const void* const* head_weights; /* [L] of [V_l, I] */
  const void* const* head_biases;  /* [L] of [V_l]; NULL, here as in every list of biases, or an entry NULL: none */
  /* Of the transitions; the last level has none. Embeddings are needed except with TRANSITION_NONE, the others with RNN
   * and GRU, and are otherwise not read. */
  const void* const* embeddings;        /* [L - 1] of [V_l, E] */
  const void* const* input_weights;     /* [L - 1] of [G, E] */
  const void* const* input_biases;      /* [L - 1] of [G] */
  const void* const* recurrent_weights; /* [L - 1] of [G, D] */
  const void* const* recurrent_biases;  /* [L - 1] of [G] */
  const char* codebook;                 /* that of the indexes which the head is for (builder.h); NULL: "", any */
  /* 0: a file is not replaced if its owner, mode, access list (ACL) or an extended attribute could not be kept;
   * 1: it is replaced all the same (as in sidbeam_builder_config). */
  int32_t allow_attribute_loss;
} sidbeam_draft_weights;
#define SIDBEAM_DRAFT_WEIGHTS_INIT                                                                            \
  {                                                                                                           \
    (uint32_t)sizeof(sidbeam_draft_weights), 0, 0, 0, SIDBEAM_DRAFT_INPUT_BOTH, SIDBEAM_DRAFT_TRANSITION_RNN, \
        SIDBEAM_DTYPE_F32, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0                         \
  }

/* Writes a file, which appears whole or not at all. The same weights give the same bytes. As with
 * sidbeam_builder_write() (builder.h), links are followed, owner, mode and attributes of an old file are kept, or the
 * call fails before it writes (see allow_attribute_loss), and what a killed process leaves is removed by a later call.
 * Errors: INVALID_ARGUMENT (the message names the field), IO_ERROR, OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_draft_head_write(
    const char* path, const sidbeam_draft_weights* weights, sidbeam_error* err);

typedef struct sidbeam_draft_head_config {
  uint32_t struct_size; /* sizeof(sidbeam_draft_head_config) */
  int32_t unused;
  const sidbeam_allocator* allocator; /* copied; of the weights. NULL: that of the C library */
} sidbeam_draft_head_config;
#define SIDBEAM_DRAFT_HEAD_CONFIG_INIT \
  { (uint32_t)sizeof(sidbeam_draft_head_config), 0, NULL }

typedef struct sidbeam_draft_head_info {
  uint32_t struct_size;              /* sizeof(sidbeam_draft_head_info), set by the caller */
  int32_t levels, hidden, embedding; /* L, D, E; E is 0 with TRANSITION_NONE */
  int32_t input, transition;         /* SIDBEAM_DRAFT_* */
  int32_t dtype;                     /* SIDBEAM_DTYPE_* of the file */
  const int32_t* codes;              /* [levels] V_l; valid until the head goes */
  int64_t parameters;                /* elements of all weights */
  int64_t file_bytes;
  int64_t memory_bytes; /* that the head holds */
  const char* codebook; /* "" where the file names none; valid until the head goes */
} sidbeam_draft_head_info;
#define SIDBEAM_DRAFT_HEAD_INFO_INIT \
  { (uint32_t)sizeof(sidbeam_draft_head_info), 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, NULL }

/* Opens the file at `path`: checks all of it, checksums included, packs the weights for products, and multiplies each
 * code's embedding by its transition's weights once. The file is not needed afterwards. config NULL means all defaults.
 * *out gets one reference. Weights must be finite, except for head biases of -inf, whose codes are never found.
 * Errors: INVALID_ARGUMENT (config), IO_ERROR, CORRUPT (what is wrong and where), UNSUPPORTED (a newer format, an
 * unknown required section), OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_draft_head_open(
    const char* path, const sidbeam_draft_head_config* config, sidbeam_draft_head** out, sidbeam_error* err);
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_draft_head_get_info(
    const sidbeam_draft_head* head, sidbeam_draft_head_info* out, sidbeam_error* err);
SIDBEAM_API void sidbeam_draft_head_retain(sidbeam_draft_head* head);
SIDBEAM_API void sidbeam_draft_head_release(sidbeam_draft_head* head);

typedef struct sidbeam_draft_config {
  uint32_t struct_size; /* sizeof(sidbeam_draft_config) */
  int32_t requests;     /* B: most requests of a run, 1 .. 2^20; 0: 1 */
  int32_t beams;        /* M: 1 .. SIDBEAM_MAX_BEAMS */
  int32_t verification; /* SIDBEAM_DRAFT_VERIFY_* */
  /* SIDBEAM_NORMALIZE_FULL or _LEVEL (the same here: a logits row has the level's codes alone) or, with VERIFY_TRIE,
   * _VALID. */
  int32_t normalization;
  int32_t top_k;            /* codes per beam that VERIFY_HASH looks up; 0: M */
  sidbeam_draft_head* head; /* held */
  /* Held. Its levels and numbers of codes are the head's, its SIDs of one length and, where both name a codebook, its
   * codebook is the head's. It may be a version of a live catalogue (catalog.h): a head knows codes, not SIDs, so that
   * it finds those that were added since it was trained as it does the others. */
  sidbeam_index* index;
  /* SIDBEAM_DEVICE_CPU and 0, or SIDBEAM_DEVICE_CUDA and a device's number. The head's weights are uploaded for its
   * first decoder there, and stay there as long as the head lives. */
  int32_t device_type, device_id;
  /* Threads of a run, the caller's included, by `execute`, as in sidbeam_runtime_config; 0 or 1: the caller's alone.
   * Not read on CUDA. */
  int32_t threads;
  int32_t unused;
  void (*execute)(void* context, int32_t count, void (*task)(void* data, int32_t i), void* data);
  void* execute_context;
  const sidbeam_allocator* allocator; /* copied; of the decoder's arrays of the host. NULL: that of the C library */
  /* Instruction set of the products, as in sidbeam_runtime_config; NULL: the best there is. Not read on CUDA. */
  const char* cpu_target;
  /* On CUDA: the most item rows that the rules of a request may list, as in sidbeam_session_config; 0: 4096. */
  int64_t max_listed;
} sidbeam_draft_config;
#define SIDBEAM_DRAFT_CONFIG_INIT                                                                                   \
  {                                                                                                                 \
    (uint32_t)sizeof(sidbeam_draft_config), 1, 1, SIDBEAM_DRAFT_VERIFY_TRIE, SIDBEAM_NORMALIZE_FULL, 0, NULL, NULL, \
        SIDBEAM_DEVICE_CPU, 0, 0, 0, NULL, NULL, NULL, NULL, 0                                                      \
  }

typedef struct sidbeam_draft_args {
  uint32_t struct_size; /* sizeof(sidbeam_draft_args) */
  int32_t unused;
  /* [slots, L + 1, D]: 1 .. B requests of h_0 .. h_L, of any dtype, in the memory of the decoder's device. */
  const sidbeam_rows* hidden;
  /* [requests], of the same levels and numbers of codes and, where both name a codebook, of the head's. NULL, or an
   * entry that is NULL: all of the decoder's index. */
  sidbeam_constraint* const* constraints;
  const int32_t* widths; /* [requests] beams: 1 .. M, or 0 for M; NULL: M */
  void* stream;          /* CUDA stream; not read on the CPU */
  /* W, 1 .. L: widths is [requests, W], as in sidbeam_start_args; 0: a width per request. */
  int32_t width_levels;
} sidbeam_draft_args;
#define SIDBEAM_DRAFT_ARGS_INIT \
  { (uint32_t)sizeof(sidbeam_draft_args), 0, NULL, NULL, NULL, NULL, 0 }

/* Views of the decoder's arrays, valid until its next run. Beams that found no SID come last. On CUDA addresses of the
 * device, always the same, to be read in the order of the stream. */
typedef struct sidbeam_draft_result {
  uint32_t struct_size;            /* sizeof(sidbeam_draft_result), set by the caller */
  int32_t requests, beams, levels; /* of the run; M, L */
  const int32_t* live;             /* [requests] SIDs found */
  const int32_t* errors;           /* [requests] SIDBEAM_SLOT_* or'ed: NaN or +inf in logits that mattered; live is 0 */
  const int32_t* sids;             /* [requests, M, L] codes; -1 where there is no SID */
  const float* scores;             /* [requests, M] log-probabilities, falling; -inf where there is no SID */
  const int64_t* ordinals;         /* [requests, M] in the request's index; -1: no SID, or none that exists */
} sidbeam_draft_result;
#define SIDBEAM_DRAFT_RESULT_INIT \
  { (uint32_t)sizeof(sidbeam_draft_result), 0, 0, 0, NULL, NULL, NULL, NULL, NULL }

/* Makes a decoder and all its memory: afterwards only a run whose constraints are wider than those before takes more.
 * It holds the runtime, the head and the index. On CUDA the index is uploaded if it is not there yet; those of runs'
 * constraints must have been.
 * Errors: INVALID_ARGUMENT (config, another number of levels or codes, another codebook: the message says which, what
 * was expected and what came), MISSING_SECTION (the index was built without what the verification needs), UNSUPPORTED
 * (SIDs of variable length; without VERIFY_TRIE what came or went in a live catalogue), NO_DEVICE, OUT_OF_MEMORY, on
 * CUDA DEVICE_ERROR. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_draft_decoder_create(
    sidbeam_runtime* runtime, const sidbeam_draft_config* config, sidbeam_draft_decoder** out, sidbeam_error* err);
/* Decodes all levels of all requests of `args`.
 * Errors: INVALID_ARGUMENT (hidden states of another shape, more requests than B, a width, a constraint of another
 * shape or codebook), MISSING_SECTION, UNSUPPORTED (of a constraint), NO_DEVICE (hidden states of another device),
 * OUT_OF_MEMORY; on CUDA BAD_STATE (an index that is not on the device, a stream that is being captured) and
 * DEVICE_ERROR. The decoder can be used as before. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_draft_decoder_run(
    sidbeam_draft_decoder* decoder, const sidbeam_draft_args* args, sidbeam_draft_result* out, sidbeam_error* err);
/* The halves of a run, for CUDA graphs, which hold the second alone. The first starts as many requests as hidden.slots
 * says, with `constraints` and `widths`, and ends all others; it reads nothing else of the hidden states. The decoder
 * holds the constraints until the next start. The second decodes hidden.slots requests; it reads no constraints and no
 * widths. Of a request that has not been started it finds nothing; what has been decoded since its start is found
 * again. After a failure start anew. Errors: those of a run. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_draft_decoder_start(
    sidbeam_draft_decoder* decoder, const sidbeam_draft_args* args, sidbeam_error* err);
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_draft_decoder_decode(
    sidbeam_draft_decoder* decoder, const sidbeam_draft_args* args, sidbeam_draft_result* out, sidbeam_error* err);
/* On CUDA memory is freed at once: the decoder's work must have ended. */
SIDBEAM_API void sidbeam_draft_decoder_destroy(sidbeam_draft_decoder* decoder);

#ifdef __cplusplus
}
#endif
#endif
