/* Files of draft heads: written, opened, told of; and refused with what is wrong, whatever has happened to them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tiny_head.h"

static void a_head_tells_its_shape(void) {
  sidbeam_draft_head* head = make_tiny_head();
  sidbeam_draft_head_info info = SIDBEAM_DRAFT_HEAD_INFO_INIT;
  CHECK_OK(sidbeam_draft_head_get_info(head, &info, &err));
  CHECK_INT(info.levels, HEAD_LEVELS);
  CHECK_INT(info.hidden, HEAD_HIDDEN);
  CHECK_INT(info.embedding, HEAD_HIDDEN);
  CHECK_INT(info.input, SIDBEAM_DRAFT_INPUT_BOTH);
  CHECK_INT(info.transition, SIDBEAM_DRAFT_TRANSITION_RNN);
  CHECK_INT(info.dtype, SIDBEAM_DTYPE_F32);
  CHECK_INT(info.codes[2], HEAD_CODES);
  CHECK_INT(info.parameters, 3 * (32 + 4) + 2 * (16 + 2 * (16 + 4)));
  CHECK(info.memory_bytes >= info.parameters * 4 - 2 * 16 * 4);
  CHECK(info.file_bytes > info.parameters * 4);
  CHECK_TEXT(info.codebook, "books");
  sidbeam_draft_head_retain(head);
  sidbeam_draft_head_release(head);
  CHECK_OK(sidbeam_draft_head_get_info(head, &info, &err));
  sidbeam_draft_head_release(head);
  sidbeam_draft_head_release(NULL);
}

static void the_same_weights_give_the_same_bytes_and_replace_a_file_whole(void) {
  sidbeam_draft_weights weights = tiny_weights();
  const char* path = write_head(&weights);
  int64_t bytes = 0, again_bytes = 0;
  unsigned char* file = read_file(path, &bytes);
  CHECK_OK(sidbeam_draft_head_write(path, &weights, &err));
  unsigned char* again = read_file(path, &again_bytes);
  CHECK_INT(again_bytes, bytes);
  CHECK(memcmp(file, again, (size_t)bytes) == 0);
  CHECK_INT(bytes % 64, 0);
  const int files = files_in_folder(path);
  weights.head_weights = NULL;
  CHECK_FAILS(sidbeam_draft_head_write(path, &weights, &err), SIDBEAM_INVALID_ARGUMENT, "weights.head_weights is NULL");
  CHECK_INT(files_in_folder(path), files);
  free(file);
  free(again);
}

static void writing_refuses(sidbeam_draft_weights weights, const char* what) {
  CHECK_FAILS(sidbeam_draft_head_write(temporary_path("refused"), &weights, &err), SIDBEAM_INVALID_ARGUMENT, what);
  CHECK(!file_exists(temporary_path("refused")));
}

static void weights_that_are_not_a_head_are_refused(void) {
  const int32_t no_codes[3] = {4, 0, 4};
  const void* const holes[3] = {tiny_states, NULL, tiny_states};
  sidbeam_draft_weights weights = tiny_weights();
#define REFUSES(field, value, what) (weights = tiny_weights(), weights.field = (value), writing_refuses(weights, what))
  REFUSES(levels, 0, "weights.levels is 0, expected 1..255");
  REFUSES(levels, 256, "weights.levels is 256");
  REFUSES(hidden, 0, "weights.hidden is 0");
  REFUSES(hidden, 65537, "weights.hidden is 65537, expected 1..65536");
  REFUSES(embedding, -1, "weights.embedding is -1");
  REFUSES(input, 3, "weights.input is 3");
  REFUSES(transition, -1, "weights.transition is -1");
  REFUSES(dtype, 3, "weights.dtype is 3");
  REFUSES(codes, NULL, "weights.codes is NULL");
  REFUSES(codes, no_codes, "an entry of weights.codes is 0");
  REFUSES(input, SIDBEAM_DRAFT_INPUT_HIDDEN, "expected NONE (3) with INPUT_HIDDEN");
  weights = tiny_weights();
  weights.transition = SIDBEAM_DRAFT_TRANSITION_ADD;
  weights.embedding = 3;
  writing_refuses(weights, "weights.embedding is 3, expected 4");
  REFUSES(head_weights, holes, "weights.head_weights is NULL, or NULL at level 1, expected an array of 4 by 8");
  REFUSES(recurrent_weights, NULL, "weights.recurrent_weights is NULL");
  REFUSES(struct_size, 8, "weights.struct_size is 8, expected at least");
#undef REFUSES
  CHECK_FAILS(sidbeam_draft_head_write(NULL, &weights, &err), SIDBEAM_INVALID_ARGUMENT, "path is NULL");
  weights = tiny_weights();
  CHECK_FAILS(sidbeam_draft_head_write("/nonexistent/head", &weights, &err), SIDBEAM_IO_ERROR, "/nonexistent/head");
}

/* Opens the bytes as a file; NULL where they are refused, which must be said. */
static sidbeam_status open_bytes(const unsigned char* bytes, int64_t count) {
  const char* path = temporary_path("damaged");
  sidbeam_draft_head* head = NULL;
  FILE* file = fopen(path, "wb");
  CHECK(file != NULL && fwrite(bytes, 1, (size_t)count, file) == (size_t)count);
  fclose(file);
  clear_error();
  const sidbeam_status status = sidbeam_draft_head_open(path, NULL, &head, &err);
  CHECK_INT(err.code, status);
  CHECK((status == SIDBEAM_OK) == (head != NULL));
  sidbeam_draft_head_release(head);
  return status;
}

static void a_file_that_is_cut_short_is_refused(void) {
  const sidbeam_draft_weights weights = tiny_weights();
  int64_t bytes = 0;
  unsigned char* file = read_file(write_head(&weights), &bytes);
  CHECK_INT(open_bytes(file, bytes), SIDBEAM_OK);
  for (int64_t length = 0; length < bytes; ++length) {
    CHECK_INT(open_bytes(file, length), SIDBEAM_CORRUPT);
    CHECK(strstr(err.message, length < 32 ? "file too short" : "file") != NULL);
  }
  free(file);
}

static void any_bit_that_is_turned_is_noticed(void) {
  const sidbeam_draft_weights weights = tiny_weights();
  int64_t bytes = 0;
  unsigned char* file = read_file(write_head(&weights), &bytes);
  for (int64_t i = 0; i < bytes; ++i) {
    file[i] ^= (unsigned char)(1 << i % 8);
    const sidbeam_status status = open_bytes(file, bytes);
    CHECK(status == SIDBEAM_CORRUPT || status == SIDBEAM_UNSUPPORTED);
    file[i] ^= (unsigned char)(1 << i % 8);
  }
  free(file);
}

static void what_is_no_head_is_refused(void) {
  sidbeam_draft_head* head = NULL;
  int64_t bytes = 0;
  unsigned char* index = index_bytes(&small, SIDBEAM_KIND_TRIE, &bytes);
  CHECK_INT(open_bytes(index, bytes), SIDBEAM_CORRUPT);
  CHECK(strstr(err.message, "wrong magic: not a draft head") != NULL);
  free(index);
  CHECK_FAILS(sidbeam_draft_head_open("/nonexistent", NULL, &head, &err), SIDBEAM_IO_ERROR, "/nonexistent");
  CHECK_FAILS(sidbeam_draft_head_open("/", NULL, &head, &err), SIDBEAM_IO_ERROR, "cannot open '/'");
  CHECK_FAILS(sidbeam_draft_head_open(NULL, NULL, &head, &err), SIDBEAM_INVALID_ARGUMENT, "path is NULL");
  CHECK_FAILS(sidbeam_draft_head_open("x", NULL, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
}

static void a_newer_format_is_refused_as_such(void) {
  const sidbeam_draft_weights weights = tiny_weights();
  int64_t bytes = 0;
  unsigned char* file = read_file(write_head(&weights), &bytes);
  file[8] = 2;
  CHECK_INT(open_bytes(file, bytes), SIDBEAM_UNSUPPORTED);
  CHECK(strstr(err.message, "format version 2.0, this library reads version 1") != NULL);
  free(file);
}

int main(void) {
  const test_case tests[] = {
      TEST(a_head_tells_its_shape),
      TEST(the_same_weights_give_the_same_bytes_and_replace_a_file_whole),
      TEST(weights_that_are_not_a_head_are_refused),
      TEST(a_file_that_is_cut_short_is_refused),
      TEST(any_bit_that_is_turned_is_noticed),
      TEST(what_is_no_head_is_refused),
      TEST(a_newer_format_is_refused_as_such),
  };
  return RUN_TESTS(tests);
}
