/* A follower where the system has no inotify: it looks every second. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <sys/inotify.h>

#include "catalog_rig.h"

#define REPLACED __attribute__((visibility("default")))

static sidbeam_catalog* writer;
static int refusals, waits, wait_ms;

REPLACED int inotify_init1(int flags) {
  (void)flags;
  ++refusals;
  errno = EMFILE;
  return -1;
}

/* By now the follower has looked and found nothing. */
REPLACED int poll(struct pollfd* fds, nfds_t count, int timeout) {
  const struct timespec most = {timeout / 1000, timeout % 1000 * 1000000L};
  if (waits++ == 0) {
    wait_ms = timeout;
    if (add_pair(writer, "333", 41, NULL) == SIDBEAM_OK) (void)!sidbeam_catalog_publish(writer, NULL, NULL);
  }
  return ppoll(fds, count, &most, NULL);
}

static void a_follower_without_inotify_sees_what_is_published_while_it_waits(void) {
  const char* const folder = three_versions("poll");
  sidbeam_catalog* follower = follow_catalog(folder);
  int64_t version = 0;
  writer = open_catalog(folder, NULL);
  CHECK_OK(sidbeam_catalog_refresh(follower, 60000, &version, &err));
  CHECK(refusals > 0);
  CHECK_INT(wait_ms, 1000);
  CHECK_INT(waits, 1);
  CHECK_INT(version, 4);
  CHECK_TEXT(content(follower, 0), content(writer, 0));
  sidbeam_catalog_close(writer);
  sidbeam_catalog_close(follower);
}

int main(void) {
  static const test_case tests[] = {TEST(a_follower_without_inotify_sees_what_is_published_while_it_waits)};
  return RUN_TESTS(tests);
}
