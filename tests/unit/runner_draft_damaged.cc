// Draft heads over an index whose sections are damaged, and which nobody has verified: whatever comes out, they touch
// no memory but their own, which AddressSanitizer sees. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "damaged_index.h"
#include "draft_rig.h"

namespace sidbeam::runner {
namespace {

using fakes::Randomly, fakes::SoundFile;

TEST(RunnerDraftDamaged, DecodersTouchNothingButTheirOwn) {
  const handles::Runtime runtime = make_runtime();
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Randomly random{std::mt19937_64(seed)};
    HeadShape shape;
    shape.hidden = shape.embedding = 4;
    for (int32_t levels = 2 + random.below(3); levels > 0; --levels) shape.codes.push_back(1 + random.below(5));
    shape.input = random.below(3);
    shape.transition = shape.input == SIDBEAM_DRAFT_INPUT_HIDDEN ? SIDBEAM_DRAFT_TRANSITION_NONE : random.below(4);
    const oracle::DraftModel model = random_head(shape, random.engine);
    const DraftHeadHandle head = make_head(model);
    constexpr int32_t kVerifications[] = {SIDBEAM_DRAFT_VERIFY_TRIE, SIDBEAM_DRAFT_VERIFY_HASH};
    const int32_t verification = kVerifications[random.below(2)];
    const SoundFile file(
        runtime.get(),
        handles::make_builder(runtime.get(), shape.codes,
                              handles::random_sids(shape.codes, 1 + random.below(60), seed, false), false,
                              verification == SIDBEAM_DRAFT_VERIFY_TRIE ? SIDBEAM_KIND_TRIE : SIDBEAM_KIND_HASH));
    for (int32_t damage = 0; damage < 40; ++damage) {
      const handles::Index index = file.damaged(random);
      sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
      config.requests = 2;
      config.beams = 1 + random.below(300);
      config.verification = verification;
      config.head = head.get();
      config.index = index.get();
      const DraftDecoderHandle decoder = make_decoder(runtime.get(), config);
      const Hidden hidden(2, model, random.engine);
      const sidbeam_draft_result result = run_decoder(decoder, hidden.rows);
      for (int i = 0; i < 2; ++i) EXPECT_LE(result.live[i], config.beams);
    }
  }
}

}  // namespace
}  // namespace sidbeam::runner
