// bench_schedule: the runner's queue and lanes, without a model.
//
//   bench_schedule --list
//   bench_schedule --table NAME[,NAME..] [--quick] [--seconds S] [--runs N] [--realtime] [--json FILE]
//
// --table all runs every table. --quick: tables of load on a virtual clock, where every latency must be the ideal
// queue's. --seconds: of each load (3), longer where that is less than 200 requests. --runs: of each load (1), of which
// the nearest to the ideal queue counts: what disturbs the machine only adds. --realtime: this program's threads before
// all others (SCHED_FIFO), without which a busy machine's own delays are measured, but not for the table `scheduling`,
// since waking costs more under it. --json appends one measurement per line.
// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "program.h"
#include "schedule_cost.h"
#include "schedule_load.h"

namespace bench {
namespace {

struct Options : TableOptions {
  double seconds = 3;
  int runs = 1;
};

double mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Case case_of(const LoadCase& load) {
  return {{"lanes", int64_t{load.lanes}},
          {"service", std::string(load.on_virtual_clock ? "virtual"
                                  : load.spin           ? "cpu"
                                                        : "wait")},
          {"service_us", load.service_ns / 1000},
          {"load_percent", static_cast<int64_t>(std::lround(load.load * 100))},
          {"queue", int64_t{load.queue_requests}}};
}

// Most that the mean or a percentile differs, as a share of the ideal queue's.
double difference(const LoadResult& result) {
  const Statistics real = summarise(result.latency_us), ideal = summarise(result.ideal_us);
  double most = std::abs(mean(result.latency_us) / mean(result.ideal_us) - 1);
  for (const auto& [a, b] : {std::pair(real.p10, ideal.p10), std::pair(real.median, ideal.median),
                             std::pair(real.p90, ideal.p90), std::pair(real.p99, ideal.p99)})
    most = std::max(most, std::abs(a / b - 1));
  return most;
}

void add_load(Measurements& measurements, const char* table, LoadCase load, const Options& options) {
  load.on_virtual_clock = options.quick;
  const double gap = static_cast<double>(load.service_ns) / (load.load * load.lanes);
  load.requests = options.quick ? 100 : std::max<int64_t>(200, static_cast<int64_t>(options.seconds * 1e9 / gap));
  LoadResult result = run_load(load);
  for (int run = 1; run < options.runs; ++run) {
    LoadResult again = run_load(load);
    if (difference(again) < difference(result)) result = std::move(again);
  }
  const Case where = case_of(load);
  const auto add = [&](const char* name, const char* unit, const Statistics& value) {
    measurements.push_back({table, where, name, unit, value, ""});
  };
  const double apart = difference(result);
  if (options.quick && (apart > 0 || result.ideal_refused != static_cast<int64_t>(result.refusal_us.size())))
    throw std::runtime_error("latencies on the virtual clock differ from the ideal queue's");
  add("latency", "us", summarise(result.latency_us));
  add("ideal queue", "us", summarise(result.ideal_us));
  add("most that a percentile or the mean differs", "%", exactly(100 * apart));
  add("service", "us", summarise(result.service_us));
  add("submitted late by", "us", summarise(result.late_us));
  if (load.load <= 1) return;
  add("refused", "%",
      exactly(100 * static_cast<double>(result.refusal_us.size()) / static_cast<double>(load.requests)));
  add("refused by the ideal queue", "%",
      exactly(100 * static_cast<double>(result.ideal_refused) / static_cast<double>(load.requests)));
  add("a refused call", "us", summarise(result.refusal_us));
}

Measurements load_table(const Options& options) {
  Measurements measurements;
  for (const int32_t lanes : {1, 2, 4}) {
    if (options.quick && lanes == 4) break;
    for (const double share : {0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95}) {
      LoadCase load;
      load.lanes = lanes;
      load.load = share;
      add_load(measurements, "load", load, options);
    }
  }
  for (const double share : {0.1, 0.5, 0.9}) {
    LoadCase load;
    load.load = share;
    load.spin = true;
    add_load(measurements, "load", load, options);
  }
  return measurements;
}

Measurements overload_table(const Options& options) {
  Measurements measurements;
  for (const int32_t lanes : {1, 2}) {
    LoadCase load;
    load.lanes = lanes;
    load.load = 1.5;
    load.queue_requests = 32;
    add_load(measurements, "overload", load, options);
  }
  return measurements;
}

Measurements scheduling_table(const Options& options) {
  Measurements measurements;
  const CostCase cases[] = {{"run", 0, false, 1},        {"post", 0, false, 1},       {"threads", 0, false, 1},
                            {"post", 1000, false, 1},    {"post", 1000, true, 1},     {"post", 1000, true, 32},
                            {"threads", 1000, false, 1}, {"threads", 1000, true, 32}, {"post", 10000, true, 1}};
  for (CostCase cost : cases) {
    cost.requests = options.quick ? 200 : 20000;
    std::vector<double> us;
    for (int run = 0; run < (options.quick ? 1 : 7); ++run) us.push_back(scheduling_us(cost));
    const Case where = {{"how", cost.how},
                        {"waiting", cost.waiting},
                        {"order", std::string(cost.mixed ? "priorities and deadlines" : "arrival")},
                        {"batch", int64_t{cost.batch}}};
    measurements.push_back({"scheduling", where, "CPU time per request", "us", summarise(us), ""});
  }
  return measurements;
}

Measurements loop_table(const Options& options) {
  Measurements measurements;
  const LoopCase cases[] = {{1, 50}, {1, 200}, {1, 512}, {8, 50}};
  for (LoopCase loop : cases) {
    if (options.quick) loop.batches = 3, loop.sids = 1000;
    const LoopCost cost = loop_us(loop);
    const Case where = {
        {"B", int64_t{loop.batch}}, {"M", int64_t{loop.beams}}, {"V", int64_t{loop.codes}}, {"L", int64_t{3}}};
    const auto add = [&](const char* name, double us) {
      measurements.push_back({"loop", where, name, "us", exactly(us), ""});
    };
    add("a request by a lane, without its forward passes", cost.lane_us);
    add("the same by calls of a session", cost.steps_us);
    add("difference", cost.lane_us - cost.steps_us);
  }
  return measurements;
}

constexpr TableOf<Options> kTables[] = {
    {"load", "latency at 10 to 95 % of capacity, beside an ideal queue", load_table},
    {"overload", "1.5 times the capacity: who is refused, and how soon", overload_table},
    {"scheduling", "CPU time per request of queue, lanes and threads", scheduling_table},
    {"loop", "CPU time per request of the loop over the levels", loop_table},
};

int run(int argc, char** argv) {
  Options options;
  bool realtime = false;
  options.parse(
      argc, argv,
      std::vector<Option>{{"--seconds S", &options.seconds}, {"--runs N", &options.runs}, {"--realtime", &realtime}});
  sched_param priority{};
  priority.sched_priority = 10;
  if (realtime && sched_setscheduler(0, SCHED_FIFO, &priority) != 0)
    throw std::runtime_error("--realtime: the system does not allow SCHED_FIFO");
  return run_tables<Options>(kTables, options, options);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::run_program("bench_schedule", [&] { return bench::run(argc, argv); });
}
