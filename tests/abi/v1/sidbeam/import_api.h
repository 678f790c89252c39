/* sidbeam: every function of libsidbeam_import.so.1 in one table, for hosts that dlopen it. As api.h, for import.h.
 * Entries are only ever added at the end. Look at struct_size before using one that a later header added.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_IMPORT_API_H
#define SIDBEAM_IMPORT_API_H

#include "import.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Entry x is the function sidbeam_x. */
typedef struct sidbeam_import_api {
  uint32_t struct_size; /* bytes of the table that is loaded */
  uint32_t (*import_abi_version)(void);
  sidbeam_status (*import_open)(
      const char* path, const sidbeam_import_config* config, sidbeam_import** out, sidbeam_error* err);
  sidbeam_status (*import_get_info)(const sidbeam_import* import, sidbeam_import_info* out, sidbeam_error* err);
  sidbeam_status (*import_add_to)(sidbeam_import* import, sidbeam_builder* builder, sidbeam_error* err);
  sidbeam_status (*import_build)(sidbeam_runtime* runtime, const char* path, const sidbeam_import_config* config,
      const sidbeam_builder_config* builder, sidbeam_builder** out, sidbeam_error* err);
  void (*import_destroy)(sidbeam_import* import);
  sidbeam_status (*import_add_to_catalog)(sidbeam_import* import, sidbeam_catalog* catalog, sidbeam_error* err);
} sidbeam_import_api;

/* The table for an ABI version, which is the SIDBEAM_IMPORT_ABI_VERSION that the host was compiled with. Static
 * storage, never freed. Errors: UNSUPPORTED, naming both versions. */
SIDBEAM_API SIDBEAM_NODISCARD sidbeam_status sidbeam_import_get_api(
    uint32_t abi_version, const sidbeam_import_api** out, sidbeam_error* err);
typedef sidbeam_status (*sidbeam_import_get_api_function)(
    uint32_t abi_version, const sidbeam_import_api** out, sidbeam_error* err);

#ifdef __cplusplus
}
#endif
#endif
