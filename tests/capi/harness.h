/* A harness of one page for tests in plain C: a test is a function named after one behaviour; the first check that
 * fails prints where, what was expected and what came, and leaves that test. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_CAPI_HARNESS_H
#define SIDBEAM_TESTS_CAPI_HARNESS_H

#include <setjmp.h>
#include <sidbeam/sidbeam.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern sidbeam_error err; /* of the call under test */

typedef struct test_case {
  const char* name;
  void (*run)(void);
} test_case;

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TEST(function) \
  { #function, function }
#define RUN_TESTS(tests) run_tests(tests, COUNT(tests))

#define CHECK(condition) ((condition) ? (void)0 : fail_check(__FILE__, __LINE__, #condition, ""))
#define CHECK_INT(actual, expected) check_int(__FILE__, __LINE__, #actual, (int64_t)(actual), (int64_t)(expected))
#define CHECK_TEXT(actual, expected) check_text(__FILE__, __LINE__, #actual, actual, expected)
/* Every one of `count` elements, floats by their bits; the index of the first that differs is printed. */
#define CHECK_I32(actual, expected, count) check_i32(__FILE__, __LINE__, #actual, actual, expected, count)
#define CHECK_I64(actual, expected, count) check_i64(__FILE__, __LINE__, #actual, actual, expected, count)
#define CHECK_F32(actual, expected, count) check_f32(__FILE__, __LINE__, #actual, actual, expected, count)
/* A call, given &err, that succeeds; or that fails with a status and one line that has every phrase after it. */
#define CHECK_OK(call) check_ok(__FILE__, __LINE__, #call, (clear_error(), (call)))
#define CHECK_FAILS(call, status, ...)                                                  \
  do {                                                                                  \
    const char* const texts[] = {__VA_ARGS__, NULL};                                    \
    check_failure(__FILE__, __LINE__, #call, (clear_error(), (call)), (status), texts); \
  } while (0)

int run_tests(const test_case* tests, size_t count);
/* Called after each test, if there is one: ends what a test that failed half-way had begun. */
extern void (*after_test)(void);
void fail_check(const char* file, int line, const char* what, const char* detail);
void clear_error(void);
void check_ok(const char* file, int line, const char* call, sidbeam_status status);
void check_failure(const char* file, int line, const char* call, sidbeam_status status, sidbeam_status expected,
                   const char* const* texts);
void check_int(const char* file, int line, const char* what, int64_t actual, int64_t expected);
void check_text(const char* file, int line, const char* what, const char* actual, const char* expected);
void check_i32(const char* file, int line, const char* what, const int32_t* actual, const int32_t* expected,
               int64_t count);
void check_i64(const char* file, int line, const char* what, const int64_t* actual, const int64_t* expected,
               int64_t count);
void check_f32(const char* file, int line, const char* what, const float* actual, const float* expected, int64_t count);

#endif
