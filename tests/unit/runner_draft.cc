// Draft heads against the oracle, which has equations 1-3 and Algorithm 3 in float64; and what holds for all of them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "draft_rig.h"

namespace sidbeam::runner {
namespace {

struct Kind {
  int32_t input, transition;
};
constexpr Kind kKinds[] = {{SIDBEAM_DRAFT_INPUT_BOTH, SIDBEAM_DRAFT_TRANSITION_RNN},
                           {SIDBEAM_DRAFT_INPUT_BOTH, SIDBEAM_DRAFT_TRANSITION_GRU},
                           {SIDBEAM_DRAFT_INPUT_BOTH, SIDBEAM_DRAFT_TRANSITION_ADD},
                           {SIDBEAM_DRAFT_INPUT_BOTH, SIDBEAM_DRAFT_TRANSITION_NONE},
                           {SIDBEAM_DRAFT_INPUT_STATE, SIDBEAM_DRAFT_TRANSITION_RNN},
                           {SIDBEAM_DRAFT_INPUT_STATE, SIDBEAM_DRAFT_TRANSITION_GRU},
                           {SIDBEAM_DRAFT_INPUT_STATE, SIDBEAM_DRAFT_TRANSITION_ADD},
                           {SIDBEAM_DRAFT_INPUT_STATE, SIDBEAM_DRAFT_TRANSITION_NONE},
                           {SIDBEAM_DRAFT_INPUT_HIDDEN, SIDBEAM_DRAFT_TRANSITION_NONE}};
constexpr int32_t kVerifications[] = {SIDBEAM_DRAFT_VERIFY_TRIE, SIDBEAM_DRAFT_VERIFY_HASH, SIDBEAM_DRAFT_VERIFY_NONE};

// Beams within rounding of each other may change places: scores are compared place by place, and each SID's own.
void expect_as_oracle(const sidbeam_draft_result& result, int64_t request, const oracle::DraftModel& model,
                      const std::vector<oracle::Vector>& hidden, const std::vector<oracle::DraftSid>& expected,
                      const std::set<Sid>& valid) {
  const int64_t first = request * result.beams;
  ASSERT_EQ(result.errors[request], 0);
  ASSERT_EQ(result.live[request], static_cast<int32_t>(expected.size()));
  std::set<Sid> seen;
  for (int64_t m = 0; m < result.live[request]; ++m) {
    const Sid sid = sid_of(result, first + m);
    const auto place = valid.find(sid);
    const float score = result.scores[first + m];
    const double tolerance = 1e-5 * (1.0 + std::abs(score));
    EXPECT_NEAR(score, expected[static_cast<size_t>(m)].score, tolerance) << "beam " << m;
    EXPECT_NEAR(score, oracle::draft_score(model, hidden, sid), tolerance) << "beam " << m;
    EXPECT_EQ(result.ordinals[first + m], place == valid.end() ? -1 : std::distance(valid.begin(), place));
    EXPECT_LE(score, result.scores[first + std::max<int64_t>(m - 1, 0)]);
    EXPECT_TRUE(seen.insert(sid).second);
  }
  for (int64_t m = result.live[request]; m < result.beams; ++m) {
    EXPECT_EQ(result.ordinals[first + m], -1);
    EXPECT_EQ(result.scores[first + m], -std::numeric_limits<float>::infinity());
    EXPECT_EQ(sid_of(result, first + m), Sid(static_cast<size_t>(result.levels), -1));
  }
}

void compare(const HeadShape& shape, int32_t verification, int beams, int top_k, size_t sid_count, uint64_t seed) {
  SCOPED_TRACE("input " + std::to_string(shape.input) + " transition " + std::to_string(shape.transition) +
               " verification " + std::to_string(verification) + " seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const oracle::DraftModel model = random_head(shape, random);
  const std::set<Sid> sids = random_sids(shape.codes, sid_count, random);
  const handles::Runtime runtime = make_runtime();
  const handles::Index index = make_index(runtime.get(), shape.codes, sids);
  const DraftHeadHandle head = make_head(model);
  sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
  config.requests = 3;
  config.beams = beams;
  config.top_k = top_k;
  config.verification = verification;
  config.head = head.get();
  config.index = index.get();
  const DraftDecoderHandle decoder = make_decoder(runtime.get(), config);
  for (const int requests : {3, 2}) {  // a batch that is not full
    const Hidden hidden(requests, model, random);
    const sidbeam_draft_result result = run_decoder(decoder, hidden.rows);
    ASSERT_EQ(result.requests, requests);
    for (int64_t i = 0; i < requests; ++i) {
      const std::vector<oracle::Vector>& states = hidden.states[static_cast<size_t>(i)];
      expect_as_oracle(result, i, model, states,
                       oracle::draft_search(model, states, beams, static_cast<oracle::DraftVerification>(verification),
                                            top_k == 0 ? beams : top_k, sids),
                       sids);
    }
  }
}

TEST(RunnerDraft, EveryKindOfHeadAndVerificationIsAsTheOracleHasIt) {
  uint64_t seed = 1;
  for (const Kind& kind : kKinds) {
    for (const int32_t verification : kVerifications) {
      for (const bool biases : {true, false}) {
        HeadShape shape{{7, 5, 9}, 12, 12, kind.input, kind.transition, biases};
        compare(shape, verification, 6, 0, 60, seed++);
        compare(shape, verification, 40, verification == SIDBEAM_DRAFT_VERIFY_HASH ? 3 : 0, 30, seed++);
      }
    }
  }
}

TEST(RunnerDraft, EmbeddingsOfAnotherWidthAndOneLevel) {
  uint64_t seed = 1000;
  for (const int32_t verification : kVerifications) {
    for (const int embedding : {1, 5, 40}) {
      for (const int32_t transition : {SIDBEAM_DRAFT_TRANSITION_RNN, SIDBEAM_DRAFT_TRANSITION_GRU})
        compare({{6, 6, 6, 6}, 17, embedding, SIDBEAM_DRAFT_INPUT_BOTH, transition, true}, verification, 8, 0, 50,
                seed++);
    }
    compare({{30}, 5, 5, SIDBEAM_DRAFT_INPUT_BOTH, SIDBEAM_DRAFT_TRANSITION_RNN, true}, verification, 4, 0, 9, seed++);
    compare({{1, 1}, 1, 1, SIDBEAM_DRAFT_INPUT_STATE, SIDBEAM_DRAFT_TRANSITION_ADD, true}, verification, 4, 0, 1,
            seed++);
  }
}

// As one text, to compare bits.
std::string bits_of(const sidbeam_draft_result& result) {
  const auto beams = static_cast<size_t>(result.requests) * static_cast<size_t>(result.beams);
  std::string bits(reinterpret_cast<const char*>(result.scores), beams * sizeof(float));
  bits.append(reinterpret_cast<const char*>(result.sids), beams * static_cast<size_t>(result.levels) * sizeof(int32_t));
  return bits.append(reinterpret_cast<const char*>(result.live),
                     static_cast<size_t>(result.requests) * sizeof(int32_t));
}

TEST(RunnerDraft, DtypesInstructionSetsAndThreadsChangeNoBit) {
  for (const Kind& kind : kKinds) {
    std::mt19937_64 random(7);
    const HeadShape shape{{64, 64, 64}, 300, 12, kind.input, kind.transition, true};
    HeadShape same = shape;
    if (kind.transition == SIDBEAM_DRAFT_TRANSITION_ADD) same.embedding = same.hidden;
    const oracle::DraftModel model = random_head(same, random);
    const handles::Runtime runtime = make_runtime();
    const handles::Index index = make_index(runtime.get(), same.codes, random_sids(same.codes, 3000, random));
    std::string first;
    for (const int32_t dtype : {SIDBEAM_DTYPE_F32, SIDBEAM_DTYPE_F16, SIDBEAM_DTYPE_BF16}) {
      const DraftHeadHandle head = make_head(model, dtype);
      std::mt19937_64 again(8);
      const Hidden hidden(2, model, again, dtype);
      for (const char* target : {"baseline", "avx2", "avx512", "neon"}) {
        sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
        config.requests = 2;
        config.beams = 50;
        config.head = head.get();
        config.index = index.get();
        config.cpu_target = target;
        config.threads = dtype == SIDBEAM_DTYPE_F16 ? 3 : 1;
        config.execute = [](void*, int32_t count, void (*task)(void*, int32_t), void* data) {
          while (count > 0) task(data, --count);
        };
        sidbeam_draft_decoder* made = nullptr;
        const sidbeam_status status = sidbeam_draft_decoder_create(runtime.get(), &config, &made, nullptr);
        if (status == SIDBEAM_UNSUPPORTED) continue;  // a machine without it
        ASSERT_EQ(status, SIDBEAM_OK);
        const DraftDecoderHandle decoder(made);
        const std::string bits = bits_of(run_decoder(decoder, hidden.rows));
        if (first.empty()) first = bits;
        EXPECT_EQ(bits, first) << target << " dtype " << dtype << " transition " << kind.transition;
      }
    }
  }
}

// Decodes until `count` SIDs have come out; all of them must be valid.
void decode_many(const std::vector<int>& codes, size_t sid_count, int32_t verification, int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  HeadShape shape{codes, 8, 8};
  const oracle::DraftModel model = random_head(shape, random);
  const std::set<Sid> sids = random_sids(codes, sid_count, random);
  const handles::Runtime runtime = make_runtime();
  const handles::Index index = make_index(runtime.get(), codes, sids);
  const DraftHeadHandle head = make_head(model);
  sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
  config.requests = 32;
  config.beams = 64;
  config.verification = verification;
  config.head = head.get();
  config.index = index.get();
  const DraftDecoderHandle decoder = make_decoder(runtime.get(), config);
  int64_t decoded = 0, invalid = 0;
  for (int run = 0; decoded < count && run < 20000; ++run) {
    const Hidden hidden(config.requests, model, random);
    const sidbeam_draft_result result = run_decoder(decoder, hidden.rows);
    for (int64_t i = 0; i < result.requests; ++i) {
      for (int64_t m = 0; m < result.live[i]; ++m, ++decoded) {
        const Sid sid = sid_of(result, i * result.beams + m);
        const auto place = sids.find(sid);
        if (place == sids.end() || std::distance(sids.begin(), place) != result.ordinals[i * result.beams + m])
          ++invalid;
      }
    }
  }
  EXPECT_EQ(invalid, 0) << "seed " << seed;
  EXPECT_GE(decoded, count);
}

// A set of n SIDs has 2n slots or little more: with 40 SIDs seven bits of the hash choose the slot, so that most of the
// 64 x 64 keys that are probed begin where a SID is.
TEST(RunnerDraft, NoInvalidSidAmongAMillionWithAHashOfFewBits) {
  constexpr int64_t kMillion = SIDBEAM_SANITIZED ? 50'000 : 1'000'000;
  decode_many({16, 16, 16}, 40, SIDBEAM_DRAFT_VERIFY_HASH, kMillion / 5, 11);
  decode_many({5, 6, 7}, 3, SIDBEAM_DRAFT_VERIFY_HASH, kMillion / 50, 12);  // three bits
  decode_many({16, 16, 16}, 1500, SIDBEAM_DRAFT_VERIFY_HASH, kMillion / 2, 13);
  decode_many({16, 16, 16}, 700, SIDBEAM_DRAFT_VERIFY_TRIE, kMillion * 3 / 10, 14);
}

// The product of the V_l, 200^9, does not fit 64 bits, so that keys are hashes.
TEST(RunnerDraft, HashedKeysFindWhatTheTrieFinds) {
  const std::vector<int> codes(9, 200);  // 200^9 > 2^63
  std::mt19937_64 random(21);
  const oracle::DraftModel model = random_head({codes, 8, 8}, random);
  std::set<Sid> sids = random_sids(codes, 2000, random);
  const handles::Runtime runtime = make_runtime();
  const DraftHeadHandle head = make_head(model);
  sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
  config.requests = 4;
  config.beams = 100;
  config.head = head.get();
  const Hidden hidden(config.requests, model, random);
  // What the head decodes freely, so that there is something to be found.
  const handles::Index other = make_index(runtime.get(), codes, sids);
  config.index = other.get();
  config.verification = SIDBEAM_DRAFT_VERIFY_NONE;
  const DraftDecoderHandle free = make_decoder(runtime.get(), config);
  const sidbeam_draft_result drafted = run_decoder(free, hidden.rows);
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t m = 0; m < drafted.live[i]; m += 3) sids.insert(sid_of(drafted, i * 100 + m));

  const handles::Index index = make_index(runtime.get(), codes, sids);
  config.index = index.get();
  config.verification = SIDBEAM_DRAFT_VERIFY_HASH;
  const DraftDecoderHandle by_hash = make_decoder(runtime.get(), config);
  const sidbeam_draft_result found = run_decoder(by_hash, hidden.rows);
  for (int64_t i = 0; i < 4; ++i) {
    ASSERT_GE(found.live[i], 34);  // every third of those drafted, or more
    for (int64_t m = 0; m < found.live[i]; ++m) EXPECT_TRUE(sids.contains(sid_of(found, i * 100 + m)));
  }
  config.verification = SIDBEAM_DRAFT_VERIFY_TRIE;
  const DraftDecoderHandle by_trie = make_decoder(runtime.get(), config);
  const sidbeam_draft_result exact = run_decoder(by_trie, hidden.rows);
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(exact.live[i], 100);
    for (int64_t m = 0; m < found.live[i] && m < 100; ++m)
      EXPECT_GE(exact.scores[i * 100 + m], found.scores[i * 100 + m]);
  }
}

// The same head with so many more codes per level that the product of the V_l is 2^64; none of them is ever chosen.
oracle::DraftModel widened(const oracle::DraftModel& model, int codes) {
  oracle::DraftModel wide = model;
  for (size_t l = 0; l < wide.codes.size(); ++l) {
    oracle::DraftLayer& layer = wide.layers[l];
    wide.codes[l] = codes;
    layer.head.resize(static_cast<size_t>(codes) * 2 * static_cast<size_t>(model.hidden), 0.0);
    layer.head_bias.resize(static_cast<size_t>(codes), -500.0);
    layer.embedding.resize(static_cast<size_t>(codes) * static_cast<size_t>(model.embedding), 0.0);
  }
  return wide;
}

TEST(RunnerDraft, MixedRadixAndHashedKeysAgree) {
  std::mt19937_64 random(41);
  const oracle::DraftModel model = random_head({{20, 20, 20, 20}, 8, 8}, random);
  const oracle::DraftModel wide = widened(model, 65536);
  const std::set<Sid> sids = random_sids(model.codes, 20000, random);
  const handles::Runtime runtime = make_runtime();
  const Hidden hidden(2, model, random);
  const DraftHeadHandle heads[2] = {make_head(model), make_head(wide)};
  const handles::Index indexes[2] = {make_index(runtime.get(), model.codes, sids, SIDBEAM_KIND_HASH),
                                     make_index(runtime.get(), wide.codes, sids, SIDBEAM_KIND_HASH)};
  sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
  config.requests = 2;
  config.beams = 30;
  config.verification = SIDBEAM_DRAFT_VERIFY_HASH;
  DraftDecoderHandle decoders[2];
  sidbeam_draft_result found[2];
  for (int i = 0; i < 2; ++i) {
    config.head = heads[i].get();
    config.index = indexes[i].get();
    decoders[i] = make_decoder(runtime.get(), config);
    found[i] = run_decoder(decoders[i], hidden.rows);
  }
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_GT(found[0].live[i], 5);
    ASSERT_EQ(found[0].live[i], found[1].live[i]);
    for (int64_t beam = i * 30; beam < i * 30 + found[0].live[i]; ++beam) {
      EXPECT_EQ(sid_of(found[0], beam), sid_of(found[1], beam));
      EXPECT_EQ(found[0].ordinals[beam], found[1].ordinals[beam]);
      EXPECT_NEAR(found[0].scores[beam], found[1].scores[beam], 1e-5 * -found[0].scores[beam]);
    }
  }
}

TEST(RunnerDraft, ARequestWithNanIsInErrorAndOthersAreNot) {
  std::mt19937_64 random(31);
  const HeadShape shape{{8, 8, 8}};
  const oracle::DraftModel model = random_head(shape, random);
  const handles::Runtime runtime = make_runtime();
  const handles::Index index = make_index(runtime.get(), shape.codes, random_sids(shape.codes, 100, random));
  const DraftHeadHandle head = make_head(model);
  sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
  config.requests = 3;
  config.beams = 10;
  config.head = head.get();
  config.index = index.get();
  const DraftDecoderHandle decoder = make_decoder(runtime.get(), config);
  const Hidden hidden(3, model, random);
  const std::string whole = bits_of(run_decoder(decoder, hidden.rows));
  for (const int row : {0, 1, 3}) {  // h_0, h_1, h_L of request 1
    std::string bytes = hidden.bytes;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(bytes.data() + ((4 + row) * 12 + 5) * 4, &nan, sizeof nan);
    sidbeam_rows rows = hidden.rows;
    rows.data = bytes.data();
    const sidbeam_draft_result result = run_decoder(decoder, rows);
    EXPECT_EQ(result.errors[1], SIDBEAM_SLOT_BAD_ROW);
    EXPECT_EQ(result.live[1], 0);
    EXPECT_EQ(result.ordinals[10], -1);
    EXPECT_EQ(result.errors[0] | result.errors[2], 0);
    EXPECT_EQ(std::memcmp(result.scores, whole.data(), 10 * sizeof(float)), 0);
    EXPECT_EQ(std::memcmp(result.scores + 20, whole.data() + 20 * sizeof(float), 10 * sizeof(float)), 0);
  }
  EXPECT_EQ(bits_of(run_decoder(decoder, hidden.rows)), whole);
}

// Every code's embedding except one is infinite: some beams of each request go on, and still it is in error.
TEST(RunnerDraft, ARequestWithBadBeamsHasNone) {
  std::mt19937_64 random(51);
  const HeadShape shape{{8, 8}, 12, 12, SIDBEAM_DRAFT_INPUT_BOTH, SIDBEAM_DRAFT_TRANSITION_ADD};
  oracle::DraftModel model = random_head(shape, random);
  oracle::Vector& embedding = model.layers[0].embedding;
  std::fill(embedding.begin() + 12, embedding.end(), std::numeric_limits<double>::infinity());
  const handles::Runtime runtime = make_runtime();
  const handles::Index index = make_index(runtime.get(), shape.codes, random_sids(shape.codes, 50, random));
  const DraftHeadHandle head = make_head(model);
  sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
  config.beams = 10;
  config.head = head.get();
  config.index = index.get();
  const DraftDecoderHandle decoder = make_decoder(runtime.get(), config);
  const sidbeam_draft_result result = run_decoder(decoder, Hidden(1, model, random).rows);
  EXPECT_EQ(result.errors[0], SIDBEAM_SLOT_BAD_ROW);
  EXPECT_EQ(result.live[0], 0);
  EXPECT_EQ(result.ordinals[0], -1);
  EXPECT_EQ(result.scores[0], -std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace sidbeam::runner
