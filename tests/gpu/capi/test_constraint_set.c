/* Tables of constraints: the stateless forms on the CPU and on a device, in and out of graphs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "../../capi/fixtures.h"
#include "device.h"

enum { ROWS = 3, CODES = 4, LEVELS = 3, K = 2 };

static const int32_t codes[ROWS * LEVELS] = {0, 1, 2, 0, 1, 0, 3, 0, 0}, lengths[ROWS] = {2, 1, 0},
                                  which[ROWS] = {0, 1, 0};
static const int32_t tokens[ROWS] = {2, 2, 3};
static const float logits[ROWS * CODES] = {-1, -2, -4, -8, -8, -4, -2, -1, -1, -2, -4, -8};

static void check_nothing_is_left(void) { CHECK_INT(live_allocations(), 0); }

static sidbeam_constraint_set* make_table(int32_t device_type) {
  sidbeam_constraint* constraints[2] = {make_constraint(&small, ALL_KINDS), make_constraint(&two_levels, ALL_KINDS)};
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_constraint_set* table = NULL;
  config.constraints = constraints;
  config.constraint_count = 2;
  config.device_type = device_type;
  CHECK_OK(sidbeam_constraint_set_create(runtime, &config, &table, &err));
  sidbeam_constraint_release(constraints[0]);
  sidbeam_constraint_release(constraints[1]);
  sidbeam_runtime_release(runtime);
  return table;
}

typedef struct answers {
  sidbeam_state states[ROWS], after[ROWS], next[ROWS * K];
  float masked[ROWS * CODES], log_probs[ROWS * K];
  uint32_t words[ROWS];
  int32_t tokens[ROWS * K];
} answers;

/* Where an array of the host is for the table: itself, or a place on the device. */
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

/* Everything that a table answers. In a graph where `graphs`, which is then replayed. */
static answers ask(int32_t device_type, int graphs) {
  answers a;
  memset(&a, 0, sizeof a);
  unload_kernels(); /* making the table loads them, not its first use */
  sidbeam_constraint_set* table = make_table(device_type);
  int32_t* codes_at = there(device_type, codes, sizeof codes);
  int32_t* lengths_at = there(device_type, lengths, sizeof lengths);
  int32_t* which_at = there(device_type, which, sizeof which);
  int32_t* given = there(device_type, tokens, sizeof tokens);
  float* masked = there(device_type, logits, sizeof logits);
  float* read = there(device_type, logits, sizeof logits);
  answers* place = there(device_type, &a, sizeof a);
  const sidbeam_rows to_mask = rows_at(device_type, masked), to_read = rows_at(device_type, read);
  void* stream = graphs ? make_stream() : NULL;
  if (graphs) begin_capture(stream);
  CHECK_OK(sidbeam_constraint_set_prefixes(table, which_at, codes_at, LEVELS, lengths_at, ROWS, place->states, stream, &err));
  CHECK_OK(sidbeam_constraint_set_advance(table, which_at, place->states, ROWS, NULL, given, ROWS, place->after, stream, &err));
  CHECK_OK(sidbeam_constraint_set_mask(table, which_at, place->states, &to_mask, stream, &err));
  CHECK_OK(sidbeam_constraint_set_bitmask(table, which_at, place->states, ROWS, place->words, 1, stream, &err));
  CHECK_OK(sidbeam_constraint_set_topk(table, which_at, place->states, &to_read, SIDBEAM_NORMALIZE_NONE, K, place->tokens,
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
  back(device_type, ignored, read, sizeof tokens);
  back(device_type, ignored, codes_at, sizeof codes);
  back(device_type, ignored, lengths_at, sizeof lengths);
  back(device_type, ignored, which_at, sizeof which);
  back(device_type, ignored, given, sizeof tokens);
  sidbeam_constraint_set_destroy(table);
  return a;
}

static void check_answers(const answers* actual, const answers* expected) {
  CHECK_I64(actual->states, expected->states, ROWS);
  CHECK_I64(actual->after, expected->after, ROWS);
  CHECK_F32(actual->masked, expected->masked, ROWS * CODES);
  CHECK_I32((const int32_t*)actual->words, (const int32_t*)expected->words, ROWS);
  CHECK_I32(actual->tokens, expected->tokens, ROWS * K);
  CHECK_F32(actual->log_probs, expected->log_probs, ROWS * K);
  CHECK_I64(actual->next, expected->next, ROWS * K);
}

/* What the forms that bring their constraints say. */
static answers ask_without_a_table(void) {
  answers a;
  memset(&a, 0, sizeof a);
  sidbeam_constraint* list[2] = {make_constraint(&small, ALL_KINDS), make_constraint(&two_levels, ALL_KINDS)};
  memcpy(a.masked, logits, sizeof logits);
  const sidbeam_rows to_mask = rows_at(SIDBEAM_DEVICE_CPU, a.masked), to_read = make_rows(logits, 0, ROWS, CODES);
  CHECK_OK(sidbeam_states_from_prefixes(list, 2, which, codes, LEVELS, lengths, ROWS, a.states, NULL, &err));
  CHECK_OK(sidbeam_states_advance(list, 2, which, a.states, ROWS, NULL, tokens, ROWS, a.after, NULL, &err));
  CHECK_OK(sidbeam_rows_mask(list, 2, which, NULL, a.states, &to_mask, NULL, &err));
  CHECK_OK(sidbeam_rows_bitmask(list, 2, which, NULL, a.states, ROWS, a.words, 1, NULL, &err));
  CHECK_OK(sidbeam_rows_topk(list, 2, which, NULL, a.states, &to_read, SIDBEAM_NORMALIZE_NONE, K, a.tokens, a.log_probs,
                             a.next, NULL, &err));
  sidbeam_constraint_release(list[0]);
  sidbeam_constraint_release(list[1]);
  return a;
}

static void a_table_on_the_cpu_answers_as_the_forms_without_one(void) {
  const answers expected = ask_without_a_table(), actual = ask(SIDBEAM_DEVICE_CPU, 0);
  CHECK(expected.states[0] >= 0 && expected.after[0] >= 0 && expected.tokens[0] >= 0);
  check_answers(&actual, &expected);
}

static void a_table_on_a_device_answers_as_one_on_the_cpu(void) {
  const answers expected = ask(SIDBEAM_DEVICE_CPU, 0), actual = ask(SIDBEAM_DEVICE_CUDA, 0);
  check_answers(&actual, &expected);
  check_nothing_is_left();
}

static void a_graph_of_all_forms_answers_the_same(void) {
  const answers expected = ask(SIDBEAM_DEVICE_CPU, 0), actual = ask(SIDBEAM_DEVICE_CUDA, 1);
  check_answers(&actual, &expected);
  check_nothing_is_left();
}

static void tables_that_make_no_sense_are_refused(void) {
  sidbeam_constraint* constraints[2] = {make_constraint(&small, SIDBEAM_KIND_TRIE), NULL};
  sidbeam_constraint* sorted = make_constraint(&small, SIDBEAM_KIND_SORTED);
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_constraint_set* table = NULL;
  CHECK_FAILS(sidbeam_constraint_set_create(NULL, &config, &table, &err), SIDBEAM_INVALID_ARGUMENT, "runtime");
  CHECK_FAILS(sidbeam_constraint_set_create(runtime, NULL, &table, &err), SIDBEAM_INVALID_ARGUMENT, "config");
  CHECK_FAILS(sidbeam_constraint_set_create(runtime, &config, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out");
  CHECK_FAILS(sidbeam_constraint_set_create(runtime, &config, &table, &err), SIDBEAM_INVALID_ARGUMENT, "constraints");
  config.constraints = constraints;
  CHECK_FAILS(sidbeam_constraint_set_create(runtime, &config, &table, &err), SIDBEAM_INVALID_ARGUMENT, "constraint_count", "0");
  config.constraint_count = 2;
  CHECK_FAILS(sidbeam_constraint_set_create(runtime, &config, &table, &err), SIDBEAM_INVALID_ARGUMENT, "constraints[1]");
  constraints[1] = sorted;
  CHECK_FAILS(sidbeam_constraint_set_create(runtime, &config, &table, &err), SIDBEAM_MISSING_SECTION, "constraints[1]", "trie");
  config.constraint_count = 1;
  config.device_type = 7;
  CHECK_FAILS(sidbeam_constraint_set_create(runtime, &config, &table, &err), SIDBEAM_INVALID_ARGUMENT, "device_type", "7");
  config.device_type = SIDBEAM_DEVICE_CPU;
  config.device_id = 1;
  CHECK_FAILS(sidbeam_constraint_set_create(runtime, &config, &table, &err), SIDBEAM_NO_DEVICE, "device_id", "1");
  config.device_type = SIDBEAM_DEVICE_CUDA;
  CHECK_FAILS(sidbeam_constraint_set_create(runtime, &config, &table, &err), SIDBEAM_NO_DEVICE, "device_id is 1", "0..0");
  CHECK(table == NULL);
  sidbeam_constraint_set_destroy(NULL);
  sidbeam_constraint_release(constraints[0]);
  sidbeam_constraint_release(sorted);
  sidbeam_runtime_release(runtime);
  check_nothing_is_left();
}

static void memory_of_the_host_and_wrong_places_are_refused(void) {
  sidbeam_constraint_set* table = make_table(SIDBEAM_DEVICE_CUDA);
  sidbeam_state states[ROWS] = {0}, *states_there = on_device(states, sizeof states);
  int32_t* lengths_there = on_device(lengths, sizeof lengths);
  float data[ROWS * CODES];
  uint32_t words[ROWS];
  sidbeam_rows rows = rows_at(SIDBEAM_DEVICE_CPU, data);
  CHECK_FAILS(sidbeam_constraint_set_prefixes(table, which, NULL, 0, lengths_there, ROWS, states_there, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT, "which", "host");
  CHECK_FAILS(sidbeam_constraint_set_prefixes(table, NULL, NULL, 0, lengths_there, ROWS, states, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT, "out", "host");
  CHECK_FAILS(sidbeam_constraint_set_advance(table, NULL, states, ROWS, NULL, lengths_there, ROWS, states_there, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT, "in", "host");
  CHECK_FAILS(sidbeam_constraint_set_advance(table, NULL, states_there, 1, NULL, lengths_there, ROWS, states_there, NULL, &err),
              SIDBEAM_INVALID_ARGUMENT, "in_count", "1");
  CHECK_FAILS(sidbeam_constraint_set_mask(table, NULL, states_there, &rows, NULL, &err), SIDBEAM_NO_DEVICE,
              "logits.device_type");
  rows.device_type = SIDBEAM_DEVICE_CUDA;
  CHECK_FAILS(sidbeam_constraint_set_mask(table, NULL, states_there, &rows, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "logits.data",
              "host");
  rows.columns = 3;
  CHECK_FAILS(sidbeam_constraint_set_mask(table, NULL, states_there, &rows, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "logits.columns is 3", "4");
  CHECK_FAILS(sidbeam_constraint_set_bitmask(table, NULL, states_there, ROWS, words, 1, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "words", "host");
  CHECK_FAILS(sidbeam_constraint_set_bitmask(table, NULL, states_there, ROWS, words, 0, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "words_per_row is 0");
  CHECK_FAILS(sidbeam_constraint_set_bitmask(table, NULL, states_there, -1, words, 1, NULL, &err), SIDBEAM_INVALID_ARGUMENT,
              "count is -1");
  CHECK_OK(sidbeam_constraint_set_prefixes(table, NULL, NULL, 0, NULL, 0, NULL, NULL, &err));
  release_device(states_there);
  release_device(lengths_there);
  sidbeam_constraint_set_destroy(table);
  check_nothing_is_left();
}

static void running_out_of_memory_at_any_point_leaves_nothing_behind(void) {
  sidbeam_constraint* constraint = make_constraint(&small, SIDBEAM_KIND_TRIE);
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  sidbeam_runtime* runtime = make_runtime();
  int64_t failed = 0;
  config.constraints = &constraint;
  config.constraint_count = 1;
  config.device_type = SIDBEAM_DEVICE_CUDA;
  for (int64_t n = 1;; ++n) {
    sidbeam_constraint_set* table = NULL;
    fail_allocation(n);
    clear_error();
    const sidbeam_status status = sidbeam_constraint_set_create(runtime, &config, &table, &err);
    fail_allocation(0);
    sidbeam_constraint_set_destroy(table);
    if (status == SIDBEAM_OK) break;
    CHECK_INT(status, SIDBEAM_OUT_OF_MEMORY);
    CHECK(live_allocations() <= 1); /* the index may have got there before */
    ++failed;
  }
  CHECK(failed >= 2);
  sidbeam_constraint_release(constraint);
  sidbeam_runtime_release(runtime);
  check_nothing_is_left();
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_table_on_the_cpu_answers_as_the_forms_without_one),
      TEST(a_table_on_a_device_answers_as_one_on_the_cpu),
      TEST(a_graph_of_all_forms_answers_the_same),
      TEST(tables_that_make_no_sense_are_refused),
      TEST(memory_of_the_host_and_wrong_places_are_refused),
      TEST(running_out_of_memory_at_any_point_leaves_nothing_behind),
  };
  return RUN_TESTS(tests);
}
