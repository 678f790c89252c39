// Any bytes as an index file: opened at every depth, then used for everything. The last byte of an input chooses; the
// others are the file. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "../capi/exercise.h"
#include "specimens.h"

namespace {

// Without a right checksum nothing behind the preamble would ever be reached, so most inputs get one.
bool repairs(uint8_t choice) { return choice % 4 != 0; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const uint8_t choice = data[--size];
  const fuzz::Block block = fuzz::block_of(data, size);
  if (repairs(choice)) fuzz::repair_checksum(block.get(), size);
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  config.residency = choice & 4 ? SIDBEAM_RESIDENCY_COPY : SIDBEAM_RESIDENCY_MAP;
  bool deeper = true;  // a depth may refuse only what the one below it took
  for (config.verify = SIDBEAM_VERIFY_HEADER; config.verify <= SIDBEAM_VERIFY_FULL; ++config.verify) {
    sidbeam_index* made = nullptr;
    sidbeam_error err = SIDBEAM_ERROR_INIT;
    const sidbeam_status status = sidbeam_index_open_memory(fuzz::runtime(), block.get(), static_cast<int64_t>(size),
                                                            nullptr, nullptr, &config, &made, &err);
    const fuzz::Handle<sidbeam_index> index(made);
    FUZZ_CHECK(status == err.code);
    FUZZ_CHECK(status == SIDBEAM_OK ? made != nullptr : made == nullptr && err.message[0] != '\0');
    FUZZ_CHECK(status == SIDBEAM_OK || status == SIDBEAM_CORRUPT || status == SIDBEAM_UNSUPPORTED ||
               status == SIDBEAM_OUT_OF_MEMORY);
    FUZZ_CHECK(deeper || status != SIDBEAM_OK);
    deeper = status == SIDBEAM_OK;
    if (deeper && config.verify != SIDBEAM_VERIFY_CHECKSUMS)
      FUZZ_CHECK(exercise_index(fuzz::runtime(), made, choice * 2654435761u) == 0);
  }
  return 0;
}
