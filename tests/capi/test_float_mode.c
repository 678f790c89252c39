/* The caller's floating-point mode: frameworks flush denormals, and some hosts round another way.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

#if defined(__SSE2__)
#include <xmmintrin.h>

/* One step at level 0 on rows of f16 or f32 in the given mode; gives the scores. */
static void step_in_mode(unsigned mode, int32_t dtype, void* row, float scores[4]) {
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_session_config config = session_config(constraint);
  sidbeam_session* session = make_session(&config);
  sidbeam_rows rows = make_rows((const float*)row, 1, 1, 4);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  const unsigned before = _mm_getcsr();
  rows.dtype = dtype;
  args.rows = &rows;
  start_all(session);
  _mm_setcsr(before | mode);
  CHECK_OK(sidbeam_session_step(session, &args, &err));
  CHECK_INT((int)(_mm_getcsr() & 0xffc0), (int)((before | mode) & 0xffc0)); /* as it was */
  _mm_setcsr(before);
  memcpy(scores, beams_of(session).scores, 4 * sizeof(float));
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
}

static void check_modes(int32_t dtype, void* row) {
  static const unsigned modes[3] = {0x8040 /* flush denormals */, 0x2000 /* round down */, 0x6000 /* to zero */};
  float expected[4], scores[4];
  step_in_mode(0, dtype, row, expected);
  CHECK(expected[0] < 0 && expected[0] > -1e-4f);
  for (int i = 0; i < 3; ++i) {
    step_in_mode(modes[i], dtype, row, scores);
    CHECK_F32(scores, expected, 4);
  }
}

static void the_callers_float_mode_changes_nothing(void) {
  uint16_t halves[4] = {0x8001, 0x8002, 0x8003, 0x83ff}; /* denormal */
  float floats[4] = {-1e-40f, -2e-40f, -3e-40f, -4e-40f};
  check_modes(SIDBEAM_DTYPE_F16, halves);
  check_modes(SIDBEAM_DTYPE_F32, floats);
}
#else
static void the_callers_float_mode_changes_nothing(void) {}
#endif

int main(void) {
  static const test_case tests[] = {TEST(the_callers_float_mode_changes_nothing)};
  return RUN_TESTS(tests);
}
