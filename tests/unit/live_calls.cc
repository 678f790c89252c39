// Versions of a live catalogue in stateless calls, and in one batch with plain indexes: each row as by itself.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "live_pairs.h"
#include "random_seed.h"

namespace sidbeam::testing {
namespace {

constexpr int kCases = 200;

template <class T>
bool same_bits(const T* a, const T* b, int64_t count) {
  return std::memcmp(a, b, static_cast<size_t>(count) * sizeof(T)) == 0;
}

// The constraints of a request on a version and on an index of its items.
struct BothConstraints {
  ConstraintOf version, plain;
  sidbeam_constraint* handles[2];
  BothConstraints(const Pairwise& both, const Request& request)
      : version(both.version.get(), request),
        plain(both.plain.get(), request),
        handles{version.constraint, plain.constraint} {}
};

sidbeam_vocabulary vocabulary_of(const IndexView& index) {
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = index.levels;
  vocabulary.end_column = int64_t{widest_level(index)} + 2;
  return vocabulary;
}

// A set of both, asked two rows at a time: one of the version, one of the plain index.
class BothSets {
 public:
  BothSets(sidbeam_runtime* runtime, const Pairwise& both, const BothConstraints& constraints, Random& random)
      : random_(random), levels_(both.plain->index.view.levels) {
    const sidbeam_vocabulary vocabulary = vocabulary_of(both.plain->index.view);
    columns_ = vocabulary.end_column + 1;
    sidbeam_constraint_set_config config = SIDBEAM_CONSTRAINT_SET_CONFIG_INIT;
    config.constraints = constraints.handles;
    config.constraint_count = 2;
    config.vocabulary = &vocabulary;
    expect_ok([&](sidbeam_error* error) { return sidbeam_constraint_set_create(runtime, &config, &set_, error); });
  }
  BothSets(const BothSets&) = delete;
  BothSets& operator=(const BothSets&) = delete;
  ~BothSets() { sidbeam_constraint_set_destroy(set_); }

  // From a prefix on, along codes that may follow.
  void walk(const std::vector<int32_t>& sid, int32_t length) {
    std::vector<int32_t> codes(static_cast<size_t>(2 * levels_));
    for (int row = 0; row < 2; ++row) std::copy_n(sid.begin(), length, codes.begin() + row * levels_);
    const int32_t lengths[2] = {length, length};
    expect_ok([&](sidbeam_error* error) {
      return sidbeam_constraint_set_prefixes(set_, kWhich, codes.data(), 0, lengths, 2, states_, nullptr, error);
    });
    do {
      ASSERT_EQ(states_[0] < 0, states_[1] < 0);
      compare_masks();
      compare_samples();
    } while (advance());
  }

 private:
  static constexpr int32_t kWhich[2] = {0, 1};

  void compare_masks() {
    const int64_t words = (columns_ + 31) / 32;
    std::vector<uint32_t> bits(static_cast<size_t>(2 * words));
    expect_ok([&](sidbeam_error* error) {
      return sidbeam_constraint_set_bitmask(set_, kWhich, states_, 2, words, bits.data(), nullptr, error);
    });
    ASSERT_TRUE(same_bits(bits.data(), bits.data() + words, words));
  }

  sidbeam_rows draw_rows() {
    logits_.resize(static_cast<size_t>(2 * columns_));
    for (int64_t c = 0; c < columns_; ++c)
      logits_[static_cast<size_t>(c)] = logits_[static_cast<size_t>(columns_ + c)] =
          static_cast<float>(random_() % 16) / 4.0F - 4.0F;
    return sidbeam_rows_dense(logits_.data(), SIDBEAM_DTYPE_F32, 0, 2, columns_);
  }

  void compare_samples() {
    const sidbeam_rows rows = draw_rows();
    const int64_t seeds[2] = {3, 3};
    const float top_ps[2] = {0.7F, 0.7F};
    int32_t codes[2];
    float log_probs[2], log_masses[2];
    sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
    sampling.seeds = sampling.requests = seeds;
    if (random_() % 2 == 0) sampling.top_ps = top_ps;
    sidbeam_sampled out = SIDBEAM_SAMPLED_INIT;
    out.codes = codes;
    out.log_probs = log_probs;
    out.log_masses = log_masses;
    expect_ok([&](sidbeam_error* error) {
      return sidbeam_constraint_set_sample(set_, kWhich, states_, &rows, SIDBEAM_NORMALIZE_FULL, nullptr, &sampling,
                                           &out, nullptr, error);
    });
    ASSERT_EQ(codes[0], codes[1]);
    ASSERT_TRUE(same_bits(log_probs, log_probs + 1, 1));
    ASSERT_TRUE(same_bits(log_masses, log_masses + 1, 1));
  }

  // The best codes are the same; goes on by one of them. False where none follows.
  bool advance() {
    const sidbeam_rows rows = draw_rows();
    const auto normalization = static_cast<int32_t>(random_() % 4);
    const auto k = static_cast<int32_t>(1 + random_() % 20);
    std::vector<int32_t> codes(static_cast<size_t>(2 * k));
    std::vector<float> log_probs(codes.size());
    std::vector<int64_t> next(codes.size());
    expect_ok([&](sidbeam_error* error) {
      return sidbeam_constraint_set_topk(set_, kWhich, states_, &rows, normalization, k, codes.data(), log_probs.data(),
                                         next.data(), nullptr, error);
    });
    EXPECT_TRUE(same_bits(codes.data(), codes.data() + k, k));
    EXPECT_TRUE(same_bits(log_probs.data(), log_probs.data() + k, k));
    const auto live = std::count_if(next.begin(), next.begin() + k, [](int64_t state) { return state >= 0; });
    if (live == 0) return false;
    const auto pick = static_cast<int32_t>(random_() % static_cast<uint64_t>(live));
    const int32_t picked[2] = {codes[static_cast<size_t>(pick)], codes[static_cast<size_t>(k + pick)]};
    int64_t advanced[2];
    expect_ok([&](sidbeam_error* error) {
      return sidbeam_constraint_set_advance(set_, kWhich, states_, 2, nullptr, picked, 2, advanced, nullptr, error);
    });
    for (int row = 0; row < 2; ++row) {
      EXPECT_EQ(advanced[row], next[static_cast<size_t>(row * k + pick)]);
      states_[row] = advanced[row];
    }
    return !::testing::Test::HasFailure();
  }

  Random& random_;
  int32_t levels_;
  int64_t columns_ = 0;
  sidbeam_constraint_set* set_ = nullptr;
  std::vector<float> logits_;
  int64_t states_[2] = {};
};

TEST(LiveCalls, StatelessOnesSeeAVersionAsAnIndexOfItsItems) {
  const auto seed = random_seed();
  SCOPED_TRACE(seed);
  Random random(seed);
  const Runtime runtime;
  for (int i = 0; i < kCases && !HasFailure(); ++i) {
    const Pairwise both = make_pair_of(runtime.handle, random);
    const BothConstraints constraints(both, random_request(both.live, random));
    BothSets sets(runtime.handle, both, constraints, random);
    for (int k = 0; k < 6; ++k) {
      const Pair& pair = both.live[random() % both.live.size()];
      sets.walk(pair.sid, static_cast<int32_t>(random() % (pair.sid.size() + 1)));
    }
  }
}

// Four slots with the same logits, two of each constraint.
class MixedBatch {
 public:
  MixedBatch(sidbeam_runtime* runtime, const Pairwise& both, const BothConstraints& constraints, const Request& request)
      : request_(request), beams_(request.beams), levels_(both.plain->index.view.levels) {
    const sidbeam_vocabulary vocabulary = vocabulary_of(both.plain->index.view);
    columns_ = vocabulary.end_column + 1;
    sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
    config.vocabulary = &vocabulary;
    config.slots = kSlots;
    config.beams = request.beams;
    config.constraint = constraints.handles[1];
    config.mode = request.mode;
    config.normalization = request.normalization;
    expect_ok([&](sidbeam_error* error) { return sidbeam_session_create(runtime, &config, &session_, error); });
    for (int slot = 0; slot < kSlots; ++slot) of_slots_[slot] = constraints.handles[slot == 0 || slot == 3 ? 0 : 1];
  }
  MixedBatch(const MixedBatch&) = delete;
  MixedBatch& operator=(const MixedBatch&) = delete;
  ~MixedBatch() { sidbeam_session_destroy(session_); }

  void run(const std::vector<int32_t>& prefix, Random& random) {
    start(prefix);
    sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
    expect_ok([&](sidbeam_error* error) { return sidbeam_session_get_beams(session_, &beams, error); });
    while (beams.active[0] > 0 && !::testing::Test::HasFatalFailure()) {
      draw(random);
      if (reads_children() && random() % 2 == 0) {
        if (!step_on_children()) return;
      } else {
        step(sidbeam_rows_dense(logits_.data(), SIDBEAM_DTYPE_F32, kSlots, beams_, columns_), nullptr);
      }
      for (int slot = 1; slot < kSlots; ++slot) {
        ASSERT_EQ(beams.live[slot], beams.live[0]);
        ASSERT_EQ(beams.active[slot], beams.active[0]);
        ASSERT_TRUE(same_bits(beams.codes, beams.codes + slot * beams_, beams_));
        ASSERT_TRUE(same_bits(beams.parents, beams.parents + slot * beams_, beams_));
        ASSERT_TRUE(same_bits(beams.scores, beams.scores + slot * beams_, beams_));
      }
    }
  }

 private:
  static constexpr int kSlots = 4;

  bool reads_children() const {
    return request_.mode == SIDBEAM_MODE_SEARCH &&
           (request_.gives_lse || request_.normalization >= SIDBEAM_NORMALIZE_VALID);
  }

  void start(const std::vector<int32_t>& prefix) {
    const int64_t seeds[kSlots] = {request_.seed, request_.seed, request_.seed, request_.seed};
    std::vector<int32_t> codes(static_cast<size_t>(kSlots * levels_));
    std::vector<int32_t> lengths(kSlots, static_cast<int32_t>(prefix.size()));
    for (int slot = 0; slot < kSlots; ++slot) std::copy(prefix.begin(), prefix.end(), codes.begin() + slot * levels_);
    sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
    sampling.seeds = sampling.requests = seeds;
    sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
    args.constraints = of_slots_;
    args.prefixes = codes.data();
    args.prefix_lengths = lengths.data();
    if (request_.mode != SIDBEAM_MODE_SEARCH) args.sampling = &sampling;
    expect_ok([&](sidbeam_error* error) { return sidbeam_session_start(session_, &args, error); });
  }

  // The same for every slot.
  void draw(Random& random) {
    const int64_t of_slot = beams_ * columns_;
    logits_.resize(static_cast<size_t>(kSlots * of_slot));
    lse_.resize(static_cast<size_t>(kSlots * beams_));
    std::generate_n(logits_.begin(), of_slot, [&] { return static_cast<float>(random() % 16) / 4.0F - 4.0F; });
    std::generate_n(lse_.begin(), beams_, [&] { return static_cast<float>(random() % 4); });
    for (int slot = 1; slot < kSlots; ++slot) {
      std::copy_n(logits_.begin(), of_slot, logits_.begin() + slot * of_slot);
      std::copy_n(lse_.begin(), beams_, lse_.begin() + slot * beams_);
    }
  }

  void step(sidbeam_rows rows, const int64_t* child_offsets) {
    sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
    args.rows = &rows;
    args.child_offsets = child_offsets;
    if (request_.gives_lse) args.lse = lse_.data();
    expect_ok([&](sidbeam_error* error) { return sidbeam_session_step(session_, &args, error); });
  }

  // With the elements of children alone; false, and nothing is done, where there are none.
  bool step_on_children() {
    std::vector<int64_t> offsets(static_cast<size_t>(kSlots * beams_ + 1));
    std::vector<int32_t> columns(static_cast<size_t>(kSlots * beams_ * columns_));
    expect_ok([&](sidbeam_error* error) {
      return sidbeam_session_children(session_, nullptr, 0, request_.gives_lse ? 1 : 0, std::ssize(columns),
                                      offsets.data(), columns.data(), nullptr, error);
    });
    std::vector<float> elements(static_cast<size_t>(offsets.back()));
    for (int64_t row = 0; row < kSlots * beams_; ++row)
      for (int64_t i = offsets[static_cast<size_t>(row)]; i < offsets[static_cast<size_t>(row + 1)]; ++i)
        elements[static_cast<size_t>(i)] =
            logits_[static_cast<size_t>(row * columns_ + columns[static_cast<size_t>(i)])];
    if (elements.empty()) return false;
    sidbeam_rows rows = sidbeam_rows_dense(elements.data(), SIDBEAM_DTYPE_F32, 0, 1, std::ssize(elements));
    step(rows, offsets.data());
    return true;
  }

  const Request& request_;
  int64_t beams_, columns_ = 0;
  int32_t levels_;
  sidbeam_session* session_ = nullptr;
  sidbeam_constraint* of_slots_[kSlots];
  std::vector<float> logits_, lse_;
};

TEST(LiveCalls, OneBatchMixesVersionsAndPlainIndexes) {
  const auto seed = random_seed();
  SCOPED_TRACE(seed);
  Random random(seed);
  const Runtime runtime;
  for (int i = 0; i < kCases && !HasFailure(); ++i) {
    const Pairwise both = make_pair_of(runtime.handle, random);
    for (int k = 0; k < 3; ++k) {
      const Request request = random_request(both.live, random);
      const BothConstraints constraints(both, request);
      std::vector<int32_t> prefix = both.live[random() % both.live.size()].sid;
      prefix.resize(random() % 2 == 0 ? 0 : random() % (prefix.size() + 1));
      MixedBatch(runtime.handle, both, constraints, request).run(prefix, random);
    }
  }
}

}  // namespace
}  // namespace sidbeam::testing
