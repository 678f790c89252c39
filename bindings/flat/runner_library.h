/* libsidbeam_runner, which is loaded when a model is first opened. See flat.h. SPDX-License-Identifier: Apache-2.0
 *
 * By name, not by linking: packages work without it, and programs without models do not load it. It lies beside
 * libsidbeam in wheels and jars, whose native part names its own folder (RUNPATH, which dlopen follows), and where the
 * system looks otherwise. */
#ifndef SIDBEAM_FLAT_RUNNER_LIBRARY_H
#define SIDBEAM_FLAT_RUNNER_LIBRARY_H

#include <dlfcn.h>
#include <stdatomic.h>

#include <sidbeam/runner_api.h>

#ifndef SWIG
/* Written before any model or runner exists, perhaps by several threads, which all find the same table; read by those
 * who have one. No lock: a child that is forked while another thread loads the library would wait for it for ever. */
static const sidbeam_runner_api* _Atomic fl_runner_api;
#endif

/* A function of the library of this name, which is loaded; NULL with an error that names it as `what`. */
static inline void* fl_find_symbol(const char* name, const char* function, const char* what, sidbeam_error* err) {
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL); /* for good: no handle may outlive its functions */
  void* symbol = library == NULL ? NULL : dlsym(library, function);
  if (symbol == NULL) {
    const char* why = dlerror(); /* has paths */
    char line[sizeof(err->message)];
    fl_escape(why == NULL ? name : why, line, sizeof(line));
    fl_fail(err, SIDBEAM_UNSUPPORTED, "%s cannot be loaded: %s", what, line);
  }
  return symbol;
}

static inline void fl_find_runner(sidbeam_error* err) {
  sidbeam_runner_get_api_function get_api;
  const sidbeam_runner_api* api = NULL;
  char name[40];
  void* symbol;
  snprintf(name, sizeof(name), "libsidbeam_runner.so.%u", SIDBEAM_RUNNER_ABI_VERSION);
  symbol = fl_find_symbol(name, "sidbeam_runner_get_api", "the runner's library", err);
  if (symbol == NULL) return;
  memcpy(&get_api, &symbol, sizeof(get_api)); /* ISO C has no cast from an object's pointer to a function's */
  if (get_api(SIDBEAM_RUNNER_ABI_VERSION, &api, err) != SIDBEAM_OK) return;
  if (api->struct_size < sizeof(*api)) {
    fl_fail(err, SIDBEAM_UNSUPPORTED, "%s has a table of %u bytes, expected %d or more: it is older than this binding",
            name, api->struct_size, (int)sizeof(*api));
    return;
  }
  atomic_store(&fl_runner_api, api);
}

/* 1 if the library is there; otherwise sets an error. A failure is tried again by the next call. */
static inline int fl_load_runner(sidbeam_error* err) {
  if (err->code != 0) return 0;
  if (atomic_load(&fl_runner_api) == NULL) fl_find_runner(err);
  return err->code == 0;
}

#endif
