// Requests through the runner, one thread: CPU time, and which share of it the products with weights took. Prints
// measurements, one JSON object per line.
//
//   bench_requests MODEL NAME POSITIONS BEAMS REQUESTS [--valid] [--repeats N]
//
// Four codes of the whole vocabulary without a constraint, as the rivals search; with --valid 100,000 SIDs of 256 codes
// per level. REQUESTS go one after the other, as a CPU's lane runs them. SPDX-License-Identifier: Apache-2.0
#include <sidbeam/runner.h>
#include <sidbeam/sidbeam.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "../../random_constraint.h"
#include "program.h"
#include "runner/math/product.h"

namespace {

double thread_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

bool times_products = false;
double products_seconds = 0.0;

}  // namespace

// The linker gives calls of multiply() to the second of these names (--wrap), and the function itself the first.
#define MULTIPLY "_ZN7sidbeam6runner8multiplyERKNS0_7WorkersENS0_6RowsOfIKfEERKNS0_6MatrixENS4_IfEENS0_5StartEPS5_"
using sidbeam::runner::ConstRows, sidbeam::runner::Matrix, sidbeam::runner::Rows, sidbeam::runner::Start;
using sidbeam::runner::Workers;
void real_multiply(const Workers&, ConstRows, const Matrix&, Rows, Start, const float*) __asm__("__real_" MULTIPLY);
void timed_multiply(const Workers&, ConstRows, const Matrix&, Rows, Start, const float*) __asm__("__wrap_" MULTIPLY);

void timed_multiply(const Workers& workers, ConstRows x, const Matrix& weights, Rows y, Start start,
                    const float* bias) {
  if (!times_products) return real_multiply(workers, x, weights, y, start, bias);
  const double begin = thread_seconds();
  real_multiply(workers, x, weights, y, start, bias);
  products_seconds += thread_seconds() - begin;
}

namespace {

constexpr int kLevels = 4, kTokens = 1100;

using handles::check;

struct Setting {
  std::string folder, name;
  int64_t positions = 0;
  int32_t beams = 0, requests = 0, repeats = 9;
  bool valid = false;
};

handles::Constraint make_constraint(sidbeam_runtime* runtime, bool valid) {
  return handles::make_constraint(runtime, std::vector<int32_t>(kLevels, valid ? 256 : kTokens), valid ? 100000 : 1000,
                                  7);
}

sidbeam_runner* make_runner(sidbeam_runtime* runtime, sidbeam_model* model, sidbeam_constraint* constraint,
                            const Setting& setting) {
  static const int64_t offsets[kLevels] = {50, 306, 562, 818};
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = kLevels, vocabulary.offsets = setting.valid ? offsets : nullptr;
  sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
  config.model = model, config.constraint = constraint, config.vocabulary = &vocabulary;
  config.beams = setting.beams, config.max_prompt = setting.positions;
  config.strategy = setting.valid ? SIDBEAM_STRATEGY_TRIE : SIDBEAM_STRATEGY_NONE;
  config.normalization = setting.valid ? SIDBEAM_NORMALIZE_LEVEL : SIDBEAM_NORMALIZE_FULL;
  sidbeam_runner* runner;
  check(sidbeam_runner_create(runtime, &config, &runner, &error), error);
  return runner;
}

int32_t live = 0;

void done(void*, const sidbeam_result* result) { live = result->live; }

void run_all(sidbeam_runner* runner, const Setting& setting, const std::vector<int32_t>& tokens) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  for (int32_t i = 0; i < setting.requests; ++i) {
    sidbeam_request request = SIDBEAM_REQUEST_INIT;
    request.tokens = tokens.data() + setting.positions * i;
    request.positions = setting.positions;
    request.done = done;
    check(sidbeam_runner_run(runner, &request, &error), error);
    if (live == 0) throw std::runtime_error("a request found no SID");
  }
}

void print(const Setting& setting, const char* what, const char* unit, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
  };
  std::printf(
      "{\"table\": \"runner\", \"case\": {\"model\": \"%s\", \"batch\": %d, \"beams\": %d}, \"name\": \"sidbeam%s%s\", "
      "\"unit\": \"%s\", \"median\": %.6g, \"least\": %.6g, \"p10\": %.6g, \"p90\": %.6g, \"p99\": %.6g, \"runs\": "
      "%zu, "
      "\"note\": \"\"}\n",
      setting.name.c_str(), setting.requests, setting.beams, setting.valid ? ", valid items" : "", what, unit, at(0.5),
      values.front(), at(0.1), at(0.9), at(0.99), values.size());
}

double seconds_of(sidbeam_runner* runner, const Setting& setting, const std::vector<int32_t>& tokens) {
  const double begin = thread_seconds();
  run_all(runner, setting, tokens);
  return thread_seconds() - begin;
}

// Requests are timed without looking at the clock before and after each product, which takes 0.5 % of a short one.
void measure(sidbeam_runner* runner, const Setting& setting) {
  std::mt19937 random(11);
  std::vector<int32_t> tokens(static_cast<size_t>(setting.positions * setting.requests));
  for (int32_t& token : tokens) token = static_cast<int32_t>(3 + random() % (kTokens - 3));
  run_all(runner, setting, tokens);
  rusage before, after;
  std::vector<double> times, shares;
  getrusage(RUSAGE_SELF, &before);
  for (int32_t i = 0; i < setting.repeats; ++i) {
    times_products = false;
    times.push_back(1e3 * seconds_of(runner, setting, tokens) / setting.requests);
    times_products = true, products_seconds = 0.0;
    const double seconds = seconds_of(runner, setting, tokens);
    shares.push_back(seconds / products_seconds);
  }
  getrusage(RUSAGE_SELF, &after);
  print(setting, "", "ms of CPU", times);
  print(setting, ": request over products", "x", shares);
  print(setting, ": page faults after warm-up", "faults", {static_cast<double>(after.ru_minflt - before.ru_minflt)});
}

int run(int argc, char** argv) {
  if (argc < 6) throw std::invalid_argument("usage: MODEL NAME POSITIONS BEAMS REQUESTS [--valid] [--repeats N]");
  Setting setting{argv[1], argv[2], std::atoll(argv[3]), std::atoi(argv[4]), std::atoi(argv[5])};
  bench::parse(argc - 5, argv + 5,
               std::vector<bench::Option>{{"--valid", &setting.valid}, {"--repeats N", &setting.repeats}});
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_model* model;
  sidbeam_model_config weights = SIDBEAM_MODEL_CONFIG_INIT;
  const handles::Runtime runtime = handles::make_runtime();
  check(sidbeam_model_open(setting.folder.c_str(), &weights, &model, &error), error);
  const handles::Constraint constraint = make_constraint(runtime.get(), setting.valid);
  sidbeam_runner* runner = make_runner(runtime.get(), model, constraint.get(), setting);
  measure(runner, setting);
  sidbeam_runner_destroy(runner);
  sidbeam_model_release(model);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("bench_requests", [&] { return run(argc, argv); });
}
