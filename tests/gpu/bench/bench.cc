// Steps on a GPU: sidbeam, the same search without a constraint, and the ceiling, a kernel that only reads the logits.
//
//   gpu_bench --cases cases.txt [--json FILE] [--only TABLE[,TABLE]] [--replays N] [--quick]
//
// A time is that of one launch of a graph of `chain` steps, over the chain. Each step belongs to another session, which
// was taken to the level in question before, so that no step waits for anything except its predecessor in the stream.
// "alone" is the wall time of a graph of one step, from its launch to the end of waiting for it. Exit status 77: no
// device.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <optional>

#include "../../bench/report.h"
#include "../../differential/library.h"
#include "../event.h"
#include "decoder.h"

namespace {

using gpu::Event;
using gpu::expect_cuda;
using gpu::Spec;

struct Options {
  std::string cases, json, only;
  int replays = 30;
  bool quick = false;
};

struct Bench {
  Options options;
  bench::JsonLines json;
  gpu::DevicePlace place{0};
  differential::Runtime runtime = differential::make_runtime(nullptr);
  int64_t l2_bytes = 0;
  int processors = 1;
  cudaStream_t stream() const { return static_cast<cudaStream_t>(place.stream()); }
};

// Microseconds per step of a chain, each replay after its preparation.
template <class Prepare>
std::vector<double> time_chain(const Bench& bench, const gpu::Graph& graph, int32_t chain, const Prepare& prepare) {
  const Event begin, end;
  std::vector<double> times;
  for (int i = 0; i < bench.options.replays + 2; ++i) {
    prepare();
    bench.place.wait();
    begin.record(bench.stream());
    graph.launch();
    end.record(bench.stream());
    bench.place.wait();
    if (i >= 2) times.push_back(end.us_since(begin) / chain);  // two to warm up
  }
  return times;
}

template <class Prepare>
std::vector<double> time_alone(const Bench& bench, const gpu::Graph& graph, const Prepare& prepare) {
  std::vector<double> times;
  for (int i = 0; i < bench.options.replays + 2; ++i) {
    prepare();
    bench.place.wait();
    const auto begin = std::chrono::steady_clock::now();
    graph.launch();
    bench.place.wait();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (i >= 2) times.push_back(took.count());
  }
  return times;
}

bench::Case where_of(const Spec& spec, int32_t level) {
  return {{"B", spec.slots},
          {"M", spec.beams},
          {"V", spec.codes},
          {"columns", spec.columns},
          {"dtype", std::string(spec.narrow ? "bf16" : "f32")},
          {"norm", std::string(spec.level_only ? "level" : "full")},
          {"N", spec.sids},
          {"L", spec.levels},
          {"level", level}};
}

void report(Bench& bench, const Spec& spec, int32_t level, const std::string& name, const std::vector<double>& times,
            const std::string& note) {
  const bench::Statistics value = bench::summarise(times);
  bench.json.add({spec.table, where_of(spec, level), name, "us", value, note});
  std::printf("  %-28s %10s us   p99 %s\n", name.c_str(), bench::figure(value.median).c_str(),
              bench::figure(value.p99).c_str());
}

void run_ceiling(Bench& bench, const Spec& spec, const gpu::Rows& rows, int32_t level, const std::string& note) {
  const std::shared_ptr<void> sum = gpu::device_memory(256, bench.stream());
  const auto read = [&](int32_t i) {
    expect_cuda(
        gpu::read_all(rows.read_of_step(i), bench.processors, static_cast<uint32_t*>(sum.get()), bench.stream()),
        "launch a reader");
  };
  read(0);  // loads it, which is not for a capture
  const gpu::Graph graph(bench.stream(), [&] {
    for (int32_t i = 0; i < spec.chain; ++i) read(i);
  });
  report(bench, spec, level, "ceiling", time_chain(bench, graph, spec.chain, [] {}), note);
}

void run_method(Bench& bench, const Spec& spec, const gpu::Catalogue& catalogue, const gpu::Rows& rows,
                const gpu::Method& method, const std::string& note) {
  const gpu::Decoder decoder(bench.runtime.get(), catalogue, spec, method, rows, bench.place);
  const gpu::Graph chain(bench.stream(), [&] { decoder.step(spec.chain); });
  const gpu::Graph alone(bench.stream(), [&] { decoder.step(1); });
  for (const int32_t level : spec.at) {
    const auto prepare = [&] { decoder.prepare(level); };
    report(bench, spec, level, method.name, time_chain(bench, chain, spec.chain, prepare), note);
    const int64_t live = decoder.live(), most = spec.rows() * spec.chain;
    differential::expect(live > 0 && live <= most, method.name, " left ", live, " of ", most, " beams");
    report(bench, spec, level, std::string(method.name) + ", alone", time_alone(bench, alone, prepare), note);
  }
}

constexpr gpu::Method kMethods[] = {{"sidbeam", SIDBEAM_STRATEGY_TRIE, false},
                                    {"sidbeam, lse given", SIDBEAM_STRATEGY_TRIE, true},
                                    {"sidbeam, unconstrained", SIDBEAM_STRATEGY_NONE, false}};

void run_spec(Bench& bench, const Spec& spec, const gpu::Catalogue& catalogue) {
  std::printf("%s: %s\n", spec.table.c_str(), bench::describe(where_of(spec, spec.at[0])).c_str());
  const gpu::Rows rows(spec, bench.l2_bytes, bench.stream());
  const std::string note = rows.warm() ? "rows in L2" : std::to_string(rows.buffers()) + " steps' rows in turns";
  for (const int32_t level : spec.at) run_ceiling(bench, spec, rows, level, note);
  for (const gpu::Method& method : kMethods) run_method(bench, spec, catalogue, rows, method, note);
}

bool wanted(const Options& options, const std::string& table) {
  return options.only.empty() || (',' + options.only + ',').find(',' + table + ',') != std::string::npos;
}

void run(const Options& options) {
  Bench bench{options, bench::JsonLines(options.json)};
  cudaDeviceProp properties{};
  expect_cuda(cudaGetDeviceProperties(&properties, 0), "ask for the device");
  bench.l2_bytes = properties.l2CacheSize;
  bench.processors = properties.multiProcessorCount;
  std::printf("%s, %d processors, L2 %.0f MB\n", properties.name, bench.processors,
              static_cast<double>(bench.l2_bytes) / 1e6);
  std::optional<gpu::Catalogue> catalogue;
  Spec before;
  for (const Spec& given : gpu::read_specs(options.cases)) {
    if (!wanted(options, given.table)) continue;
    const Spec spec = options.quick ? gpu::quick(given) : given;
    if (!catalogue || !spec.same_catalogue(before)) catalogue.emplace(bench.runtime.get(), spec);
    before = spec;
    run_spec(bench, spec, *catalogue);
  }
}

constexpr char kUsage[] =
    "gpu_bench --cases FILE    times sidbeam's steps on a GPU; see tests/gpu/README.md\n"
    "  --json FILE             lines of results are added to it\n"
    "  --only TABLE            the cases of one table\n"
    "  --replays N             launches of each graph\n"
    "  --quick                 small cases: whether it runs\n";

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--quick") {
      options.quick = true;
      options.replays = 2;
      continue;
    }
    if (name == "--help") {
      std::cout << kUsage;
      std::exit(0);
    }
    if (i + 1 == argc) throw std::invalid_argument("expected a value after '" + name + "'");
    const std::string value = argv[++i];
    if (name == "--cases") {
      options.cases = value;
    } else if (name == "--json") {
      options.json = value;
    } else if (name == "--only") {
      options.only = value;
    } else if (name == "--replays") {
      options.replays = std::stoi(value);
    } else {
      throw std::invalid_argument("expected --cases, --json, --only, --replays or --quick, got '" + name + "'");
    }
  }
  if (options.cases.empty()) throw std::invalid_argument("expected --cases FILE");
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    if (!gpu::has_device()) return 77;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a time limit may end this
    run(options);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "gpu_bench: " << error.what() << '\n';
    return 1;
  }
}
