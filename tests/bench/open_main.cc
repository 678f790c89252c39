// bench_open: how long sidbeam_model_open() takes for a checkpoint of random weights, and how much memory at most
// beside what the model then holds.
//
//   bench_open [--quick] [--runs N] [--weights 0..4]
//
// A Llama of 1.0 GB in f32, in the system's cache; --quick: of 4 MB. It runs against the library that is loaded, so
// that LD_LIBRARY_PATH puts another one in its place. SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <vector>

#include "program.h"
#include "random_model.h"
#include "sidbeam/runner.h"

namespace bench {
namespace {

constexpr ModelShape kLarge{"llama-1g", false, 4, 2048, 16, 128, 5632, 12000};
constexpr ModelShape kQuick{"llama-4m", false, 2, 128, 4, 32, 512, 1100};

void check(sidbeam_status status, const sidbeam_error& err) {
  if (status != SIDBEAM_OK) throw std::runtime_error(err.message);
}

// Of this process, the system's for it included.
double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int64_t peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

void run(const ModelShape& shape, int runs, int weights) {
  const RandomModel files(shape);
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  config.weights = weights;
  std::vector<double> seconds, processor;
  int64_t held = 0;
  const int64_t before = peak_bytes();
  for (int i = 0; i < runs; ++i) {
    sidbeam_error err = SIDBEAM_ERROR_INIT;
    sidbeam_model* model = nullptr;
    const double before_call = processor_seconds();
    const auto begin = std::chrono::steady_clock::now();
    check(sidbeam_model_open(files.folder().c_str(), &config, &model, &err), err);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    processor.push_back(processor_seconds() - before_call);
    sidbeam_model_info info = SIDBEAM_MODEL_INFO_INIT;
    check(sidbeam_model_get_info(model, &info, &err), err);
    held = info.memory_bytes;
    sidbeam_model_release(model);
  }
  std::printf(
      "%s, weights %d: median of %d runs %.3f s, processor time %.3f s; holds %.1f MB, peak %.1f MB above the start\n",
      shape.name, weights, runs, median(seconds), median(processor), static_cast<double>(held) / 1e6,
      static_cast<double>(peak_bytes() - before) / 1e6);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  try {
    bool quick = false;
    int runs = 7, weights = SIDBEAM_WEIGHTS_STORED;
    bench::parse(argc, argv,
                 std::vector<bench::Option>{{"--quick", &quick}, {"--runs N", &runs}, {"--weights N", &weights}});
    bench::run(quick ? bench::kQuick : bench::kLarge, std::max(runs, 1), weights);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_open: %s\n", error.what());
    return 1;
  }
}
