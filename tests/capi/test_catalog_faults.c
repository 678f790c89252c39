/* Every call that reaches the file system fails, at every place of the history of a live catalogue: the same handle
 * goes on, or says that it takes no more and the catalogue opens with the last version or the one under way.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "catalog_history.h"
#include "io_faults.h"

static int failures, ended; /* steps that failed, and handles that took no more */

static sidbeam_status watched_step(history* of, int64_t version) {
  clear_error();
  faults.watching = 1;
  const sidbeam_status status = make_version(of, version, &err);
  faults.watching = 0;
  return status;
}

/* It was made all the same, or it can be made now. */
static void make_or_open(history* of) {
  if (make_version(of, 1, &err) == SIDBEAM_OK) return;
  CHECK_INT(err.code, SIDBEAM_INVALID_ARGUMENT);
  CHECK(strstr(err.message, "holds a catalogue already") != NULL);
  CHECK_OK(open_history(of, &err));
  check_versions(of, 1);
}

static void reopen(history* of, int64_t version) {
  ++ended;
  CHECK_TEXT(content(of->catalog, 0), of->contents[version - 1]);
  CHECK_INT(make_version(of, version == 8 ? 9 : version, &err), SIDBEAM_IO_ERROR);
  CHECK(strstr(err.message, "takes no more until") != NULL);
  close_history(of);
  CHECK_OK(open_history(of, &err));
}

/* After a step that failed; then the version is there. */
static void recover(history* of, int64_t version) {
  ++failures;
  CHECK_INT(err.code, SIDBEAM_IO_ERROR);
  if (strstr(err.message, of->folder) == NULL) printf("call %lld, %s: %s\n", faults.at, faults.failed, err.message);
  CHECK(strstr(err.message, of->folder) != NULL);
  if (version == 1) {
    make_or_open(of);
    return;
  }
  char text[sizeof err.message];
  snprintf(text, sizeof text, "%s", err.message);
  const int said = strstr(err.message, "takes no more until") != NULL;
  const int failed = of->catalog != NULL && info_of(of->catalog).log_failed;
  if (failed && !said) printf("call %lld, %s: %s\n", faults.at, faults.failed, text);
  CHECK(said || !failed);
  CHECK(!failed || strcmp(faults.failed, "write") != 0); /* bases and manifests are written beside those that count */
  if (failed) {
    reopen(of, version);
  } else if (of->catalog == NULL) {
    CHECK_OK(open_history(of, &err));
  }
  const int64_t newest = info_of(of->catalog).version;
  if (failed && newest == version) return;
  check_versions(of, version - 1);
  CHECK_OK(make_version(of, version, &err));
}

/* The whole history, with the fault as it is set. */
static void run_with_fault(history* all) {
  remove_folder(all->folder);
  faults.calls = 0;
  faults.failed = NULL;
  for (int64_t version = 1; version <= HISTORY_VERSIONS; ++version) {
    if (watched_step(all, version) != SIDBEAM_OK) recover(all, version);
    CHECK_TEXT(content(all->catalog, 0), all->contents[version]);
  }
  check_versions(all, HISTORY_VERSIONS);
  close_history(all);
  CHECK_OK(open_history(all, &err));
  check_versions(all, HISTORY_VERSIONS);
  check_that_it_goes_on(all);
}

/* What was published can be had, and nothing more can be published. */
static void check_while_full(history* of, int64_t version) {
  if (of->catalog == NULL) return; /* it could not be made, or opened */
  const int64_t newest = info_of(of->catalog).version;
  CHECK(newest == version - 1 || newest == version);
  check_versions(of, newest);
  if (newest == version) return;
  CHECK_INT(watched_step(of, version), SIDBEAM_IO_ERROR);
  CHECK(strstr(err.message, "No space left on device") != NULL);
}

/* From a call on the disk is full; there is room again once that has been seen. */
static void run_with_full_disk(history* all) {
  remove_folder(all->folder);
  faults.calls = 0;
  for (int64_t version = 1; version <= HISTORY_VERSIONS; ++version) {
    if (watched_step(all, version) != SIDBEAM_OK) {
      const sidbeam_error first = err;
      CHECK(strstr(first.message, "No space left on device") != NULL);
      check_while_full(all, version);
      faults.at = -1;
      err = first;
      recover(all, version);
    }
    CHECK_TEXT(content(all->catalog, 0), all->contents[version]);
  }
  close_history(all);
  CHECK_OK(open_history(all, &err));
  check_versions(all, HISTORY_VERSIONS);
  check_that_it_goes_on(all);
}

static void a_disk_that_stays_full_loses_nothing(void) {
  history all;
  begin_history(&all, fresh_folder("faults"));
  failures = ended = 0;
  faults.kind = FAULT_NO_ROOM;
  faults.error = ENOSPC;
  faults.which = CALLS_THAT_CHANGE;
  long long at = -1;
  do {
    faults.at = ++at;
    run_with_full_disk(&all);
  } while (faults.calls > at);
  CHECK(failures > 50);
  end_history(&all);
}

static void fail_everywhere(int kind, int error, int which) {
  history all;
  begin_history(&all, fresh_folder("faults"));
  failures = ended = 0;
  faults.kind = kind;
  faults.error = error;
  faults.which = which;
  faults.at = -1;
  do {
    ++faults.at;
    run_with_fault(&all);
  } while (faults.calls > faults.at);
  CHECK(failures > 10);
  if (kind != FAULT_FULL) CHECK(ended > 10);
  end_history(&all);
}

static void a_call_that_fails_loses_nothing(void) { fail_everywhere(FAULT_FAIL, EIO, CALLS_OF_FOLDERS); }
static void a_call_that_worked_and_says_that_it_failed_loses_nothing(void) {
  fail_everywhere(FAULT_AFTER, EIO, CALLS_THAT_CHANGE);
}
static void a_full_disk_loses_nothing(void) { fail_everywhere(FAULT_FULL, ENOSPC, CALLS_OF_FOLDERS); }

/* The system may drop from memory's pages that they are to be written, when a sync of them fails. */
static void what_no_sync_followed_is_written_again(void) {
  sidbeam_catalog_config config = SIDBEAM_CATALOG_CONFIG_INIT;
  const char* const folder = three_versions("unsynced");
  config.sync = SIDBEAM_SYNC_HOST;
  sidbeam_catalog* catalog = open_catalog(folder, &config);
  CHECK_INT(publish_pair(catalog, "333", 41), 4);
  sidbeam_catalog_close(catalog);
  faults.kind = FAULT_FULL; /* counts what logs are written by */
  faults.which = CALLS_OF_FOLDERS;
  faults.at = -1;
  for (int again = 0; again < 2; ++again) {
    faults.calls = 0;
    faults.watching = 1;
    catalog = open_catalog(folder, NULL);
    faults.watching = 0;
    CHECK_INT(faults.calls, 1);
    CHECK_INT(info_of(catalog).version, 4);
    sidbeam_catalog_close(catalog);
  }
}

static void goes_on_with(int kind, long long at) {
  history all;
  begin_history(&all, fresh_folder("faults"));
  failures = 0;
  faults.kind = kind;
  faults.error = EINTR;
  faults.which = CALLS_OF_FOLDERS;
  faults.at = at;
  run_with_fault(&all);
  CHECK_INT(failures, 0);
  CHECK(faults.calls > 100);
  end_history(&all);
}

static void short_and_interrupted_calls_go_on(void) {
  goes_on_with(FAULT_SHORT, 0);
  goes_on_with(FAULT_INTERRUPT, 0);
  goes_on_with(FAULT_INTERRUPT, 1);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_call_that_fails_loses_nothing),
      TEST(a_call_that_worked_and_says_that_it_failed_loses_nothing),
      TEST(a_full_disk_loses_nothing),
      TEST(a_disk_that_stays_full_loses_nothing),
      TEST(what_no_sync_followed_is_written_again),
      TEST(short_and_interrupted_calls_go_on),
  };
  return RUN_TESTS(tests);
}
