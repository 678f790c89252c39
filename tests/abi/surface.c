/* Everything public, for abidiff: a pointer to each function, whose parameters name the structs.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sidbeam/sidbeam.h>

#define STRUCT(name, bytes)
#define FIELD(name, field, offset, bytes)
#define CONSTANT(name, value)
#define ENTRY(number, name) __typeof__(sidbeam_##name)* surface_##name;
#include "abi_v1.inc"
#ifdef SIDBEAM_RUNNER
#include <sidbeam/runner_api.h>
#include "runner_v1.inc"
#endif
#ifdef SIDBEAM_IMPORT
#include <sidbeam/import_api.h>
#include "import_v1.inc"
#endif
