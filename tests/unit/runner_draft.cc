// Draft heads against the oracle, which has equations 1-3 and Algorithm 3 in float64; and what holds for all of them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>

#include "../cut_hash.h"
#include "draft_rig.h"
#include "runner/draft/head.h"
#include "support/error.h"

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
                      const std::map<Sid, int64_t>& ordinals) {
  const int64_t first = request * result.beams;
  ASSERT_EQ(result.errors[request], 0);
  ASSERT_EQ(result.live[request], static_cast<int32_t>(expected.size()));
  std::set<Sid> seen;
  for (int64_t m = 0; m < result.live[request]; ++m) {
    const Sid sid = sid_of(result, first + m);
    const auto place = ordinals.find(sid);
    const float score = result.scores[first + m];
    const double tolerance = 1e-5 * (1.0 + std::abs(score));
    EXPECT_NEAR(score, expected[static_cast<size_t>(m)].score, tolerance) << "beam " << m;
    EXPECT_NEAR(score, oracle::draft_score(model, hidden, sid), tolerance) << "beam " << m;
    EXPECT_EQ(result.ordinals[first + m], place == ordinals.end() ? -1 : place->second);
    EXPECT_LE(score, result.scores[first + std::max<int64_t>(m - 1, 0)]);
    EXPECT_TRUE(seen.insert(sid).second);
  }
  for (int64_t m = result.live[request]; m < result.beams; ++m) {
    EXPECT_EQ(result.ordinals[first + m], -1);
    EXPECT_EQ(result.scores[first + m], -std::numeric_limits<float>::infinity());
    EXPECT_EQ(sid_of(result, first + m), Sid(static_cast<size_t>(result.levels), -1));
  }
}

// By SID, as they are sorted; of a version of a live catalogue as it says.
std::map<Sid, int64_t> ordinals_of(const std::set<Sid>& sids, sidbeam_index* version) {
  std::map<Sid, int64_t> ordinals;
  for (const Sid& sid : sids) {
    const int64_t place = std::ssize(ordinals);
    const auto levels = static_cast<int32_t>(sid.size());
    ordinals[sid] = version != nullptr ? handles::ordinals_in(version, sid, levels)[0] : place;
  }
  return ordinals;
}

void compare(const HeadShape& shape, int32_t verification, int beams, int top_k, size_t sid_count, uint64_t seed,
             bool live = false) {
  SCOPED_TRACE("input " + std::to_string(shape.input) + " transition " + std::to_string(shape.transition) +
               " verification " + std::to_string(verification) + " seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const oracle::DraftModel model = random_head(shape, random);
  const std::set<Sid> sids = random_sids(shape.codes, sid_count, random);
  const handles::Runtime runtime = make_runtime();
  const handles::Index index = live ? handles::make_version(runtime.get(), shape.codes, rows_of(sids), false, seed)
                                    : make_index(runtime.get(), shape.codes, sids);
  const std::map<Sid, int64_t> ordinals = ordinals_of(sids, live ? index.get() : nullptr);
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
                       ordinals);
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

// A head was trained on the base; what came since it writes as it does the rest, and what has gone never.
TEST(RunnerDraft, SidsThatWereAddedAreFoundAndThoseThatHaveGoneAreNot) {
  uint64_t seed = 2000;
  for (const Kind& kind : kKinds) {
    for (const bool biases : {true, false}) {
      HeadShape shape{{7, 5, 9}, 12, 12, kind.input, kind.transition, biases};
      compare(shape, SIDBEAM_DRAFT_VERIFY_TRIE, 6, 0, 60, seed++, true);
      compare(shape, SIDBEAM_DRAFT_VERIFY_TRIE, 80, 0, 30, seed++, true);
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

// Decodes until `count` SIDs have come out; all of them must be valid. Of hashed keys `key_bits` are left.
void decode_many(const oracle::DraftModel& model, const std::set<Sid>& sids, int32_t verification, int64_t count,
                 std::mt19937_64& random, int key_bits = 63) {
  const handles::Runtime runtime = make_runtime();
  const handles::Index index = make_index(runtime.get(), model.codes, sids);
  if (key_bits < 63) {
    ASSERT_TRUE(cut::hash_of(index.get()).hashed);
    cut::cut_hash(index.get(), key_bits);
  }
  const DraftHeadHandle head = make_head(model);
  sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
  config.requests = 32;
  config.beams = 64;
  config.verification = verification;
  config.head = head.get();
  config.index = index.get();
  const DraftDecoderHandle decoder = make_decoder(runtime.get(), config);
  const std::vector<Sid> ordered(sids.begin(), sids.end());
  int64_t decoded = 0, invalid = 0;
  for (int run = 0; decoded < count && run < 20000; ++run) {
    const Hidden hidden(config.requests, model, random);
    const sidbeam_draft_result result = run_decoder(decoder, hidden.rows);
    for (int64_t i = 0; i < result.requests; ++i) {
      for (int64_t m = 0; m < result.live[i]; ++m, ++decoded) {
        const int64_t beam = i * result.beams + m, ordinal = result.ordinals[beam];
        if (ordinal < 0 || ordered.at(static_cast<size_t>(ordinal)) != sid_of(result, beam)) ++invalid;
      }
    }
  }
  EXPECT_EQ(invalid, 0);
  EXPECT_GE(decoded, count);
}

constexpr int64_t kMillion = SIDBEAM_SANITIZED ? 50'000 : 1'000'000;

// A set of n SIDs has 2n slots or little more: with 40 SIDs seven bits of a key choose the slot, so that most of the
// 64 x 16 keys that are probed begin where a SID is. These keys are of mixed radix: no two SIDs have the same.
TEST(RunnerDraft, NoInvalidSidWhereSlotsCollide) {
  std::mt19937_64 random(11);
  const oracle::DraftModel model = random_head({{16, 16, 16}, 8, 8}, random);
  for (const size_t sids : {size_t{40}, size_t{1500}})
    decode_many(model, random_sids(model.codes, sids, random), SIDBEAM_DRAFT_VERIFY_HASH, kMillion / 20, random);
  decode_many(model, random_sids(model.codes, 700, random), SIDBEAM_DRAFT_VERIFY_TRIE, kMillion / 20, random);
}

// With 10 bits of a hash most keys that are probed are the key of some SID, with 6 and 3 all of them.
TEST(RunnerDraft, NoInvalidSidAmongAMillionWithAHashOfFewBits) {
  std::mt19937_64 random(12);
  const oracle::DraftModel model = deep_head(random);
  decode_many(model, deep_sids(1500, random), SIDBEAM_DRAFT_VERIFY_HASH, kMillion * 9 / 10, random, 10);
  decode_many(model, deep_sids(200, random), SIDBEAM_DRAFT_VERIFY_HASH, kMillion * 9 / 100, random, 6);
  decode_many(model, deep_sids(30, random), SIDBEAM_DRAFT_VERIFY_HASH, kMillion / 100, random, 3);
}

// All 256 prefixes of 15 codes live, and all last codes of each are looked up, one by one since they are fewer than 64.
TEST(RunnerDraft, HashedKeysFindWhatTheTrieFinds) {
  std::mt19937_64 random(21);
  const oracle::DraftModel model = deep_head(random);
  const std::set<Sid> sids = deep_sids(250, random);
  const handles::Runtime runtime = make_runtime();
  const DraftHeadHandle head = make_head(model);
  const handles::Index index = make_index(runtime.get(), model.codes, sids);
  ASSERT_TRUE(cut::hash_of(index.get()).hashed);
  sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
  config.requests = 4;
  config.beams = 256;
  config.top_k = 16;
  config.head = head.get();
  config.index = index.get();
  const Hidden hidden(config.requests, model, random);
  const auto found_by = [&](int32_t verification, std::vector<int32_t>& live) {
    config.verification = verification;
    const DraftDecoderHandle decoder = make_decoder(runtime.get(), config);
    const sidbeam_draft_result result = run_decoder(decoder, hidden.rows);
    live.assign(result.live, result.live + result.requests);
    return bits_of(result);
  };
  std::vector<int32_t> live;
  const std::string by_trie = found_by(SIDBEAM_DRAFT_VERIFY_TRIE, live);
  EXPECT_EQ(live, std::vector<int32_t>(4, 250));
  EXPECT_TRUE(found_by(SIDBEAM_DRAFT_VERIFY_HASH, live) == by_trie);
  cut::hash_of(index.get()).key_mask = 0;  // no key of the set: it is by their keys that SIDs are found
  found_by(SIDBEAM_DRAFT_VERIFY_HASH, live);
  EXPECT_EQ(live, std::vector<int32_t>(4, 0));
  cut::cut_hash(index.get(), 4);
  EXPECT_TRUE(found_by(SIDBEAM_DRAFT_VERIFY_HASH, live) == by_trie);
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

// As a file of them is, whoever wrote it; a bias of -inf is a code that is never found.
TEST(RunnerDraft, WeightsThatAreNotFiniteAreRefused) {
  std::mt19937_64 random(52);
  const HeadShape shape{{8, 8}, 12, 12, SIDBEAM_DRAFT_INPUT_BOTH, SIDBEAM_DRAFT_TRANSITION_RNN};
  const oracle::DraftModel sound = random_head(shape, random);
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const heads::TemporaryFile file;
  const auto write = [&](const oracle::DraftModel& model, sidbeam_error* err) {
    const heads::DraftFile made(model, SIDBEAM_DTYPE_F32);
    return sidbeam_draft_head_write(file.path(), &made.weights, err);
  };
  const auto refused = [&](const char* phrase, const auto& change) {
    oracle::DraftModel model = sound;
    change(model.layers[0]);
    sidbeam_error err = SIDBEAM_ERROR_INIT;
    EXPECT_EQ(write(model, &err), SIDBEAM_INVALID_ARGUMENT);
    EXPECT_NE(std::string(err.message).find(phrase), std::string::npos) << err.message;
  };
  for (const double value : {infinity, -infinity, nan}) {
    refused("weights.head_weights at level 0 is not finite at [0, 5]", [&](auto& layer) { layer.head[5] = value; });
    refused("weights.embeddings at level 0 is not finite at [1, 0]", [&](auto& layer) { layer.embedding[12] = value; });
  }
  for (const double value : {infinity, nan})
    refused("weights.head_biases at level 0 is not finite at [0, 3]", [&](auto& layer) {
      layer.head_bias[1] = -infinity;
      layer.head_bias[3] = value;
    });

  ASSERT_EQ(write(sound, nullptr), SIDBEAM_OK);
  std::ifstream stream(file.path(), std::ios::binary);
  std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(stream)), {});
  DraftHeader header = decode_draft_header(bytes);
  WeightSection& section = header.sections.front();
  const auto broken = static_cast<float>(nan);
  std::memcpy(bytes.data() + section.offset + (24 + 2) * sizeof broken, &broken, sizeof broken);
  section.checksum = weight_checksum(bytes.data() + section.offset, section.length);
  const std::vector<uint8_t> head = encode_draft_header(header);
  std::copy(head.begin(), head.end(), bytes.begin());
  try {
    (void)make_draft_head(bytes, default_allocator());
    ADD_FAILURE() << "opened";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status, SIDBEAM_CORRUPT);
    EXPECT_STREQ(failure.message, "head_weight of level 0 is nan at [1, 2], expected finite numbers");
  }
}

// With every code's embedding except one the logits overflow: some beams of each request go on, and still it is in
// error.
TEST(RunnerDraft, ARequestWithBadBeamsHasNone) {
  std::mt19937_64 random(51);
  const HeadShape shape{{8, 8}, 12, 12, SIDBEAM_DRAFT_INPUT_BOTH, SIDBEAM_DRAFT_TRANSITION_ADD};
  oracle::DraftModel model = random_head(shape, random);
  oracle::Vector& embedding = model.layers[0].embedding;
  std::fill(embedding.begin() + 12, embedding.end(), 3.4e38);
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
