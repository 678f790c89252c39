/* A plugin of another version of its interface, or of another build. SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

typedef struct plugin {
  uint32_t version;
  const char* build_id;
} plugin;

__attribute__((visibility("default"))) const plugin* sidbeam_cuda_plugin(void);
const plugin* sidbeam_cuda_plugin(void) {
  static const plugin table = {VERSION, "of-a-stranger"};
  return &table;
}
