/* The harness's checks. SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

sidbeam_error err = SIDBEAM_ERROR_INIT;

static jmp_buf leave_test;

void (*after_test)(void) = NULL;

int run_tests(const test_case* tests, size_t count) {
  volatile size_t failed = 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (volatile size_t i = 0; i < count; ++i) {
    if (setjmp(leave_test) == 0) {
      tests[i].run();
      printf("ok   %s\n", tests[i].name);
    } else {
      ++failed;
      printf("FAIL %s\n", tests[i].name);
    }
    if (after_test != NULL) after_test();
  }
  if (failed != 0) printf("%zu of %zu tests failed\n", (size_t)failed, count);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

void fail_check(const char* file, int line, const char* what, const char* detail) {
  printf("%s:%d: %s%s\n", file, line, what, detail);
  longjmp(leave_test, 1);
}

void clear_error(void) {
  const sidbeam_error empty = SIDBEAM_ERROR_INIT;
  err = empty;
}

void check_ok(const char* file, int line, const char* call, sidbeam_status status) {
  char detail[700];
  if (status == SIDBEAM_OK) return;
  snprintf(detail, sizeof detail, ": %s: %s", sidbeam_status_name(status), err.message);
  fail_check(file, line, call, detail);
}

/* A digit or a word is in many a message; a phrase, or a path, says what it is about. */
static int is_phrase(const char* text) {
  int letters = 0;
  if (strpbrk(text, " /") == NULL) return 0;
  for (; *text != '\0'; ++text) letters += (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');
  return letters > 2;
}

void check_failure(const char* file, int line, const char* call, sidbeam_status status, sidbeam_status expected,
                   const char* const* texts) {
  char detail[1000];
  if (status != expected || err.code != expected) {
    snprintf(detail, sizeof detail, ": expected %s, got %s, in err %s: '%s'", sidbeam_status_name(expected),
             sidbeam_status_name(status), sidbeam_status_name(err.code), err.message);
    fail_check(file, line, call, detail);
  }
  for (; *texts != NULL; ++texts) {
    if (!is_phrase(*texts)) fail_check(file, line, *texts, ": expected a phrase, which no other message has");
    if (strstr(err.message, *texts) != NULL) continue;
    snprintf(detail, sizeof detail, ": expected '%s' in '%s'", *texts, err.message);
    fail_check(file, line, call, detail);
  }
  if (strchr(err.message, '\n') != NULL) fail_check(file, line, call, ": the message has more than one line");
}

void check_int(const char* file, int line, const char* what, int64_t actual, int64_t expected) {
  char detail[100];
  if (actual == expected) return;
  snprintf(detail, sizeof detail, ": expected %lld, got %lld", (long long)expected, (long long)actual);
  fail_check(file, line, what, detail);
}

void check_text(const char* file, int line, const char* what, const char* actual, const char* expected) {
  char detail[700];
  if (actual != NULL && strcmp(actual, expected) == 0) return;
  snprintf(detail, sizeof detail, ": expected '%s', got '%s'", expected, actual == NULL ? "(NULL)" : actual);
  fail_check(file, line, what, detail);
}

static void check_integer(const char* file, int line, const char* what, int64_t i, int64_t actual, int64_t expected) {
  char detail[100];
  if (actual == expected) return;
  snprintf(detail, sizeof detail, "[%lld]: expected %lld, got %lld", (long long)i, (long long)expected,
           (long long)actual);
  fail_check(file, line, what, detail);
}

void check_i32(const char* file, int line, const char* what, const int32_t* actual, const int32_t* expected,
               int64_t count) {
  for (int64_t i = 0; i < count; ++i) check_integer(file, line, what, i, actual[i], expected[i]);
}

void check_i64(const char* file, int line, const char* what, const int64_t* actual, const int64_t* expected,
               int64_t count) {
  for (int64_t i = 0; i < count; ++i) check_integer(file, line, what, i, actual[i], expected[i]);
}

void check_f32(const char* file, int line, const char* what, const float* actual, const float* expected,
               int64_t count) {
  char detail[100];
  for (int64_t i = 0; i < count; ++i) {
    if (memcmp(&actual[i], &expected[i], sizeof actual[i]) == 0) continue;
    snprintf(detail, sizeof detail, "[%lld]: expected %.9g, got %.9g", (long long)i, (double)expected[i],
             (double)actual[i]);
    fail_check(file, line, what, detail);
  }
}
