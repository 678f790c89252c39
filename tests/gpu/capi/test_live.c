/* Versions of a live catalogue on a device: one graph through all of them, what an upload of one costs, and that its
 * memory goes back after the work that reads it. SPDX-License-Identifier: Apache-2.0 */
#include "../../capi/catalog_rig.h"
#include "cuda_session.h"

static sidbeam_index* version_of(sidbeam_catalog* catalog, int64_t version) {
  sidbeam_index* index = NULL;
  CHECK_OK(sidbeam_catalog_snapshot(catalog, version, &index, &err));
  return index;
}

static sidbeam_constraint* constraint_of(sidbeam_catalog* catalog, int64_t version) {
  sidbeam_index* index = version_of(catalog, version);
  sidbeam_constraint* constraint = constrain(index);
  sidbeam_index_release(index);
  return constraint;
}

static sidbeam_upload_info uploaded(const sidbeam_index* index) {
  sidbeam_upload_info info = SIDBEAM_UPLOAD_INFO_INIT;
  CHECK_OK(sidbeam_index_get_upload(index, 0, &info, &err));
  return info;
}

/* A session that was made of the first version, and a graph of one step of it. */
typedef struct served {
  sidbeam_catalog* catalog;
  sidbeam_constraint* first;
  sidbeam_session* session;
  float* row;
  sidbeam_rows rows;
  void *stream, *graph;
} served;

static served serve(void) {
  served s;
  s.catalog = make_catalog(NULL);
  s.first = constraint_of(s.catalog, 0);
  const sidbeam_session_config config = cuda_config(s.first);
  s.session = make_session(&config);
  s.row = on_device(halving, sizeof halving);
  s.rows = device_rows(s.row);
  s.stream = make_stream();
  begin_capture(s.stream);
  CHECK_OK(step(s.session, &s.rows, s.stream));
  s.graph = end_capture(s.stream);
  return s;
}

static void stop_serving(served* s) {
  wait_device(); /* nobody else sees launches of a graph */
  release_graph(s->graph);
  release_stream(s->stream);
  sidbeam_session_destroy(s->session);
  sidbeam_constraint_release(s->first);
  sidbeam_catalog_close(s->catalog);
  release_device(s->row);
  check_nothing_is_left();
}

/* Both slots under a version, by the graph, as the CPU searches it. */
static void check_version(served* s, int64_t version) {
  sidbeam_constraint* constraint = constraint_of(s->catalog, version);
  for (int32_t slot = 0; slot < SLOTS; ++slot) CHECK_OK(start_under(s->session, slot, constraint, s->stream));
  for (int level = 0; level <= LEVELS; ++level) {
    const moment now = moment_of(s->session), expected = under_on_cpu(constraint, level);
    check_same(&now, &expected);
    replay(s->graph, s->stream);
  }
  sidbeam_constraint_release(constraint);
}

static void one_graph_goes_on_through_all_that_happens_to_a_catalogue(void) {
  served s = serve();
  check_version(&s, 0);
  CHECK_INT(publish_pair(s.catalog, "011", 40), 2); /* below a prefix of the base */
  check_version(&s, 2);
  CHECK_INT(publish_pair(s.catalog, "123", 41), 3); /* below none */
  check_version(&s, 3);
  CHECK_OK(remove_item(s.catalog, 40, &err));
  CHECK_OK(remove_item(s.catalog, 11, &err));
  CHECK_INT(publish(s.catalog), 4);
  check_version(&s, 4);
  CHECK_INT(publish_pair(s.catalog, "011", 40), 5); /* again */
  check_version(&s, 5);
  CHECK_OK(sidbeam_catalog_rollback(s.catalog, 3, NULL, &err));
  check_version(&s, 0);
  check_version(&s, 2);
  check_version(&s, 1);
  CHECK_OK(sidbeam_catalog_compact(s.catalog, NULL, NULL, &err));
  sidbeam_index* compacted = version_of(s.catalog, 0);
  CHECK_OK(sidbeam_index_upload(compacted, NULL, &err));
  sidbeam_index_release(compacted);
  check_version(&s, 0);
  (void)publish_pair(s.catalog, "333", 42);
  check_version(&s, 0);
  check_version(&s, 4); /* of the base before */
  stop_serving(&s);
}

static void a_version_of_a_base_that_is_not_there_is_refused(void) {
  served s = serve();
  CHECK_INT(publish_pair(s.catalog, "011", 40), 2);
  CHECK_OK(sidbeam_catalog_compact(s.catalog, NULL, NULL, &err));
  (void)publish_pair(s.catalog, "333", 42);
  sidbeam_constraint* constraint = constraint_of(s.catalog, 0);
  const moment before = moment_of(s.session);
  const int64_t live = live_allocations();
  CHECK_FAILS(start_under(s.session, 0, constraint, s.stream), SIDBEAM_BAD_STATE,
              "the index of constraints[0] is not on CUDA device 0, expected sidbeam_index_upload() before");
  check_unmoved(s.session, &before);
  CHECK_INT(live_allocations(), live);
  sidbeam_constraint_release(constraint);
  stop_serving(&s);
}

/* Versions that the slots of one step follow. */
static void slots_follow_the_versions_that_they_were_started_with(void) {
  served s = serve();
  CHECK_INT(publish_pair(s.catalog, "011", 40), 2);
  CHECK_OK(remove_item(s.catalog, 14, &err));
  CHECK_INT(publish_pair(s.catalog, "002", 41), 3);
  static const int64_t pairs[][SLOTS] = {{1, 2}, {3, 1}, {2, 3}};
  for (size_t i = 0; i < COUNT(pairs); ++i) {
    moment expected[SLOTS];
    for (int32_t slot = 0; slot < SLOTS; ++slot) {
      sidbeam_constraint* constraint = constraint_of(s.catalog, pairs[i][slot]);
      expected[slot] = under_on_cpu(constraint, LEVELS);
      CHECK_OK(start_under(s.session, slot, constraint, s.stream));
      sidbeam_constraint_release(constraint);
    }
    (void)publish_pair(s.catalog, "330", (int64_t)(50 + i)); /* meanwhile */
    for (int level = 0; level < LEVELS; ++level) replay(s.graph, s.stream);
    const moment now = moment_of(s.session);
    for (int slot = 0; slot < SLOTS; ++slot) {
      CHECK_INT(now.live[slot], expected[slot].live[slot]);
      CHECK_I64(now.states + slot * BEAMS, expected[slot].states + slot * BEAMS, BEAMS);
      CHECK_F32(now.scores + slot * BEAMS, expected[slot].scores + slot * BEAMS, BEAMS);
    }
  }
  stop_serving(&s);
}

/* A base of count SIDs below the first two of four codes; 2 and 3 of the first level are free. */
enum { WIDE = 200 };
static sidbeam_catalog* catalog_of(int64_t count, sidbeam_index** base) {
  static const int32_t codes[LEVELS] = {CODES, WIDE, WIDE};
  int32_t* sids = malloc((size_t)count * LEVELS * sizeof *sids);
  CHECK(sids != NULL);
  for (int64_t i = 0; i < count; ++i) {
    sids[i * LEVELS] = (int32_t)(i % 2);
    sids[i * LEVELS + 1] = (int32_t)(i / 2 % WIDE);
    sids[i * LEVELS + 2] = (int32_t)(i / 2 / WIDE);
  }
  const catalogue all = {LEVELS, 0, SIDBEAM_ID_I64, codes, sids, NULL, NULL, NULL, NULL, count};
  sidbeam_catalog* catalog = NULL;
  *base = make_index(&all, SIDBEAM_KIND_TRIE);
  free(sids);
  CHECK_OK(sidbeam_catalog_create(*base, NULL, NULL, &catalog, &err));
  CHECK_OK(sidbeam_index_upload(*base, NULL, &err));
  return catalog;
}

/* The bytes that an upload of a version takes beside its base, of one with a pair more. */
static int64_t bytes_of_a_publish(int64_t count, int64_t* of_base) {
  sidbeam_index* base = NULL;
  sidbeam_catalog* catalog = catalog_of(count, &base);
  CHECK_INT(publish_pair(catalog, "222", 1 << 20), 2);
  sidbeam_index* version = version_of(catalog, 0);
  *of_base = uploaded(base).bytes;
  CHECK_INT(uploaded(version).bytes, *of_base);
  const int64_t live = live_allocations();
  CHECK_OK(sidbeam_index_upload(version, NULL, &err));
  CHECK_INT(live_allocations(), live + 1);
  const int64_t bytes = uploaded(version).bytes - *of_base;
  CHECK_INT(uploaded(base).bytes, *of_base);
  CHECK_OK(sidbeam_index_upload(version, NULL, &err)); /* it is there */
  CHECK_INT(live_allocations(), live + 1);
  sidbeam_index_release(version);
  sidbeam_index_release(base);
  sidbeam_catalog_close(catalog);
  check_nothing_is_left();
  return bytes;
}

static void an_upload_of_a_version_costs_what_was_added_whatever_the_base(void) {
  int64_t of_small = 0, of_large = 0;
  const int64_t small_one = bytes_of_a_publish(100, &of_small), large_one = bytes_of_a_publish(50000, &of_large);
  CHECK(of_large > of_small + 100000);
  CHECK_INT(large_one, small_one);
}

static void versions_that_only_removals_tell_apart_share_an_overlay(void) {
  served s = serve();
  CHECK_INT(publish_pair(s.catalog, "011", 40), 2);
  check_version(&s, 2);
  CHECK_OK(sidbeam_session_stop(s.session, NULL, 0, s.stream, &err));
  const int64_t live = live_allocations();
  CHECK_OK(remove_item(s.catalog, 12, &err));
  CHECK_INT(publish(s.catalog), 3);
  check_version(&s, 3);
  CHECK_OK(sidbeam_session_stop(s.session, NULL, 0, s.stream, &err));
  CHECK_INT(live_allocations(), live + 3); /* what is live, and the session's room for rules, pinned and not */
  stop_serving(&s);
}

static void an_old_versions_memory_goes_after_the_work_that_reads_it(void) {
  for (int order = 0; order < 8; ++order) {
    set_order(order);
    served s = serve();
    CHECK_INT(publish_pair(s.catalog, "011", 40), 2);
    sidbeam_constraint* second = constraint_of(s.catalog, 2);
    const moment expected = under_on_cpu(second, LEVELS);
    CHECK_INT(publish_pair(s.catalog, "123", 41), 3);
    sidbeam_constraint* third = constraint_of(s.catalog, 3);
    sidbeam_catalog_close(s.catalog); /* which keeps versions too */
    s.catalog = NULL;
    const int64_t live = live_allocations();
    for (int32_t slot = 0; slot < SLOTS; ++slot) CHECK_OK(start_under(s.session, slot, second, NULL));
    for (int level = 0; level < LEVELS; ++level) CHECK_OK(step(s.session, &s.rows, NULL));
    sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
    CHECK_OK(sidbeam_session_fetch(s.session, &beams, NULL, &err));
    sidbeam_constraint_release(second);
    for (int32_t slot = 0; slot < SLOTS; ++slot) CHECK_OK(start_under(s.session, slot, third, NULL));
    sidbeam_constraint_release(third);
    CHECK_INT(live_allocations_now(), live + 2); /* what is enqueued has not run: both overlays are there */
    CHECK_INT(live_allocations(), live + 1);
    CHECK_I64(beams.states, expected.states, SLOTS * BEAMS);
    CHECK_OK(sidbeam_session_stop(s.session, NULL, 0, NULL, &err));
    CHECK_INT(live_allocations(), live);
    stop_serving(&s);
  }
  set_order(0);
}

/* Of a generation that the session was not made of, so that no other holds its base. */
static void a_later_base_goes_with_its_versions_after_the_work(void) {
  for (int order = 0; order < 8; ++order) {
    set_order(order);
    served s = serve();
    CHECK_INT(publish_pair(s.catalog, "011", 40), 2);
    CHECK_OK(sidbeam_catalog_compact(s.catalog, NULL, NULL, &err));
    (void)publish_pair(s.catalog, "123", 41);
    sidbeam_constraint* constraint = constraint_of(s.catalog, 0);
    sidbeam_index* version = version_of(s.catalog, 0);
    const moment expected = under_on_cpu(constraint, LEVELS);
    sidbeam_catalog_close(s.catalog);
    s.catalog = NULL;
    const int64_t live = live_allocations();
    CHECK_OK(sidbeam_index_upload(version, NULL, &err));
    for (int32_t slot = 0; slot < SLOTS; ++slot) CHECK_OK(start_under(s.session, slot, constraint, NULL));
    for (int level = 0; level < LEVELS; ++level) CHECK_OK(step(s.session, &s.rows, NULL));
    sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
    CHECK_OK(sidbeam_session_fetch(s.session, &beams, NULL, &err));
    CHECK_OK(sidbeam_session_stop(s.session, NULL, 0, NULL, &err));
    sidbeam_constraint_release(constraint);
    sidbeam_index_release(version);
    CHECK_INT(live_allocations_now(), live + 2); /* base and overlay */
    CHECK_INT(live_allocations(), live);
    CHECK_I64(beams.states, expected.states, SLOTS * BEAMS);
    stop_serving(&s);
  }
  set_order(0);
}

static void a_version_that_is_unloaded_and_uploaded_again_serves_on(void) {
  served s = serve();
  CHECK_INT(publish_pair(s.catalog, "011", 40), 2);
  check_version(&s, 2);
  sidbeam_index* version = version_of(s.catalog, 2);
  sidbeam_index_unload(version, 0);
  CHECK_INT(uploaded(version).bytes, 0);
  for (int level = 0; level < LEVELS; ++level) replay(s.graph, s.stream);
  CHECK_OK(sidbeam_index_upload(version, NULL, &err));
  CHECK(uploaded(version).bytes > 0);
  check_version(&s, 2);
  sidbeam_index_release(version);
  stop_serving(&s);
}

/* A base that was unloaded is held by no overlay beside it, whichever index of the generation was named. */
static void all_that_a_generation_has_there_goes_with_its_base(void) {
  for (int64_t unloaded = 1; unloaded <= 3; ++unloaded) {
    sidbeam_catalog* catalog = make_catalog(NULL);
    CHECK_INT(publish_pair(catalog, "011", 40), 2);
    CHECK_OK(remove_item(catalog, 12, &err));
    CHECK_INT(publish_pair(catalog, "123", 41), 3);
    sidbeam_index* versions[] = {version_of(catalog, 1), version_of(catalog, 2), version_of(catalog, 3)};
    for (int again = 0; again < 2; ++again) {
      CHECK_OK(sidbeam_index_upload(versions[1], NULL, &err));
      CHECK_INT(live_allocations(), 2);
      CHECK_OK(sidbeam_index_upload(versions[2], NULL, &err));
      CHECK_INT(live_allocations(), 4); /* another overlay, and what is live */
      sidbeam_index_unload(versions[unloaded - 1], 0);
      CHECK_INT(live_allocations(), 0);
      for (size_t i = 0; i < COUNT(versions); ++i) CHECK_INT(uploaded(versions[i]).bytes, 0);
    }
    for (size_t i = 0; i < COUNT(versions); ++i) sidbeam_index_release(versions[i]);
    sidbeam_catalog_close(catalog);
    check_nothing_is_left();
  }
}

/* Two uploads of a base have a trie. */
static void an_overlay_stays_where_it_is_when_another_kind_of_its_base_comes(void) {
  sidbeam_catalog* catalog = NULL;
  sidbeam_index* base = make_index(&small, SIDBEAM_KIND_TRIE | SIDBEAM_KIND_SORTED);
  CHECK_OK(sidbeam_catalog_create(base, NULL, NULL, &catalog, &err));
  sidbeam_index_release(base);
  CHECK_INT(publish_pair(catalog, "011", 40), 2);
  sidbeam_constraint* constraint = constraint_of(catalog, 2);
  const sidbeam_session_config config = cuda_config(constraint);
  sidbeam_session* session = make_session(&config);
  CHECK_OK(start_under(session, 0, constraint, NULL));
  const int64_t live = live_allocations();
  sidbeam_index* version = version_of(catalog, 2);
  CHECK_OK(sidbeam_index_upload(version, NULL, &err));
  CHECK_INT(live_allocations(), live + 1); /* the base with both kinds */
  fail_allocation(1);
  CHECK_OK(start_under(session, 0, constraint, NULL));
  CHECK_OK(sidbeam_index_upload(version, NULL, &err));
  fail_allocation(0);
  sidbeam_index_release(version);
  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
  sidbeam_catalog_close(catalog);
  check_nothing_is_left();
}

/* Memory of device 1 comes only after what is on device 0 was found. */
typedef struct upload_beside {
  sidbeam_index* version;
  int64_t calls;
} upload_beside;

static void* allocate_slowly(void* context, int32_t device_id, int64_t bytes, void* stream) {
  upload_beside* beside = context;
  (void)stream;
  if (device_id == 1) {
    CHECK_OK(sidbeam_index_upload(beside->version, NULL, &err));
    CHECK(uploaded(beside->version).bytes > 0);
    ++beside->calls;
  }
  return device_memory((size_t)bytes);
}

static void release(void* context, int32_t device_id, void* memory, int64_t bytes, void* stream) {
  (void)context, (void)device_id, (void)bytes, (void)stream;
  release_device(memory);
}

static void what_is_there_is_found_while_another_device_is_uploaded_to(void) {
  upload_beside beside = {NULL, 0};
  sidbeam_device_allocator allocator = SIDBEAM_DEVICE_ALLOCATOR_INIT;
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  sidbeam_upload_config other = SIDBEAM_UPLOAD_CONFIG_INIT;
  sidbeam_runtime* runtime = NULL;
  sidbeam_builder* builder = NULL;
  sidbeam_index* base = NULL;
  sidbeam_catalog* catalog = NULL;
  set_devices(2);
  allocator.context = &beside;
  allocator.allocate = allocate_slowly;
  allocator.release = release;
  config.device_allocator = &allocator;
  CHECK_OK(sidbeam_runtime_create(&config, &runtime, &err));
  const sidbeam_builder_config shape = builder_config(&small, SIDBEAM_KIND_TRIE);
  CHECK_OK(sidbeam_builder_create(runtime, &shape, &builder, &err));
  CHECK_OK(add_all(builder, &small, &err));
  CHECK_OK(sidbeam_builder_finish(builder, &base, &err));
  sidbeam_builder_destroy(builder);
  CHECK_OK(sidbeam_catalog_create(base, NULL, NULL, &catalog, &err));
  CHECK_OK(remove_item(catalog, 12, &err));
  CHECK_INT(publish_pair(catalog, "011", 40), 2);
  beside.version = version_of(catalog, 2);
  CHECK_OK(sidbeam_index_upload(beside.version, NULL, &err));
  other.device_id = 1;
  CHECK_OK(sidbeam_index_upload(beside.version, &other, &err));
  CHECK_INT(beside.calls, 3); /* base, overlay, and what is live */
  sidbeam_index_release(beside.version);
  sidbeam_index_release(base);
  sidbeam_catalog_close(catalog);
  sidbeam_runtime_release(runtime);
  set_devices(1);
  check_nothing_is_left();
}

enum { ALLOCATIONS, LAUNCHES, WAITS, FAULTS };
static void fail_next(int kind, int64_t n) {
  fail_allocation(kind == ALLOCATIONS ? n : 0);
  fail_launch(kind == LAUNCHES ? n : 0);
  fail_wait(kind == WAITS ? n : 0);
}

static void a_start_with_a_version_that_fails_leaves_slots_as_they_were(void) {
  int failed[FAULTS] = {0};
  for (int kind = 0; kind < FAULTS; ++kind) {
    for (int64_t n = 1;; ++n) {
      served s = serve();
      CHECK_INT(publish_pair(s.catalog, "011", 40), 2);
      CHECK_OK(remove_item(s.catalog, 12, &err));
      CHECK_INT(publish_pair(s.catalog, "123", 41), 3);
      sidbeam_constraint *second = constraint_of(s.catalog, 2), *third = constraint_of(s.catalog, 3);
      CHECK_OK(start_under(s.session, 0, second, NULL));
      CHECK_OK(step(s.session, &s.rows, NULL));
      const moment before = moment_of(s.session);
      fail_next(kind, n);
      clear_error();
      const sidbeam_status status = start_under(s.session, 0, third, NULL);
      fail_next(FAULTS, 0);
      if (status != SIDBEAM_OK) {
        CHECK_INT(status, kind == ALLOCATIONS ? SIDBEAM_OUT_OF_MEMORY : SIDBEAM_DEVICE_ERROR);
        ++failed[kind];
        check_unmoved(s.session, &before);
        CHECK_OK(start_under(s.session, 0, third, NULL)); /* nothing is in the way */
      }
      sidbeam_constraint_release(second);
      sidbeam_constraint_release(third);
      stop_serving(&s);
      if (status == SIDBEAM_OK) break;
    }
  }
  CHECK(failed[ALLOCATIONS] >= 3 && failed[LAUNCHES] >= 1 && failed[WAITS] >= 2);
}

int main(void) {
  static const test_case tests[] = {
      TEST(one_graph_goes_on_through_all_that_happens_to_a_catalogue),
      TEST(a_version_of_a_base_that_is_not_there_is_refused),
      TEST(slots_follow_the_versions_that_they_were_started_with),
      TEST(an_upload_of_a_version_costs_what_was_added_whatever_the_base),
      TEST(versions_that_only_removals_tell_apart_share_an_overlay),
      TEST(an_old_versions_memory_goes_after_the_work_that_reads_it),
      TEST(a_later_base_goes_with_its_versions_after_the_work),
      TEST(a_version_that_is_unloaded_and_uploaded_again_serves_on),
      TEST(all_that_a_generation_has_there_goes_with_its_base),
      TEST(an_overlay_stays_where_it_is_when_another_kind_of_its_base_comes),
      TEST(what_is_there_is_found_while_another_device_is_uploaded_to),
      TEST(a_start_with_a_version_that_fails_leaves_slots_as_they_were),
  };
  return RUN_TESTS(tests);
}
