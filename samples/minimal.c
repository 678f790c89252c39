/* The smallest complete use of sidbeam: three items of two codes each, one request, two beams. It is also the first
 * comment of sidbeam.h. SPDX-License-Identifier: Apache-2.0 */
#include <sidbeam/sidbeam.h>
#include <stdio.h>
#include <stdlib.h>

static sidbeam_error err = SIDBEAM_ERROR_INIT;

static void check(sidbeam_status status) {
  if (status == SIDBEAM_OK) return;
  fprintf(stderr, "%s: %s\n", sidbeam_status_name(status), err.message);
  exit(1);
}

int main(void) {
  const int32_t codes[2] = {4, 4}, catalogue[3][2] = {{0, 1}, {0, 3}, {2, 2}};
  const int64_t ids[3] = {101, 103, 122};
  float logits[2][4] = {{3, 9, 2, 1}, {1, 1, 4, 2}}; /* the model's, level by level; no item begins with code 1 */

  sidbeam_runtime* runtime;
  check(sidbeam_runtime_create(NULL, &runtime, &err));

  sidbeam_builder* builder; /* catalogue -> index */
  sidbeam_builder_config shape = SIDBEAM_BUILDER_CONFIG_INIT;
  shape.levels = 2, shape.codes = codes;
  check(sidbeam_builder_create(runtime, &shape, &builder, &err));
  check(sidbeam_builder_add(builder, catalogue[0], NULL, 3, ids, NULL, &err));
  sidbeam_index* index;
  check(sidbeam_builder_finish(builder, &index, &err));

  sidbeam_constraint* constraint; /* index -> session: one slot of two beams */
  check(sidbeam_constraint_create(index, &constraint, &err));
  sidbeam_session* session;
  sidbeam_session_config search = SIDBEAM_SESSION_CONFIG_INIT;
  search.beams = 2, search.constraint = constraint;
  check(sidbeam_session_create(runtime, &search, &session, &err));

  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.count = 1;
  check(sidbeam_session_start(session, &start, &err));
  for (int level = 0; level < 2; level++) { /* row stride 0: both beams read the same row here */
    sidbeam_rows rows = SIDBEAM_ROWS_INIT;
    rows.data = logits[level], rows.slots = 1, rows.rows = 2, rows.columns = 4;
    sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
    step.rows = &rows;
    check(sidbeam_session_step(session, &step, &err));
  }

  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  check(sidbeam_session_get_beams(session, &beams, &err));
  int64_t rows[2], offsets[3], id, bytes;
  const char* name;
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.limit = 2, items.rows = rows, items.offsets = offsets;
  check(sidbeam_session_get_items(session, NULL, 1, &items, &err));
  for (int64_t i = 0; i < offsets[2]; i++) { /* one item a SID here, so item i is beam i's */
    check(sidbeam_index_item_id(index, rows[i], &id, &name, &bytes, &err));
    printf("item %lld  score %.3f\n", (long long)id, (double)beams.scores[i]);
  }

  sidbeam_session_destroy(session);
  sidbeam_constraint_release(constraint);
  sidbeam_index_release(index);
  sidbeam_builder_destroy(builder);
  sidbeam_runtime_release(runtime);
  return 0;
}
