/* ABI version 1 is a promise: every public struct keeps its fields where they are and only grows at its end, constants
 * keep their numbers, and the table for hosts that dlopen its order. Most of this is checked by compiling it (C11, for
 * _Static_assert; 64-bit hosts); the program then checks that each entry of the loaded table is the function of its
 * name. With SIDBEAM_RUNNER it is about the runner's library, with SIDBEAM_IMPORT about the importers'.
 * SPDX-License-Identifier: Apache-2.0 */
#ifdef SIDBEAM_RUNNER
#include <sidbeam/runner_api.h>
#define FROZEN "runner_v1.inc"
#define TABLE sidbeam_runner_api
#define GET_TABLE sidbeam_runner_get_api
#elif defined(SIDBEAM_IMPORT)
#include <sidbeam/import_api.h>
#define FROZEN "import_v1.inc"
#define TABLE sidbeam_import_api
#define GET_TABLE sidbeam_import_get_api
#else
#include <sidbeam/sidbeam.h>
#define FROZEN "abi_v1.inc"
#define TABLE sidbeam_api
#define GET_TABLE sidbeam_get_api
#endif
#include <stdio.h>

/* bytes: the size of its first version, which callers of an older header pass. */
#define STRUCT(type, bytes) _Static_assert(sizeof(type) >= (bytes), #type " has shrunk");
#define FIELD(type, field, at, bytes)                                           \
  _Static_assert(offsetof(type, field) == (at), #type "." #field " has moved"); \
  _Static_assert(sizeof(((type*)0)->field) == (bytes), #type "." #field " has another size");
#define CONSTANT(name, value) _Static_assert((name) == (value), #name " has another value");
#define ENTRY(place, name) _Static_assert(offsetof(TABLE, name) == (place) * sizeof(void*), #name " has moved");
#include FROZEN
#undef STRUCT
#undef FIELD
#undef CONSTANT
#undef ENTRY

#define STRUCT(type, bytes)
#define FIELD(type, field, at, bytes)
#define CONSTANT(name, value)
#define ENTRY(place, name)                                                      \
  if (api->name != sidbeam_##name) {                                            \
    fprintf(stderr, "entry " #name " of the table is not sidbeam_" #name "\n"); \
    return 1;                                                                   \
  }

int main(void) {
  const TABLE* api;
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  if (GET_TABLE(1, &api, &err) != SIDBEAM_OK) {
    fprintf(stderr, "the table: %s\n", err.message);
    return 1;
  }
  if (api->struct_size < sizeof *api) {
    fprintf(stderr, "struct_size: expected %zu, got %u\n", sizeof *api, (unsigned)api->struct_size);
    return 1;
  }
#include FROZEN
  puts("ABI 1 is as it was, " FROZEN);
  return 0;
}
