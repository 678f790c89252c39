// The runner multiplies the children's rows of the output layer alone where beams have few: the bits are those of whole
// products, whatever is chosen. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>

#include "models.h"
#include "runner/math/element_cost.h"
#include "runner/math/elements.h"
#include "runner/math/product.h"
#include "runner/schedule/children.h"
#include "runner_fakes.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

using fakes::Codes, fakes::Found, fakes::Randomly, fakes::World;

constexpr std::array<CpuTarget, 3> kTargets = {CpuTarget::kBaseline, CpuTarget::kAvx2, CpuTarget::kAvx512};

class SeveralThreads final : public Executor {
 public:
  int32_t width() const override { return 3; }
  void run(int32_t count, void (*task)(void* data, int32_t i), void* data) override {
    while (count > 0) task(data, --count);
  }
};

// Of any type, at any address, of one block of inputs or several.
TEST(RunnerChildren, ElementsHaveTheBitsOfProducts) {
  Randomly random{std::mt19937_64(5)};
  SeveralThreads threads;
  for (const CpuTarget target : kTargets) {
    if (target > best_cpu_target()) continue;
    for (const Dtype dtype : {Dtype::kF32, Dtype::kF16, Dtype::kBf16}) {
      for (const int64_t inputs : {1, 3, 16, 255, 256, 257, 700}) {
        const int64_t outputs = 41, rows = 9, bytes = dtype == Dtype::kF32 ? 4 : 2;
        std::vector<std::byte> stored(static_cast<size_t>(outputs * inputs * bytes + 2));
        std::byte* const data = stored.data() + (inputs % 2 == 0 ? 0 : 2);  // not aligned to a float
        for (int64_t i = 0; i < outputs * inputs; ++i) {
          const auto bits = std::bit_cast<uint32_t>(random.number());
          const auto half = static_cast<uint16_t>(dtype == Dtype::kBf16 ? bits >> 16 : 0x2000 + bits % 0x1C00);
          std::memcpy(data + i * bytes, dtype == Dtype::kF32 ? static_cast<const void*>(&bits) : &half,
                      static_cast<size_t>(bytes));
        }
        const Tensor weights{data, dtype, outputs, inputs};
        std::vector<float> x(static_cast<size_t>(rows * inputs));
        for (float& element : x) element = random.number();
        std::vector<int32_t> tokens(static_cast<size_t>(outputs));
        for (int32_t& token : tokens) token = random.below(static_cast<int32_t>(outputs));
        const Matrix packed = pack_matrix(default_allocator(), weights, dtype, tokens);
        const Workers workers = workers_of(target, random.one_in(2) ? &threads : nullptr);
        std::vector<float> whole(static_cast<size_t>(rows * outputs)), some(whole.size(), -7.0F);
        const ConstRows inputs_of(x.data(), rows, inputs);
        multiply(workers, inputs_of, packed, Rows(whole.data(), rows, outputs));
        std::vector<int32_t> of_rows, of_columns;
        for (int32_t row = 0; row < rows; ++row)
          for (int32_t column = 0; column < outputs; ++column)
            if (random.one_in(3)) of_rows.push_back(row), of_columns.push_back(column);
        multiply_elements(workers, {inputs_of, weights, tokens.data(), Rows(some.data(), rows, outputs), of_rows.data(),
                                    of_columns.data(), static_cast<int64_t>(of_rows.size())});
        size_t next = 0;
        for (int32_t row = 0; row < rows; ++row) {
          for (int32_t column = 0; column < outputs; ++column) {
            const auto at = static_cast<size_t>(row * outputs + column);
            const bool named = next < of_rows.size() && of_rows[next] == row && of_columns[next] == column;
            if (named) ++next;
            ASSERT_EQ(std::bit_cast<uint32_t>(some[at]), std::bit_cast<uint32_t>(named ? whole[at] : -7.0F))
                << "inputs " << inputs << " row " << row << " column " << column;
          }
        }
      }
    }
  }
}

// Also of one column, which may have no token, and of one row.
TEST(RunnerChildren, CostsOfElementsAreMeasured) {
  const std::vector<float> numbers(size_t{50} * 40, 0.5F);
  const Tensor weights{numbers.data(), Dtype::kF32, 50, 40};
  const Codes all = {3, -1, 49, 0, 7, 7, 12}, none = {-1};
  for (const CpuTarget target : kTargets) {
    if (target > best_cpu_target()) continue;
    for (const auto& [tokens, rows] : {std::pair{&all, 100}, {&all, 1}, {&none, 1}}) {
      const int32_t cost = measure_element_cost(target, weights, *tokens, rows);
      EXPECT_GE(cost, 2);
      EXPECT_LE(cost, 64);
    }
  }
}

struct RunnerDeleter {
  void operator()(sidbeam_runner* runner) const { sidbeam_runner_destroy(runner); }
};
using RunnerHandle = std::unique_ptr<sidbeam_runner, RunnerDeleter>;

Found ask(sidbeam_runner* runner, const History& history, int32_t beams, sidbeam_constraint* constraint) {
  Found found;
  sidbeam_request request = SIDBEAM_REQUEST_INIT;
  request.tokens = history.tokens.data();
  request.positions = static_cast<int64_t>(history.tokens.size());
  request.beams = beams;
  request.constraint = constraint;
  request.context = &found;
  request.done = [](void* context, const sidbeam_result* result) {
    *static_cast<Found*>(context) = fakes::copy(*result, result->levels);
  };
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  fakes::check(sidbeam_runner_run(runner, &request, &error), error);
  return found;
}

// Random catalogues, also of variable length and with codes that have no token, under all settings.
TEST(RunnerChildren, EveryPathHasTheSameBits) {
  std::vector<Ref<Model>> models;
  for (const char* name : kModels) models.push_back(open_small(name));
  for (uint64_t seed = 1; seed <= (SIDBEAM_SANITIZED ? 100 : 600) && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Randomly random{std::mt19937_64(seed)};
    World world;
    for (int32_t levels = 1 + random.below(4); levels > 0; --levels) world.codes.push_back(1 + random.below(11));
    world.variable = random.one_in(3);
    world.constraint =
        fakes::make_constraint(world.runtime.get(), world.codes, 1 + random.below(60), random.engine(), world.variable);
    world.normalization = SIDBEAM_NORMALIZE_VALID;
    world.finish();
    const handles::Constraint other =
        fakes::make_constraint(world.runtime.get(), world.codes, 1 + random.below(60), random.engine(), world.variable);
    std::vector<Codes> tokens;
    std::vector<const int32_t*> maps;
    std::vector<int64_t> counts;
    for (const int32_t codes : world.codes) {
      Codes& map = tokens.emplace_back();
      for (int32_t code = 0; code < codes; ++code)
        map.push_back(random.one_in(12) ? -1 : random.below(kVocabulary - 1));
      counts.push_back(codes);
    }
    for (const Codes& map : tokens) maps.push_back(map.data());
    sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
    vocabulary.levels = world.levels();
    vocabulary.maps = maps.data(), vocabulary.map_codes = counts.data();
    vocabulary.end_column = kVocabulary - 1;
    sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
    const int32_t begin = 7;
    config.model = reinterpret_cast<sidbeam_model*>(models[static_cast<size_t>(random.below(6))].get());
    config.constraint = world.constraint.get();
    config.vocabulary = &vocabulary;
    config.begin_tokens = &begin, config.begin_count = 1;
    config.beams = 1 + random.below(10);
    config.normalization = SIDBEAM_NORMALIZE_VALID;
    config.max_prompt = 16;
    config.soft_cap = random.one_in(2) ? 0.0F : 3.0F;
    std::vector<RunnerHandle> runners;
    for (const int32_t path : {SIDBEAM_HIDDEN_PRODUCT, SIDBEAM_HIDDEN_CHILDREN, SIDBEAM_HIDDEN_FASTEST}) {
      sidbeam_error error = SIDBEAM_ERROR_INIT;
      sidbeam_runner* runner = nullptr;
      config.output_path = path;
      fakes::check(sidbeam_runner_create(world.runtime.get(), &config, &runner, &error), error);
      runners.emplace_back(runner);
    }
    for (int i = 0; i < 3; ++i) {
      History history;
      for (int32_t n = 1 + random.below(12); n > 0; --n) history.tokens.push_back(random.below(kVocabulary));
      sidbeam_constraint* const constraint = random.one_in(3) ? other.get() : nullptr;
      const int32_t beams = random.below(config.beams + 1);
      const Found product = ask(runners[0].get(), history, beams, constraint);
      EXPECT_EQ(ask(runners[1].get(), history, beams, constraint), product);
      EXPECT_EQ(ask(runners[2].get(), history, beams, constraint), product);
    }
  }
}

// Counts what is asked of it; the elements that are not are NaN.
class CountingForward final : public Forward {
 public:
  CountingForward(std::unique_ptr<fakes::FakeForward> forward, int32_t cost, std::vector<int64_t>& elements)
      : forward_(std::move(forward)), cost_(cost), elements_(elements) {}
  void prefill(const Prompt* prompts, int32_t count) override { forward_->prefill(prompts, count); }
  void decode(const DecodeRows& beams) override { forward_->decode(beams); }
  float* logits(int32_t level) override {
    elements_.push_back(0);
    return forward_->logits(level);
  }
  float* some_logits(int32_t level, const LogitElements& elements) override {
    elements_.push_back(elements.count);
    const int64_t columns = forward_->columns(level);
    const float* const all = forward_->logits(level);
    some_.assign(static_cast<size_t>(forward_->rows() * columns), std::nanf(""));
    for (int64_t i = 0; i < elements.count; ++i) {
      const auto at = static_cast<size_t>(elements.rows[i] * columns + elements.columns[i]);
      some_[at] = all[at];
    }
    return some_.data();
  }
  bool has_elements() const override { return cost_ > 0; }
  int32_t element_cost() const override { return cost_; }
  int64_t columns(int32_t level) const override { return forward_->columns(level); }
  int64_t memory_bytes() const override { return forward_->memory_bytes(); }

 private:
  std::unique_ptr<fakes::FakeForward> forward_;
  int32_t cost_;
  std::vector<int64_t>& elements_;
  std::vector<float> some_;
};

struct Chosen {
  std::vector<int64_t> elements;  // per level; 0: a product
  Found found;
};

Chosen run_counting(const World& world, int32_t path, int32_t cost) {
  class Keep final : public Ended {
   public:
    Keep(Found& to, int32_t levels) : to_(to), levels_(levels) {}
    void ended(int32_t /*job*/, const Outcome& outcome) override { to_ = fakes::copy(outcome, levels_); }

   private:
    Found& to_;
    int32_t levels_;
  };
  Chosen chosen;
  LaneConfig config;
  config.runtime = world.runtime.get();
  config.constraint = world.constraint.get();
  config.output = world.output.get();
  config.beams = world.beams;
  config.strategy = world.strategy;
  config.normalization = world.normalization;
  config.output_path = path;
  const auto lane = make_lane(
      default_allocator(), config,
      std::make_unique<CountingForward>(std::make_unique<fakes::FakeForward>(world, 1), cost, chosen.elements));
  const Codes prompt = {1, 2};
  const std::atomic<bool> cancelled{false};
  Job job;
  job.prompt = {prompt.data(), 2, 1, nullptr};
  job.constraint = world.constraint.get();
  job.beams = world.beams;
  job.cancelled = &cancelled;
  Keep keep(chosen.found, world.levels());
  lane->run(&job, 1, keep);
  EXPECT_EQ(chosen.found, fakes::search_by_hand(world, world.constraint.get(), prompt, world.beams));
  return chosen;
}

// At the first level all codes follow, at the last ones one or two of ten.
TEST(RunnerChildren, AreChosenWhereTheyAreFew) {
  World world;
  world.codes = {10, 10, 10, 10};
  world.beams = 6;
  world.normalization = SIDBEAM_NORMALIZE_VALID;
  world.constraint = fakes::make_constraint(world.runtime.get(), world.codes, 300, 1);
  world.finish();
  const std::vector<int64_t> all = run_counting(world, SIDBEAM_HIDDEN_CHILDREN, 1000).elements;
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0], 10);
  for (const int64_t elements : all) EXPECT_GT(elements, 0);
  EXPECT_LT(all[3], 20);  // of 6 rows of 11
  EXPECT_EQ(run_counting(world, SIDBEAM_HIDDEN_PRODUCT, 3).elements, std::vector<int64_t>(4, 0));
  EXPECT_EQ(run_counting(world, SIDBEAM_HIDDEN_FASTEST, 1000).elements, std::vector<int64_t>(4, 0));
  EXPECT_EQ(run_counting(world, SIDBEAM_HIDDEN_FASTEST, 0).elements, std::vector<int64_t>(4, 0));
  const std::vector<int64_t> some = run_counting(world, SIDBEAM_HIDDEN_FASTEST, 3).elements;
  EXPECT_EQ(some[0], 0);
  EXPECT_EQ(some[3], all[3]);
  // What reads more multiplies all.
  world.normalization = SIDBEAM_NORMALIZE_LEVEL;
  world.finish();
  EXPECT_EQ(run_counting(world, SIDBEAM_HIDDEN_FASTEST, 3).elements, std::vector<int64_t>(4, 0));
}

}  // namespace
}  // namespace sidbeam::runner
