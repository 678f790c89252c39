/* libsidbeam_import, which is loaded when a catalogue file is first opened. See flat.h and runner_library.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_IMPORT_LIBRARY_H
#define SIDBEAM_FLAT_IMPORT_LIBRARY_H

#include <sidbeam/import_api.h>

#ifndef SWIG
/* As fl_runner_api. */
static const sidbeam_import_api* _Atomic fl_import_api;
#endif

static inline void fl_find_import(sidbeam_error* err) {
  sidbeam_import_get_api_function get_api;
  const sidbeam_import_api* api = NULL;
  char name[40];
  void* symbol;
  snprintf(name, sizeof(name), "libsidbeam_import.so.%u", SIDBEAM_IMPORT_ABI_VERSION);
  symbol = fl_find_symbol(name, "sidbeam_import_get_api", "the importers' library", err);
  if (symbol == NULL) return;
  memcpy(&get_api, &symbol, sizeof(get_api)); /* ISO C has no cast from an object's pointer to a function's */
  if (get_api(SIDBEAM_IMPORT_ABI_VERSION, &api, err) != SIDBEAM_OK) return;
  if (api->struct_size < sizeof(*api)) {
    fl_fail(err, SIDBEAM_UNSUPPORTED, "%s has a table of %u bytes, expected %d or more: it is older than this binding",
            name, api->struct_size, (int)sizeof(*api));
    return;
  }
  atomic_store(&fl_import_api, api);
}

/* 1 if the library is there; otherwise sets an error. A failure is tried again by the next call. */
static inline int fl_load_import(sidbeam_error* err) {
  if (err->code != 0) return 0;
  if (atomic_load(&fl_import_api) == NULL) fl_find_import(err);
  return err->code == 0;
}

#endif
