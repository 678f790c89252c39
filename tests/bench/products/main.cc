// bench_products: products of rows with packed weights, by this library's kernels, by micro-kernel libraries under the
// same blocking and by whole libraries: speed, and whether the bits of a row depend on the number of rows.
//
//   bench_products --list | --table all|products|product-bits [--quick] [--only NAME[,NAME..]] [--json FILE]
//
// One thread; processor time, because other programs interrupt; methods of a case in turns. BENCH_TARGET names the
// runner's instruction set, LIBXSMM_TARGET libxsmm's (wsm, snb, hsw, skx); product-bits prints digests to compare them.
// SPDX-License-Identifier: Apache-2.0
#include <time.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>

#include "product.h"
#include "program.h"
#include "runner/math/product.h"

namespace {

using bench::Inputs;
using bench::Maker;
using bench::Product;
using bench::Shape;

constexpr Maker kMakers[] = {
    {"OpenBLAS", bench::make_openblas},
    {"oneDNN", bench::make_onednn},
    {"BLIS", bench::make_blis},
    {"BLIS kernel", bench::make_blis_kernel},
    {"libxsmm 16", bench::make_libxsmm_16},
    {"libxsmm 32", bench::make_libxsmm_32},
    {"libxsmm 64", bench::make_libxsmm_64},
    {"sidbeam", bench::make_sidbeam_f32},
    {"sidbeam f16", bench::make_sidbeam_f16},
    {"sidbeam bf16", bench::make_sidbeam_bf16},
    {"sidbeam int8", bench::make_sidbeam_int8},
};

constexpr Shape kShapes[] = {{128, 384}, {256, 1024}, {1024, 256}, {1024, 4096}};
constexpr int64_t kRows[] = {1, 20, 50, 200, 1600};
constexpr int64_t kMost = 1600;

struct Options : bench::TableOptions {
  std::string only;
};

double processor_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::vector<float> normal_values(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

// Rows of `columns` values at the runner's distance.
std::vector<float> spaced_rows(const std::vector<float>& dense, int64_t columns) {
  const int64_t stride = sidbeam::runner::input_stride(columns);
  const auto rows = static_cast<int64_t>(dense.size()) / columns;
  std::vector<float> spaced(static_cast<size_t>(rows * stride));
  for (int64_t row = 0; row < rows; ++row)
    std::copy_n(dense.data() + row * columns, columns, spaced.data() + row * stride);
  return spaced;
}

// One shape: its data, and every method that is there.
struct Case {
  Shape shape;
  std::vector<float> x, spaced, y, expected;
  std::vector<std::pair<std::string, std::unique_ptr<Product>>> methods;

  Case(const Shape& its, const Options& options) : shape(its) {
    const std::vector<float> weights = normal_values(shape.inputs * shape.outputs, 1);
    x = normal_values(kMost * shape.inputs, 2);
    spaced = spaced_rows(x, shape.inputs);
    y.resize(static_cast<size_t>(kMost * shape.outputs));
    for (const Maker& maker : kMakers) {
      if (!options.only.empty() &&
          ("," + options.only + ",").find("," + std::string(maker.name) + ",") == std::string::npos)
        continue;
      if (auto product = maker.make(shape, weights)) methods.emplace_back(maker.name, std::move(product));
    }
  }

  Inputs inputs() const { return {x.data(), spaced.data()}; }
  bench::Case where() const { return {{"K", shape.inputs}, {"N", shape.outputs}}; }
};

// Samples in GFLOP/s of every method, in turns.
std::vector<std::vector<double>> time_methods(Case& its, int64_t rows, bool quick) {
  const double flops = 2.0 * static_cast<double>(rows * its.shape.inputs * its.shape.outputs);
  // About 4 ms at 60 GFLOP/s.
  const auto repeats = quick ? 1 : std::max<int64_t>(1, static_cast<int64_t>(2.4e8 / flops));
  std::vector<std::vector<double>> samples(its.methods.size());
  for (int turn = 0; turn < (quick ? 1 : 11); ++turn) {
    for (size_t m = 0; m < its.methods.size(); ++m) {
      Product& product = *its.methods[m].second;
      product.run(rows, its.inputs(), its.y.data());
      const double begin = processor_seconds();
      for (int64_t i = 0; i < repeats; ++i) product.run(rows, its.inputs(), its.y.data());
      const double seconds = processor_seconds() - begin;
      if (turn > 0 || quick) samples[m].push_back(flops * static_cast<double>(repeats) / seconds * 1e-9);
    }
  }
  return samples;
}

void time_case(Case& its, const Options& options, bench::JsonLines& json) {
  bench::TextTable table;
  std::vector<std::string> head{"K x N, rows"};
  for (const auto& [name, product] : its.methods) head.push_back(name);
  table.row(head);
  for (const int64_t rows : kRows) {
    if (options.quick && rows > 50) continue;
    std::vector<std::string> cells{std::to_string(its.shape.inputs) + " x " + std::to_string(its.shape.outputs) + ", " +
                                   std::to_string(rows)};
    const auto samples = time_methods(its, rows, options.quick);
    for (size_t m = 0; m < samples.size(); ++m) {
      auto where = its.where();
      where.emplace_back("M", rows);
      where.emplace_back("time", "processor");
      const double best = *std::max_element(samples[m].begin(), samples[m].end());
      json.add({"products", where, its.methods[m].first, "GFLOP/s", bench::summarise(samples[m]), ""});
      json.add({"products", where, its.methods[m].first + ", best run", "GFLOP/s", bench::exactly(best), ""});
      cells.push_back(bench::figure(best));
    }
    table.row(cells);
  }
  table.print();
}

// Of the bits of all results (FNV-1a): equal on two instruction sets, or not.
std::string digest(const std::vector<float>& values) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const float value : values) hash = (hash ^ std::bit_cast<uint32_t>(value)) * 0x100000001B3;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

// In how many of the numbers of rows tried some row differs from the same row among kMost.
void compare_case(Case& its, const Options& options, bench::JsonLines& json) {
  const int64_t most = options.quick ? 40 : its.shape.inputs * its.shape.outputs > 1000000 ? 100 : 401;
  std::printf("%lld x %lld, M = 1 .. %lld that differ:\n", static_cast<long long>(its.shape.inputs),
              static_cast<long long>(its.shape.outputs), static_cast<long long>(most));
  for (auto& [name, product] : its.methods) {
    product->run(kMost, its.inputs(), its.y.data());
    its.expected = its.y;
    int64_t differ = 0;
    for (int64_t rows = 1; rows <= most; ++rows) {
      product->run(rows, its.inputs(), its.y.data());
      const size_t bytes = static_cast<size_t>(rows * its.shape.outputs) * sizeof(float);
      if (std::memcmp(its.y.data(), its.expected.data(), bytes) != 0) ++differ;
    }
    auto where = its.where();
    where.emplace_back("tried", most);
    json.add({"product-bits", where, name, "numbers of rows", bench::exactly(static_cast<double>(differ)),
              "digest " + digest(its.expected)});
    std::printf("  %-12s %4lld  digest %s\n", name.c_str(), static_cast<long long>(differ),
                digest(its.expected).c_str());
  }
}

struct Table {
  const char *name, *about;
  void (*run)(Case&, const Options&, bench::JsonLines&);
};
constexpr Table kTables[] = {
    {"products", "products of rows with packed weights", time_case},
    {"product-bits", "whether a row's bits depend on the others", compare_case},
};

int run(int argc, char** argv) {
  Options options;
  options.parse(argc, argv, std::vector<bench::Option>{{"--only NAME[,NAME..]", &options.only}});
  const std::span<const Table> tables = kTables;
  if (options.list) {
    bench::list(tables);
    return 0;
  }
  const auto chosen = bench::choose(tables, options.table);
  bench::JsonLines json(options.json);
  for (const Shape& shape : kShapes) {
    Case its(shape, options);
    for (const Table* table : chosen) table->run(its, options, json);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("bench_products", [&] { return run(argc, argv); });
}
