/* Whether the installed library accepts the installed plugin as its own: without a device, it reports the driver or the
 * device as missing. SPDX-License-Identifier: Apache-2.0 */
#include <sidbeam/sidbeam.h>
#include <stdio.h>
#include <string.h>

#define TRY(call) \
  if ((call) != SIDBEAM_OK) return fprintf(stderr, "%s\n", err.message), 1

int main(void) {
  const int32_t codes[] = {2}, sids[] = {0, 1};
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  sidbeam_builder_config shape = SIDBEAM_BUILDER_CONFIG_INIT;
  sidbeam_runtime* runtime;
  sidbeam_builder* builder;
  sidbeam_index* index;
  shape.levels = 1, shape.codes = codes;
  TRY(sidbeam_runtime_create(NULL, &runtime, &err));
  TRY(sidbeam_builder_create(runtime, &shape, &builder, &err));
  TRY(sidbeam_builder_add(builder, sids, NULL, 2, NULL, NULL, &err));
  TRY(sidbeam_builder_finish(builder, &index, &err));
  const sidbeam_status status = sidbeam_index_upload(index, NULL, &err);
  puts(status == SIDBEAM_OK ? "an index is on device 0" : err.message);
  const int loaded = status == SIDBEAM_OK || (status == SIDBEAM_NO_DEVICE && strstr(err.message, "plugin") == NULL);
  sidbeam_index_release(index);
  sidbeam_builder_destroy(builder);
  sidbeam_runtime_release(runtime);
  return loaded ? 0 : 1;
}
