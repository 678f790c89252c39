/* Sets of constraints: the stateless forms on the CPU and on a device, in and out of graphs.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "../../capi/fixtures.h"
#include "device.h"

enum { ROWS = 3, CODES = 4, LEVELS = 3, K = 2 };

static const int32_t codes[ROWS * LEVELS] = {0, 1, 2, 0, 1, 0, 3, 0, 0}, lengths[ROWS] = {2, 1, 0},
                                  which[ROWS] = {0, 1, 0};
static const int32_t chosen[ROWS] = {2, 2, 3};
static const float logits[ROWS * CODES] = {-1, -2, -4, -8, -8, -4, -2, -1, -1, -2, -4, -8};

static void check_nothing_is_left(void) { CHECK_INT(live_allocations(), 0); }

static sidbeam_constraint_set* make_set_on(int32_t device_type) {
  sidbeam_constraint* constraints[2] = {make_constraint(&small, ALL_KINDS), make_constraint(&two_levels, ALL_KINDS)};
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_constraint_set* set = NULL;
  config.constraints = constraints;
  config.constraint_count = 2;
  config.device_type = device_type;
  CHECK_OK(sidbeam_constraint_set_create(runtime, &config, &set, &err));
  sidbeam_constraint_release(constraints[0]);
  sidbeam_constraint_release(constraints[1]);
  sidbeam_runtime_release(runtime);
  return set;
}

typedef struct answers {
  sidbeam_state states[ROWS], after[ROWS], next[ROWS * K];
  float masked[ROWS * CODES], log_probs[ROWS * K];
  uint32_t words[ROWS];
  int32_t best[ROWS * K];
} answers;

/* Where an array of the host is for the set: itself, or a place on the device. */
static void* there(int32_t device_type, const void* data, size_t bytes) {
  if (device_type == SIDBEAM_DEVICE_CUDA) return on_device(data, bytes);
  void* copy = malloc(bytes);
  CHECK(copy != NULL);
  memcpy(copy, data, bytes);
  return copy;
}

static void back(int32_t device_type, void* out, void* place, size_t bytes) {
  if (device_type == SIDBEAM_DEVICE_CUDA) {
    read_device(out, place, bytes);
    release_device(place);
  } else {
    memcpy(out, place, bytes);
    free(place);
  }
}

static sidbeam_rows rows_at(int32_t device_type, float* data) {
  sidbeam_rows rows = make_rows(data, 0, ROWS, CODES);
  rows.device_type = device_type;
  return rows;
}

/* Everything that a set answers. In a graph where `graphs`, which is then replayed. */
static answers ask(int32_t device_type, int graphs) {
  answers a;
  memset(&a, 0, sizeof a);
  unload_kernels(); /* making the set loads them, not its first use */
  sidbeam_constraint_set* set = make_set_on(device_type);
  int32_t* codes_at = there(device_type, codes, sizeof codes);
  int32_t* lengths_at = there(device_type, lengths, sizeof lengths);
  int32_t* which_at = there(device_type, which, sizeof which);
  int32_t* given = there(device_type, chosen, sizeof chosen);
  float* masked = there(device_type, logits, sizeof logits);
  float* read = there(device_type, logits, sizeof logits);
  answers* place = there(device_type, &a, sizeof a);
  const sidbeam_rows to_mask = rows_at(device_type, masked), to_read = rows_at(device_type, read);
  void* stream = graphs ? make_stream() : NULL;
  if (graphs) begin_capture(stream);
  CHECK_OK(
      sidbeam_constraint_set_prefixes(set, which_at, codes_at, LEVELS, lengths_at, ROWS, place->states, stream, &err));
  CHECK_OK(sidbeam_constraint_set_advance(set, which_at, place->states, ROWS, NULL, given, ROWS, place->after, stream,
                                          &err));
  CHECK_OK(sidbeam_constraint_set_mask(set, which_at, place->states, &to_mask, masked, stream, &err));
  CHECK_OK(sidbeam_constraint_set_bitmask(set, which_at, place->states, ROWS, 1, place->words, stream, &err));
  CHECK_OK(sidbeam_constraint_set_topk(set, which_at, place->states, &to_read, SIDBEAM_NORMALIZE_NONE, K, place->best,
                                       place->log_probs, place->next, stream, &err));
  if (graphs) {
    void* graph = end_capture(stream);
    replay(graph, stream);
    wait_device();
    release_graph(graph);
    release_stream(stream);
  }
  int32_t ignored[ROWS * LEVELS];
  back(device_type, &a, place, sizeof a);
  back(device_type, a.masked, masked, sizeof a.masked);
  back(device_type, ignored, read, sizeof chosen);
  back(device_type, ignored, codes_at, sizeof codes);
  back(device_type, ignored, lengths_at, sizeof lengths);
  back(device_type, ignored, which_at, sizeof which);
  back(device_type, ignored, given, sizeof chosen);
  sidbeam_constraint_set_destroy(set);
  return a;
}

static void check_answers(const answers* actual, const answers* expected) {
  CHECK_I64(actual->states, expected->states, ROWS);
  CHECK_I64(actual->after, expected->after, ROWS);
  CHECK_F32(actual->masked, expected->masked, ROWS * CODES);
  CHECK_I32((const int32_t*)actual->words, (const int32_t*)expected->words, ROWS);
  CHECK_I32(actual->best, expected->best, ROWS * K);
  CHECK_F32(actual->log_probs, expected->log_probs, ROWS * K);
  CHECK_I64(actual->next, expected->next, ROWS * K);
}

static void a_set_on_a_device_answers_as_one_on_the_cpu(void) {
  const answers expected = ask(SIDBEAM_DEVICE_CPU, 0), actual = ask(SIDBEAM_DEVICE_CUDA, 0);
  CHECK(expected.states[0] > 0 && expected.after[0] > 0 && expected.best[0] >= 0 && expected.words[0] != 0);
  check_answers(&actual, &expected);
  check_nothing_is_left();
}

static void a_graph_of_all_forms_answers_the_same(void) {
  const answers expected = ask(SIDBEAM_DEVICE_CPU, 0), actual = ask(SIDBEAM_DEVICE_CUDA, 1);
  check_answers(&actual, &expected);
  check_nothing_is_left();
}

static void devices_that_are_not_there_are_refused(void) {
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_constraint_set* set = NULL;
  config.constraints = &constraint;
  config.constraint_count = 1;
  config.device_type = SIDBEAM_DEVICE_CUDA;
  config.device_id = 1;
  CHECK_FAILS(sidbeam_constraint_set_create(runtime, &config, &set, &err), SIDBEAM_NO_DEVICE,
              "device_id is 1, expected 0..0");
  config.device_id = -1;
  CHECK_FAILS(sidbeam_constraint_set_create(runtime, &config, &set, &err), SIDBEAM_NO_DEVICE,
              "device_id is -1, expected 0..0");
  CHECK(set == NULL);
  sidbeam_constraint_release(constraint);
  sidbeam_runtime_release(runtime);
  check_nothing_is_left();
}

static void memory_of_the_host_and_wrong_places_are_refused(void) {
  sidbeam_constraint_set* set = make_set_on(SIDBEAM_DEVICE_CUDA);
  sidbeam_state states[ROWS] = {0}, *states_there = on_device(states, sizeof states);
  int32_t* lengths_there = on_device(lengths, sizeof lengths);
  float data[ROWS * CODES], *data_there = on_device(logits, sizeof logits);
  uint32_t words[ROWS];
  sidbeam_rows rows = rows_at(SIDBEAM_DEVICE_CPU, data);
#define REFUSED(status, call, ...) CHECK_FAILS(sidbeam_constraint_set_##call, status, __VA_ARGS__)
#define INVALID(call, ...) REFUSED(SIDBEAM_INVALID_ARGUMENT, call, __VA_ARGS__)
  INVALID(prefixes(set, which, NULL, 0, lengths_there, ROWS, states_there, NULL, &err), "which is memory of the host");
  INVALID(prefixes(set, NULL, codes, 0, lengths_there, ROWS, states_there, NULL, &err), "codes is memory of the host");
  INVALID(prefixes(set, NULL, NULL, 0, lengths, ROWS, states_there, NULL, &err), "lengths is memory of the host");
  INVALID(prefixes(set, NULL, NULL, 0, lengths_there, ROWS, states, NULL, &err), "out is memory of the host");
  INVALID(prefixes(set, NULL, NULL, -3, lengths_there, ROWS, states_there, NULL, &err), "stride is -3, expected");
  INVALID(advance(set, NULL, states, ROWS, NULL, lengths_there, ROWS, states_there, NULL, &err),
          "in is memory of the host");
  INVALID(advance(set, NULL, states_there, ROWS, codes, lengths_there, ROWS, states_there, NULL, &err),
          "parents is memory of the host");
  INVALID(advance(set, NULL, states_there, 1, NULL, lengths_there, ROWS, states_there, NULL, &err),
          "in_count is 1, expected at least 3");
  REFUSED(SIDBEAM_NO_DEVICE, mask(set, NULL, states_there, &rows, data, NULL, &err),
          "logits.device_type is 0, expected CUDA (1)");
  rows.device_type = SIDBEAM_DEVICE_CUDA;
  INVALID(mask(set, NULL, states_there, &rows, data, NULL, &err), "logits.data is memory of the host");
  INVALID(mask(set, NULL, states_there, &rows, data_there, NULL, &err), "data is not logits.data");
  rows.data = data_there;
  INVALID(mask(set, NULL, states_there, &rows, data, NULL, &err), "data is not logits.data");
  rows.columns = 3;
  INVALID(mask(set, NULL, states_there, &rows, data_there, NULL, &err), "logits.columns is 3, expected at least 4");
  INVALID(bitmask(set, NULL, states_there, ROWS, 1, words, NULL, &err), "words is memory of the host");
  INVALID(bitmask(set, NULL, states_there, ROWS, 0, words, NULL, &err), "words_per_row is 0, expected at least 4");
  INVALID(bitmask(set, NULL, states_there, -1, 1, words, NULL, &err), "count is -1, expected 0..4294967296");
#undef INVALID
#undef REFUSED
  CHECK_OK(sidbeam_constraint_set_prefixes(set, NULL, NULL, 0, NULL, 0, NULL, NULL, &err));
  release_device(data_there);
  release_device(states_there);
  release_device(lengths_there);
  sidbeam_constraint_set_destroy(set);
  check_nothing_is_left();
}

/* Strange entries are dead there, where the CPU refuses them; prefixes may be dense, or one for all. */
static void entries_that_the_host_cannot_check_are_dead(void) {
  static const int32_t follow[ROWS] = {0, 7, -1}, longer[ROWS] = {3, 4, -1}, whole[ROWS] = {3, 2, 0};
  static const struct {
    const int32_t *which, *lengths;
    int64_t stride;
    int dead[ROWS];
  } cases[] = {{follow, whole, 0, {0, 1, 1}},
               {NULL, longer, 0, {0, 1, 1}},
               {NULL, longer, 2, {1, 1, 1}},
               {NULL, whole, SIDBEAM_BROADCAST, {0, 0, 0}}};
  sidbeam_constraint_set *set = make_set_on(SIDBEAM_DEVICE_CUDA), *here = make_set_on(SIDBEAM_DEVICE_CPU);
  int32_t* codes_there = on_device(codes, sizeof codes);
  for (size_t i = 0; i < COUNT(cases); ++i) {
    int32_t* which_there = cases[i].which != NULL ? on_device(cases[i].which, sizeof follow) : NULL;
    int32_t* lengths_there = on_device(cases[i].lengths, sizeof longer);
    sidbeam_state states[ROWS] = {7, 7, 7}, *states_there = on_device(states, sizeof states);
    CHECK_OK(sidbeam_constraint_set_prefixes(set, which_there, codes_there, cases[i].stride, lengths_there, ROWS,
                                             states_there, NULL, &err));
    read_device(states, states_there, sizeof states);
    for (int k = 0; k < ROWS; ++k) {
      const int32_t* prefix = codes + (cases[i].stride == 0 ? k * LEVELS : 0);
      sidbeam_state expected = -1;
      if (!cases[i].dead[k])
        CHECK_OK(
            sidbeam_constraint_set_prefixes(here, NULL, prefix, 0, &cases[i].lengths[k], 1, &expected, NULL, &err));
      CHECK_INT(states[k], expected);
      CHECK_INT(expected == -1, cases[i].dead[k]);
    }
    release_device(which_there);
    release_device(lengths_there);
    release_device(states_there);
  }
  release_device(codes_there);
  sidbeam_constraint_set_destroy(set);
  sidbeam_constraint_set_destroy(here);
  check_nothing_is_left();
}

/* How many times making a set failed, where the n-th attempt lets the n-th thing of a kind fail. */
static int64_t failures_of(void (*fail)(int64_t n), sidbeam_status expected) {
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  sidbeam_runtime* runtime = make_runtime();
  int64_t failed = 0;
  config.constraints = &constraint;
  config.constraint_count = 1;
  config.device_type = SIDBEAM_DEVICE_CUDA;
  for (int64_t n = 1;; ++n) {
    sidbeam_constraint_set* set = NULL;
    fail(n);
    clear_error();
    const sidbeam_status status = sidbeam_constraint_set_create(runtime, &config, &set, &err);
    fail(0);
    sidbeam_constraint_set_destroy(set);
    if (status == SIDBEAM_OK) break;
    CHECK_INT(status, expected);
    CHECK(live_allocations() <= 1); /* the index may have got there before */
    ++failed;
  }
  sidbeam_constraint_release(constraint);
  sidbeam_runtime_release(runtime);
  check_nothing_is_left();
  return failed;
}

static void running_out_of_memory_at_any_point_leaves_nothing_behind(void) {
  CHECK(failures_of(fail_allocation, SIDBEAM_OUT_OF_MEMORY) >= 2);
}

static void launches_that_fail_leave_nothing_behind(void) {
  CHECK(failures_of(fail_launch, SIDBEAM_DEVICE_ERROR) >= 5); /* the set's kernels */
}

/* What a call of the set needs on the device. */
typedef struct work {
  sidbeam_constraint_set* set;
  sidbeam_state *states, *next;
  int32_t *codes, *best;
  float *logits, *log_probs;
} work;

static work make_work(void) {
  static const sidbeam_state beginnings[ROWS] = {0, 0, 0};
  work w;
  w.set = make_set_on(SIDBEAM_DEVICE_CUDA);
  w.states = on_device(beginnings, sizeof beginnings);
  w.next = device_memory(ROWS * K * sizeof *w.next);
  w.codes = on_device(chosen, sizeof chosen);
  w.best = device_memory(ROWS * K * sizeof *w.best);
  w.logits = on_device(logits, sizeof logits);
  w.log_probs = device_memory(ROWS * K * sizeof *w.log_probs);
  return w;
}

static void release_work(work* w) {
  sidbeam_constraint_set_destroy(w->set);
  release_device(w->states);
  release_device(w->next);
  release_device(w->codes);
  release_device(w->best);
  release_device(w->logits);
  release_device(w->log_probs);
  check_nothing_is_left();
}

static sidbeam_status advance(const work* w, void* stream, sidbeam_error* error) {
  return sidbeam_constraint_set_advance(w->set, NULL, w->states, ROWS, NULL, w->codes, ROWS, w->next, stream, error);
}

static void topk(const work* w, void* stream) {
  const sidbeam_rows rows = rows_at(SIDBEAM_DEVICE_CUDA, w->logits);
  CHECK_OK(sidbeam_constraint_set_topk(w->set, NULL, w->states, &rows, SIDBEAM_NORMALIZE_NONE, K, w->best, w->log_probs,
                                       w->next, stream, &err));
}

static void a_workspace_of_topk_is_mapped_once(void) {
  work w = make_work();
  topk(&w, NULL);
  wait_device();
  const int64_t mapped = mapped_bytes();
  for (int i = 0; i < 5; ++i) {
    topk(&w, NULL);
    wait_device();
  }
  CHECK_INT(mapped_bytes(), mapped);
  release_work(&w);
}

static void a_set_goes_with_work_pending_and_nothing_waits(void) {
  sidbeam_state expected[ROWS], next[ROWS];
  work apart = make_work();
  CHECK_OK(advance(&apart, NULL, &err));
  read_device(expected, apart.next, sizeof expected);
  CHECK(expected[0] > 0); /* the code may follow */
  release_work(&apart);
  for (int order = 0; order < 20; ++order) {
    set_order(order);
    work w = make_work();
    void *captured = make_stream(), *streams[3] = {make_stream(), make_stream(), NULL};
    wait_device();
    const int64_t live = live_allocations_now();
    begin_capture(captured);
    for (int i = 0; i < 6; ++i) CHECK_OK(advance(&w, streams[i % 3], &err));
    sidbeam_constraint_set_destroy(w.set); /* and the last hold of its indexes, of other runtimes than the set's */
    w.set = NULL;
    CHECK(capture_is_valid(captured));
    CHECK_INT(live_allocations_now(), live);
    release_graph(end_capture(captured));
    CHECK_INT(live_allocations(), live - 3);
    read_device(next, w.next, sizeof next);
    CHECK_I64(next, expected, ROWS);
    for (int i = 0; i < 2; ++i) release_stream(streams[i]);
    release_stream(captured);
    release_work(&w);
  }
}

/* The next one may have its handle. */
static void work_on_streams_that_are_gone_is_not_forgotten(void) {
  for (int order = 0; order < 20; ++order) {
    set_order(order);
    work w = make_work();
    for (int i = 0; i < 10; ++i) {
      void* stream = make_stream();
      CHECK_OK(advance(&w, stream, &err));
      release_stream(stream);
    }
    release_work(&w);
  }
}

enum { THREADS = 4, CALLS = 50 };

/* Through more streams than live at a time. */
static void* call_often(void* given) {
  const work* w = given;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  int64_t failed = 0;
  for (int i = 0; i < CALLS; ++i) {
    void* stream = i % 5 != 0 ? make_stream() : NULL;
    failed += advance(w, stream, &error) != SIDBEAM_OK;
    if (stream != NULL) release_stream(stream);
  }
  return failed == 0 ? NULL : given;
}

static void threads_share_a_set_that_goes_after_all_their_work(void) {
  work w = make_work();
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) CHECK_INT(pthread_create(&threads[i], NULL, call_often, &w), 0);
  for (int i = 0; i < THREADS; ++i) {
    void* failed = NULL;
    CHECK_INT(pthread_join(threads[i], &failed), 0);
    CHECK(failed == NULL);
  }
  release_work(&w);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_set_on_a_device_answers_as_one_on_the_cpu),
      TEST(a_graph_of_all_forms_answers_the_same),
      TEST(devices_that_are_not_there_are_refused),
      TEST(memory_of_the_host_and_wrong_places_are_refused),
      TEST(entries_that_the_host_cannot_check_are_dead),
      TEST(running_out_of_memory_at_any_point_leaves_nothing_behind),
      TEST(launches_that_fail_leave_nothing_behind),
      TEST(a_workspace_of_topk_is_mapped_once),
      TEST(a_set_goes_with_work_pending_and_nothing_waits),
      TEST(work_on_streams_that_are_gone_is_not_forgotten),
      TEST(threads_share_a_set_that_goes_after_all_their_work),
  };
  return RUN_TESTS(tests);
}
