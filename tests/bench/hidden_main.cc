// bench_hidden: a list level's step from hidden states beside product + step, and beside its floors.
//
//   bench_hidden [--list] [--table hidden] [--quick] [--columns V] [--width D] [--slots B] [--json FILE]
//
// B=8, M=512, f32 weights. SIDs of three codes below V: 2^17 prefixes of two codes, each with eight children; the last
// level is timed, where every beam has eight. Processor time of one thread, least of the runs; everything takes turns.
//   hidden        sidbeam_hidden_step
//   product+step  the runner's packed products with all V columns, then sidbeam_session_step; of one request, times B
//   rows          reading the distinct child rows once into sums, the faster of plainly and with the row eight later
//                 prefetched: their traffic
//   beams         reading the hidden state of each beam once, likewise
//   flops         the products of beam and child at the pace of the packed products
//   states        reading the hidden state of each product, column by column as the products do: no floor, but what
//                 they wait for
// The target is hidden <= 1.5 * max(rows, flops), the floor. It leaves out that hidden states must be read as well;
// hidden / inputs is to max(rows + beams, flops). --quick: small sizes, one run. --columns, --width and --slots:
// others than the table's. --json appends one measurement per line. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>

#include "../handles.h"
#include "context.h"
#include "program.h"
#include "runner/math/product.h"
#include "sidbeam/hidden.h"

namespace bench {
namespace {

using namespace sidbeam::runner;

constexpr int32_t kLevels = 3, kLast = 2, kChildren = 8;

void check(sidbeam_status status, const sidbeam_error& error) {
  if (status != SIDBEAM_OK) throw std::runtime_error(error.message);
}

struct Shape {
  int64_t columns, width;
  int32_t slots, beams, prefixes;
};

handles::Constraint make_constraint(sidbeam_runtime* runtime, const Shape& shape) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  const std::vector<int32_t> codes(kLevels, static_cast<int32_t>(shape.columns));
  config.levels = kLevels, config.codes = codes.data();
  sidbeam_builder* builder = nullptr;
  check(sidbeam_builder_create(runtime, &config, &builder, &error), error);
  const handles::Builder owned(builder);
  std::mt19937_64 random(5);
  const auto code = [&] { return static_cast<int32_t>(random() % static_cast<uint64_t>(shape.columns)); };
  std::vector<int32_t> sids;
  for (int32_t i = 0; i < shape.prefixes; ++i) {
    const int32_t first = code(), second = code();
    for (int32_t child = 0; child < kChildren; ++child) sids.insert(sids.end(), {first, second, code()});
  }
  const auto count = static_cast<int64_t>(sids.size()) / kLevels;
  check(sidbeam_builder_add(builder, sids.data(), nullptr, count, nullptr, nullptr, &error), error);
  sidbeam_index* index = nullptr;
  check(sidbeam_builder_finish(builder, &index, &error), error);
  const handles::Index held(index);
  sidbeam_constraint_config of = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  of.index = index;
  sidbeam_constraint* constraint = nullptr;
  check(sidbeam_constraint_create(&of, &constraint, &error), error);
  return handles::Constraint(constraint);
}

// Aligned to cache lines, as tensors are. (Where every vector lies across two lines, everything takes longer, the
// floors too.)
sidbeam::Buffer<float> random_floats(int64_t count, float scale) {
  sidbeam::Buffer<float> values(sidbeam::default_allocator(), count);
  uint32_t state = 12345;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = (static_cast<float>(state >> 8) * 0x1p-24F - 0.5F) * scale;
  }
  return values;
}

class Bench {
 public:
  Bench(sidbeam_runtime* runtime, const Shape& shape)
      : shape_(shape),
        constraint_(make_constraint(runtime, shape)),
        weights_(random_floats(shape.columns * shape.width, 0.1F)),
        hidden_(random_floats(rows() * shape.width, 4.0F)),
        logits_(static_cast<size_t>(shape.beams * shape.columns)) {
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
    config.slots = shape.slots, config.beams = shape.beams, config.normalization = SIDBEAM_NORMALIZE_VALID;
    config.constraint = constraint_.get();
    sidbeam_session* session = nullptr;
    check(sidbeam_session_create(runtime, &config, &session, &error), error);
    session_.reset(session);
    sidbeam_output_layer_config layer = SIDBEAM_OUTPUT_LAYER_CONFIG_INIT;
    layer.weights = weights_.data(), layer.columns = shape.columns, layer.width = shape.width;
    sidbeam_output_layer* made_layer = nullptr;
    check(sidbeam_output_layer_create(&layer, &made_layer, &error), error);
    layer_.reset(made_layer);
    sidbeam_hidden_config how = SIDBEAM_HIDDEN_CONFIG_INIT;
    how.session = session, how.layer = made_layer;
    sidbeam_hidden* made = nullptr;
    check(sidbeam_hidden_create(&how, &made, &error), error);
    step_.reset(made);
    packed_ = pack_matrix(sidbeam::default_allocator(),
                          Tensor{weights_.data(), Dtype::kF32, shape.columns, shape.width}, Dtype::kF32);
    to_last_level();
    list_children();
  }

  int64_t rows() const { return int64_t{shape_.slots} * shape_.beams; }
  int64_t pairs() const { return pairs_; }
  int64_t distinct() const { return static_cast<int64_t>(distinct_.size()); }
  int64_t row_bytes() const { return shape_.width * 4; }
  sidbeam_hidden_stats stats() const {
    sidbeam_hidden_stats stats = SIDBEAM_HIDDEN_STATS_INIT;
    check(sidbeam_hidden_get_stats(step_.get(), &stats, nullptr), sidbeam_error());
    return stats;
  }

  // Not timed: starts again, up to the last level.
  void to_last_level() {
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
    check(sidbeam_session_start(session_.get(), &start, &error), error);
    for (int32_t level = 0; level < kLast; ++level) hidden_step();
  }
  void hidden_step() {
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    const sidbeam_rows rows =
        sidbeam_rows_dense(hidden_.data(), SIDBEAM_DTYPE_F32, shape_.slots, shape_.beams, shape_.width);
    sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
    args.hidden = &rows;
    check(sidbeam_hidden_step(step_.get(), &args, &error), error);
  }
  void product() {
    Workers workers;
    workers.target = sidbeam::best_cpu_target();
    multiply(workers, ConstRows(hidden_.data(), shape_.beams, shape_.width), packed_,
             Rows(logits_.data(), shape_.beams, shape_.columns));
  }
  void step() {
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    const int32_t slot = 0;
    const sidbeam_rows rows = sidbeam_rows_dense(logits_.data(), SIDBEAM_DTYPE_F32, 1, shape_.beams, shape_.columns);
    sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
    args.slots = &slot, args.count = 1, args.rows = &rows;
    check(sidbeam_session_step(session_.get(), &args, &error), error);
  }
  template <bool ahead>
  float read_rows() const {
    return sum_of<ahead>(distinct_, weights_);
  }
  template <bool ahead>
  float read_beams() const {
    return sum_of<ahead>(beams_, hidden_);
  }
  template <bool ahead>
  float read_states() const {
    return sum_of<ahead>(states_, hidden_);
  }

 private:
  // All numbers of the listed rows. (Every sum is returned: of those that were not, the compiler left out the loads.)
  template <bool ahead>
  float sum_of(const std::vector<int32_t>& listed, const sidbeam::Buffer<float>& numbers) const {
    constexpr size_t kAhead = 8;
    float sums[64] = {};
    for (size_t at = 0; at < listed.size(); ++at) {
      const float* row = numbers.data() + listed[at] * shape_.width;
      const float* later = numbers.data() + listed[std::min(at + kAhead, listed.size() - 1)] * shape_.width;
      for (int64_t i = 0; i + 64 <= shape_.width; i += 64) {
        for (int64_t j = 0; ahead && j < 64; j += 16) __builtin_prefetch(later + i + j, 0, 2);
        for (int64_t j = 0; j < 64; ++j) sums[j] += row[i + j];
      }
    }
    return std::accumulate(sums, sums + 64, 0.0F);
  }
  void list_children() {
    std::vector<int64_t> offsets(static_cast<size_t>(rows() + 1));
    std::vector<int32_t> columns(static_cast<size_t>(rows() * 1024));
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    check(sidbeam_session_children(session_.get(), nullptr, 0, 0, static_cast<int64_t>(columns.size()), offsets.data(),
                                   columns.data(), nullptr, &error),
          error);
    pairs_ = offsets.back();
    columns.resize(static_cast<size_t>(pairs_));
    std::vector<std::pair<int32_t, int32_t>> products;
    for (int64_t row = 0; row < rows(); ++row)
      for (int64_t p = offsets[static_cast<size_t>(row)]; p < offsets[static_cast<size_t>(row + 1)]; ++p)
        products.emplace_back(columns[static_cast<size_t>(p)], static_cast<int32_t>(row));
    std::sort(products.begin(), products.end());
    for (const auto& product : products) states_.push_back(product.second);
    beams_.resize(static_cast<size_t>(rows()));
    std::iota(beams_.begin(), beams_.end(), 0);
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    distinct_ = columns;
  }

  Shape shape_;
  handles::Constraint constraint_;
  sidbeam::Buffer<float> weights_, hidden_;
  std::vector<float> logits_;
  handles::Session session_;
  std::unique_ptr<sidbeam_output_layer, handles::Releaser<sidbeam_output_layer_destroy>> layer_;
  std::unique_ptr<sidbeam_hidden, handles::Releaser<sidbeam_hidden_destroy>> step_;
  Matrix packed_;
  std::vector<int32_t> distinct_;  // children of any beam, rising
  std::vector<int32_t> states_;    // the beam of each product, column by column
  std::vector<int32_t> beams_;     // 0, 1, ..
  int64_t pairs_ = 0;
};

template <class Work>
void time(const Work& work, double& least) {
  const double begin = thread_microseconds();
  work();
  least = std::min(least, thread_microseconds() - begin);
}

struct Times {
  double hidden = std::numeric_limits<double>::infinity(), product = hidden, step = hidden, rows = hidden,
         beams = hidden, states = hidden;
  int64_t bytes = 0;  // of weights that the hidden step read
};

Times measure(Bench& bench, int runs) {
  Times times;
  volatile float sink = 0.0F;
  for (int run = 0; run < runs; ++run) {
    bench.to_last_level();
    const int64_t before = bench.stats().weight_bytes;
    time([&] { bench.hidden_step(); }, times.hidden);
    times.bytes = bench.stats().weight_bytes - before;
    bench.to_last_level();
    if (run % 4 == 0) time([&] { bench.product(); }, times.product);
    time([&] { bench.step(); }, times.step);
    time([&] { sink = sink + bench.read_rows<false>(); }, times.rows);
    time([&] { sink = sink + bench.read_rows<true>(); }, times.rows);
    time([&] { sink = sink + bench.read_beams<false>(); }, times.beams);
    time([&] { sink = sink + bench.read_beams<true>(); }, times.beams);
    time([&] { sink = sink + bench.read_states<false>(); }, times.states);
    time([&] { sink = sink + bench.read_states<true>(); }, times.states);
  }
  return times;
}

void report(const Shape& shape, const Bench& bench, const Times& times, Measurements& all) {
  const auto products = static_cast<double>(bench.pairs()), slots = static_cast<double>(shape.slots);
  const double whole = slots * (times.product + times.step);
  const double flops = times.product * products / static_cast<double>(int64_t{shape.beams} * shape.columns);
  const double floor = std::max(times.rows, flops);
  const double read = static_cast<double>(times.bytes) / static_cast<double>(bench.distinct() * bench.row_bytes());
  const Case where = {
      {"V", shape.columns}, {"D", shape.width}, {"B", int64_t{shape.slots}}, {"M", int64_t{shape.beams}}};
  const std::pair<const char*, double> figures[] = {{"hidden", times.hidden}, {"product+step", whole},
                                                    {"rows", times.rows},     {"beams", times.beams},
                                                    {"flops", flops},         {"states", times.states}};
  for (const auto& [name, value] : figures) all.push_back({"hidden", where, name, "us", exactly(value), ""});
  const std::pair<const char*, double> ratios[] = {
      {"hidden / floor", times.hidden / floor},
      {"hidden / inputs", times.hidden / std::max(times.rows + times.beams, flops)},
      {"product+step / hidden", whole / times.hidden},
      {"bytes / distinct", read}};
  for (const auto& [name, value] : ratios) all.push_back({"hidden", where, name, "", exactly(value), ""});
  all.push_back({"hidden", where, "break-even", "", exactly(bench.stats().break_even), "a product alone / in a tile"});
  all.push_back({"hidden", where, "products", "", exactly(products), "of beam and child"});
  all.push_back({"hidden", where, "distinct children", "", exactly(static_cast<double>(bench.distinct())), ""});
}

struct HiddenOptions : TableOptions {
  int columns = 0, width = 0, slots = 0;  // 0: those of the table

  std::vector<int64_t> all_columns() const {
    if (columns > 0) return {columns};
    return quick ? std::vector<int64_t>{128} : std::vector<int64_t>{2048, 8192, 32768};
  }
  std::vector<int64_t> all_widths() const {
    if (width > 0) return {width};
    return quick ? std::vector<int64_t>{64} : std::vector<int64_t>{256, 512, 1024, 4096};
  }
};

Measurements hidden_table(const HiddenOptions& options) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  config.threads = 1;
  sidbeam_runtime* made = nullptr;
  check(sidbeam_runtime_create(&config, &made, &error), error);
  const handles::Runtime runtime(made);
  Measurements all;
  for (const int64_t v : options.all_columns()) {
    for (const int64_t d : options.all_widths()) {
      const Shape shape =
          options.quick ? Shape{v, d, 2, 16, 256} : Shape{v, d, options.slots > 0 ? options.slots : 8, 512, 1 << 17};
      Bench bench(runtime.get(), shape);
      report(shape, bench, measure(bench, options.quick ? 1 : v * d > 1 << 24 ? 3 : 9), all);
    }
  }
  return all;
}

constexpr TableOf<HiddenOptions> kTables[] = {
    {"hidden", "a list level's step from hidden states, beside product and step and its floors", hidden_table},
};

int run(int argc, char** argv) {
  HiddenOptions options;
  options.parse(argc, argv,
                std::vector<Option>{
                    {"--columns V", &options.columns}, {"--width D", &options.width}, {"--slots B", &options.slots}});
  return run_tables<HiddenOptions>(kTables, options, options);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::run_program("bench_hidden", [&] { return bench::run(argc, argv); });
}
