/* Attention of beams as engines with their own model call it: the answer against a plain loop, beams over several
 * levels by lists of ancestors and by moving the KV, and everything that is refused.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <sidbeam/attention.h>

#include "../harness.h"

enum { HEADS = 4, KV_HEADS = 2, DIM = 20, ROWS = 9, DEPTH = 3, POSITIONS = 30, REQUESTS = 3, LONGEST = 300 };
enum { ROW = HEADS * DIM, KV_ROW = KV_HEADS * DIM };

static uint32_t random_state = 1;
static float draw(void) {
  random_state = random_state * 1664525u + 1013904223u;
  return (float)(int32_t)(random_state >> 8) / (float)(1 << 22) - 2.0F; /* -2 .. 2 */
}
static void fill(float* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) values[i] = draw();
}

/* Three requests of 4, 0 and 5 rows with prompts of 300, 7 and 0 positions. */
static const int64_t row_offsets[REQUESTS + 1] = {0, 4, 4, 9};
static const int64_t shared_lengths[REQUESTS] = {LONGEST, 7, 0};
static float queries[ROWS * ROW], output[ROWS * ROW], log_sum_exp[ROWS * HEADS];
static float keys[LONGEST * KV_ROW], values[LONGEST * KV_ROW], shared_bias[HEADS * LONGEST];
static float unshared_keys[POSITIONS * KV_ROW], unshared_values[POSITIONS * KV_ROW], ancestor_bias[HEADS * DEPTH];
static int32_t ancestors[ROWS * DEPTH];
static const void *shared_keys[REQUESTS] = {keys, keys, NULL}, *shared_values[REQUESTS] = {values, values, NULL};
static const float* biases[REQUESTS] = {shared_bias, NULL, NULL};
static void* workspace;

static sidbeam_attention_args make_args(void) {
  sidbeam_attention_args args = SIDBEAM_ATTENTION_ARGS_INIT;
  fill(queries, ROWS * ROW);
  fill(keys, LONGEST * KV_ROW);
  fill(values, LONGEST * KV_ROW);
  fill(shared_bias, HEADS * LONGEST);
  fill(unshared_keys, POSITIONS * KV_ROW);
  fill(unshared_values, POSITIONS * KV_ROW);
  fill(ancestor_bias, HEADS * DEPTH);
  for (int i = 0; i < ROWS * DEPTH; ++i) ancestors[i] = i % 5 == 2 ? -1 : i * 7 % POSITIONS;
  args.heads = HEADS;
  args.kv_heads = KV_HEADS;
  args.head_dim = DIM;
  args.depth = DEPTH;
  args.requests = REQUESTS;
  args.rows = ROWS;
  args.row_offsets = row_offsets;
  args.queries = queries;
  args.shared_keys = shared_keys;
  args.shared_values = shared_values;
  args.shared_lengths = shared_lengths;
  args.unshared_keys = unshared_keys;
  args.unshared_values = unshared_values;
  args.unshared_length = POSITIONS;
  args.ancestors = ancestors;
  args.shared_bias = biases;
  args.ancestor_bias = ancestor_bias;
  args.output = output;
  args.log_sum_exp = log_sum_exp;
  CHECK_OK(sidbeam_attention_workspace(&args, &args.workspace_bytes, &err));
  free(workspace);
  CHECK(posix_memalign(&workspace, 64, (size_t)args.workspace_bytes) == 0);
  args.workspace = workspace;
  return args;
}

/* One row and head, key by key, in double. */
typedef struct plain {
  double weights[LONGEST + DEPTH], sum;
  const float* value[LONGEST + DEPTH];
  int count;
} plain;

static void attend_to(plain* all, const float* query, const float* key, const float* value, double bias) {
  double product = 0;
  for (int k = 0; k < DIM; ++k) product += (double)query[k] * (double)key[k];
  all->weights[all->count] = exp(product / sqrt(DIM) + bias);
  all->sum += all->weights[all->count];
  all->value[all->count++] = value;
}

static void check_row(const sidbeam_attention_args* args, int request, int64_t row, int head) {
  const float* const query = queries + row * ROW + head * DIM;
  const int kv = head / (HEADS / KV_HEADS) * DIM;
  plain all = {{0}, 0, {0}, 0};
  for (int64_t j = 0; j < shared_lengths[request]; ++j) {
    const double bias = args->shared_bias && biases[request] ? (double)shared_bias[head * LONGEST + j] : 0;
    attend_to(&all, query, keys + j * KV_ROW + kv, values + j * KV_ROW + kv, bias);
  }
  for (int i = 0; i < args->depth; ++i) {
    const int at = ancestors[row * DEPTH + i];
    if (at < 0) continue;
    attend_to(&all, query, unshared_keys + at * KV_ROW + kv, unshared_values + at * KV_ROW + kv,
              args->ancestor_bias ? (double)ancestor_bias[head * DEPTH + i] : 0);
  }
  for (int k = 0; k < DIM; ++k) {
    double expected = 0;
    for (int j = 0; j < all.count; ++j) expected += all.weights[j] * (double)all.value[j][k] / all.sum;
    CHECK(fabs((double)output[row * ROW + head * DIM + k] - expected) < 1e-5);
  }
  CHECK(fabs((double)log_sum_exp[row * HEADS + head] - log(all.sum)) < 1e-5);
}

static void check_rows(const sidbeam_attention_args* args) {
  for (int request = 0; request < REQUESTS; ++request) {
    for (int64_t row = row_offsets[request]; row < row_offsets[request + 1]; ++row) {
      for (int head = 0; head < HEADS; ++head) check_row(args, request, row, head);
    }
  }
}

static void rows_attend_to_their_prompt_and_their_ancestors(void) {
  sidbeam_attention_args args = make_args();
  CHECK_OK(sidbeam_attention_run(&args, &err));
  check_rows(&args);
  args.shared_bias = NULL;
  args.ancestor_bias = NULL;
  CHECK_OK(sidbeam_attention_run(&args, &err));
  check_rows(&args);
}

static void queries_may_stand_in_wider_rows(void) {
  static float wide[ROWS * 3 * ROW], dense[ROWS * ROW];
  sidbeam_attention_args args = make_args();
  CHECK_OK(sidbeam_attention_run(&args, &err));
  memcpy(dense, output, sizeof output);
  for (int r = 0; r < ROWS; ++r) memcpy(wide + r * 3 * ROW, queries + r * ROW, ROW * sizeof(float));
  args.queries = wide;
  args.query_stride = 3 * ROW;
  memset(output, 0, sizeof output);
  CHECK_OK(sidbeam_attention_run(&args, &err));
  CHECK_F32(output, dense, ROWS * ROW);
}

/* The same bits from half the bytes, where the values are ones that bf16 has. */
static void keys_and_values_may_be_of_sixteen_bits(void) {
  static uint16_t half[4][LONGEST * KV_ROW];
  static float wide[ROWS * ROW];
  float* const arrays[4] = {keys, values, unshared_keys, unshared_values};
  sidbeam_attention_args args = make_args();
  for (int a = 0; a < 4; ++a) {
    for (int i = 0; i < (a < 2 ? LONGEST : POSITIONS) * KV_ROW; ++i) {
      uint32_t bits;
      memcpy(&bits, &arrays[a][i], sizeof bits);
      bits &= 0xFFFF0000u;
      memcpy(&arrays[a][i], &bits, sizeof bits);
      half[a][i] = (uint16_t)(bits >> 16);
    }
  }
  CHECK_OK(sidbeam_attention_run(&args, &err));
  memcpy(wide, output, sizeof output);
  const void *half_keys[REQUESTS] = {half[0], half[0], NULL}, *half_values[REQUESTS] = {half[1], half[1], NULL};
  args.kv_dtype = SIDBEAM_DTYPE_BF16;
  args.shared_keys = half_keys;
  args.shared_values = half_values;
  args.unshared_keys = half[2];
  args.unshared_values = half[3];
  memset(output, 0, sizeof output);
  CHECK_OK(sidbeam_attention_run(&args, &err));
  CHECK_F32(output, wide, ROWS * ROW);
}

static void rows_that_attend_to_nothing_are_zero(void) {
  sidbeam_attention_args args = make_args();
  for (int i = 0; i < ROWS * DEPTH; ++i) ancestors[i] = -1;
  args.shared_lengths = NULL;
  CHECK_OK(sidbeam_attention_run(&args, &err));
  for (int i = 0; i < ROWS * ROW; ++i) CHECK(output[i] == 0);
  for (int i = 0; i < ROWS * HEADS; ++i) CHECK(log_sum_exp[i] == -INFINITY);
  args.depth = 0;
  args.ancestors = NULL;
  args.log_sum_exp = NULL;
  CHECK_OK(sidbeam_attention_run(&args, &err));
  args.requests = args.rows = 0;
  args.row_offsets = NULL;
  args.queries = NULL;
  args.output = NULL;
  CHECK_OK(sidbeam_attention_run(&args, &err));
}

/* Parts of the keys, merged by their sums, are the whole. */
static void stages_merge_by_their_log_sum_exp(void) {
  static float part[ROWS * ROW], part_sums[ROWS * HEADS];
  sidbeam_attention_args args = make_args();
  args.depth = 0;
  CHECK_OK(sidbeam_attention_run(&args, &err));
  memcpy(part, output, sizeof output);
  memcpy(part_sums, log_sum_exp, sizeof log_sum_exp);
  args.depth = DEPTH;
  args.shared_lengths = NULL;
  CHECK_OK(sidbeam_attention_run(&args, &err));
  for (int i = 0; i < ROWS * HEADS; ++i) {
    const double sum = log(exp((double)part_sums[i]) + exp((double)log_sum_exp[i]));
    for (int k = 0; k < DIM; ++k) {
      output[i * DIM + k] = (float)(exp((double)part_sums[i] - sum) * (double)part[i * DIM + k] +
                                    exp((double)log_sum_exp[i] - sum) * (double)output[i * DIM + k]);
    }
    log_sum_exp[i] = (float)sum;
  }
  check_rows(&args);
}

enum { BEAMS = 6, LEVELS = 4 };

/* A search: every level's rows write, then attend. By lists of ancestors nothing moves; by permutation a list is always
 * (0, m), (1, m), ... Both give the same bits. */
static void ancestors_and_the_permutation_agree(void) {
  static const int32_t parents[LEVELS][BEAMS] = {
      {0, 1, 2, 3, 4, 5}, {1, 0, 0, 4, 3, -1}, {2, 2, 0, 1, 4, 3}, {5, 0, 1, 2, 3, 4}};
  static float listed[2][LEVELS * BEAMS * KV_ROW], moved[2][LEVELS * BEAMS * KV_ROW], first[BEAMS * ROW];
  int32_t lists[BEAMS * LEVELS] = {0};
  const int64_t offsets[2] = {0, BEAMS};
  sidbeam_attention_args args = make_args();
  sidbeam_attention_permute_args move = SIDBEAM_ATTENTION_PERMUTE_ARGS_INIT;
  move.kv_heads = KV_HEADS;
  move.head_dim = DIM;
  move.beams = BEAMS;
  move.requests = 1;
  args.requests = 1;
  args.rows = BEAMS;
  args.row_offsets = offsets;
  args.ancestor_bias = NULL;
  args.unshared_length = LEVELS * BEAMS;
  for (int level = 0; level < LEVELS; ++level) {
    int32_t before[BEAMS * LEVELS], next[BEAMS * LEVELS], own[BEAMS * LEVELS];
    memcpy(before, lists, sizeof lists);
    for (int m = 0; m < BEAMS; ++m) {
      const int32_t parent = parents[level][m];
      for (int l = 0; l < level; ++l) next[m * (level + 1) + l] = parent < 0 ? -1 : before[parent * level + l];
      next[m * (level + 1) + level] = level * BEAMS + m;
      for (int l = 0; l <= level; ++l) own[m * (level + 1) + l] = parent < 0 && l < level ? -1 : l * BEAMS + m;
    }
    memcpy(lists, next, sizeof lists);
    move.depth = level;
    move.unshared_keys = moved[0];
    move.unshared_values = moved[1];
    move.parents = parents[level];
    CHECK_OK(sidbeam_attention_permute(&move, &err));
    fill(listed[0] + level * BEAMS * KV_ROW, BEAMS * KV_ROW);
    fill(listed[1] + level * BEAMS * KV_ROW, BEAMS * KV_ROW);
    for (int a = 0; a < 2; ++a) {
      memcpy(moved[a] + level * BEAMS * KV_ROW, listed[a] + level * BEAMS * KV_ROW, BEAMS * KV_ROW * sizeof(float));
    }
    args.depth = level + 1;
    args.ancestors = lists;
    args.unshared_keys = listed[0];
    args.unshared_values = listed[1];
    CHECK_OK(sidbeam_attention_run(&args, &err));
    memcpy(first, output, sizeof first);
    args.ancestors = own;
    args.unshared_keys = moved[0];
    args.unshared_values = moved[1];
    CHECK_OK(sidbeam_attention_run(&args, &err));
    CHECK_F32(output, first, BEAMS * ROW);
  }
}

static void requests_are_permuted_each_by_its_parents(void) {
  static const int32_t parents[4] = {1, 0, 1, 1};
  uint16_t key[2][7] = {{0}}, value[2][7] = {{0}};
  sidbeam_attention_permute_args args = SIDBEAM_ATTENTION_PERMUTE_ARGS_INIT;
  for (int i = 0; i < 14; ++i) key[i / 7][i % 7] = (uint16_t)i, value[i / 7][i % 7] = (uint16_t)(100 + i);
  args.kv_dtype = SIDBEAM_DTYPE_F16;
  args.kv_heads = args.head_dim = 1;
  args.beams = 2;
  args.depth = 3;
  args.requests = 2;
  args.request_stride = 7;
  args.unshared_keys = key;
  args.unshared_values = value;
  args.parents = parents;
  CHECK_OK(sidbeam_attention_permute(&args, &err));
  const int expected[14] = {1, 0, 3, 2, 5, 4, 6, 8, 8, 10, 10, 12, 12, 13};
  for (int i = 0; i < 14; ++i) {
    CHECK_INT(key[i / 7][i % 7], expected[i]);
    CHECK_INT(value[i / 7][i % 7], 100 + expected[i]);
  }
  args.depth = 0;
  args.unshared_keys = NULL;
  CHECK_OK(sidbeam_attention_permute(&args, &err));
}

static void a_workspace_serves_fewer_rows(void) {
  sidbeam_attention_args args = make_args();
  int64_t fewer = 0, deeper = 0;
  args.rows = 2;
  CHECK_OK(sidbeam_attention_workspace(&args, &fewer, &err));
  args.depth = SIDBEAM_MAX_ANCESTORS;
  args.queries = NULL;
  args.row_offsets = NULL;
  CHECK_OK(sidbeam_attention_workspace(&args, &deeper, &err));
  CHECK(fewer <= args.workspace_bytes);
  CHECK(deeper <= args.workspace_bytes);
}

#define REFUSED(field, value, ...)                                                         \
  do {                                                                                     \
    sidbeam_attention_args bad = args;                                                     \
    bad.field = (value);                                                                   \
    CHECK_FAILS(sidbeam_attention_run(&bad, &err), SIDBEAM_INVALID_ARGUMENT, __VA_ARGS__); \
  } while (0)

static void bad_shapes_are_refused(void) {
  static const int64_t many[] = {0, INT32_MAX};
  const sidbeam_attention_args args = make_args();
  sidbeam_attention_args huge = args;
  int64_t bytes = 0;
  REFUSED(struct_size, 8, "args.struct_size is");
  REFUSED(device_type, 2, "args.device_type is 2");
  REFUSED(device_id, 1, "args.device_id is 1");
  REFUSED(dtype, SIDBEAM_DTYPE_F16, "args.dtype is 1");
  REFUSED(kv_dtype, 3, "args.kv_dtype is 3");
  REFUSED(heads, 0, "args.heads is 0");
  REFUSED(kv_heads, 3, "args.heads is 4", "multiple of args.kv_heads, 3");
  REFUSED(kv_heads, 8, "args.kv_heads is 8, expected 1..4");
  REFUSED(head_dim, 257, "args.head_dim is 257, expected 1..256");
  REFUSED(scale, NAN, "args.scale is", "a finite number");
  REFUSED(depth, -1, "args.depth is -1");
  REFUSED(depth, SIDBEAM_MAX_ANCESTORS + 1, "args.depth is 4097");
  REFUSED(requests, -1, "args.requests is -1");
  REFUSED(rows, 8, "args.row_offsets[3] is 9, expected 4..8");
  REFUSED(rows, 10, "args.rows is 10", "expected 9");
  REFUSED(requests, 0, "args.rows is 9", "expected 0");
  REFUSED(query_stride, ROW - 1, "args.query_stride is 79");
  huge.requests = 1;
  huge.rows = huge.query_stride = INT32_MAX;
  huge.row_offsets = many;
  CHECK_FAILS(sidbeam_attention_run(&huge, &err), SIDBEAM_INVALID_ARGUMENT,
              "args.query_stride is 2147483647, which overflows over 2147483647 of them");
  REFUSED(unshared_length, -1, "args.unshared_length is -1");
  CHECK_FAILS(sidbeam_attention_run(NULL, &err), SIDBEAM_INVALID_ARGUMENT, "args is NULL");
  CHECK_FAILS(sidbeam_attention_workspace(&args, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "bytes is NULL");
  sidbeam_attention_args bad = args;
  bad.head_dim = 0;
  CHECK_FAILS(sidbeam_attention_workspace(&bad, &bytes, &err), SIDBEAM_INVALID_ARGUMENT, "args.head_dim is 0");
}

static void bad_arrays_are_refused(void) {
  static const int64_t falling[REQUESTS + 1] = {0, 5, 4, 9}, late[REQUESTS + 1] = {1, 4, 4, 9};
  static const int64_t negative[REQUESTS] = {0, -1, 0}, third[REQUESTS] = {0, 0, 5};
  const sidbeam_attention_args args = make_args();
  REFUSED(row_offsets, NULL, "args.row_offsets is NULL");
  REFUSED(row_offsets, falling, "args.row_offsets[2] is 4, expected 5..9");
  REFUSED(row_offsets, late, "args.row_offsets[0] is 1");
  REFUSED(queries, NULL, "args.queries is NULL");
  REFUSED(output, NULL, "args.output is NULL");
  REFUSED(shared_keys, NULL, "args.shared_keys is NULL");
  REFUSED(shared_values, NULL, "args.shared_values is NULL");
  REFUSED(shared_lengths, negative, "args.shared_lengths[1] is -1");
  REFUSED(shared_lengths, third, "args.shared_keys[2] is NULL", "5 positions");
  REFUSED(ancestors, NULL, "args.ancestors is NULL");
  REFUSED(unshared_keys, NULL, "args.unshared_keys is NULL");
  REFUSED(unshared_values, NULL, "args.unshared_values is NULL");
  REFUSED(workspace, NULL, "args.workspace is NULL");
  REFUSED(workspace, (char*)workspace + 4, "args.workspace is not aligned to 64");
  REFUSED(workspace_bytes, args.workspace_bytes - 1, "args.workspace_bytes is", "or more");
}

static void an_ancestor_out_of_range_is_refused_before_anything_is_written(void) {
  static float before[ROWS * ROW];
  const sidbeam_attention_args args = make_args();
  memset(output, 7, sizeof output);
  memcpy(before, output, sizeof output);
  REFUSED(unshared_length, 28, "args.ancestors[4] is 28, expected -1..27");
  ancestors[ROWS * DEPTH - 1] = -2;
  REFUSED(depth, DEPTH, "args.ancestors[26] is -2, expected -1..29");
  CHECK_F32(output, before, ROWS * ROW);
}

#define PERMUTE_REFUSED(field, value, ...)                                                     \
  do {                                                                                         \
    sidbeam_attention_permute_args bad = args;                                                 \
    bad.field = (value);                                                                       \
    CHECK_FAILS(sidbeam_attention_permute(&bad, &err), SIDBEAM_INVALID_ARGUMENT, __VA_ARGS__); \
  } while (0)

static void bad_permutations_are_refused_before_anything_moves(void) {
  static const int32_t parents[4] = {1, 0, 0, 2}, below[4] = {1, 0, -2, 0}, good[4] = {1, 0, 1, 0};
  float key[4] = {0, 1, 2, 3};
  const float before[4] = {0, 1, 2, 3};
  sidbeam_attention_permute_args args = SIDBEAM_ATTENTION_PERMUTE_ARGS_INIT;
  args.kv_heads = args.head_dim = args.depth = 1;
  args.beams = 2;
  args.requests = 2;
  args.unshared_keys = args.unshared_values = key;
  args.parents = good;
  PERMUTE_REFUSED(parents, parents, "args.parents[3] is 2, expected -1..1");
  PERMUTE_REFUSED(parents, below, "args.parents[2] is -2");
  PERMUTE_REFUSED(parents, NULL, "args.parents is NULL");
  PERMUTE_REFUSED(unshared_keys, NULL, "args.unshared_keys is NULL");
  PERMUTE_REFUSED(unshared_values, NULL, "args.unshared_values is NULL");
  PERMUTE_REFUSED(struct_size, 4, "args.struct_size is");
  PERMUTE_REFUSED(device_type, -1, "args.device_type is -1");
  PERMUTE_REFUSED(kv_dtype, 3, "args.kv_dtype is 3");
  PERMUTE_REFUSED(kv_heads, 0, "args.kv_heads is 0");
  PERMUTE_REFUSED(head_dim, 0, "args.head_dim is 0");
  PERMUTE_REFUSED(beams, SIDBEAM_MAX_BEAMS + 1, "args.beams is 4097");
  PERMUTE_REFUSED(depth, SIDBEAM_MAX_LEVELS + 1, "args.depth is 256");
  PERMUTE_REFUSED(requests, -1, "args.requests is -1");
  PERMUTE_REFUSED(request_stride, 1, "args.request_stride is 1");
  args.head_dim = SIDBEAM_MAX_HEAD_DIM;
  args.kv_heads = SIDBEAM_MAX_HEADS;
  args.requests = 8193;
  PERMUTE_REFUSED(request_stride, INT32_MAX, "args.request_stride is 2147483647, which overflows over 8193 of them");
  CHECK_FAILS(sidbeam_attention_permute(NULL, &err), SIDBEAM_INVALID_ARGUMENT, "args is NULL");
  CHECK_F32(key, before, 4);
}

static void without_a_device_cuda_is_refused(void) {
  CHECK_INT(setenv("SIDBEAM_RUNNER_CUDA_LIBRARY", "/nonexistent", 1), 0); /* where the plugin has been built */
  sidbeam_attention_args args = make_args();
  sidbeam_attention_permute_args move = SIDBEAM_ATTENTION_PERMUTE_ARGS_INIT;
  int64_t bytes = 0;

  args.device_type = move.device_type = SIDBEAM_DEVICE_CUDA;
  args.device_id = 4096; /* which no machine has */
  move.device_id = 4096;
  move.kv_heads = move.head_dim = move.beams = 1;
  CHECK_FAILS(sidbeam_attention_workspace(&args, &bytes, &err), SIDBEAM_NO_DEVICE, "the runner's CUDA plugin");
  CHECK_FAILS(sidbeam_attention_run(&args, &err), SIDBEAM_NO_DEVICE, "the runner's CUDA plugin");
  CHECK_FAILS(sidbeam_attention_permute(&move, &err), SIDBEAM_NO_DEVICE, "the runner's CUDA plugin");
}

int main(void) {
  static const test_case tests[] = {
      TEST(rows_attend_to_their_prompt_and_their_ancestors),
      TEST(queries_may_stand_in_wider_rows),
      TEST(keys_and_values_may_be_of_sixteen_bits),
      TEST(rows_that_attend_to_nothing_are_zero),
      TEST(stages_merge_by_their_log_sum_exp),
      TEST(ancestors_and_the_permutation_agree),
      TEST(requests_are_permuted_each_by_its_parents),
      TEST(a_workspace_serves_fewer_rows),
      TEST(bad_shapes_are_refused),
      TEST(bad_arrays_are_refused),
      TEST(an_ancestor_out_of_range_is_refused_before_anything_is_written),
      TEST(bad_permutations_are_refused_before_anything_moves),
      TEST(without_a_device_cuda_is_refused),
  };
  const int failures = RUN_TESTS(tests);
  free(workspace);
  return failures;
}
