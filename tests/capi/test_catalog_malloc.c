/* Every allocation of every call that changes or reads a live catalogue fails: the catalogue is as it was, and the same
 * call then succeeds. Not built with sanitizers (malloc_faults.h). SPDX-License-Identifier: Apache-2.0 */
#include "catalog_history.h"
#include "malloc_faults.h"

static history all;
static const char* before; /* the folder as each step finds it */

typedef struct step {
  int64_t version; /* that it makes */
  sidbeam_catalog* follower;
} step;

typedef sidbeam_status work(step* of, sidbeam_error* error);

static sidbeam_status make(step* of, sidbeam_error* error) { return make_version(&all, of->version, error); }

static sidbeam_status open_again(step* of, sidbeam_error* error) {
  return of->version > 0 ? open_history(&all, error) : SIDBEAM_INTERNAL;
}

static sidbeam_status follow(step* of, sidbeam_error* error) {
  return sidbeam_catalog_follow(all.runtime, all.folder, NULL, &of->follower, error);
}

static sidbeam_status refresh(step* of, sidbeam_error* error) {
  return sidbeam_catalog_refresh(of->follower, 0, NULL, error);
}

static sidbeam_status look(step* of, sidbeam_error* error) {
  sidbeam_index* index = NULL;
  const int64_t oldest = of->version > HISTORY_KEEPS ? of->version - HISTORY_KEEPS + 1 : 1;
  const sidbeam_status status = sidbeam_catalog_snapshot(all.catalog, oldest, &index, error);
  sidbeam_index_release(index);
  return status;
}

/* A failure is of memory, by whichever name. */
static void check_failed(sidbeam_status status, long long at) {
  const int is_of_memory = status == SIDBEAM_OUT_OF_MEMORY ||
                           (status == SIDBEAM_IO_ERROR && strstr(err.message, "Cannot allocate memory") != NULL);
  if (!is_of_memory) printf("allocation %lld: %s\n", at, err.message);
  CHECK(is_of_memory);
}

static sidbeam_status watched(work* of, step* what, long long at, int forever) {
  clear_error();
  malloc_faults_begin(at, forever);
  const sidbeam_status status = of(what, &err);
  malloc_faults_end();
  return status;
}

/* The folder holds `version`, and what does not open it finds it open. */
static void set_up(const step* of, int opened) {
  close_history(&all);
  if (of->version == 0) {
    remove_folder(all.folder);
    return;
  }
  copy_folder(before, all.folder);
  if (opened) CHECK_OK(open_history(&all, &err));
}

/* The step that makes a version fails at each allocation. */
static void fail_while_making(int64_t version, int forever) {
  step of = {version, NULL};
  const step found = {version - 1, NULL};
  for (long long at = 0;; at += forever ? 7 : 1) {
    set_up(&found, 1);
    const sidbeam_status status = watched(make, &of, at, forever);
    const long long calls = malloc_calls();
    if (status != SIDBEAM_OK) {
      check_failed(status, at);
      if (all.catalog != NULL && version > 1) {
        CHECK_INT(info_of(all.catalog).log_failed, 0);
        CHECK_INT(info_of(all.catalog).version, version - 1);
        CHECK_TEXT(content(all.catalog, 0), all.contents[version - 1]);
      }
      CHECK_OK(make_version(&all, version, &err));
    }
    CHECK_TEXT(content(all.catalog, 0), all.contents[version]);
    if (at % 32 == 0) check_versions(&all, version);
    if (calls > at) continue;
    CHECK_INT(status, SIDBEAM_OK);
    CHECK(at > 20);
    return;
  }
}

/* What reads the folder of a version, or of the one after it, fails at each allocation. */
static void fail_while_reading(work* reads, int64_t version, int opened) {
  step of = {version, NULL};
  for (long long at = 0;; ++at) {
    set_up(&of, opened);
    if (reads == refresh) {
      CHECK_OK(follow(&of, &err));
      CHECK_OK(make_version(&all, version + 1, &err));
    }
    const sidbeam_status status = watched(reads, &of, at, 0);
    const long long calls = malloc_calls();
    if (status != SIDBEAM_OK) {
      check_failed(status, at);
      if (reads == refresh) CHECK_TEXT(content(of.follower, 0), all.contents[version]);
      CHECK_OK(reads(&of, &err));
    }
    if (reads == refresh) CHECK_TEXT(content(of.follower, 0), all.contents[version + 1]);
    if (reads == follow) CHECK_TEXT(content(of.follower, 0), all.contents[version]);
    if (reads == open_again || reads == look) CHECK_TEXT(content(all.catalog, 0), all.contents[version]);
    if (reads == open_again && at % 32 == 0) check_versions(&all, version);
    sidbeam_catalog_close(of.follower);
    of.follower = NULL;
    if (calls > at) continue;
    CHECK_INT(status, SIDBEAM_OK);
    return;
  }
}

static void every_allocation_of_every_call_may_fail(void) {
  begin_history(&all, fresh_folder("malloc"));
  before = fresh_folder("before");
  for (int64_t version = 1; version <= HISTORY_VERSIONS; ++version) {
    fail_while_making(version, 0);
    if (version % 3 == 1) fail_while_making(version, 1);
    close_history(&all);
    copy_folder(all.folder, before);
    if (version % 3 != 1) continue;
    fail_while_reading(open_again, version, 0);
    fail_while_reading(follow, version, 0);
    fail_while_reading(look, version, 1);
    fail_while_reading(refresh, version, 1);
    set_up(&(const step){version, NULL}, 0);
  }
  end_history(&all);
}

/* A new price for item 14, whose region stays, and a new item. */
static sidbeam_status add_prices(sidbeam_catalog* catalog, int64_t price, sidbeam_error* error) {
  const int32_t codes[6] = {3, 0, 0, 1, 1, 1};
  const int64_t numbers[2] = {14, 100 + price}, prices[2] = {price, price};
  sidbeam_attribute_column column = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  const sidbeam_attribute_column* const columns[1] = {&column};
  sidbeam_pairs pairs = SIDBEAM_PAIRS_INIT;
  column.name = "price";
  column.integers = prices;
  pairs.codes = codes;
  pairs.ids = numbers;
  pairs.count = 2;
  pairs.attributes = columns;
  pairs.attribute_count = 1;
  return sidbeam_catalog_add(catalog, &pairs, error);
}

/* How many live items have a price. */
static int64_t priced(sidbeam_catalog* catalog, int64_t price) {
  sidbeam_index* index = NULL;
  sidbeam_filter* filter = NULL;
  sidbeam_constraint_config rules = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  sidbeam_constraint* constraint = NULL;
  sidbeam_constraint_info info = SIDBEAM_CONSTRAINT_INFO_INIT;
  char text[40];
  snprintf(text, sizeof text, "price = %lld", (long long)price);
  CHECK_OK(sidbeam_catalog_snapshot(catalog, 0, &index, &err));
  CHECK_OK(sidbeam_filter_parse(index, text, (int64_t)strlen(text), &filter, &err));
  rules.index = index;
  rules.filter = filter;
  CHECK_OK(sidbeam_constraint_create(&rules, &constraint, &err));
  CHECK_OK(sidbeam_constraint_get_info(constraint, &info, &err));
  sidbeam_constraint_release(constraint);
  sidbeam_filter_release(filter);
  sidbeam_index_release(index);
  return info.allowed_items;
}

static void every_allocation_of_an_addition_with_attributes_may_fail(void) {
  sidbeam_index* base = priced_index();
  sidbeam_catalog* catalog = NULL;
  CHECK_OK(sidbeam_catalog_create(base, NULL, NULL, &catalog, &err));
  sidbeam_index_release(base);
  for (long long at = 0, calls = at + 1; calls > at; ++at) {
    const int64_t items = info_of(catalog).items, price = 10 + at;
    clear_error();
    malloc_faults_begin(at, 0);
    const sidbeam_status status = add_prices(catalog, price, &err);
    malloc_faults_end();
    calls = malloc_calls();
    if (status != SIDBEAM_OK) {
      check_failed(status, at);
      CHECK_INT(info_of(catalog).changes, 0);
      CHECK_OK(add_prices(catalog, price, &err));
    }
    (void)publish(catalog);
    CHECK_INT(priced(catalog, price), 2);
    CHECK_INT(info_of(catalog).items, items + 1);
  }
  sidbeam_catalog_close(catalog);
}

int main(void) {
  static const test_case tests[] = {
      TEST(every_allocation_of_every_call_may_fail),
      TEST(every_allocation_of_an_addition_with_attributes_may_fail),
  };
  return RUN_TESTS(tests);
}
