/* Requests to versions of a live catalogue: each keeps the one that it names, whatever becomes of the catalogue while
 * it waits and runs. What is found is held against runs on plain indexes of a version's items.
 * SPDX-License-Identifier: Apache-2.0 */
#include "carried_head.h"
#include "catalog_rig.h"
#include "runner_rig.h"

/* `small` without items 13 and 14 and with 40 and 41: of four beams one at least is another. */
static const int32_t codes[] = {4, 4, 4}, sids[] = {0, 1, 2, 0, 1, 3, 0, 3, 0, 3, 3, 2, 3, 3, 3};
static const catalogue changed = {3, 0, SIDBEAM_ID_I64, codes, sids, NULL, NULL, NULL, NULL, 5};

static sidbeam_constraint* of_version(sidbeam_catalog* catalog, int64_t version) {
  sidbeam_index* index = NULL;
  CHECK_OK(sidbeam_catalog_snapshot(catalog, version, &index, &err));
  sidbeam_constraint* of = constrain(index);
  sidbeam_index_release(index);
  return of;
}

static void change(sidbeam_catalog* catalog) {
  CHECK_OK(remove_item(catalog, 13, &err));
  CHECK_OK(remove_item(catalog, 14, &err));
  CHECK_OK(add_pair(catalog, "332", 41, &err));
  CHECK_INT(publish_pair(catalog, "333", 40), 2);
}

static outcome run_under(sidbeam_constraint* under) {
  outcome got;
  sidbeam_request request = ask(&got);
  request.constraint = under;
  CHECK_OK(sidbeam_runner_run(runner, &request, &err));
  return got;
}

static outcome run_on(const catalogue* items) {
  sidbeam_constraint* plain = make_constraint(items, SIDBEAM_KIND_TRIE);
  const outcome got = run_under(plain);
  sidbeam_constraint_release(plain);
  return got;
}

/* On `small` and on `changed`, which have other results. */
static void run_on_both(outcome both[2]) {
  both[0] = run_on(&small);
  both[1] = run_on(&changed);
  CHECK(memcmp(both[0].sids, both[1].sids, sizeof both[0].sids) != 0);
}

/* Ordinals are each index's own. */
static void check_found(const outcome* actual, const outcome* expected) {
  CHECK_INT(actual->calls, 1);
  CHECK_INT(actual->status, SIDBEAM_OK);
  CHECK_INT(actual->live, expected->live);
  CHECK_I32(actual->sids, expected->sids, expected->live * LEVELS);
  CHECK_F32(actual->scores, expected->scores, expected->live);
}

/* Submits a request of which nobody else holds the version. */
static void submit_under(sidbeam_catalog* catalog, int64_t version, outcome* to) {
  sidbeam_constraint* under = of_version(catalog, version);
  sidbeam_request request = ask(to);
  request.constraint = under;
  CHECK_OK(sidbeam_runner_submit(runner, &request, NULL, &err));
  sidbeam_constraint_release(under);
}

/* One runs, two wait, while the catalogue goes on, is compacted, lets its files go, and is closed. */
static void a_request_keeps_the_version_that_it_names(void) {
  const char* folder = fresh_folder("kept");
  sidbeam_catalog_config keep = SIDBEAM_CATALOG_CONFIG_INIT;
  sidbeam_index* base = make_index(&small, SIDBEAM_KIND_TRIE);
  sidbeam_catalog* catalog = NULL;
  outcome first, second, third, expected[2];
  keep.keep_versions = 1;
  CHECK_OK(sidbeam_catalog_create(base, folder, &keep, &catalog, &err));
  sidbeam_index_release(base);
  make_gated_runner(0);
  set_gate(0);
  run_on_both(expected);
  set_gate(1);
  submit_under(catalog, 1, &first);
  await_running();
  change(catalog);
  submit_under(catalog, 2, &second);
  CHECK_OK(sidbeam_catalog_compact(catalog, NULL, NULL, &err));
  CHECK_FAILS(sidbeam_catalog_snapshot(catalog, 2, &base, &err), SIDBEAM_INVALID_ARGUMENT,
              "version is 2, expected one of those that are kept, 3 to 3");
  submit_under(catalog, 3, &third);
  sidbeam_catalog_close(catalog);
  remove_folder(folder);
  set_gate(0);
  drain();
  check_found(&first, &expected[0]);
  check_found(&second, &expected[1]);
  check_same(&third, &expected[1]); /* a compacted base numbers as a builder does */
}

/* Each in a batch of its own, and both in one. */
static void lanes_mix_versions(void) {
  sidbeam_catalog* catalog = make_catalog(NULL);
  change(catalog);
  for (int32_t together = 1; together <= 4; together += 3) {
    outcome found[4], expected[2];
    sidbeam_runner_config config = settings();
    config.lanes = 2;
    config.lane_threads = 1;
    config.batch_requests = together;
    config.wait_us = 1000;
    make_runner(&config);
    run_on_both(expected);
    for (int i = 0; i < 4; ++i) submit_under(catalog, 1 + i % 2, &found[i]);
    drain();
    for (int i = 0; i < 4; ++i) check_found(&found[i], &expected[i % 2]);
    clean_up();
  }
  sidbeam_catalog_close(catalog);
}

/* With each model that may do the work: alone, by a draft, by a head. */
static void all_that_runs_takes_versions(void) {
  const sidbeam_draft_weights weights = carried_weights();
  sidbeam_draft_head* head = open_weights(&weights);
  sidbeam_catalog* catalog = make_catalog(NULL);
  change(catalog);
  for (int way = 0; way < 4; ++way) {
    sidbeam_runner_config config = settings();
    if (way == 1 || way == 2) config.draft = model;
    if (way == 2) config.speculate = SIDBEAM_SPECULATE_RELAXED, config.without_replacement = 1;
    if (way == 3) carry(&config, head);
    make_runner(&config);
    outcome expected[2];
    run_on_both(expected);
    for (int64_t version = 1; version <= 2; ++version) {
      sidbeam_constraint* under = of_version(catalog, version);
      const outcome found = run_under(under);
      check_found(&found, &expected[version - 1]);
      sidbeam_constraint_release(under);
    }
    clean_up();
  }
  sidbeam_catalog_close(catalog);
  sidbeam_draft_head_release(head);
}

/* Which is no error, as with rules that allow nothing. */
static void a_version_of_which_all_has_gone_finds_nothing(void) {
  sidbeam_catalog* catalog = make_catalog(NULL);
  for (int64_t id = 10; id <= 15; ++id) CHECK_OK(remove_item(catalog, id, &err));
  CHECK_INT(publish(catalog), 2);
  sidbeam_constraint* nothing = of_version(catalog, 2);
  sidbeam_catalog_close(catalog);
  for (int drafts = 0; drafts < 2; ++drafts) {
    sidbeam_runner_config config = settings();
    sidbeam_constraint* const other = constraint;
    config.draft = drafts ? model : NULL;
    config.constraint = nothing;
    make_runner(&config);
    const outcome found = run_once(), more = run_under(other);
    CHECK_INT(found.status, SIDBEAM_OK);
    CHECK_INT(found.live, 0);
    CHECK_INT(more.live, BEAMS);
    clean_up();
  }
  sidbeam_constraint_release(nothing);
}

static void only_tries_follow(void) {
  static const char* const names[] = {"trie", "sorted", "sorted_topk", "hash_final", "none"};
  sidbeam_index* base = make_index(&small, ALL_KINDS);
  sidbeam_catalog* catalog = NULL;
  CHECK_OK(sidbeam_catalog_create(base, NULL, NULL, &catalog, &err));
  change(catalog);
  sidbeam_constraint *plain = constrain(base), *version = of_version(catalog, 2);
  for (int32_t strategy = SIDBEAM_STRATEGY_SORTED; strategy <= SIDBEAM_STRATEGY_NONE; ++strategy) {
    char follows[100];
    outcome got;
    sidbeam_runner_config config = settings();
    snprintf(follows, sizeof follows, "expected strategy trie, which follows them, not %s", names[strategy]);
    config.strategy = strategy;
    config.constraint = version;
    CHECK_FAILS(sidbeam_runner_create(runtime, &config, &runner, &err), SIDBEAM_UNSUPPORTED,
                "config.constraint has items that were added to its base", follows);
    config.constraint = plain;
    make_runner(&config);
    sidbeam_request request = ask(&got);
    request.constraint = version;
    CHECK_FAILS(sidbeam_runner_run(runner, &request, &err), SIDBEAM_UNSUPPORTED,
                "has items that were added to its base", follows);
    CHECK_INT(got.status, SIDBEAM_UNSUPPORTED);
    CHECK_INT(run_once().status, SIDBEAM_OK); /* nothing was spoilt */
    clean_up();
  }
  sidbeam_constraint_release(plain);
  sidbeam_constraint_release(version);
  sidbeam_index_release(base);
  sidbeam_catalog_close(catalog);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_request_keeps_the_version_that_it_names),     TEST(lanes_mix_versions), TEST(all_that_runs_takes_versions),
      TEST(a_version_of_which_all_has_gone_finds_nothing), TEST(only_tries_follow),
  };
  after_test = clean_up;
  return RUN_TESTS(tests);
}
