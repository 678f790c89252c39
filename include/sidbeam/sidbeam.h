/* sidbeam: beam search over Semantic IDs that returns only items that exist.
 *
 * A complete use: three items of two codes each, one request, two beams (samples/minimal.c is this program, compiled).
 *
 *   #include <sidbeam/sidbeam.h>
 *   #include <stdio.h>
 *
 *   static void check(sidbeam_status status, const sidbeam_error *err) { if (status) { fprintf(stderr, "%s\n",
 * err->message); _Exit(1); } }
 *
 *   int main(void) {
 *     const int32_t codes[2] = {4, 4}, catalogue[3][2] = {{0, 1}, {0, 3}, {2, 2}};
 *     const float logits[2][4] = {{3, 9, 2, 1}, {1, 2, 3, 4}};   // the model's; here the same row for every beam
 *     sidbeam_error err = SIDBEAM_ERROR_INIT;
 *     ...
 *   }
 *
 * Conventions
 *   - Every call that can fail returns a sidbeam_status, 0 for success, and takes an optional sidbeam_error for the
 * message. Outputs come last before it and are set only on success.
 *   - Structs that the caller fills begin with struct_size; use the _INIT macro. A struct shorter than this version's
 * is an error; a longer one, from a newer header, works as long as what this library does not know is zero.
 *   - Arrays are dense and row-major; [S, M] means S rows of M. Pointers are borrowed for the call unless a line says
 * otherwise. Counts are int64_t.
 *   - After fork, indexes and newly made objects work in the child; sessions and builders of the parent must not be
 * used there.
 *
 * Headers, in the order of learning: base.h runtime.h builder.h index.h rows.h session.h states.h; api.h for hosts that
 * dlopen; dlpack.h for tensors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_SIDBEAM_H
#define SIDBEAM_SIDBEAM_H

#include "api.h"
#include "base.h"
#include "builder.h"
#include "index.h"
#include "rows.h"
#include "runtime.h"
#include "session.h"
#include "states.h"

#endif
