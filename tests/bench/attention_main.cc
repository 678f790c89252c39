// bench_attention: the beams of one request attend, one layer, one thread; and the memory of a model's KV, computed.
//
//   bench_attention --list
//   bench_attention --table NAME[,NAME..] [--quick | --full] [--json FILE]
//
// --table all runs every table. --quick: tiny sizes, to check that every method gives the same answer; --full changes
// nothing. --json appends one measurement per line. Time is processor time of the thread; methods of a case take turns.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "attention_methods.h"
#include "context.h"
#include "program.h"

namespace bench {
namespace {

constexpr int64_t kMostBytes = 4'000'000'000;

void report(Measurements& all, const Case& where, const std::string& name, const char* unit, Statistics value,
            std::string note = "") {
  all.push_back({"attention", where, name, unit, value, std::move(note)});
}

struct Timed {
  std::unique_ptr<AttentionMethod> method;
  std::vector<float> output;
  std::vector<double> samples;
  double us = 0;
  int64_t bytes = 0;

  void run() {
    const double begin = thread_microseconds();
    bytes = method->run(output);
    samples.push_back(thread_microseconds() - begin);
    us += samples.back();
  }
};

void check_same(const Timed& first, const Timed& other) {
  for (size_t i = 0; i < first.output.size(); ++i) {
    if (std::fabs(first.output[i] - other.output[i]) < 1e-4F) continue;
    throw std::runtime_error(other.method->name() + " gives another answer than " + first.method->name());
  }
}

// All methods of a case in turns.
void measure(const Step& step, const Budget& budget, Measurements& all) {
  const StepData data(step);
  const Case where = {{"heads", int64_t{step.shape.heads}},
                      {"kv_heads", int64_t{step.shape.kv_heads}},
                      {"head_dim", int64_t{step.shape.head_dim}},
                      {"M", step.beams},
                      {"S", step.prompt},
                      {"D", int64_t{step.depth}}};
  report(all, where, "floor", "MB", exactly(1e-6 * static_cast<double>(step.prompt * step.position_bytes())));
  std::vector<Timed> methods;
  int64_t held = 0;
  for (const AttentionEntry& entry : kAttentionMethods) {
    const int64_t memory = entry.memory(step);
    if (held + memory > kMostBytes) {
      std::printf("left out: %s at M=%lld S=%lld, %.1f GB\n", entry.name, static_cast<long long>(step.beams),
                  static_cast<long long>(step.prompt), 1e-9 * static_cast<double>(memory));
      continue;
    }
    held += memory;
    methods.push_back({entry.make(data), {}, {}, 0, 0});
    methods.back().output.resize(static_cast<size_t>(step.beams * step.row()));
    methods.back().run();  // warms up
    methods.back().samples.clear();
    if (methods.back().method->attends()) check_same(methods.front(), methods.back());
  }
  for (bool more = true; more;) {
    more = false;
    for (Timed& timed : methods) {
      if (budget.spent(static_cast<int64_t>(timed.samples.size()), timed.us)) continue;
      timed.run();
      more = true;
    }
  }
  for (const Timed& timed : methods) {
    report(all, where, timed.method->name(), "us", summarise(timed.samples));
    report(all, where, timed.method->name(), "MB", exactly(1e-6 * static_cast<double>(timed.bytes)));
  }
}

Measurements attention_table(const TableOptions& options) {
  const bool quick = options.quick;
  const Budget budget = quick ? Budget{1, 1, 0, 0} : Budget{15, 3, 0.1e6, 0.4e6};
  Measurements all;
  for (const HeadShape shape : {HeadShape{4, 4, 64}, HeadShape{8, 2, 128}}) {
    for (const int64_t beams : quick ? std::vector<int64_t>{7} : std::vector<int64_t>{50, 200, 512}) {
      for (const int64_t prompt : quick ? std::vector<int64_t>{140, 300} : std::vector<int64_t>{100, 1000, 5000}) {
        measure({shape, beams, prompt, 3}, budget, all);
      }
    }
  }
  return all;
}

// A model as its config.json has it.
struct Model {
  const char* name;
  int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocabulary;

  // Qwen3's, with tied embeddings.
  int64_t parameters() const {
    const int64_t attention = hidden * head_dim * (2 * heads + 2 * kv_heads) + 2 * head_dim;
    return layers * (attention + 3 * hidden * ffn + 2 * hidden) + vocabulary * hidden + hidden;
  }
  int64_t position_bytes() const { return layers * kv_heads * head_dim * 2 * 2; }  // bf16
};

Measurements memory_table(const TableOptions&) {
  constexpr Model kModel = {"Qwen3-4B", 36, 2560, 32, 8, 128, 9728, 151936};
  constexpr int64_t kPrompt = 1024, kLevels = 3, kPage = 128;
  Measurements all;
  const auto add = [&](const Case& where, const char* name, int64_t bytes) {
    all.push_back({"attention-memory", where, name, "GB", exactly(1e-9 * static_cast<double>(bytes)), "computed"});
  };
  for (const int64_t beams : {128, 256, 512}) {
    const Case where = {{"model", std::string(kModel.name)}, {"M", beams}, {"S", kPrompt}, {"L", kLevels}};
    const int64_t position = kModel.position_bytes();
    add(where, "weights, bf16", 2 * kModel.parameters());
    add(where, "KV, shared and unshared", (kPrompt + beams * kLevels) * position);
    add(where, "KV, pages of 128", (kPrompt + beams * kPage) * position);
    add(where, "KV, copied per beam", beams * (kPrompt + kLevels) * position);
  }
  return all;
}

constexpr TableOf<TableOptions> kTables[] = {
    {"attention", "a step of one layer, by where keys and values are; one thread", attention_table},
    {"attention-memory", "bytes of Qwen3-4B's KV and weights, computed", memory_table},
};

int run(int argc, char** argv) {
  TableOptions options;
  bool full = false;
  options.parse(argc, argv, std::vector<Option>{{"--full", &full}});
  return run_tables<TableOptions>(kTables, options, options);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::run_program("bench_attention", [&] { return bench::run(argc, argv); });
}
