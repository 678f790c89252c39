// A C++17 program on the installed library: builds an index and reads a SID back.
// SPDX-License-Identifier: Apache-2.0
#include <sidbeam/sidbeam.h>

#include <cstdio>

int main() {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  sidbeam_runtime* runtime = nullptr;
  sidbeam_builder* builder = nullptr;
  sidbeam_index* index = nullptr;
  const int32_t codes[] = {4, 4}, catalogue[] = {0, 1, 0, 3, 2, 2};
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = 2;
  config.codes = codes;
  int32_t sid[2] = {}, length = 0;
  const bool done = sidbeam_runtime_create(nullptr, &runtime, &err) == SIDBEAM_OK &&
                    sidbeam_builder_create(runtime, &config, &builder, &err) == SIDBEAM_OK &&
                    sidbeam_builder_add(builder, catalogue, nullptr, 3, nullptr, nullptr, &err) == SIDBEAM_OK &&
                    sidbeam_builder_finish(builder, &index, &err) == SIDBEAM_OK &&
                    sidbeam_index_sid(index, 1, sid, &length, &err) == SIDBEAM_OK;
  sidbeam_index_release(index);
  sidbeam_builder_destroy(builder);
  sidbeam_runtime_release(runtime);
  if (!done) std::fprintf(stderr, "%s\n", err.message);
  return done && length == 2 && sid[0] == 0 && sid[1] == 3 ? 0 : 1;
}
