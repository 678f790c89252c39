/* sidbeam: beam search over Semantic IDs that returns only items that exist.
 *
 * A complete program (samples/minimal.c; it prints "item 2  score -7.215" and "item 1  score -8.215", though the
 * model's favourite first code, 1, leads nowhere):
 *
 *   #include <sidbeam/sidbeam.h>
 *   #include <stdio.h>
 *
 *   #define TRY(call) \
 *     if ((call) != SIDBEAM_OK) return fprintf(stderr, "%s\n", err.message), 1
 *
 *   int main(void) {
 *     const int32_t codes[] = {4, 4}, catalogue[] = {0, 1, 0, 3, 2, 2};  // three items, each a SID of two codes
 *     float logits[2][4] = {{3, 9, 2, 1}, {1, 1, 4, 2}};                 // the model's, per level, for every beam
 *     sidbeam_error err = SIDBEAM_ERROR_INIT;
 *     sidbeam_runtime* runtime;
 *     sidbeam_builder* builder;
 *     sidbeam_index* index;
 *     sidbeam_constraint* constraint;
 *     sidbeam_session* session;
 *
 *     sidbeam_builder_config shape = SIDBEAM_BUILDER_CONFIG_INIT;
 *     shape.levels = 2, shape.codes = codes;
 *     TRY(sidbeam_runtime_create(NULL, &runtime, &err));
 *     TRY(sidbeam_builder_create(runtime, &shape, &builder, &err));
 *     TRY(sidbeam_builder_add(builder, catalogue, NULL, 3, NULL, NULL, &err));
 *     TRY(sidbeam_builder_finish(builder, &index, &err));
 *     sidbeam_constraint_config items = SIDBEAM_CONSTRAINT_CONFIG_INIT;
 *     items.index = index;
 *     TRY(sidbeam_constraint_create(&items, &constraint, &err));
 *
 *     sidbeam_session_config search = SIDBEAM_SESSION_CONFIG_INIT;  // one request at a time, two beams
 *     sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;           // every slot, without a prefix
 *     search.beams = 2, search.constraint = constraint;
 *     TRY(sidbeam_session_create(runtime, &search, &session, &err));
 *     TRY(sidbeam_session_start(session, &start, &err));
 *     for (int level = 0; level < 2; level++) {
 *       sidbeam_rows rows = SIDBEAM_ROWS_INIT;
 *       sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
 *       rows.data = logits[level], rows.slots = 1, rows.rows = 2, rows.columns = 4;
 *       rows.row_stride = SIDBEAM_BROADCAST, step.rows = &rows;  // both beams read the same logits row
 *       TRY(sidbeam_session_step(session, &step, &err));
 *     }
 *
 *     int64_t ordinals[2];
 *     sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
 *     sidbeam_items found = SIDBEAM_ITEMS_INIT;
 *     found.ordinals = ordinals;
 *     TRY(sidbeam_session_get_beams(session, &beams, &err));
 *     TRY(sidbeam_session_get_items(session, NULL, 0, &found, &err));
 *     for (int m = 0; m < beams.live[0]; m++) printf("item %d  score %.3f\n", (int)ordinals[m], beams.scores[m]);
 *
 *     sidbeam_session_destroy(session);
 *     sidbeam_constraint_release(constraint);
 *     sidbeam_index_release(index);
 *     sidbeam_builder_destroy(builder);
 *     sidbeam_runtime_release(runtime);
 *     return 0;
 *   }
 *
 * Conventions
 *   - Every call that can fail returns a sidbeam_status, 0 for success, and takes an optional sidbeam_error for the
 *     message. Outputs come last before stream and error, and are set only on success.
 *   - Structs begin with struct_size: use the _INIT macro. They grow at their end, inputs and outputs alike. A size
 *     below the first version, or above 4096 bytes, is INVALID_ARGUMENT. A newer header may pass a struct that is
 *     longer than this library's. The part that this library does not know must be zero in an input, or the call fails
 *     with UNSUPPORTED; in an output it is set to zero.
 *   - A struct that is zeroed except for its size is a sensible request: strides of 0 are dense, limits of 0 are none,
 *     lists that are NULL are all. What widens or repeats is asked for by name.
 *   - Results do not depend on the caller's floating-point mode (rounding, flushing of denormals, traps): a call sets
 *     its own, in which callbacks find it, and restores the caller's.
 *   - Arrays are dense and row-major; [S, M] is S times M elements. Pointers are borrowed for the call unless a line
 *     says otherwise.
 *   - After fork(), the child may use runtimes, indexes, constraints, constraint sets on the CPU, and whatever it makes
 *     itself, even if other threads of the parent were in the middle of calls. It can only destroy the parent's
 *     sessions and builders, and only if no other thread was in a call on them. It can only release objects on CUDA,
 *     which leaves the device alone (see runtime.h). The host's own allocator, log and threads must survive the fork.
 *
 * Headers, in the order of learning: base.h runtime.h builder.h arrow.h index.h filter.h constraint.h rows.h session.h
 * sampling.h disc.h states.h speculate.h catalog.h; api.h for hosts that dlopen; dlpack.h for tensors.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_SIDBEAM_H
#define SIDBEAM_SIDBEAM_H

#include "api.h"
#include "arrow.h"
#include "base.h"
#include "builder.h"
#include "catalog.h"
#include "constraint.h"
#include "disc.h"
#include "filter.h"
#include "index.h"
#include "rows.h"
#include "runtime.h"
#include "sampling.h"
#include "session.h"
#include "speculate.h"
#include "states.h"

#endif
