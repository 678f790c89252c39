/* Speculations and steps from hidden states through the flat layer: what they hold, and that all of it goes. That their
 * beams are right is tested in each language. SPDX-License-Identifier: Apache-2.0 */
#include "flat_rig.h"

enum { WIDTH = 2, SHAPE = RIG_SLOTS * RIG_BEAMS };
static const flat_memory rows_of_nodes = {(void*)(uintptr_t)halving};

static int64_t begin(flat_handle* speculation) { return flat_speculation_begin(speculation, no_i32, 0, &err); }

static void a_speculation_holds_its_sessions_and_views_hold_it(void) {
  rig r = make_rig(1);
  int64_t tree[FLAT_TREE_COUNT] = {0};
  flat_handle *draft, *speculation, *second = NULL;
  OKAY(draft = rig_session(r.runtime, r.constraint));
  OKAY(speculation = flat_speculation_create(r.runtime, r.session, draft, 1, 0, &err));
  OKAY(rig_start(&r, &err));
  REFUSED(begin(speculation), SIDBEAM_BAD_STATE, "slot 0 of the draft is not started, expected one that is");
  const rig of_draft = {r.runtime, r.index, r.constraint, draft, NULL, 0};
  OKAY(rig_start(&of_draft, &err));
  OKAY(CHECK_INT(begin(speculation), RIG_SLOTS));
  OKAY(flat_speculation_get_tree(speculation, OUT_I64(tree), &err));
  CHECK_INT(tree[FLAT_TREE_NODES], RIG_SLOTS);
  REFUSED(flat_speculation_verify(speculation, rows_of_nodes, 4, SIDBEAM_DTYPE_F32, 0, 0, 0, 2, 4, 0, 0, no_f32, &err),
          SIDBEAM_INVALID_ARGUMENT, "logits has 4 elements, too few for 0 x 2 rows of 4 columns with strides 0 and 0");
  OKAY(flat_speculation_verify(speculation, rows_of_nodes, 4, SIDBEAM_DTYPE_F32, 0, 0, 0, RIG_SLOTS, 4, 0,
                               SIDBEAM_BROADCAST, no_f32, &err));
  /* In use elsewhere: refused, and nothing stays entered. */
  atomic_store(&draft->busy, 1);
  REFUSED(begin(speculation), SIDBEAM_BAD_STATE, "session is in use by another thread");
  atomic_store(&draft->busy, 0);
  OKAY(CHECK_INT(begin(speculation), RIG_SLOTS));
  OKAY(flat_view_retain(speculation, &err));
  flat_free(draft);
  free_handles(&r);
  CHECK_INT(returned(), -1);
  REFUSED(begin(speculation), SIDBEAM_BAD_STATE, "session is closed");
  REFUSED(second = flat_speculation_create(NULL, NULL, NULL, 1, 0, &err), SIDBEAM_INVALID_ARGUMENT,
          "runtime is null, expected a handle of it");
  CHECK(second == NULL);
  flat_close(speculation);
  CHECK_INT(returned(), -1);
  CHECK_INT(*(const int64_t*)(intptr_t)tree[FLAT_TREE_NODE_OFFSETS], 0);
  flat_free(speculation);
  flat_view_release(speculation); /* the last that holds it */
  CHECK_INT(returned(), 1);
  free(r.bytes);
}

static flat_handle* make_layer(const float* weights, int copy) {
  return flat_output_layer_create((flat_memory){(void*)(uintptr_t)weights}, RIG_COLUMNS * WIDTH, SIDBEAM_DTYPE_F32, 0,
                                  0, RIG_COLUMNS, WIDTH, 0, IN_F32(1, 2, 3, 4), 0, copy, &err);
}

static void step_hidden(flat_handle* hidden, const float* states) {
  flat_hidden_step(hidden, SIDBEAM_HIDDEN_FASTEST, no_i32, (flat_memory){(void*)(uintptr_t)states}, SHAPE * WIDTH,
                   SIDBEAM_DTYPE_F32, 0, 0, RIG_SLOTS, RIG_BEAMS, WIDTH, 0, 0, no_i32, no_f32, 0, no_f32, 0, &err);
}

static void a_step_holds_its_session_and_its_layer(void) {
  float weights[RIG_COLUMNS * WIDTH] = {1, 2, 3, 4, 5, 6, 7, 8}, states[SHAPE * WIDTH] = {0};
  for (int copy = 0; copy < 2; ++copy) {
    rig r = make_rig(1);
    flat_handle *layer, *hidden;
    int64_t place[FLAT_BEAMS_COUNT] = {0};
    OKAY(layer = make_layer(weights, copy));
    OKAY(hidden = flat_hidden_create(r.session, layer, SIDBEAM_HIDDEN_FASTEST, 0, &err));
    if (copy) memset(weights, -1, sizeof weights); /* NaN */
    OKAY(rig_start(&r, &err));
    flat_free(layer);
    OKAY(step_hidden(hidden, states));
    OKAY(flat_session_get_beams(r.session, OUT_I64(place), &err));
    CHECK_F32((const float*)(intptr_t)place[FLAT_BEAMS_SCORES], ((const float[]){4, 3, 1}), 3); /* codes 3, 2, 0 */
    REFUSED(flat_view_retain(hidden, &err), SIDBEAM_INVALID_ARGUMENT,
            "session is hidden step, expected a handle of it");
    free_handles(&r);
    CHECK_INT(returned(), -1);
    REFUSED(step_hidden(hidden, states), SIDBEAM_BAD_STATE, "session is closed");
    flat_free(hidden);
    CHECK_INT(returned(), 1);
    free(r.bytes);
  }
}

/* Nothing is copied of what the library refuses: here it would be no elements, for ages. */
static void a_layer_without_width_is_refused(void) {
  const float weights[1] = {0};
  volatile int64_t width = 0; /* of a constant the compiler makes no loop */
  REFUSED(flat_output_layer_create((flat_memory){(void*)(uintptr_t)weights}, 1, SIDBEAM_DTYPE_F32, 0, 0, INT64_MAX,
                                   width, 0, no_f32, 0, 1, &err),
          SIDBEAM_INVALID_ARGUMENT, "config.columns is 9223372036854775807, expected 1..2147483647");
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_speculation_holds_its_sessions_and_views_hold_it),
      TEST(a_step_holds_its_session_and_its_layer),
      TEST(a_layer_without_width_is_refused),
  };
  return RUN_TESTS(tests);
}
