/* Files of draft heads where calls to the file system fail: as those of indexes (test_io_failure.c). Not built where
 * sanitizers replace the C library's functions.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "io_rig.h"
#include "tiny_head.h"

static sidbeam_status write_weights(const char* path, void* weights) {
  return sidbeam_draft_head_write(path, weights, &err);
}

static sidbeam_status open_head(void* path) {
  sidbeam_draft_head* head = NULL;
  const sidbeam_status status = sidbeam_draft_head_open(path, NULL, &head, &err);
  CHECK((head != NULL) == (status == SIDBEAM_OK));
  sidbeam_draft_head_release(head);
  return status;
}

static void a_write_that_fails_anywhere_keeps_the_old_file(void) {
  sidbeam_draft_weights weights = tiny_weights();
  target to = make_target("x.sdraft", write_weights, &weights);
  for (int named = 0; named < 2; ++named) {
    faults.no_unnamed_file = named;
    fail_at_every_call_of_a_write(&to, FAULT_FAIL, EIO);
    fail_at_every_call_of_a_write(&to, FAULT_AFTER, EIO);
  }
  faults.no_unnamed_file = 0;
  drop_target(&to);
}

/* An attribute that is lost where that is allowed. */
static void only_what_may_be_lost_is_lost(void) {
  sidbeam_draft_weights weights = tiny_weights();
  target to = make_target("x.sdraft", write_weights, &weights);
  int lost = 0;
  for (weights.allow_attribute_loss = 0; weights.allow_attribute_loss < 2; ++weights.allow_attribute_loss) {
    for (long long at = 0;; ++at) {
      put_old(to.path);
      const sidbeam_status status = watched_write(&to, FAULT_FAIL, EPERM, at);
      if (faults.calls <= at) break;
      if (strcmp(faults.failed, "flistxattr") != 0) continue;
      CHECK_INT(status, weights.allow_attribute_loss ? SIDBEAM_OK : SIDBEAM_IO_ERROR);
      CHECK_INT(is_new(&to), weights.allow_attribute_loss);
      ++lost;
    }
  }
  CHECK(lost >= 4);
  drop_target(&to);
}

static void a_read_that_fails_anywhere_says_where(void) {
  sidbeam_draft_weights weights = tiny_weights();
  char path[300];
  snprintf(path, sizeof path, "%s", write_head(&weights));
  fail_at_every_call_of_a_read(open_head, path, path, EIO);
  CHECK_OK(watched(open_head, path, FAULT_SHORT, 0, 0));
}

/* With the file cut at every call that reads it. */
static void a_file_truncated_while_it_is_read_is_an_error(void) {
  sidbeam_draft_weights weights = tiny_weights();
  int failures = 0;
  for (long long at = 0;; ++at) {
    char path[300];
    snprintf(path, sizeof path, "%s", write_head(&weights));
    const sidbeam_status status = watched(open_head, path, FAULT_CUT, 0, at);
    if (faults.calls <= at) break;
    if (status == SIDBEAM_OK) continue; /* a call that does not read */
    CHECK_INT(status, SIDBEAM_IO_ERROR);
    CHECK(strstr(err.message, "ended at byte 0 while it was read") != NULL);
    ++failures;
  }
  CHECK(failures > 0);
}

int main(void) {
  const test_case tests[] = {
      TEST(a_write_that_fails_anywhere_keeps_the_old_file),
      TEST(only_what_may_be_lost_is_lost),
      TEST(a_read_that_fails_anywhere_says_where),
      TEST(a_file_truncated_while_it_is_read_is_an_error),
  };
  return RUN_TESTS(tests);
}
