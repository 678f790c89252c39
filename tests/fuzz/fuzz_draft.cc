// A draft head's file as others might write it. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "draft_specimens.h"
#include "random.h"
#include "runner/draft/head.h"
#include "sidbeam/draft.h"
#include "specimens.h"
#include "support/error.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace {

using sidbeam::Ref;
using sidbeam::runner::DraftHead;

fuzz::Catalogue catalogue_for(const sidbeam_draft_head_info& info) {
  fuzz::Catalogue catalogue;
  catalogue.codes.assign(info.codes, info.codes + info.levels);
  catalogue.kinds = SIDBEAM_KIND_TRIE | SIDBEAM_KIND_HASH;
  for (int i = 0; i < 3; ++i) {
    for (const int32_t codes : catalogue.codes) catalogue.sids.push_back((i * 7) % codes);
    catalogue.lengths.push_back(info.levels);
  }
  return catalogue;
}

// A head that was taken can be run, and what comes out is in the catalogue and in order.
void run_head(DraftHead* head, int32_t verification) {
  const fuzz::Handle<sidbeam_index> index = fuzz::index_of(catalogue_for(head->info));
  sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
  config.head = reinterpret_cast<sidbeam_draft_head*>(head);
  config.index = index.get();
  config.beams = 3;
  config.verification = verification;
  sidbeam_draft_decoder* decoder = nullptr;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  FUZZ_CHECK(sidbeam_draft_decoder_create(fuzz::runtime(), &config, &decoder, &error) == SIDBEAM_OK);
  const std::vector<float> states(static_cast<size_t>((head->info.levels + 1) * head->info.hidden), 0.5F);
  const sidbeam_rows rows =
      sidbeam_rows_dense(states.data(), SIDBEAM_DTYPE_F32, 1, head->info.levels + 1, head->info.hidden);
  sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;
  sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
  args.hidden = &rows;
  FUZZ_CHECK(sidbeam_draft_decoder_run(decoder, &args, &result, &error) == SIDBEAM_OK);
  for (int32_t m = 0; m < result.live[0]; ++m) {
    FUZZ_CHECK(result.scores[m] <= (m > 0 ? result.scores[m - 1] : 0.0F));  // false for NaN
    FUZZ_CHECK(result.ordinals[m] >= (verification == SIDBEAM_DRAFT_VERIFY_NONE ? -1 : 0) && result.ordinals[m] < 3);
  }
  sidbeam_draft_decoder_destroy(decoder);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fuzz::Block block = fuzz::block_of(data, size);
  try {
    const auto head =
        Ref<DraftHead>::adopt(sidbeam::runner::make_draft_head({block.get(), size}, sidbeam::default_allocator()));
    FUZZ_CHECK(head->info.file_bytes == static_cast<int64_t>(size) && head->info.parameters > 0);
    for (int32_t verification = SIDBEAM_DRAFT_VERIFY_TRIE; verification <= SIDBEAM_DRAFT_VERIFY_NONE; ++verification)
      run_head(head.get(), verification);
  } catch (const sidbeam::Failure& failure) {
    FUZZ_CHECK(failure.status == SIDBEAM_CORRUPT || failure.status == SIDBEAM_UNSUPPORTED);
    FUZZ_CHECK(failure.message[0] != '\0');
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed) {
  fuzz::Random random{seed};
  const size_t mutated = LLVMFuzzerMutate(data, size, most);
  if (!random.one_in(16)) fuzz::repair_draft_head(data, mutated);
  return mutated;
}
