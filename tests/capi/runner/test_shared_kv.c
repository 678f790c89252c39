/* Keys and values that the host computed, in front of a request's tokens: what is copied, what is borrowed, and which
 * are refused. That they stand for the tokens they were computed from is tested in tests/unit.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runner_rig.h"

enum { LENGTH = 3, ROW = TINY_KV_HEADS * TINY_HEAD_DIM };

static float numbers[2][TINY_LAYERS][LENGTH * ROW];
static const void* arrays[2][TINY_LAYERS];

static sidbeam_shared_kv make_kv(void) {
  sidbeam_shared_kv kv = SIDBEAM_SHARED_KV_INIT;
  for (int which = 0; which < 2; ++which)
    for (int layer = 0; layer < TINY_LAYERS; ++layer) {
      for (int i = 0; i < LENGTH * ROW; ++i) numbers[which][layer][i] = 0.01f * (float)(i % 17 + which + layer);
      arrays[which][layer] = numbers[which][layer];
    }
  kv.length = LENGTH;
  kv.keys = arrays[0];
  kv.values = arrays[1];
  return kv;
}

static outcome run_after(const sidbeam_shared_kv* kv) {
  outcome got;
  sidbeam_request request = ask(&got);
  request.shared_kv = kv;
  CHECK_OK(sidbeam_runner_run(runner, &request, &err));
  return got;
}

static void it_changes_what_comes_back(void) {
  const sidbeam_runner_config config = settings();
  const sidbeam_shared_kv kv = make_kv();
  make_runner(&config);
  const outcome with = run_after(&kv), without = run_once();
  CHECK_INT(with.live, BEAMS);
  CHECK(memcmp(with.scores, without.scores, sizeof with.scores) != 0);
}

/* The request waits behind another while its struct is overwritten. */
static void the_struct_is_copied_when_the_request_is_taken(void) {
  outcome first, second;
  sidbeam_shared_kv kv = make_kv();
  make_gated_runner(0);
  set_gate(0);
  const outcome expected = run_after(&kv);
  set_gate(1);
  submit(&first);
  await_running();
  sidbeam_request request = ask(&second);
  request.shared_kv = &kv;
  CHECK_OK(sidbeam_runner_submit(runner, &request, NULL, &err));
  memset(&kv, 0xff, sizeof kv);
  set_gate(0);
  drain();
  check_same(&second, &expected);
}

#define REFUSED(change, ...)                                                                        \
  do {                                                                                              \
    outcome got;                                                                                    \
    sidbeam_shared_kv kv = make_kv();                                                               \
    sidbeam_request request = ask(&got);                                                            \
    request.shared_kv = &kv;                                                                        \
    change;                                                                                         \
    CHECK_FAILS(sidbeam_runner_run(runner, &request, &err), SIDBEAM_INVALID_ARGUMENT, __VA_ARGS__); \
    CHECK_INT(got.calls, 0);                                                                        \
  } while (0)

static void one_that_makes_no_sense_is_refused(void) {
  const sidbeam_runner_config config = settings();
  make_runner(&config);
  REFUSED(kv.struct_size = 8, "request.shared_kv.struct_size is 8");
  REFUSED(kv.dtype = 3, "request.shared_kv.dtype is 3, expected 0..2");
  REFUSED(kv.device_type = SIDBEAM_DEVICE_CUDA,
          "request.shared_kv.device_type is 1, expected SIDBEAM_DEVICE_CPU, 0: keys and values in host memory");
  REFUSED(kv.device_id = 2, "request.shared_kv.device_id is 2, expected 0, the only one of the CPU");
  REFUSED(kv.length = 0, "request.shared_kv.length is 0, expected 1..16");
  REFUSED(kv.length = 17, "request.shared_kv.length is 17, expected 1..16, config.max_prompt");
  REFUSED(kv.keys = NULL, "request.shared_kv.keys is NULL");
  REFUSED(arrays[1][1] = NULL, "request.shared_kv.values[1] is NULL, expected an array for each of 2 layers");
}

static void positions_must_fit_behind_it(void) {
  sidbeam_runner_config config = settings();
  make_runner(&config);
  REFUSED(request.positions = 14,
          "request.positions is 14, expected 1..13: config.max_prompt is 16, of which request.shared_kv has 3");
  REFUSED(request.positions = 0, "request.positions is 0, expected 1..13");
  REFUSED((kv.length = 16, request.positions = 0),
          "request.shared_kv.length is 16, expected at most 15: config.max_prompt is 16, and with neither begin tokens "
          "nor a token after it there would be nothing to run");
  sidbeam_runner_destroy(runner);
  config.begin_tokens = history;
  config.begin_count = 1;
  make_runner(&config);
  REFUSED(request.positions = -1, "request.positions is -1, expected 0..13");
  outcome got;
  const sidbeam_shared_kv kv = make_kv();
  sidbeam_request request = ask(&got);
  request.shared_kv = &kv;
  request.positions = 0;
  CHECK_OK(sidbeam_runner_run(runner, &request, &err));
  CHECK_INT(got.live, BEAMS);
}

static void a_t5_encodes_no_token_beside_it(void) {
  sidbeam_runner_config config = settings();
  sidbeam_model* t5 = NULL;
  CHECK_OK(sidbeam_model_open(T5, NULL, &t5, &err));
  config.model = t5;
  make_runner(&config);
  sidbeam_model_release(t5);
  REFUSED(request.positions = 1,
          "request.positions is 1, expected 0: request.shared_kv stands for the encoder's output, so that no token is "
          "encoded");
}

int main(void) {
  static const test_case tests[] = {
      TEST(it_changes_what_comes_back),         TEST(the_struct_is_copied_when_the_request_is_taken),
      TEST(one_that_makes_no_sense_is_refused), TEST(positions_must_fit_behind_it),
      TEST(a_t5_encodes_no_token_beside_it),
  };
  after_test = clean_up;
  return RUN_TESTS(tests);
}
