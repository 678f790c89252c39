/* Live catalogues through the flat layer: arrays with their lengths, values that are copied, and boxes that outlive
 * each other. SPDX-License-Identifier: Apache-2.0 */
#include "flat_rig.h"

static const flat_in_bytes none = {NULL, 0};
#define BYTES(text) ((flat_in_bytes){(text), (int64_t)sizeof(text) - 1})

/* The catalogue `small` with a string and a number of each item. */
static flat_handle* catalog_of_small(void) {
  flat_handle *runtime = rig_runtime(), *builder = rig_builder(runtime), *base, *catalog;
  OKAY(flat_builder_declare_attribute(builder, "i", SIDBEAM_ATTRIBUTE_I64, &err));
  OKAY(flat_builder_declare_attribute(builder, "s", SIDBEAM_ATTRIBUTE_STRING, &err));
  OKAY(rig_add(builder, &err));
  OKAY(base = flat_builder_finish(builder, &err));
  OKAY(catalog = flat_catalog_create(base, 1, NULL, SIDBEAM_SYNC_PUBLISH, 0, 0, 0, 0, 0, &err));
  flat_free(base);
  flat_free(builder);
  flat_free(runtime);
  return catalog;
}

/* Two pairs with items 100 and 101; the arrays go before the call that adds. */
static flat_handle* columns_of_two(void) {
  char text[] = "xyz";
  int64_t numbers[] = {5, 6}, offsets[] = {0, 1, 3};
  flat_handle* columns;
  OKAY(columns = flat_columns_create(&err));
  OKAY(flat_columns_put(columns, "i", 2, BYTES("\1\0"), (flat_in_i64){numbers, 2}, no_f32, none, none, no_i64, no_i64,
                        no_i64, &err));
  OKAY(flat_columns_put(columns, "s", 2, none, no_i64, no_f32, none, (flat_in_bytes){text, 3},
                        (flat_in_i64){offsets, 3}, no_i64, no_i64, &err));
  memset(text, '?', 3);
  memset(numbers, -1, sizeof(numbers));
  memset(offsets, -1, sizeof(offsets));
  return columns;
}

#define ONE_SID IN_I32(3, 0, 0)
#define TWO_SIDS IN_I32(3, 0, 0, 3, 3, 3)
#define ADD(count, codes, ids, columns) \
  flat_catalog_add(catalog, codes, 3, no_i32, count, ids, none, no_i64, no_i64, columns, &err)

static void a_version_is_an_index_that_outlives_its_catalogue(void) {
  flat_handle *catalog = catalog_of_small(), *columns = columns_of_two(), *index;
  int64_t info[FLAT_INFO_COUNT], ids[2], values[2], numbers[FLAT_CATALOG_COUNT] = {0}, version = 0, unknown = 0;
  char fingerprint[32], valid[2];
  OKAY(ADD(2, TWO_SIDS, IN_I64(100, 101), columns));
  flat_free(columns);
  OKAY(unknown = flat_catalog_remove(catalog, SIDBEAM_ITEMS_BY_ID, IN_I64(101, 999), none, no_i64, &err));
  CHECK_INT(unknown, 1);
  OKAY(version = flat_catalog_publish(catalog, &err));
  CHECK_INT(version, 2);
  OKAY(flat_catalog_get_info(catalog, OUT_I64(numbers), &err));
  CHECK_INT(numbers[FLAT_CATALOG_ADDED], 2);
  CHECK_INT(numbers[FLAT_CATALOG_ITEMS], small.count + 1);
  OKAY(index = flat_catalog_snapshot(catalog, 0, &err));
  flat_free(catalog);
  OKAY(flat_index_get_info(index, OUT_I64(info), OUT_BYTES(fingerprint), &err));
  CHECK_INT(info[FLAT_INFO_VERSION], 2);
  CHECK_INT(info[FLAT_INFO_LIVE_ITEMS], small.count + 1);
  OKAY(flat_index_item_ids(index, IN_I64(small.count, small.count + 1), OUT_I64(ids), no_out_i64, &err));
  CHECK_INT(ids[0] + ids[1], 201);
  OKAY(flat_index_attribute_integers(index, 0, small.count, 2, OUT_I64(values), OUT_BYTES(valid), &err));
  CHECK_INT(values[0], 5);
  CHECK_INT(valid[0] * 10 + valid[1], 10);
  flat_free(index);
}

static void arrays_of_other_lengths_are_refused(void) {
  flat_handle *catalog = catalog_of_small(), *columns = columns_of_two();
  flat_handle* volatile nothing = NULL;
  const sidbeam_status bad = SIDBEAM_INVALID_ARGUMENT;
  int64_t few[1];
  REFUSED(ADD(3, TWO_SIDS, IN_I64(1, 2, 3), NULL), bad, "codes has 6 elements, expected 9");
  REFUSED(ADD(1, TWO_SIDS, IN_I64(1), NULL), bad, "codes has 6 elements, expected 3");
  REFUSED(ADD(1, no_i32, IN_I64(1), NULL), bad, "codes is missing, expected 3 elements");
  REFUSED(ADD(2, TWO_SIDS, IN_I64(1), NULL), bad, "ids has 1 elements, expected 2");
  REFUSED(ADD(2, TWO_SIDS, IN_I64(1, 2, 3), NULL), bad, "ids has 3 elements, expected 2");
  REFUSED(ADD(1, ONE_SID, IN_I64(1), columns), bad, "attributes have 2 values, expected 1, one per pair");
  REFUSED(ADD(2, TWO_SIDS, IN_I64(1, 2), catalog), bad, "attribute values is catalogue, expected a handle of it");
  REFUSED(flat_catalog_add(catalog, ONE_SID, 3, IN_I32(3, 3), 1, IN_I64(1), none, no_i64, no_i64, NULL, &err), bad,
          "lengths has 2 elements, expected 1");
  REFUSED(flat_catalog_add(catalog, ONE_SID, 3, no_i32, 1, IN_I64(1), none, no_i64, IN_I64(5, 5), NULL, &err), bad,
          "priorities has 2 elements, expected 1");
  REFUSED(flat_catalog_add(catalog, IN_I32(0, 0), 2, no_i32, 1, IN_I64(1), none, no_i64, no_i64, NULL, &err), bad,
          "codes has 2 levels, expected 3, those of the catalogue");
  REFUSED(flat_catalog_add(catalog, IN_I32(0, 0, 0), 3, no_i32, 1, no_i64, BYTES("ab"), IN_I64(0), no_i64, NULL, &err),
          bad, "id_offsets has 1 elements, expected 2");
  REFUSED(
      flat_catalog_add(catalog, IN_I32(0, 0, 0), 3, no_i32, 1, no_i64, BYTES("a"), IN_I64(0, 2), no_i64, NULL, &err),
      bad, "id_bytes has 1 elements, expected at least 2");
  REFUSED(flat_columns_put(columns, "i", 3, none, IN_I64(1, 2), no_f32, none, none, no_i64, no_i64, no_i64, &err), bad,
          "integers has 2 elements, expected at least 3");
  REFUSED(flat_columns_put(columns, "i", 1, none, IN_I64(1), no_f32, none, none, no_i64, no_i64, no_i64, &err), bad,
          "attributes have 2 and 1 values, expected one per pair");
  REFUSED(flat_catalog_get_info(catalog, OUT_I64(few), &err), bad, "out has 1 elements, expected at least 18");
  REFUSED(flat_catalog_publish(nothing, &err), bad, "catalogue is null, expected a handle of it");
  flat_close(catalog);
  REFUSED(flat_catalog_publish(catalog, &err), SIDBEAM_BAD_STATE, "catalogue is closed");
  flat_free(columns);
  flat_free(catalog);
}

static void versions_are_written_as_far_as_they_fit(void) {
  flat_handle* catalog = catalog_of_small();
  int64_t all[3 * FLAT_VERSION_COUNT] = {0}, count = 0;
  for (int64_t id = 100; id < 103; ++id) {
    OKAY(ADD(1, ONE_SID, IN_I64(id), NULL));
    OKAY((void)flat_catalog_publish(catalog, &err));
  }
  OKAY(count = flat_catalog_versions(catalog, no_out_i64, &err));
  CHECK_INT(count, 4);
  OKAY(count = flat_catalog_versions(catalog, OUT_I64(all), &err));
  CHECK_INT(count, 4);
  CHECK_INT(all[2 * FLAT_VERSION_COUNT + FLAT_VERSION_VERSION], 3);
  CHECK_INT(all[2 * FLAT_VERSION_COUNT + FLAT_VERSION_ITEMS], small.count + 2);
  flat_free(catalog);
}

static void a_compaction_is_cancelled_by_its_own_box(void) {
  flat_handle *catalog = catalog_of_small(), *compaction = flat_compaction_create();
  int64_t progress[3] = {0}, version = 0;
  flat_cancel(compaction, 1);
  REFUSED(flat_catalog_compact(catalog, compaction, 1, 0, 0, &err), SIDBEAM_CANCELLED,
          "the compaction was cancelled by its progress callback");
  flat_cancel(compaction, 0);
  OKAY(version = flat_catalog_compact(catalog, compaction, 1, 0, 0, &err));
  CHECK_INT(version, 2);
  OKAY(flat_get_progress(compaction, OUT_I64(progress), &err));
  CHECK(progress[2] > 0 && progress[1] == progress[2]);
  flat_close(compaction);
  REFUSED(flat_catalog_compact(catalog, compaction, 1, 0, 0, &err), SIDBEAM_BAD_STATE, "compaction is closed");
  flat_free(compaction);
  flat_free(catalog);
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_version_is_an_index_that_outlives_its_catalogue),
      TEST(arrays_of_other_lengths_are_refused),
      TEST(versions_are_written_as_far_as_they_fit),
      TEST(a_compaction_is_cancelled_by_its_own_box),
  };
  return RUN_TESTS(tests);
}
