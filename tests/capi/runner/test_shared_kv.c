/* Keys and values that the host computed, in front of a request's tokens: what is copied, what is borrowed, and which
 * are refused. That they stand for the tokens they were computed from is tested in tests/unit.
 * SPDX-License-Identifier: Apache-2.0 */
#include "catalog_rig.h"
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

/* under NULL: the runner's constraint. */
static outcome run_under(const sidbeam_shared_kv* kv, sidbeam_constraint* under) {
  outcome got;
  sidbeam_request request = ask(&got);
  request.shared_kv = kv;
  request.constraint = under;
  CHECK_OK(sidbeam_runner_run(runner, &request, &err));
  return got;
}

static outcome run_after(const sidbeam_shared_kv* kv) { return run_under(kv, NULL); }

static void it_changes_what_comes_back(void) {
  const sidbeam_runner_config config = settings();
  const sidbeam_shared_kv kv = make_kv();
  make_runner(&config);
  const outcome with = run_after(&kv), without = run_once();
  CHECK_INT(with.live, BEAMS);
  CHECK(memcmp(with.scores, without.scores, sizeof with.scores) != 0);
}

/* A prompt that was read once has nothing of a catalogue in it. */
static void it_serves_every_version_of_a_catalogue(void) {
  static const int32_t codes[] = {4, 4, 4}, sids[] = {0, 1, 2, 0, 1, 3, 0, 3, 0, 3, 0, 0, 3, 3, 3};
  const catalogue newest = {3, 0, SIDBEAM_ID_I64, codes, sids, NULL, NULL, NULL, NULL, 5};
  const sidbeam_runner_config config = settings();
  const sidbeam_shared_kv kv = make_kv();
  sidbeam_catalog* catalog = make_catalog(NULL);
  outcome last = {0};
  make_runner(&config);
  for (int turn = 0; turn < 3; ++turn) { /* what is new, what is old, what is new again */
    sidbeam_constraint* alone = make_constraint(turn == 1 ? &small : &newest, SIDBEAM_KIND_TRIE);
    if (turn == 0) {
      CHECK_OK(remove_item(catalog, 13, &err));
      CHECK_INT(publish_pair(catalog, "333", 40), 2);
    }
    sidbeam_index* index = NULL;
    CHECK_OK(sidbeam_catalog_snapshot(catalog, turn == 1 ? 1 : 2, &index, &err));
    sidbeam_constraint* version = constrain(index);
    const outcome found = run_under(&kv, version), expected = run_under(&kv, alone);
    CHECK_INT(found.live, BEAMS);
    CHECK_I32(found.sids, expected.sids, BEAMS * LEVELS);
    CHECK_F32(found.scores, expected.scores, BEAMS);
    CHECK(memcmp(found.sids, last.sids, sizeof last.sids) != 0);
    last = found;
    sidbeam_constraint_release(version);
    sidbeam_constraint_release(alone);
    sidbeam_index_release(index);
  }
  sidbeam_catalog_close(catalog);
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
      TEST(it_changes_what_comes_back),
      TEST(it_serves_every_version_of_a_catalogue),
      TEST(the_struct_is_copied_when_the_request_is_taken),
      TEST(one_that_makes_no_sense_is_refused),
      TEST(positions_must_fit_behind_it),
      TEST(a_t5_encodes_no_token_beside_it),
  };
  after_test = clean_up;
  return RUN_TESTS(tests);
}
