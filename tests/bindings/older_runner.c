/* A libsidbeam_runner.so.1 whose table ends before its last entry, as that of a library older than the binding does.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sidbeam/runner_api.h>

sidbeam_status sidbeam_runner_get_api(uint32_t abi_version, const sidbeam_runner_api** out, sidbeam_error* err) {
  static const sidbeam_runner_api shorter = {.struct_size = sizeof shorter - sizeof shorter.model_open};
  (void)abi_version, (void)err;
  *out = &shorter;
  return SIDBEAM_OK;
}
