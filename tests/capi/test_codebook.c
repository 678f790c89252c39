/* Catalogues of different codebooks are refused wherever both are known. SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

/* [0] and [2] of one codebook, [1] of none, [3] of another. */
static sidbeam_constraint* of[4];

static void begin(void) {
  of[0] = constraint_of_codebook(&small, "books");
  of[1] = constraint_of_codebook(&small, NULL);
  of[2] = constraint_of_codebook(&small, "books");
  of[3] = constraint_of_codebook(&small, "fi\nlms");
}

static void end(void) {
  for (int i = 0; i < 4; ++i) sidbeam_constraint_release(of[i]);
}

static void a_session_starts_no_slot_under_another_codebook(void) {
  begin();
  sidbeam_session_config config = session_config(of[0]);
  config.slots = 3;
  sidbeam_session* session = make_session(&config);
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.constraints = &of[1];
  start.count = 3;
  CHECK_FAILS(sidbeam_session_start(session, &start, &err), SIDBEAM_INVALID_ARGUMENT,
              "constraints[2] is of codebook 'fi\\x0alms', expected 'books', that of the session's constraint");
  for (int i = 0; i < 3; ++i) CHECK_INT(beams_of(session).level[i], -1); /* no slot has changed */
  start.constraints = of;
  CHECK_OK(sidbeam_session_start(session, &start, &err));
  sidbeam_session_destroy(session);
  config = session_config(of[1]);
  session = make_session(&config);
  start.constraints = &of[3];
  start.count = 1;
  CHECK_OK(sidbeam_session_start(session, &start, &err)); /* the session's names none */
  sidbeam_session_destroy(session);
  end();
}

static void a_set_has_one_codebook(void) {
  begin();
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_constraint_set* set = NULL;
  sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
  config.constraints = &of[1]; /* the first names none: the second decides */
  config.constraint_count = 3;
  CHECK_FAILS(sidbeam_constraint_set_create(runtime, &config, &set, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.constraints[2] is of codebook 'fi\\x0alms', expected 'books', that of config.constraints[1]");
  CHECK(set == NULL);
  config.constraint_count = 2;
  CHECK_OK(sidbeam_constraint_set_create(runtime, &config, &set, &err));
  sidbeam_constraint_set_destroy(set);
  sidbeam_runtime_release(runtime);
  end();
}

static void a_draft_has_the_targets_codebook(void) {
  begin();
  sidbeam_runtime* runtime = make_runtime();
  sidbeam_speculation* speculation = NULL;
  const sidbeam_session_config books = session_config(of[0]), films = session_config(of[3]);
  sidbeam_session *target = make_session(&books), *draft = make_session(&films);
  sidbeam_speculation_config config = SIDBEAM_SPECULATION_CONFIG_INIT;
  config.target = target;
  config.draft = draft;
  config.draft_levels = 1;
  CHECK_FAILS(sidbeam_speculation_create(runtime, &config, &speculation, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.draft is of codebook 'fi\\x0alms', expected 'books', that of config.target");
  sidbeam_session_destroy(draft);
  draft = make_session(&books);
  config.draft = draft;
  CHECK_OK(sidbeam_speculation_create(runtime, &config, &speculation, &err));
  sidbeam_speculation_destroy(speculation);
  sidbeam_session_destroy(draft);
  sidbeam_session_destroy(target);
  sidbeam_runtime_release(runtime);
  end();
}

int main(void) {
  static const test_case tests[] = {
      TEST(a_session_starts_no_slot_under_another_codebook),
      TEST(a_set_has_one_codebook),
      TEST(a_draft_has_the_targets_codebook),
  };
  return RUN_TESTS(tests);
}
