/* A child of fork() releases everything on a device without a word to it, and is refused what only the device could
 * do. SPDX-License-Identifier: Apache-2.0 */
#include <sys/wait.h>
#include <unistd.h>

#include "../../capi/rules_rig.h"
#include "cuda_session.h"

enum { SECONDS = 60 };

/* What the child gets from its parent. */
typedef struct inherited {
  bench b;
  sidbeam_index* index;
  sidbeam_constraint_set* set;
  sidbeam_filter* filter;
  sidbeam_constraint* ruled; /* by it; the second slot's */
  int64_t filter_bytes;      /* its copy on the device among them */
} inherited;

#define REQUIRE(condition)                                                                 \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      printf("test_fork.c:%d: in the child: %s: %s\n", __LINE__, #condition, err.message); \
      _exit(1);                                                                            \
    }                                                                                      \
  } while (0)

static int refused(sidbeam_status status) {
  return status == SIDBEAM_BAD_STATE &&
         strstr(err.message, "CUDA device 0 was opened before this process was forked") != NULL;
}

static void use_and_let_go(inherited* from) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  sidbeam_upload_info info = SIDBEAM_UPLOAD_INFO_INIT;
  sidbeam_state states[2] = {0, 0};
  const int64_t live = live_allocations_now();
  REQUIRE(refused(step(from->b.session, &from->b.rows, NULL)));
  REQUIRE(refused(sidbeam_session_start(from->b.session, &start, &err)));
  start.constraints = (sidbeam_constraint*[]){from->ruled, from->ruled};
  REQUIRE(refused(sidbeam_session_start(from->b.session, &start, &err)));
  sidbeam_filter_info filter = SIDBEAM_FILTER_INFO_INIT;
  REQUIRE(sidbeam_filter_get_info(from->filter, &filter, &err) == SIDBEAM_OK && filter.bytes < from->filter_bytes);
  REQUIRE(refused(sidbeam_session_stop(from->b.session, NULL, 0, NULL, &err)));
  REQUIRE(refused(sidbeam_session_fetch(from->b.session, &beams, NULL, &err)));
  REQUIRE(refused(
      sidbeam_constraint_set_advance(from->set, NULL, states, 2, NULL, (const int32_t*)states, 2, states, NULL, &err)));
  REQUIRE(sidbeam_index_get_upload(from->index, 0, &info, &err) == SIDBEAM_OK && info.kinds == 0 && info.bytes == 0);
  sidbeam_index_unload(from->index, 0);
  sidbeam_session_destroy(from->b.session);
  sidbeam_constraint_set_destroy(from->set);
  sidbeam_constraint_release(from->b.constraint);
  sidbeam_constraint_release(from->ruled);
  sidbeam_filter_release(from->filter);
  sidbeam_index_release(from->index);
  REQUIRE(live_allocations_now() == live); /* the device has not heard of it */
}

static inherited make(void) {
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  sidbeam_runtime* runtime = make_runtime();
  inherited made;
  made.b = set_up();
  made.index = make_index(&small, ALL_KINDS);
  CHECK_OK(sidbeam_index_upload(made.index, NULL, &err));
  made.filter = make_filter(made.index, ids(LIST(10, 12, 14)));
  made.ruled = make_ruled(made.index, made.filter, NULL, NULL);
  const int32_t second = 1;
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.slots = &second;
  start.count = 1;
  start.constraints = &made.ruled;
  CHECK_OK(sidbeam_session_start(made.b.session, &start, &err));
  sidbeam_filter_info filter = SIDBEAM_FILTER_INFO_INIT;
  CHECK_OK(sidbeam_filter_get_info(made.filter, &filter, &err));
  made.filter_bytes = filter.bytes;
  config.constraint_count = 1;
  config.constraints = &made.ruled;
  config.device_type = SIDBEAM_DEVICE_CUDA;
  CHECK_OK(sidbeam_constraint_set_create(runtime, &config, &made.set, &err));
  sidbeam_runtime_release(runtime);
  return made;
}

static void a_child_lets_go_of_what_is_on_a_device(void) {
  inherited made = make();
  const moment before = moment_of(made.b.session);
  int status = 0;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(SECONDS);
    use_and_let_go(&made);
    _exit(0);
  }
  CHECK(child > 0);
  CHECK_INT(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  check_unmoved(made.b.session, &before); /* the parent never notices */
  CHECK_OK(step(made.b.session, &made.b.rows, NULL));
  sidbeam_constraint_set_destroy(made.set);
  sidbeam_constraint_release(made.ruled);
  sidbeam_filter_release(made.filter);
  sidbeam_index_release(made.index);
  tear_down(&made.b);
}

int main(void) {
  static const test_case tests[] = {TEST(a_child_lets_go_of_what_is_on_a_device)};
  return RUN_TESTS(tests);
}
