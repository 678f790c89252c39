/* The importers read pieces and hand on batches: what they have in memory does not grow with the file. A file is
 * compared with one of a fifth of it, for the survey and for the reading into a builder, whose own memory is that of
 * one that is given as many rows by hand. SPDX-License-Identifier: Apache-2.0 */
#include <sidbeam/import.h>
#include <unistd.h>

#include "fixtures.h"
#include "memory_rig.h"

enum { MOST_LEVELS = 255, TIMES = 5, BATCH = 1 << 14 };
/* Of the longer file of each kind; and what memory may grow by: some buffers that double are full for the first
 * time. */
#define FILE_BYTES ((int64_t)24 << 20)
#define MOST_GROWTH ((int64_t)10 << 20)
#define MOST_AT_ALL ((int64_t)32 << 20)

/* A kind of file: text, `row` again and again after `head`; or rows of zeros, as long as `row_bytes`. */
typedef struct kind {
  const char *name, *head, *row;
  int64_t row_bytes;
  int32_t levels;
  int32_t has_ids;
  const char* format; /* where the name does not tell it */
} kind;

/* A file of a kind, and what is to be in it. */
typedef struct subject {
  const kind* of;
  const char* path;
  int64_t rows;
} subject;

static void write_repeated(FILE* file, const char* text, int64_t count) {
  const size_t bytes = strlen(text), at_once = ((size_t)1 << 16) / bytes + 1;
  char* const block = malloc(at_once * bytes);
  CHECK(block != NULL);
  for (size_t i = 0; i < at_once; ++i) memcpy(block + i * bytes, text, bytes);
  for (int64_t left = count; left > 0; left -= (int64_t)at_once) {
    const size_t now = left < (int64_t)at_once ? (size_t)left : at_once;
    CHECK(fwrite(block, bytes, now, file) == now);
  }
  free(block);
}

static void write_npy_header(FILE* file, const kind* of, int64_t rows) {
  char text[119];
  const int length = snprintf(text, sizeof text, of->head, (long long)rows);
  CHECK(length > 0 && length < (int)sizeof text);
  fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file);
  fprintf(file, "%-117s\n", text);
}

static subject write_subject(const kind* of, int64_t bytes) {
  const int64_t row_bytes = of->row != NULL ? (int64_t)strlen(of->row) : of->row_bytes;
  const subject made = {of, temporary_path(of->name), bytes / row_bytes};
  FILE* const file = fopen(made.path, "wb");
  CHECK(file != NULL);
  if (of->row != NULL) {
    fputs(of->head, file);
    write_repeated(file, of->row, made.rows);
  } else {
    if (of->head != NULL) write_npy_header(file, of, made.rows);
    fflush(file);
    CHECK(ftruncate(fileno(file), ftell(file) + made.rows * row_bytes) == 0);
  }
  CHECK(fclose(file) == 0);
  return made;
}

static sidbeam_import* open_subject(const subject* from) {
  sidbeam_import_config config = SIDBEAM_IMPORT_CONFIG_INIT;
  config.format = from->of->format;
  if (from->of->format != NULL) config.levels = from->of->levels;
  sidbeam_import* import = NULL;
  sidbeam_import_info info = SIDBEAM_IMPORT_INFO_INIT;
  CHECK_OK(sidbeam_import_open(from->path, &config, &import, &err));
  CHECK_OK(sidbeam_import_get_info(import, &info, &err));
  CHECK_INT(info.rows, from->rows);
  CHECK_INT(info.levels, from->of->levels);
  return import;
}

static void survey(const void* argument) { sidbeam_import_destroy(open_subject(argument)); }

/* What builders took at most, as the importer's own memory is not theirs. */
static struct { int64_t live, most; } taken;

static void* allocate(void* context, int64_t bytes, int64_t alignment) {
  void* memory = NULL;
  (void)context;
  if (posix_memalign(&memory, (size_t)(alignment < 16 ? 16 : alignment), (size_t)bytes) != 0) return NULL;
  taken.live += bytes;
  if (taken.live > taken.most) taken.most = taken.live;
  return memory;
}

static void release(void* context, void* memory, int64_t bytes, int64_t alignment) {
  (void)context, (void)alignment;
  taken.live -= bytes;
  free(memory);
}

static sidbeam_builder* builder_of(const kind* of, int32_t id_type) {
  int32_t codes[MOST_LEVELS];
  for (int l = 0; l < MOST_LEVELS; ++l) codes[l] = 16;
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = of->levels;
  config.codes = codes;
  config.id_type = id_type;
  config.threads = 1;
  sidbeam_allocator allocator = SIDBEAM_ALLOCATOR_INIT;
  allocator.allocate = allocate;
  allocator.release = release;
  sidbeam_runtime_config runtime_config = SIDBEAM_RUNTIME_CONFIG_INIT;
  runtime_config.allocator = &allocator;
  sidbeam_runtime* runtime = NULL;
  sidbeam_builder* builder = NULL;
  CHECK_OK(sidbeam_runtime_create(&runtime_config, &runtime, &err));
  CHECK_OK(sidbeam_builder_create(runtime, &config, &builder, &err));
  sidbeam_runtime_release(runtime);
  return builder;
}

static void read_into_builder(const void* argument) {
  const subject* const from = argument;
  sidbeam_import* const import = open_subject(from);
  sidbeam_import_info info = SIDBEAM_IMPORT_INFO_INIT;
  CHECK_OK(sidbeam_import_get_info(import, &info, &err));
  sidbeam_builder* const builder = builder_of(from->of, info.id_type);
  CHECK_OK(sidbeam_import_add_to(import, builder, &err));
  sidbeam_builder_destroy(builder);
  sidbeam_import_destroy(import);
}

/* As many rows, of one SID and numbers as ids, as the builder would have them of any reader. */
static void add_by_hand(const void* argument) {
  static int32_t codes[BATCH][MOST_LEVELS];
  static int64_t ids[BATCH];
  const subject* const from = argument;
  sidbeam_builder* const builder = builder_of(from->of, SIDBEAM_ID_I64);
  for (int64_t left = from->rows; left > 0; left -= BATCH)
    CHECK_OK(sidbeam_builder_add(builder, &codes[0][0], NULL, left < BATCH ? left : BATCH,
                                 from->of->has_ids ? ids : NULL, NULL, &err));
  sidbeam_builder_destroy(builder);
}

/* What the work takes beyond the rows that are kept, of a file and of one of a fifth. */
static void expect_pieces(const kind* of, const char* what, void (*work)(const void*), void (*kept)(const void*)) {
  int64_t peaks[2];
  for (int i = 0; i < 2; ++i) {
    const subject one = write_subject(of, i == 0 ? FILE_BYTES : FILE_BYTES / TIMES);
    peaks[i] = peak_of(work, &one) - (kept != NULL ? peak_of(kept, &one) : 0);
    CHECK(remove(one.path) == 0);
  }
  printf("%-18s %-7s %5.1f MiB, of a fifth %5.1f MiB\n", of->name, what, (double)peaks[0] / 1048576,
         (double)peaks[1] / 1048576);
  CHECK(peaks[0] < peaks[1] + MOST_GROWTH && peaks[0] < MOST_AT_ALL);
}

/* Records without priorities. */
#define ITEMS \
  { "items.jsonl", "", "{\"item\": 1234567, \"sid\": [3, 1, 2, 7], \"title\": \"Screws\"}\n", 0, 4, 1, NULL }

static void expect_pieces_of(const kind* kinds, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    expect_pieces(&kinds[i], "survey", survey, NULL);
    expect_pieces(&kinds[i], "reading", read_into_builder, add_by_hand);
  }
}

static void lines_are_read_in_pieces(void) {
  static const kind kinds[] = {
      ITEMS,
      {"tokens.jsonl", "", "{\"item\": \"1234567\", \"sid\": \"<a_3><b_1><c_2><d_7>\"}\n", 0, 4, 1, NULL},
      {"columns.csv", "item,c0,c1,c2,c3\n", "1234567,3,1,2,7\n", 0, 4, 1, NULL},
      {"quoted.csv", "item,title,sid\n", "1234567,\"Screws, \"\"100\"\"\",\"[3, 1, 2, 7]\"\n", 0, 4, 1, NULL}};
  expect_pieces_of(kinds, COUNT(kinds));
}

static void arrays_are_read_in_pieces(void) {
  static const kind kinds[] = {
      {"rows.npy", "{'descr': '<i8', 'fortran_order': False, 'shape': (%lld, 4), }", NULL, 32, 4, 0, NULL},
      {"columns.npy", "{'descr': '<i4', 'fortran_order': True, 'shape': (%lld, 4), }", NULL, 16, 4, 0, NULL},
      {"long.npy", "{'descr': '<f8', 'fortran_order': True, 'shape': (%lld, 255), }", NULL, 2040, 255, 0, NULL},
      {"rows.raw", NULL, NULL, 16, 4, 0, "raw"},
      {"records.bin", NULL, NULL, 20, 3, 1, "xllm"}};
  expect_pieces_of(kinds, COUNT(kinds));
}

/* A batch is full by its codes (of long.npy) and by the bytes of its ids, not by its rows alone. */
static void long_ids_make_batches_of_fewer_rows(void) {
  static char row[2100];
  static const kind named = {"long_ids.jsonl", "", row, 0, 2, 1, NULL};
  snprintf(row, sizeof row, "{\"item\": \"%02000d\", \"sid\": [3, 1]}\n", 7);
  expect_pieces(&named, "survey", survey, NULL);
}

static void records_without_priorities_take_no_room_for_them(void) {
  static const kind items = ITEMS;
  const subject one = write_subject(&items, FILE_BYTES / TIMES);
  taken.most = 0;
  read_into_builder(&one);
  const int64_t read = taken.most;
  taken.most = 0;
  add_by_hand(&one);
  CHECK_INT(read, taken.most);
  CHECK(read >= one.rows * 16 && taken.live == 0); /* a SID's word and an id */
}

int main(void) {
  static const test_case tests[] = {TEST(lines_are_read_in_pieces), TEST(arrays_are_read_in_pieces),
                                    TEST(long_ids_make_batches_of_fewer_rows),
                                    TEST(records_without_priorities_take_no_room_for_them)};
  if (!peaks_are_told()) return 77;
  return RUN_TESTS(tests);
}
