// An index file, damaged in every way that mutate.h knows, opened at every depth and in every way, and used for
// everything. The last bytes of an input select the uses. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "files/mutate.h"
#include "files/opening.h"
#include "files/promises.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace {

struct Script {
  uint8_t way = 0, depth = 0;
  uint64_t seed = 0;
};

Script read_script(const uint8_t* at) {
  Script script;
  script.way = at[0];
  script.depth = at[1];
  std::memcpy(&script.seed, at + 8, sizeof script.seed);
  return script;
}

struct Statuses {
  sidbeam_status at[3];
};

// A depth may refuse only what the one below it took.
Statuses open_at_every_depth(const uint8_t* data, size_t size) {
  Statuses statuses{};
  bool deeper = true;
  for (int32_t verify = SIDBEAM_VERIFY_HEADER; verify <= SIDBEAM_VERIFY_FULL; ++verify) {
    const fuzz::Opened opened(data, size, fuzz::Way::kBorrow, verify);
    const sidbeam_status status = statuses.at[verify] = opened.status();
    FUZZ_CHECK(status == SIDBEAM_OK || status == SIDBEAM_CORRUPT || status == SIDBEAM_UNSUPPORTED);
    FUZZ_CHECK(deeper || status != SIDBEAM_OK);
    deeper = status == SIDBEAM_OK;
  }
  return statuses;
}

void check_peek(const uint8_t* data, size_t size, sidbeam_status expected) {
  static const fuzz::MemoryFile file("sidbeam-fuzz-peeked");
  file.write(data, size);
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  int32_t codes[SIDBEAM_MAX_LEVELS], max_children[SIDBEAM_MAX_LEVELS];
  int64_t nodes[SIDBEAM_MAX_LEVELS];
  FUZZ_CHECK(sidbeam_index_peek(file.path().c_str(), SIDBEAM_MAX_LEVELS, codes, max_children, nodes, &info, nullptr) ==
             expected);
}

// The depth to which an index is known to be sound.
void check_verified(const fuzz::Opened& opened, int32_t depth) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  FUZZ_CHECK(sidbeam_index_get_info(opened.index(), &info, nullptr) == SIDBEAM_OK);
  FUZZ_CHECK(info.verified == depth);
}

// Every way of opening takes or refuses it alike, except that LOCK may be beyond what this process is allowed.
void open_and_use(const uint8_t* data, size_t size, const Script& script, const Statuses& statuses) {
  const auto way = static_cast<fuzz::Way>(script.way % fuzz::kWays);
  const int32_t depth = script.depth % 3;
  {
    const fuzz::Opened deep(data, size, way, depth);
    FUZZ_CHECK(deep.status() == statuses.at[depth] || (way == fuzz::Way::kLock && deep.status() == SIDBEAM_IO_ERROR));
    if (deep.status() == SIDBEAM_OK) check_verified(deep, depth);
  }
  fuzz::Opened opened(data, size, way, SIDBEAM_VERIFY_HEADER);
  if (opened.status() != SIDBEAM_OK) return;
  fuzz::Random random{script.seed};
  opened.arm();
  fuzz::check_any(opened.index(), random);
  opened.disarm();
  for (int32_t verify = SIDBEAM_VERIFY_HEADER; verify <= SIDBEAM_VERIFY_FULL; ++verify) {
    FUZZ_CHECK(sidbeam_index_verify(opened.index(), verify, nullptr) == statuses.at[verify]);
    if (statuses.at[verify] == SIDBEAM_OK) check_verified(opened, verify);
  }
  if (statuses.at[SIDBEAM_VERIFY_FULL] != SIDBEAM_OK) return;
  opened.arm();
  fuzz::check_sound(opened.index(), random);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < fuzz::kScriptBytes) return 0;
  size -= fuzz::kScriptBytes;
  const Script script = read_script(data + size);
  const Statuses statuses = open_at_every_depth(data, size);
  if (script.depth % 4 == 3) check_peek(data, size, statuses.at[SIDBEAM_VERIFY_HEADER]);
  open_and_use(data, size, script, statuses);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed) {
  fuzz::Random random{seed};
  const std::vector<uint8_t> out = fuzz::mutate_input(data, size, most, random, LLVMFuzzerMutate);
  std::copy(out.begin(), out.end(), data);
  return out.size();
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size, const uint8_t* b, size_t b_size,
                                            uint8_t* out, size_t most, unsigned int seed) {
  fuzz::Random random{seed};
  const std::vector<uint8_t> crossed = fuzz::cross_inputs(a, a_size, b, b_size, most, random);
  std::copy(crossed.begin(), crossed.end(), out);
  return crossed.size();
}
