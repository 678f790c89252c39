/* Writes attributed.sidx, a small catalogue whose items have attributes of every type. See README.md.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include <sidbeam/sidbeam.h>

enum { ITEMS = 120, LEVELS = 3 };

static sidbeam_error err = SIDBEAM_ERROR_INIT;

static void ok(sidbeam_status status) {
  if (status == SIDBEAM_OK) return;
  fprintf(stderr, "make_attributed: %s\n", err.message);
  exit(1);
}

static sidbeam_builder* declare(sidbeam_runtime* runtime) {
  static const int32_t codes[LEVELS] = {5, 6, 7};
  static const char* const names[] = {"price", "weight", "in_stock", "region", "tags"}; /* I64 to STRING_LIST */
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  sidbeam_builder* builder = NULL;
  config.levels = LEVELS;
  config.codes = codes;
  ok(sidbeam_builder_create(runtime, &config, &builder, &err));
  for (int32_t type = SIDBEAM_ATTRIBUTE_I64; type <= SIDBEAM_ATTRIBUTE_STRING_LIST; ++type)
    ok(sidbeam_builder_declare_attribute(builder, names[type - SIDBEAM_ATTRIBUTE_I64], type, &err));
  return builder;
}

static void add_pairs(sidbeam_builder* builder) {
  int32_t sids[ITEMS * LEVELS];
  int64_t ids[ITEMS];
  for (int32_t i = 0; i < ITEMS; ++i) {
    sids[LEVELS * i] = i % 5;
    sids[LEVELS * i + 1] = i / 5 % 6;
    sids[LEVELS * i + 2] = i * i % 7;
    ids[i] = 1000 + i;
  }
  ok(sidbeam_builder_add(builder, sids, NULL, ITEMS, ids, NULL, &err));
}

static void set(sidbeam_builder* builder, const char* name, const uint8_t* valid, sidbeam_attribute_column column) {
  column.name = name;
  column.valid = valid;
  ok(sidbeam_builder_set_attribute(builder, &column, ITEMS, &err));
}

static void set_numbers(sidbeam_builder* builder) {
  sidbeam_attribute_column integers = SIDBEAM_ATTRIBUTE_COLUMN_INIT, numbers = integers, bools = integers;
  int64_t prices[ITEMS];
  float weights[ITEMS];
  uint8_t in_stock[ITEMS], priced[ITEMS], weighed[ITEMS];
  for (int32_t i = 0; i < ITEMS; ++i) {
    prices[i] = i % 40;
    priced[i] = i % 11 != 0;
    weights[i] = (float)i / 8;
    weighed[i] = i % 13 != 5;
    in_stock[i] = i % 3 != 0;
  }
  integers.integers = prices;
  numbers.numbers = weights;
  bools.bools = in_stock;
  set(builder, "price", priced, integers);
  set(builder, "weight", weighed, numbers);
  set(builder, "in_stock", NULL, bools);
}

static void set_strings(sidbeam_builder* builder) {
  static const int64_t region_ends[] = {0, 2, 4, 6, 8}, tag_ends[] = {0, 3, 7, 11};
  sidbeam_attribute_column region = SIDBEAM_ATTRIBUTE_COLUMN_INIT, tags = region;
  int64_t regions[ITEMS], tag_codes[3 * ITEMS], lists[ITEMS + 1] = {0};
  uint8_t placed[ITEMS], tagged[ITEMS];
  for (int32_t i = 0; i < ITEMS; ++i) {
    regions[i] = i % 4;
    placed[i] = i % 9 != 4;
    tagged[i] = i % 10 != 9;
    lists[i + 1] = lists[i];
    for (int32_t tag = 0; tag < 3; ++tag)
      if (i % 8 >> tag & 1) tag_codes[lists[i + 1]++] = tag;
  }
  region.text = "uscadefr";
  region.offsets = region_ends;
  region.codes = regions;
  region.string_count = 4;
  tags.text = "newsalegift";
  tags.offsets = tag_ends;
  tags.lists = lists;
  tags.codes = tag_codes;
  tags.string_count = 3;
  set(builder, "region", placed, region);
  set(builder, "tags", tagged, tags);
}

int main(int argc, char** argv) {
  sidbeam_runtime* runtime = NULL;
  if (argc != 2) return 2;
  ok(sidbeam_runtime_create(NULL, &runtime, &err));
  sidbeam_builder* builder = declare(runtime);
  add_pairs(builder);
  set_numbers(builder);
  set_strings(builder);
  ok(sidbeam_builder_write(builder, argv[1], &err));
  sidbeam_builder_destroy(builder);
  sidbeam_runtime_release(runtime);
  return 0;
}
