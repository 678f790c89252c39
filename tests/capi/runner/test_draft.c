/* Draft decoders: what they are refused, with what is wrong, and that what is refused harms nothing. (Their results are
 * compared with the oracle's in tests/unit/runner_draft.cc.) SPDX-License-Identifier: Apache-2.0 */
#include "catalog_rig.h"
#include "tiny_head.h"

static sidbeam_runtime* runtime;
static sidbeam_draft_head* head;
static sidbeam_index* catalogue_index;

static void begin(void) {
  runtime = make_runtime();
  head = make_tiny_head();
  catalogue_index = make_index(&small, ALL_KINDS);
}

static void end(void) {
  sidbeam_index_release(catalogue_index);
  sidbeam_draft_head_release(head);
  sidbeam_runtime_release(runtime);
  catalogue_index = NULL, head = NULL, runtime = NULL;
}

static void a_search_finds_the_catalogue_s_sids(void) {
  begin();
  sidbeam_draft_config config = draft_config(head, catalogue_index);
  config.requests = 3;
  config.beams = 8;
  for (int32_t verification = SIDBEAM_DRAFT_VERIFY_TRIE; verification <= SIDBEAM_DRAFT_VERIFY_NONE; ++verification) {
    config.verification = verification;
    sidbeam_draft_decoder* decoder = make_draft_decoder(runtime, &config);
    const sidbeam_draft_result result = draft(decoder, 2);
    CHECK_INT(result.requests, 2);
    CHECK_INT(result.beams, 8);
    CHECK_INT(result.levels, HEAD_LEVELS);
    for (int i = 0; i < 2; ++i) {
      CHECK_INT(result.errors[i], 0);
      CHECK_INT(result.live[i] == 5, verification == SIDBEAM_DRAFT_VERIFY_TRIE);
      for (int m = 0; m < 8; ++m) {
        int64_t ordinal = -1;
        if (m < result.live[i])
          CHECK_OK(sidbeam_index_find_sid(catalogue_index, result.sids + (i * 8 + m) * 3, 3, &ordinal, &err));
        CHECK_INT(result.ordinals[i * 8 + m], ordinal);
        if (m < result.live[i] && verification != SIDBEAM_DRAFT_VERIFY_NONE) CHECK(ordinal >= 0);
      }
    }
    sidbeam_draft_decoder_destroy(decoder);
  }
  end();
}

static void the_decoder_holds_what_it_needs(void) {
  begin();
  const sidbeam_draft_config config = draft_config(head, catalogue_index);
  sidbeam_draft_decoder* decoder = make_draft_decoder(runtime, &config);
  end();
  CHECK_INT(draft(decoder, 1).live[0], 4);
  sidbeam_draft_decoder_destroy(decoder);
  sidbeam_draft_decoder_destroy(NULL);
}

static void constraints_and_widths_are_per_request(void) {
  begin();
  const int32_t sids[] = {0, 1, 2, 3, 3, 3}, codes[] = {4, 4, 4}, widths[] = {1, 0, 2};
  const catalogue two = {3, 0, SIDBEAM_ID_I64, codes, sids, NULL, NULL, NULL, NULL, 2};
  sidbeam_constraint* constraints[] = {NULL, make_constraint(&two, SIDBEAM_KIND_TRIE), NULL};
  sidbeam_draft_config config = draft_config(head, catalogue_index);
  config.requests = 3;
  sidbeam_draft_decoder* decoder = make_draft_decoder(runtime, &config);
  const sidbeam_rows hidden = tiny_hidden(3);
  sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;
  sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
  args.hidden = &hidden;
  args.constraints = constraints;
  args.widths = widths;
  CHECK_OK(sidbeam_draft_decoder_run(decoder, &args, &result, &err));
  CHECK_I32(result.live, ((const int32_t[]){1, 2, 2}), 3);
  CHECK_INT(result.ordinals[4] + result.ordinals[5], 1);
  sidbeam_constraint_release(constraints[1]); /* the decoder does not hold it any more */
  CHECK_INT(draft(decoder, 3).live[1], 4);
  sidbeam_draft_decoder_destroy(decoder);
  end();
}

static void hidden_states_may_have_any_strides(void) {
  begin();
  sidbeam_draft_config config = draft_config(head, catalogue_index);
  config.requests = 2;
  sidbeam_draft_decoder* decoder = make_draft_decoder(runtime, &config);
  float expected[8], spread[2 * 64];
  memcpy(expected, draft(decoder, 2).scores, sizeof expected);
  for (int i = 0; i < 2; ++i)
    for (int row = 0; row < 4; ++row)
      memcpy(spread + (1 - i) * 64 + (3 - row) * 7 + 1, tiny_states + i * 16 + row * 4, 4 * sizeof(float));
  sidbeam_rows hidden = tiny_hidden(2);
  hidden.data = spread + 64 + 3 * 7 + 1;
  hidden.slot_stride = -64;
  hidden.row_stride = -7;
  sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;
  sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
  args.hidden = &hidden;
  CHECK_OK(sidbeam_draft_decoder_run(decoder, &args, &result, &err));
  CHECK_F32(result.scores, expected, 8);
  sidbeam_draft_decoder_destroy(decoder);
  end();
}

static void decoder_refuses(sidbeam_draft_config config, sidbeam_status status, const char* what) {
  sidbeam_draft_decoder* decoder = NULL;
  CHECK_FAILS(sidbeam_draft_decoder_create(runtime, &config, &decoder, &err), status, what);
  CHECK(decoder == NULL);
}

#define REFUSES(field, value, status, what)          \
  do {                                               \
    config = draft_config(head, catalogue_index);    \
    config.field = (value);                          \
    decoder_refuses(config, SIDBEAM_##status, what); \
  } while (0)

static void configs_that_are_not_offered_are_refused(void) {
  begin();
  sidbeam_draft_config config;
  sidbeam_draft_decoder* decoder = NULL;
  REFUSES(beams, 0, INVALID_ARGUMENT, "config.beams is 0, expected 1..4096");
  REFUSES(beams, 4097, INVALID_ARGUMENT, "config.beams is 4097");
  REFUSES(requests, -1, INVALID_ARGUMENT, "config.requests is -1");
  REFUSES(requests, (1 << 20) + 1, INVALID_ARGUMENT, "config.requests is 1048577");
  REFUSES(verification, 3, INVALID_ARGUMENT, "config.verification is 3");
  REFUSES(normalization, SIDBEAM_NORMALIZE_NONE, INVALID_ARGUMENT, "config.normalization is 3");
  REFUSES(top_k, -1, INVALID_ARGUMENT, "config.top_k is -1");
  REFUSES(max_listed, -1, INVALID_ARGUMENT, "config.max_listed is -1");
  REFUSES(threads, 2, INVALID_ARGUMENT, "config.execute is NULL");
  REFUSES(device_type, 2, INVALID_ARGUMENT, "config.device_type is 2, expected 0..1");
  setenv("SIDBEAM_CUDA_LIBRARY", "/nowhere/libsidbeam_cuda.so.1", 1);
  REFUSES(device_type, SIDBEAM_DEVICE_CUDA, NO_DEVICE, "/nowhere/libsidbeam_cuda.so.1");
  unsetenv("SIDBEAM_CUDA_LIBRARY");
  REFUSES(device_id, 1, INVALID_ARGUMENT, "config.device_id is 1");
  REFUSES(cpu_target, "z80", UNSUPPORTED, "config.cpu_target is \"z80\"");
  REFUSES(head, NULL, INVALID_ARGUMENT, "config.head is NULL");
  REFUSES(index, NULL, INVALID_ARGUMENT, "config.index is NULL");
  REFUSES(struct_size, 4, INVALID_ARGUMENT, "config.struct_size is 4, expected at least");
  config = draft_config(head, catalogue_index);
  config.verification = SIDBEAM_DRAFT_VERIFY_HASH;
  config.normalization = SIDBEAM_NORMALIZE_VALID;
  decoder_refuses(config, SIDBEAM_INVALID_ARGUMENT, "without verification by trie, is 2");
  CHECK_FAILS(sidbeam_draft_decoder_create(NULL, &config, &decoder, &err), SIDBEAM_INVALID_ARGUMENT, "runtime is NULL");
  CHECK_FAILS(sidbeam_draft_decoder_create(runtime, NULL, &decoder, &err), SIDBEAM_INVALID_ARGUMENT, "config is NULL");
  CHECK_FAILS(sidbeam_draft_decoder_create(runtime, &config, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  end();
}

static void refuses_index(sidbeam_index* other, int32_t verification, sidbeam_status status, const char* what) {
  sidbeam_draft_config config = draft_config(head, other);
  config.verification = verification;
  decoder_refuses(config, status, what);
  sidbeam_index_release(other);
}

static void indexes_that_the_head_is_not_for_are_refused(void) {
  const int32_t codes[] = {4, 5, 4}, sid[] = {1, 4, 2};
  const catalogue wider = {3, 0, SIDBEAM_ID_I64, codes, sid, NULL, NULL, NULL, NULL, 1};
  begin();
  refuses_index(make_index(&two_levels, SIDBEAM_KIND_TRIE), SIDBEAM_DRAFT_VERIFY_TRIE, SIDBEAM_INVALID_ARGUMENT,
                "config.index has 2 levels, expected 3, those of the draft head");
  refuses_index(make_index(&wider, SIDBEAM_KIND_TRIE), SIDBEAM_DRAFT_VERIFY_TRIE, SIDBEAM_INVALID_ARGUMENT,
                "config.index has 5 codes at level 1, expected 4");
  refuses_index(make_index(&small_variable, SIDBEAM_KIND_TRIE), SIDBEAM_DRAFT_VERIFY_TRIE, SIDBEAM_UNSUPPORTED,
                "config.index has SIDs of variable length");
  refuses_index(make_index(&small, SIDBEAM_KIND_TRIE), SIDBEAM_DRAFT_VERIFY_HASH, SIDBEAM_MISSING_SECTION,
                "config.index has no hash set, expected one built with kinds hash (SIDBEAM_KIND_HASH)");
  refuses_index(make_index(&small, SIDBEAM_KIND_HASH), SIDBEAM_DRAFT_VERIFY_TRIE, SIDBEAM_MISSING_SECTION,
                "config.index has no trie, expected one built with kinds trie (SIDBEAM_KIND_TRIE)");
  refuses_index(index_of_codebook(&small, "other\nbooks"), SIDBEAM_DRAFT_VERIFY_TRIE, SIDBEAM_INVALID_ARGUMENT,
                "config.index is of codebook 'other\\x0abooks', expected 'books', that of the draft head");
  sidbeam_index* same = index_of_codebook(&small, "books");
  const sidbeam_draft_config config = draft_config(head, same);
  sidbeam_draft_decoder_destroy(make_draft_decoder(runtime, &config));
  sidbeam_index_release(same);
  end();
}

/* A head finds what was added since it was trained; what is not searched by trie takes no version. */
static void versions_are_taken_by_trie_alone(void) {
  begin();
  sidbeam_catalog* catalog = NULL;
  sidbeam_index* newest = NULL;
  CHECK_OK(sidbeam_catalog_create(catalogue_index, NULL, NULL, &catalog, &err));
  CHECK_INT(publish_pair(catalog, "333", 40), 2);
  CHECK_OK(sidbeam_catalog_snapshot(catalog, 0, &newest, &err));
  sidbeam_catalog_close(catalog);
  sidbeam_constraint* constraint = constrain(newest);
  sidbeam_draft_config config = draft_config(head, newest);
  config.beams = 8;
  sidbeam_draft_decoder* decoder = make_draft_decoder(runtime, &config);
  const sidbeam_draft_result found = draft(decoder, 1);
  int added = 0;
  CHECK_INT(found.live[0], 6);
  for (int m = 0; m < found.live[0]; ++m) added += found.ordinals[m] == 5;
  CHECK_INT(added, 1);
  sidbeam_draft_decoder_destroy(decoder);
  for (int32_t verification = SIDBEAM_DRAFT_VERIFY_HASH; verification <= SIDBEAM_DRAFT_VERIFY_NONE; ++verification) {
    const char* follows = verification == SIDBEAM_DRAFT_VERIFY_HASH ? "which follows them, not hash_final"
                                                                    : "which follows them, not none";
    config.verification = verification;
    config.index = newest;
    decoder_refuses(config, SIDBEAM_UNSUPPORTED, follows);
    config.index = catalogue_index;
    decoder = make_draft_decoder(runtime, &config);
    const sidbeam_rows hidden = tiny_hidden(1);
    sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;
    sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
    args.hidden = &hidden;
    args.constraints = &constraint;
    CHECK_FAILS(sidbeam_draft_decoder_run(decoder, &args, &result, &err), SIDBEAM_UNSUPPORTED,
                "constraints[0] has items that were added to its base, expected strategy trie", follows);
    CHECK_INT(draft(decoder, 1).errors[0], 0);
    sidbeam_draft_decoder_destroy(decoder);
  }
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(newest);
  end();
}

static void run_refuses(sidbeam_draft_decoder* decoder, const sidbeam_draft_args* args, sidbeam_status status,
                        const char* what) {
  sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
  CHECK_FAILS(sidbeam_draft_decoder_run(decoder, args, &result, &err), status, what);
  CHECK(result.live == NULL);
}

#define REFUSES_HIDDEN(field, value, status, what)       \
  do {                                                   \
    hidden = tiny_hidden(2);                             \
    hidden.field = (value);                              \
    run_refuses(decoder, &args, SIDBEAM_##status, what); \
  } while (0)

static void hidden_states_of_another_shape_are_refused_and_harm_nothing(void) {
  begin();
  sidbeam_draft_config config = draft_config(head, catalogue_index);
  config.requests = 2;
  sidbeam_draft_decoder* decoder = make_draft_decoder(runtime, &config);
  float expected[8];
  memcpy(expected, draft(decoder, 2).scores, sizeof expected);
  sidbeam_rows hidden;
  sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;
  args.hidden = &hidden;
  REFUSES_HIDDEN(columns, 5, INVALID_ARGUMENT, "hidden.columns is 5, expected 4, the draft head's hidden size");
  REFUSES_HIDDEN(rows, 3, INVALID_ARGUMENT, "hidden.rows is 3, expected 4: h_0 and one per level");
  REFUSES_HIDDEN(slots, 3, INVALID_ARGUMENT, "hidden.slots is 3, expected 1..2");
  REFUSES_HIDDEN(slots, 0, INVALID_ARGUMENT, "hidden.slots is 0");
  REFUSES_HIDDEN(dtype, 3, INVALID_ARGUMENT, "hidden.dtype is 3");
  REFUSES_HIDDEN(data, NULL, INVALID_ARGUMENT, "hidden.data is NULL");
  REFUSES_HIDDEN(device_type, SIDBEAM_DEVICE_CUDA, NO_DEVICE,
                 "hidden.device_type is 1 and device_id 0, expected the CPU (0 and 0), as the decoder");
  REFUSES_HIDDEN(slot_stride, INT64_MAX, INVALID_ARGUMENT,
                 "hidden.slot_stride is 9223372036854775807, which overflows");
  REFUSES_HIDDEN(row_stride, INT64_MAX / 2, INVALID_ARGUMENT, "hidden.row_stride is 4611686018427387903");
  REFUSES_HIDDEN(row_stride, -4, INVALID_ARGUMENT, "hidden.slot_stride is 0, expected a stride beside");
  REFUSES_HIDDEN(struct_size, 8, INVALID_ARGUMENT, "args.hidden.struct_size is 8, expected at least");
  hidden = tiny_hidden(2);
  args.widths = (const int32_t[]){4, 5};
  run_refuses(decoder, &args, SIDBEAM_INVALID_ARGUMENT, "widths[1] is 5, expected 1..4");
  args.widths = NULL;
  sidbeam_constraint* other[] = {NULL, make_constraint(&two_levels, SIDBEAM_KIND_TRIE)};
  args.constraints = other;
  run_refuses(decoder, &args, SIDBEAM_INVALID_ARGUMENT, "constraints[1] has 2 levels, expected 3");
  sidbeam_constraint_release(other[1]);
  other[1] = make_constraint(&small, SIDBEAM_KIND_HASH);
  run_refuses(decoder, &args, SIDBEAM_MISSING_SECTION, "has no trie");
  sidbeam_constraint_release(other[1]);
  args.constraints = NULL;
  args.hidden = NULL;
  run_refuses(decoder, &args, SIDBEAM_INVALID_ARGUMENT, "args.hidden is NULL");
  run_refuses(decoder, NULL, SIDBEAM_INVALID_ARGUMENT, "args is NULL");
  run_refuses(NULL, &args, SIDBEAM_INVALID_ARGUMENT, "decoder is NULL");
  CHECK_F32(draft(decoder, 2).scores, expected, 8);
  sidbeam_draft_decoder_destroy(decoder);
  end();
}

static void constraints_of_another_codebook_are_refused_and_harm_nothing(void) {
  begin();
  sidbeam_draft_config config = draft_config(head, catalogue_index);
  config.requests = 3;
  sidbeam_draft_decoder* decoder = make_draft_decoder(runtime, &config);
  float expected[12];
  memcpy(expected, draft(decoder, 3).scores, sizeof expected);
  sidbeam_constraint* constraints[] = {constraint_of_codebook(&small, "books"), NULL,
                                       constraint_of_codebook(&small, "fi\nlms")};
  const sidbeam_rows hidden = tiny_hidden(3);
  sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;
  args.hidden = &hidden;
  args.constraints = constraints;
  const char* what = "constraints[2] is of codebook 'fi\\x0alms', expected 'books', that of the draft head";
  run_refuses(decoder, &args, SIDBEAM_INVALID_ARGUMENT, what);
  CHECK_FAILS(sidbeam_draft_decoder_start(decoder, &args, &err), SIDBEAM_INVALID_ARGUMENT, what);
  CHECK_F32(draft(decoder, 3).scores, expected, 12);
  sidbeam_constraint_release(constraints[0]);
  sidbeam_constraint_release(constraints[2]);
  sidbeam_draft_decoder_destroy(decoder);
  end();
}

static void expect_run(sidbeam_draft_head* of, sidbeam_constraint* constraint, float expected) {
  const sidbeam_draft_config config = draft_config(of, catalogue_index);
  sidbeam_draft_decoder* decoder = make_draft_decoder(runtime, &config);
  const sidbeam_rows hidden = tiny_hidden(1);
  sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;
  sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
  args.hidden = &hidden;
  args.constraints = &constraint;
  CHECK_OK(sidbeam_draft_decoder_run(decoder, &args, &result, &err));
  CHECK(result.scores[0] == expected);
  sidbeam_draft_decoder_destroy(decoder);
}

static void where_head_or_constraint_name_no_codebook_nothing_is_compared(void) {
  begin();
  sidbeam_draft_config config = draft_config(head, catalogue_index);
  sidbeam_draft_decoder* decoder = make_draft_decoder(runtime, &config);
  const float expected = draft(decoder, 1).scores[0];
  sidbeam_draft_decoder_destroy(decoder);
  sidbeam_draft_weights weights = tiny_weights();
  weights.codebook = NULL;
  sidbeam_draft_head* of_any = NULL;
  CHECK_OK(sidbeam_draft_head_open(write_head(&weights), NULL, &of_any, &err));
  sidbeam_constraint *of_none = constraint_of_codebook(&small, ""), *of_films = constraint_of_codebook(&small, "films");
  expect_run(head, of_none, expected);
  expect_run(of_any, of_films, expected);
  sidbeam_constraint_release(of_none);
  sidbeam_constraint_release(of_films);
  sidbeam_draft_head_release(of_any);
  end();
}

static sidbeam_draft_result decode(sidbeam_draft_decoder* decoder, int64_t requests) {
  const sidbeam_rows hidden = tiny_hidden(requests);
  sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;
  sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
  args.hidden = &hidden;
  CHECK_OK(sidbeam_draft_decoder_decode(decoder, &args, &result, &err));
  return result;
}

static void the_halves_of_a_run_find_what_a_run_finds(void) {
  begin();
  sidbeam_draft_config config = draft_config(head, catalogue_index);
  config.requests = 3;
  sidbeam_draft_decoder* decoder = make_draft_decoder(runtime, &config);
  float expected[12];
  memcpy(expected, draft(decoder, 3).scores, sizeof expected);
  CHECK_I32(decode(decoder, 3).live, ((const int32_t[]){0, 0, 0}), 3); /* nothing is started */
  sidbeam_rows hidden = tiny_hidden(3);
  sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;
  args.hidden = &hidden;
  hidden.data = NULL; /* a start reads the number of requests alone */
  CHECK_OK(sidbeam_draft_decoder_start(decoder, &args, &err));
  for (int i = 0; i < 2; ++i) CHECK_F32(decode(decoder, 3).scores, expected, 12); /* what is found is found again */
  hidden.slots = 2;
  CHECK_OK(sidbeam_draft_decoder_start(decoder, &args, &err));
  const sidbeam_draft_result result = decode(decoder, 3);
  CHECK_I32(result.live, ((const int32_t[]){4, 4, 0}), 3);
  CHECK_F32(result.scores, expected, 8);
  hidden.slots = 4;
  CHECK_FAILS(sidbeam_draft_decoder_start(decoder, &args, &err), SIDBEAM_INVALID_ARGUMENT, "hidden.slots is 4");
  CHECK_FAILS(sidbeam_draft_decoder_start(NULL, &args, &err), SIDBEAM_INVALID_ARGUMENT, "decoder is NULL");
  CHECK_FAILS(sidbeam_draft_decoder_decode(decoder, NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  sidbeam_draft_decoder_destroy(decoder);
  end();
}

int main(void) {
  const test_case tests[] = {
      TEST(a_search_finds_the_catalogue_s_sids),
      TEST(the_decoder_holds_what_it_needs),
      TEST(constraints_and_widths_are_per_request),
      TEST(hidden_states_may_have_any_strides),
      TEST(the_halves_of_a_run_find_what_a_run_finds),
      TEST(configs_that_are_not_offered_are_refused),
      TEST(indexes_that_the_head_is_not_for_are_refused),
      TEST(versions_are_taken_by_trie_alone),
      TEST(hidden_states_of_another_shape_are_refused_and_harm_nothing),
      TEST(constraints_of_another_codebook_are_refused_and_harm_nothing),
      TEST(where_head_or_constraint_name_no_codebook_nothing_is_compared),
  };
  return RUN_TESTS(tests);
}
