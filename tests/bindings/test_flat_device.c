/* Draft decoders and steps from hidden states on the emulated device, through the flat layer: whose memory they take,
 * what they hold, and that all of it goes. That their results are right is tested in each language.
 * SPDX-License-Identifier: Apache-2.0 */
#include "../gpu/capi/device.h"
#include "flat_rig.h"

enum { LEVELS = 3, CODES = 4, HIDDEN = 4, STATES = (LEVELS + 1) * HIDDEN };

/* A head without transitions, whose weights are 0: logits are the biases, -1 -2 -4 -8 at each level. */
static flat_handle* make_head(void) {
  const char* path = temporary_path("head.sdraft");
  float bytes[LEVELS * CODES * (HIDDEN + 1)] = {0};
  int64_t offsets[FLAT_DRAFT_LISTS * LEVELS];
  flat_handle* head;
  memset(offsets, -1, sizeof offsets);
  for (int l = 0; l < LEVELS; ++l) {
    const int bias = LEVELS * CODES * HIDDEN + l * CODES;
    memcpy(bytes + bias, halving, sizeof halving);
    offsets[l] = l * CODES * HIDDEN * (int64_t)sizeof(float);
    offsets[LEVELS + l] = bias * (int64_t)sizeof(float);
  }
  OKAY(flat_draft_head_write(
      path, IN_I64(LEVELS, HIDDEN, 0, SIDBEAM_DRAFT_INPUT_HIDDEN, SIDBEAM_DRAFT_TRANSITION_NONE, SIDBEAM_DTYPE_F32),
      (flat_in_i32){small.codes, LEVELS}, (flat_in_bytes){(const char*)bytes, sizeof bytes},
      (flat_in_i64){offsets, FLAT_DRAFT_LISTS * LEVELS}, "", 0, &err));
  OKAY(head = flat_draft_head_open(path, &err));
  return head;
}

static flat_handle* make_decoder(const rig* r, int32_t device_type) {
  flat_handle *head = make_head(), *decoder;
  OKAY(decoder = flat_draft_decoder_create(r->runtime, head, r->index, 1, 2, SIDBEAM_DRAFT_VERIFY_TRIE,
                                           SIDBEAM_NORMALIZE_FULL, 0, 0, device_type, 0, &err));
  flat_free(head);
  return decoder;
}

static void enqueue(flat_handle* decoder, int32_t what, const void* states, int32_t device_type, int64_t* places) {
  flat_draft_decoder_enqueue(decoder, what, (flat_memory){(void*)(uintptr_t)states}, STATES, SIDBEAM_DTYPE_F32,
                             device_type, 0, 1, LEVELS + 1, HIDDEN, 0, 0, no_i64, no_i32, 0, 0,
                             (flat_out_i64){places, places == NULL ? 0 : FLAT_DRAFTS_COUNT}, &err);
}

static void run(flat_handle* decoder, const void* states, int32_t device_type, int64_t* ordinals) {
  int32_t live[1], errors[1], sids[2 * LEVELS];
  float scores[2];
  flat_draft_decoder_run(decoder, (flat_memory){(void*)(uintptr_t)states}, STATES, SIDBEAM_DTYPE_F32, device_type, 0, 1,
                         LEVELS + 1, HIDDEN, 0, 0, no_i64, no_i32, 0, OUT_I32(live), OUT_I32(errors), OUT_I32(sids),
                         OUT_F32(scores), (flat_out_i64){ordinals, 2}, &err);
}

static void views_keep_a_decoder_and_it_keeps_what_it_decodes(void) {
  const float zeros[STATES] = {0};
  const int64_t before = live_allocations();
  rig r = make_rig(1);
  flat_handle *decoder = make_decoder(&r, SIDBEAM_DEVICE_CUDA), *here = make_decoder(&r, SIDBEAM_DEVICE_CPU);
  void* states = on_device(zeros, sizeof zeros);
  int64_t places[FLAT_DRAFTS_COUNT] = {0}, expected[2], found[2];
  OKAY(run(here, zeros, SIDBEAM_DEVICE_CPU, expected));
  OKAY(enqueue(decoder, FLAT_DRAFT_START, states, SIDBEAM_DEVICE_CUDA, NULL));
  OKAY(enqueue(decoder, FLAT_DRAFT_DECODE, states, SIDBEAM_DEVICE_CUDA, places));
  OKAY(flat_view_retain(decoder, &err));
  flat_free(decoder);
  flat_free(here);
  free_handles(&r);
  CHECK_INT(returned(), -1);
  read_device(found, (const void*)(intptr_t)places[FLAT_DRAFTS_ORDINALS], sizeof found);
  CHECK_I64(found, expected, 2);
  flat_view_release(decoder);
  CHECK_INT(returned(), 1);
  release_device(states);
  CHECK_INT(live_allocations(), before);
  free(r.bytes);
}

static void decoders_of_another_device_are_refused(void) {
  const float zeros[STATES] = {0};
  rig r = make_rig(1);
  flat_handle *decoder = make_decoder(&r, SIDBEAM_DEVICE_CUDA), *here = make_decoder(&r, SIDBEAM_DEVICE_CPU);
  void* states = on_device(zeros, sizeof zeros);
  int64_t places[FLAT_DRAFTS_COUNT] = {0}, ordinals[2];
  REFUSED(run(decoder, states, SIDBEAM_DEVICE_CUDA, ordinals), SIDBEAM_UNSUPPORTED,
          "draft decoder is on a device, expected one on the CPU");
  REFUSED(enqueue(here, FLAT_DRAFT_RUN, zeros, SIDBEAM_DEVICE_CPU, places), SIDBEAM_UNSUPPORTED,
          "draft decoder is on the CPU, expected one on a device");
  REFUSED(enqueue(decoder, FLAT_DRAFT_RUN, states, SIDBEAM_DEVICE_CUDA, NULL), SIDBEAM_INVALID_ARGUMENT,
          "out is missing, expected 5 elements");
  OKAY(enqueue(decoder, FLAT_DRAFT_RUN, states, SIDBEAM_DEVICE_CUDA, places));
  flat_free(decoder);
  REFUSED(enqueue(here, FLAT_DRAFT_RUN, zeros, SIDBEAM_DEVICE_CPU, places), SIDBEAM_UNSUPPORTED,
          "draft decoder is on the CPU, expected one on a device"); /* nothing stays entered */
  flat_free(here);
  free_rig(&r);
  CHECK_INT(returned(), 1);
  release_device(states);
}

/* Not copied, whatever is asked for: what is written there later counts. */
static void a_layer_on_a_device_is_borrowed(void) {
  float weights[RIG_COLUMNS * HIDDEN] = {0}, states[RIG_SLOTS * RIG_BEAMS * HIDDEN] = {0}, scores[3];
  const int64_t before = live_allocations();
  rig r = make_rig(1);
  void *there = on_device(weights, sizeof weights), *bias = on_device(halving, sizeof halving),
       *hidden = on_device(states, sizeof states);
  flat_handle *session, *layer, *step;
  int64_t place[FLAT_BEAMS_COUNT] = {0};
  OKAY(session = flat_session_create(r.runtime, r.constraint, RIG_SLOTS, RIG_BEAMS, SIDBEAM_STRATEGY_TRIE,
                                     SIDBEAM_NORMALIZE_NONE, 0, no_i64, no_i32, no_i64, -1, SIDBEAM_DEVICE_CUDA, 0, 0,
                                     SIDBEAM_MODE_SEARCH, 0, &err));
  OKAY(layer = flat_output_layer_create((flat_memory){there}, RIG_COLUMNS * HIDDEN, SIDBEAM_DTYPE_F32,
                                        SIDBEAM_DEVICE_CUDA, 0, RIG_COLUMNS, HIDDEN, 0,
                                        (flat_in_f32){(const float*)bias, RIG_COLUMNS}, 0, 1, &err));
  OKAY(step = flat_hidden_create(session, layer, SIDBEAM_HIDDEN_FASTEST, 0, &err));
  flat_free(layer);
  const rig on_cuda = {r.runtime, r.index, r.constraint, session, NULL, 0};
  OKAY(rig_start(&on_cuda, &err));
  write_device(bias, ((const float[]){1, 2, 3, 4}), sizeof halving);
  OKAY(flat_hidden_step(step, SIDBEAM_HIDDEN_FASTEST, no_i32, (flat_memory){hidden}, RIG_SLOTS * RIG_BEAMS * HIDDEN,
                        SIDBEAM_DTYPE_F32, SIDBEAM_DEVICE_CUDA, 0, RIG_SLOTS, RIG_BEAMS, HIDDEN, 0, 0, no_i32, no_f32,
                        0, no_f32, 0, &err));
  OKAY(flat_session_get_beams(session, OUT_I64(place), &err));
  read_device(scores, (const void*)(intptr_t)place[FLAT_BEAMS_SCORES], sizeof scores);
  CHECK_F32(scores, ((const float[]){4, 3, 1}), 3); /* codes 3, 2, 0 */
  flat_free(session);
  free_handles(&r);
  CHECK_INT(returned(), -1);
  flat_free(step);
  CHECK_INT(returned(), 1);
  release_device(hidden);
  release_device(bias);
  release_device(there);
  CHECK_INT(live_allocations(), before);
  free(r.bytes);
}

int main(void) {
  static const test_case tests[] = {
      TEST(views_keep_a_decoder_and_it_keeps_what_it_decodes),
      TEST(decoders_of_another_device_are_refused),
      TEST(a_layer_on_a_device_is_borrowed),
  };
  return RUN_TESTS(tests);
}
