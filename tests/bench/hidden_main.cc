// bench_hidden: a list level's step from hidden states beside product + step, and beside its floors.
//
//   bench_hidden [--list] [--table NAME,..] [--quick] [--columns V] [--width D] [--slots B] [--beams M] [--json FILE]
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
// hidden / inputs is to max(rows + beams, flops). --quick: small sizes, one run. --columns, --width, --slots and
// --beams: others than the table's. --json appends one measurement per line. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>

#include "hidden_case.h"
#include "runner/math/product.h"

namespace bench {
namespace {

using namespace sidbeam::runner;

constexpr int32_t kChildren = 8;

// A case and what it is compared with.
class Bench {
 public:
  Bench(sidbeam_runtime* runtime, const HiddenShape& shape)
      : step_(runtime, shape), logits_(static_cast<size_t>(shape.beams * shape.columns)) {
    packed_ = pack_matrix(sidbeam::default_allocator(),
                          Tensor{step_.weights().data(), Dtype::kF32, shape.columns, shape.width}, Dtype::kF32);
    step_.to_last_level();
    list_children();
  }

  HiddenCase& hidden() { return step_; }
  int64_t pairs() const { return static_cast<int64_t>(states_.size()); }
  int64_t distinct() const { return static_cast<int64_t>(distinct_.size()); }
  int64_t row_bytes() const { return shape().width * 4; }

  void product() {
    Workers workers;
    workers.target = sidbeam::best_cpu_target();
    multiply(workers, ConstRows(step_.hidden().data(), shape().beams, shape().width), packed_,
             Rows(logits_.data(), shape().beams, shape().columns));
  }
  void step() {
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    const int32_t slot = 0;
    const sidbeam_rows rows = sidbeam_rows_dense(logits_.data(), SIDBEAM_DTYPE_F32, 1, shape().beams, shape().columns);
    sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
    args.slots = &slot, args.count = 1, args.rows = &rows;
    check(sidbeam_session_step(step_.session(), &args, &error), error);
  }
  template <bool ahead>
  float read_rows() const {
    return sum_of<ahead>(distinct_, step_.weights());
  }
  template <bool ahead>
  float read_beams() const {
    return sum_of<ahead>(beams_, step_.hidden());
  }
  template <bool ahead>
  float read_states() const {
    return sum_of<ahead>(states_, step_.hidden());
  }

 private:
  const HiddenShape& shape() const { return step_.shape(); }

  // All numbers of the listed rows. (Every sum is returned: of those that were not, the compiler left out the loads.)
  template <bool ahead>
  float sum_of(const std::vector<int32_t>& listed, const sidbeam::Buffer<float>& numbers) const {
    constexpr size_t kAhead = 8;
    float sums[64] = {};
    for (size_t at = 0; at < listed.size(); ++at) {
      const float* row = numbers.data() + listed[at] * shape().width;
      const float* later = numbers.data() + listed[std::min(at + kAhead, listed.size() - 1)] * shape().width;
      for (int64_t i = 0; i + 64 <= shape().width; i += 64) {
        for (int64_t j = 0; ahead && j < 64; j += 16) __builtin_prefetch(later + i + j, 0, 2);
        for (int64_t j = 0; j < 64; ++j) sums[j] += row[i + j];
      }
    }
    return std::accumulate(sums, sums + 64, 0.0F);
  }
  void list_children() {
    HiddenCase::Children children = step_.children();
    std::vector<std::pair<int32_t, int32_t>> products;
    for (int64_t row = 0; row < step_.rows(); ++row)
      for (int64_t p = children.offsets[static_cast<size_t>(row)]; p < children.offsets[static_cast<size_t>(row + 1)];
           ++p)
        products.emplace_back(children.columns[static_cast<size_t>(p)], static_cast<int32_t>(row));
    std::sort(products.begin(), products.end());
    for (const auto& product : products) states_.push_back(product.second);
    beams_.resize(static_cast<size_t>(step_.rows()));
    std::iota(beams_.begin(), beams_.end(), 0);
    distinct_ = std::move(children.columns);
    std::sort(distinct_.begin(), distinct_.end());
    distinct_.erase(std::unique(distinct_.begin(), distinct_.end()), distinct_.end());
  }

  HiddenCase step_;
  std::vector<float> logits_;
  Matrix packed_;
  std::vector<int32_t> distinct_;  // children of any beam, rising
  std::vector<int32_t> states_;    // the beam of each product, column by column
  std::vector<int32_t> beams_;     // 0, 1, ..
};

struct Times {
  double hidden = std::numeric_limits<double>::infinity(), product = hidden, step = hidden, rows = hidden,
         beams = hidden, states = hidden;
  int64_t bytes = 0;  // of weights that the hidden step read
};

void measure(Bench& bench, int runs, Times& times) {
  volatile float sink = 0.0F;
  for (int run = 0; run < runs; ++run) {
    bench.hidden().to_last_level();
    const int64_t before = bench.hidden().stats().weight_bytes;
    keep_least([&] { bench.hidden().step(); }, times.hidden);
    times.bytes = bench.hidden().stats().weight_bytes - before;
    bench.hidden().to_last_level();
    if (run % 4 == 0) keep_least([&] { bench.product(); }, times.product);
    keep_least([&] { bench.step(); }, times.step);
    keep_least([&] { sink = sink + bench.read_rows<false>(); }, times.rows);
    keep_least([&] { sink = sink + bench.read_rows<true>(); }, times.rows);
    keep_least([&] { sink = sink + bench.read_beams<false>(); }, times.beams);
    keep_least([&] { sink = sink + bench.read_beams<true>(); }, times.beams);
    keep_least([&] { sink = sink + bench.read_states<false>(); }, times.states);
    keep_least([&] { sink = sink + bench.read_states<true>(); }, times.states);
  }
}

void report(Bench& bench, const Times& times, Measurements& all) {
  const HiddenShape& shape = bench.hidden().shape();
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
  all.push_back(
      {"hidden", where, "break-even", "", exactly(bench.hidden().stats().break_even), "a product alone / in a tile"});
  all.push_back({"hidden", where, "products", "", exactly(products), "of beam and child"});
  all.push_back({"hidden", where, "distinct children", "", exactly(static_cast<double>(bench.distinct())), ""});
}

std::vector<int64_t> all_columns(const HiddenOptions& options) {
  if (options.columns > 0) return {options.columns};
  return options.quick ? std::vector<int64_t>{128} : std::vector<int64_t>{2048, 8192, 32768};
}

std::vector<int64_t> all_widths(const HiddenOptions& options) {
  if (options.width > 0) return {options.width};
  return options.quick ? std::vector<int64_t>{64} : std::vector<int64_t>{256, 512, 1024, 4096};
}

Measurements hidden_table(const HiddenOptions& options) {
  const handles::Runtime runtime = make_hidden_runtime();
  Measurements all;
  for (const int64_t v : all_columns(options)) {
    for (const int64_t d : all_widths(options)) {
      const int32_t slots = options.slots > 0 ? options.slots : 8, beams = options.beams > 0 ? options.beams : 512;
      const HiddenShape shape = options.quick ? HiddenShape{v, d, 2, 16, 256, kChildren}
                                              : HiddenShape{v, d, slots, beams, 1 << 17, kChildren};
      // Several times from new, since times depend on where the pages of weights and hidden states are.
      Times times;
      for (int left = options.quick ? 1 : 4; left > 0; --left) {
        Bench bench(runtime.get(), shape);
        measure(bench, options.quick ? 1 : v * d > 1 << 24 ? 3 : 9, times);
        if (left == 1) report(bench, times, all);
      }
    }
  }
  return all;
}

constexpr TableOf<HiddenOptions> kTables[] = {
    {"hidden", "a list level's step from hidden states, beside product and step and its floors", hidden_table},
    {"paths", "a list level by each path, by the children of a beam", paths_table},
};

int run(int argc, char** argv) {
  HiddenOptions options;
  options.parse(argc, argv,
                std::vector<Option>{{"--columns V", &options.columns},
                                    {"--width D", &options.width},
                                    {"--slots B", &options.slots},
                                    {"--beams M", &options.beams}});
  return run_tables<HiddenOptions>(kTables, options, options);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::run_program("bench_hidden", [&] { return bench::run(argc, argv); });
}
