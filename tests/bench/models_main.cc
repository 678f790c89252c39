// bench_models: a request's forward passes without the steps, beside the products with weights that are in them.
//
//   bench_models --list | --table models [--quick] [--json FILE]
//
// Three models with random weights, L = 4. Processor time of one thread; passes and products take turns. --quick: one
// run of small sizes. --json appends one measurement per line. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>

#include "context.h"
#include "program.h"
#include "random_model.h"
#include "runner/math/product.h"
#include "runner/models/cpu_model.h"

namespace bench {
namespace {

using namespace sidbeam::runner;
using sidbeam::default_allocator;
using sidbeam::Ref;

constexpr int32_t kLevels = 4, kCodes = 256;
constexpr ModelShape kShapes[] = {{"t5-128", true, 4, 128, 6, 64, 1024},
                                  {"llama-256", false, 4, 256, 4, 64, 1024},
                                  {"llama-1024", false, 12, 1024, 16, 64, 2816}};

Workers one_thread() {
  Workers workers;
  workers.target = sidbeam::best_cpu_target();
  return workers;
}

// A model's lane and a batch of equal requests.
class Bench {
 public:
  Bench(const CpuModel& model, int64_t prompt, int32_t requests, int32_t beams)
      : model_(model), prompt_(prompt), requests_(requests), beams_(beams) {
    const std::vector<int32_t> codes(kLevels, kCodes);
    OutputConfig columns;
    columns.levels = kLevels, columns.codes = codes.data();
    output_ = model.make_output(default_allocator(), columns);
    ForwardLimits limits;
    limits.requests = requests, limits.beams = beams, limits.levels = kLevels, limits.max_prompt = prompt;
    forward_ = model.make_forward(default_allocator(), *output_, limits, one_thread());
    std::mt19937 random(7);
    for (int64_t i = 0; i < prompt; ++i) tokens_.push_back(static_cast<int32_t>(random() % kCodes));
    const int64_t widest = std::max<int64_t>({model.config().ffn * 2, model.config().hidden * 4, columns_of()});
    x_.assign(static_cast<size_t>(most_rows() * widest), 0.01F), y_ = x_;
  }

  void passes() {
    const std::vector<Prompt> prompts(static_cast<size_t>(requests_), {tokens_.data(), prompt_, 1, nullptr});
    forward_->prefill(prompts.data(), requests_);
    forward_->logits(0);
    for (int32_t depth = 1; depth < kLevels; ++depth) {
      std::vector<int32_t> requests, tokens, slots, ancestors;
      for (int32_t row = 0; row < requests_ * beams_; ++row) {
        const int32_t beam = row % beams_;
        requests.push_back(row / beams_), tokens.push_back(row % kCodes);
        for (int32_t d = 1; d < depth; ++d) ancestors.push_back(unshared_slot(beams_, d, beam / 2));
        ancestors.push_back(unshared_slot(beams_, depth, beam));
        slots.push_back(ancestors.back());
      }
      forward_->decode({requests_ * beams_, depth, requests.data(), tokens.data(), slots.data(), ancestors.data()});
      forward_->logits(depth);
    }
  }

  // The products of passes() alone.
  void products() {
    const ModelWeights& weights = model_.weights();
    const int64_t prompts = requests_ * prompt_, beams = int64_t{requests_} * beams_;
    for (const LayerWeights& layer : weights.encoder.layers) {
      multiply_by(layer.self.key_value, prompts);
      rest_of(layer, prompts);
    }
    for (int32_t level = 0; level < kLevels; ++level) {
      for (const LayerWeights& layer : weights.decoder.layers) {
        const bool last = &layer == &weights.decoder.layers.back(), t5 = !weights.encoder.layers.empty();
        if (level == 0 && t5) multiply_by(layer.cross.key_value, prompts);
        multiply_by(layer.self.key_value, level > 0 ? beams : t5 ? requests_ : prompts);
        rest_of(layer, level > 0 ? beams : t5 || last ? requests_ : prompts);
      }
      multiply_by(static_cast<const CpuOutput&>(*output_).matrix(level), level > 0 ? beams : requests_);
    }
  }

 private:
  int64_t most_rows() const { return std::max(requests_ * prompt_, int64_t{requests_} * beams_); }
  int64_t columns_of() const { return model_.config().vocabulary; }
  void multiply_by(const Matrix& matrix, int64_t rows) {
    multiply(one_thread(), ConstRows(x_.data(), rows, matrix.inputs), matrix, Rows(y_.data(), rows, matrix.outputs));
  }
  void multiply_by(const Linear& linear, int64_t rows) { multiply_by(linear.matrix, rows); }
  void rest_of(const LayerWeights& layer, int64_t rows) {
    multiply_by(layer.self.query, rows), multiply_by(layer.self.output, rows);
    if (layer.cross.query.matrix.outputs > 0)
      multiply_by(layer.cross.query, rows), multiply_by(layer.cross.output, rows);
    multiply_by(layer.feed_forward.in, rows), multiply_by(layer.feed_forward.out, rows);
  }

  const CpuModel& model_;
  int64_t prompt_;
  int32_t requests_, beams_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<Forward> forward_;
  std::vector<int32_t> tokens_;
  std::vector<float> x_, y_;
};

void measure(const Case& where, Bench bench, double seconds, Measurements& all) {
  std::vector<double> passes, products;
  const double until = thread_microseconds() + 1e6 * seconds;
  do {
    for (auto* samples : {&passes, &products}) {
      const double begin = thread_microseconds();
      samples == &passes ? bench.passes() : bench.products();
      samples->push_back((thread_microseconds() - begin) / 1000);
    }
  } while (thread_microseconds() < until);
  const auto least = [](const std::vector<double>& samples) {
    return *std::min_element(samples.begin(), samples.end());
  };
  const double ratio = least(passes) / least(products);
  all.push_back({"models", where, "passes", "ms", summarise(passes), ""});
  all.push_back({"models", where, "products with weights", "ms", summarise(products), ""});
  all.push_back({"models", where, "passes / products, least of each", "", exactly(ratio), ""});
}

Measurements models_table(const TableOptions& options) {
  Measurements all;
  for (const ModelShape& shape : kShapes) {
    if (options.quick && shape.hidden > 256) continue;
    const RandomModel files(shape);
    const sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
    const Ref<Model> model = Ref<Model>::adopt(open_model(files.folder().c_str(), config));
    const auto& cpu = static_cast<const CpuModel&>(*model);
    const int64_t prompt = options.quick ? 8 : shape.t5 ? 60 : 200;
    for (const int32_t requests : {1, 8}) {
      for (const int32_t beams : {20, 50, 200}) {
        if (shape.hidden > 256 && (requests > 1 || beams != 50)) continue;
        if (options.quick && beams > 20) continue;
        const Case where = {
            {"model", std::string(shape.name)}, {"S", prompt}, {"requests", int64_t{requests}}, {"M", int64_t{beams}}};
        measure(where, Bench(cpu, prompt, requests, beams), options.quick ? 0 : 2, all);
      }
    }
  }
  return all;
}

constexpr TableOf<TableOptions> kTables[] = {
    {"models", "a request's forward passes beside the products in them", models_table},
};

int run(int argc, char** argv) {
  TableOptions options;
  options.parse(argc, argv);
  return run_tables<TableOptions>(kTables, options, options);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::run_program("bench_models", [&] { return bench::run(argc, argv); });
}
