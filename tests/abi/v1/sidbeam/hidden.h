/* sidbeam: the step from hidden states, for engines that have their own model. Part of libsidbeam_runner.so.1.
 *
 * Instead of logits the host gives the beams' last hidden states, and once the weights of the output layer. Where a
 * step reads the children's columns alone (sidbeam_session_children: NORMALIZE_VALID, or the caller's log-sum-exp),
 * only the rows of weights that are children of some beam are read, each once, and multiplied with the hidden states of
 * those beams; elsewhere all of them are multiplied. Then sidbeam_session_step() does the rest.
 *
 *   sidbeam_output_layer_config layer = SIDBEAM_OUTPUT_LAYER_CONFIG_INIT;
 *   layer.weights = lm_head, layer.columns = 32768, layer.width = 512;
 *   TRY(sidbeam_output_layer_create(&layer, &output, &err));
 *   sidbeam_hidden_config how = SIDBEAM_HIDDEN_CONFIG_INIT;
 *   how.session = session, how.layer = output;
 *   TRY(sidbeam_hidden_create(&how, &hidden, &err));
 *   sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
 *   args.hidden = &states;  // instead of sidbeam_session_step()
 *   TRY(sidbeam_hidden_step(hidden, &args, &err));
 *
 * A logit is the bias, plus the sums over the inputs in blocks of 1024 in rising order. Within a block, lane i of 16 is
 * one chain of fused multiply-adds over the inputs i, i + 16, ...; the lanes are folded in halves. So its bits depend
 * on the hidden state, the weights and the bias alone: not on the path that is taken, the batch, the threads or the
 * instruction set. f16 and bf16 are widened, which is exact.
 *
 * On CUDA, where the layer and its session are on the same device, work is enqueued as that of sidbeam_session_step()
 * is, and may be captured: lists, multiplies and steps, without a decision on the host. What differs:
 *   - The host does not see levels, so SIDBEAM_HIDDEN_FASTEST multiplies the children wherever a step reads them alone.
 *     A host that knows better names the path of a step: at levels where beams have about as many children as there
 *     are columns, a whole product by cuBLASLt is the faster.
 *   - Hidden states are rounded to the type of the weights, and logits of the two paths differ by the rounding of sums.
 *   - A product reads all rows of hidden states, those of dead beams included, which may hold anything.
 *   - Libraries load their kernels at the first product of a shape, which therefore must not be captured.
 *   - What the host cannot refuse puts the slot in error, as in a step (SIDBEAM_SLOT_BAD_MAP).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_HIDDEN_H
#define SIDBEAM_HIDDEN_H

#include "runtime.h"
#include "session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Handles. A layer is immutable and may be used by many threads; one destroys it. A hidden has the memory of a
 * session's steps and belongs to the thread that uses the session. A forked child may use the layers on the CPU that
 * it inherits. It may only destroy hiddens, and layers on CUDA, which leaves the device alone; calls on what is on CUDA
 * fail with BAD_STATE. */
typedef struct sidbeam_output_layer sidbeam_output_layer;
typedef struct sidbeam_hidden sidbeam_hidden;

typedef struct sidbeam_output_layer_config {
  uint32_t struct_size;           /* sizeof(sidbeam_output_layer_config) */
  int32_t dtype;                  /* SIDBEAM_DTYPE_* of the weights */
  int32_t device_type, device_id; /* of weights and bias: SIDBEAM_DEVICE_CPU and 0, or CUDA and a device's number */
  /* [columns, width], row c at weights + c*row_stride: the inputs of column c are contiguous, as checkpoints have them.
   * Aligned to an element, on CUDA every row to 16 bytes. Borrowed, and read in place until the layer is destroyed: no
   * copy is made. */
  const void* weights;
  int64_t columns;    /* 1 .. 2^31 - 1 */
  int64_t width;      /* of a hidden state, 1 .. 2^20 */
  int64_t row_stride; /* elements, at least width; 0: width */
  const float* bias;  /* [columns], borrowed likewise; NULL: none */
  float soft_cap;     /* of the steps, as in sidbeam_step_args */
  int32_t unused;     /* padding; never read */
  /* Instruction set of the products, as in sidbeam_runtime_config; NULL: the best there is. */
  const char* cpu_target;
} sidbeam_output_layer_config;
#define SIDBEAM_OUTPUT_LAYER_CONFIG_INIT                                                                          \
  {                                                                                                               \
    (uint32_t)sizeof(sidbeam_output_layer_config), SIDBEAM_DTYPE_F32, SIDBEAM_DEVICE_CPU, 0, NULL, 0, 0, 0, NULL, \
        0.0f, 0, NULL                                                                                             \
  }

/* Makes a layer. On the CPU measures by up to 1024 inputs of its first 48 columns what a product costs by itself and as
 * part of a tile, in about a millisecond, or 20 where the instruction set has no fused multiply-add; that decides which
 * path a step takes, and never changes a result.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED (an instruction set that is not there), NO_DEVICE, OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_output_layer_create(
    const sidbeam_output_layer_config* config, sidbeam_output_layer** out, sidbeam_error* err);
SIDBEAM_API void sidbeam_output_layer_destroy(sidbeam_output_layer* layer);

/* How a slot's logits are computed. */
enum {
  SIDBEAM_HIDDEN_FASTEST = 0, /* what is expected to be faster, by the layer's measured costs */
  /* The children's alone; fails where a step reads more. On the CPU a slot for which hidden_config.children has no room
   * is multiplied whole, on CUDA a beam. */
  SIDBEAM_HIDDEN_CHILDREN = 1,
  SIDBEAM_HIDDEN_PRODUCT = 2 /* all columns */
};

typedef struct sidbeam_hidden_config {
  uint32_t struct_size; /* sizeof(sidbeam_hidden_config) */
  int32_t path;         /* SIDBEAM_HIDDEN_*, of steps that name none */
  /* Both outlive the object. */
  sidbeam_session* session;
  const sidbeam_output_layer* layer;
  /* Products of beam and child that are held at a time, 20 bytes each, at least 1; slots are taken together as far as
   * they fit, and one that does not fit by itself is multiplied whole. On CUDA 4 bytes each; beams that do not fit are
   * multiplied whole. 0: 2^22, or S*M*columns if that is less. */
  int64_t children;
  /* Threads of the products, as sidbeam_runner_config has them: `execute` runs them; 0 or 1: the caller's alone. */
  int32_t threads;
  int32_t unused; /* padding; never read */
  void (*execute)(void* context, int32_t count, void (*task)(void* data, int32_t i), void* data);
  void* execute_context;
  const sidbeam_allocator* allocator; /* copied; NULL: that of the C library */
} sidbeam_hidden_config;
#define SIDBEAM_HIDDEN_CONFIG_INIT \
  { (uint32_t)sizeof(sidbeam_hidden_config), SIDBEAM_HIDDEN_FASTEST, NULL, NULL, 0, 0, 0, NULL, NULL, NULL }

/* Takes all memory: about that of one slot's logits, M * columns f32, and up to a mebibyte per thread; on CUDA of all
 * slots' logits, of which steps at list levels touch little, and it is freed when the object is destroyed: its work
 * must have ended.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED (a session on another device than the layer), NO_DEVICE, OUT_OF_MEMORY. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_hidden_create(
    const sidbeam_hidden_config* config, sidbeam_hidden** out, sidbeam_error* err);
SIDBEAM_API void sidbeam_hidden_destroy(sidbeam_hidden* hidden);

/* Each field means what that of sidbeam_step_args does, with hidden states in the place of logits. */
typedef struct sidbeam_hidden_step_args {
  uint32_t struct_size; /* sizeof(sidbeam_hidden_step_args) */
  int32_t path;         /* SIDBEAM_HIDDEN_* of this step; FASTEST: that of the object */
  const int32_t* slots;
  int64_t count;
  /* [slots, rows, width], or [rows, width] with slots 0 and a row map; on the layer's device. F32; on CUDA any dtype,
   * and at most S*M rows in all. */
  const sidbeam_rows* hidden;
  const int32_t* row_map;
  const float* lse; /* of x over the columns of the normalization, per row of `hidden` */
  float inverse_temperature;
  int32_t unused2;
  const float* inverse_temperatures;
  void* stream; /* CUDA stream; not read on the CPU */
} sidbeam_hidden_step_args;
#define SIDBEAM_HIDDEN_STEP_ARGS_INIT \
  { (uint32_t)sizeof(sidbeam_hidden_step_args), SIDBEAM_HIDDEN_FASTEST, NULL, 0, NULL, NULL, NULL, 0.0f, 0, NULL, NULL }

/* Advances slots of the session by one level; allocates nothing. Errors: those of sidbeam_session_step(), and
 * INVALID_ARGUMENT (hidden states of another width or dtype, a child without a row of weights), NO_DEVICE (hidden
 * states on another device), with SIDBEAM_HIDDEN_CHILDREN UNSUPPORTED; then no slot has changed, except that where the
 * session itself refuses one, for a row that is missing or a layer of too few columns, those before it in the list have
 * been stepped. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_hidden_step(
    sidbeam_hidden* hidden, const sidbeam_hidden_step_args* args, sidbeam_error* err);

/* Counted since creation. On CUDA, where the host sees the calls alone, a captured one counts once, child_slots and
 * product_slots are entries of the calls' lists, and union_slots, products, weight_rows and weight_bytes stay 0. */
typedef struct sidbeam_hidden_stats {
  uint32_t struct_size;  /* sizeof(sidbeam_hidden_stats), set by the caller */
  int32_t unused;        /* padding */
  int64_t steps;         /* calls */
  int64_t child_slots;   /* slots stepped by products of beam and child alone */
  int64_t union_slots;   /* by all products of their beams and the children of any of them */
  int64_t product_slots; /* by the products with all columns */
  int64_t products;      /* inner products computed */
  /* Rows of weights that were read: of the child slots that are taken together the distinct children, of a union its
   * columns, of a product all. */
  int64_t weight_rows;
  int64_t weight_bytes; /* bytes of them */
  int64_t memory_bytes; /* that the object holds */
  double break_even;    /* measured cost of a product by itself, in those within a tile */
} sidbeam_hidden_stats;
#define SIDBEAM_HIDDEN_STATS_INIT \
  { (uint32_t)sizeof(sidbeam_hidden_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0 }
/* Errors: INVALID_ARGUMENT (NULL). */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_hidden_get_stats(
    const sidbeam_hidden* hidden, sidbeam_hidden_stats* out, sidbeam_error* err);

#ifdef __cplusplus
}
#endif
#endif
