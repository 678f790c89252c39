// The step of one request by itself, the same on both cores at once, and the library's two requests on one thread and
// two, in turns. The extra time of both cores at once is the machine's (a shared cache, its frequency); the extra time
// of two threads beyond that is ours. SPDX-License-Identifier: Apache-2.0
#include "thread_floors.h"

#include <algorithm>
#include <atomic>
#include <functional>

#include "sidbeam_method.h"
#include "support/executor.h"

namespace bench {
namespace {

constexpr int32_t kRequests = 2;

// Calls body(i) for two tasks on the threads of a pool.
template <class Body>
void run_both(sidbeam::SpinPool& pool, Body body) {
  pool.run(
      kRequests, [](void* data, int32_t i) { (*static_cast<Body*>(data))(i); }, &body);
}

template <class Body>
double time_of(Body body) {
  const Clock::time_point begin = Clock::now();
  body();
  return microseconds(Clock::now() - begin);
}

// A way of taking the steps of both requests, or of one.
struct Way {
  const char* name;
  std::function<void()> start;
  std::function<double(int32_t level, const Rows& rows)> step;  // microseconds
  std::vector<std::vector<double>> level_us = {};               // [L] samples
  std::vector<double> step_us = {};                             // a decode's mean
};

void decode_once(Way& way, int32_t levels, const Rows& rows, bool keep) {
  way.start();
  double total = 0;
  for (int32_t level = 0; level < levels; ++level) {
    const double us = way.step(level, rows);
    total += us;
    if (keep) way.level_us[static_cast<size_t>(level)].push_back(us);
  }
  if (keep) way.step_us.push_back(total / levels);
}

// From the first core's start to the last one's end, without the time to get them started.
double both_at_once(sidbeam::SpinPool& pool, SidbeamMethod* const* requests, int32_t level, const Rows& rows) {
  struct alignas(128) Span {
    Clock::time_point begin, end;
  } spans[kRequests];
  run_both(pool, [&](int32_t i) {
    Rows own = rows;
    own.first += i * rows.beams;
    spans[i].begin = Clock::now();
    requests[i]->step(level, own);
    spans[i].end = Clock::now();
  });
  return microseconds(std::max(spans[0].end, spans[1].end) - std::min(spans[0].begin, spans[1].begin));
}

// A number that goes to the other core and comes back one higher.
std::vector<double> round_trips(sidbeam::SpinPool& pool, int64_t count) {
  std::vector<double> us;
  alignas(128) std::atomic<int64_t> line{0};
  run_both(pool, [&](int32_t i) {
    for (int64_t trip = 0; trip < count; ++trip) {
      const Clock::time_point begin = Clock::now();
      if (i == 0) line.store(2 * trip + 1, std::memory_order_release);
      while (line.load(std::memory_order_acquire) < 2 * trip + 2 - i) sidbeam::pause_briefly();
      if (i == 0) us.push_back(microseconds(Clock::now() - begin));
      if (i == 1) line.store(2 * trip + 2, std::memory_order_release);
    }
  });
  return us;
}

// Calls of nothing but two tasks that wait for each other, so that each is on a core of its own.
std::vector<double> hand_overs(sidbeam::SpinPool& pool, int64_t count) {
  std::vector<double> us;
  for (int64_t call = 0; call < count; ++call) {
    alignas(128) std::atomic<int32_t> there{0};
    us.push_back(time_of([&] {
      run_both(pool, [&](int32_t) {
        there.fetch_add(1, std::memory_order_relaxed);
        while (there.load(std::memory_order_relaxed) < kRequests) sidbeam::pause_briefly();
      });
    }));
  }
  return us;
}

void report(Context& context, const DecodeCase& decode, const Case& where, const std::vector<Way>& ways,
            sidbeam::SpinPool& pool) {
  TextTable table;
  std::vector<std::string> head = {"us per step"};
  for (int32_t level = 0; level < decode.shape.levels; ++level) head.push_back("L" + std::to_string(level));
  head.emplace_back("decode");
  table.row(head);
  const auto add = [&](const std::string& name, const std::vector<double>& samples, const std::string& level) {
    const Statistics value = summarise(samples);
    Case full = where;
    if (!level.empty()) full.emplace_back("level", level);
    context.json.add({decode.table, full, name, "us", value, ""});
    return figure(value.median);
  };
  for (const Way& way : ways) {
    std::vector<std::string> cells = {way.name};
    for (size_t level = 0; level < way.level_us.size(); ++level)
      cells.push_back(add(way.name, way.level_us[level], std::to_string(level)));
    cells.push_back(add(way.name, way.step_us, "all"));
    table.row(cells);
  }
  const int64_t count = context.options.quick ? 10 : 20000;
  table.row({"round trip of a line", add("round trip of a line", round_trips(pool, count), "")});
  table.row({"call of two tasks that meet", add("call of two tasks that meet", hand_overs(pool, count), "")});
  table.print();
}

}  // namespace

void run_thread_floors(Context& context, World& world, const DecodeCase& decode) {
  sidbeam::SpinPool pool(kRequests);
  if (pool.width() < kRequests) return;  // the system gives no second thread
  Shape one = decode.shape;
  one.slots = 1;
  const auto make = [&](const Shape& shape, int32_t threads) {
    return SidbeamMethod(world.runtime(threads), world.constraint(SIDBEAM_KIND_TRIE), shape, SIDBEAM_STRATEGY_TRIE, 0);
  };
  SidbeamMethod first = make(one, 1), second = make(one, 1), on_one = make(decode.shape, 1),
                on_two = make(decode.shape, 2);
  SidbeamMethod* const requests[] = {&first, &second};
  const auto alone = [](SidbeamMethod& method, const char* name) {
    return Way{name, [&method] { method.start(); },
               [&method](int32_t level, const Rows& rows) { return time_of([&] { method.step(level, rows); }); }};
  };
  std::vector<Way> ways = {alone(first, "one request alone on a core"),
                           {"two requests, a core each",
                            [&] {
                              first.start();
                              second.start();
                            },
                            [&](int32_t level, const Rows& rows) { return both_at_once(pool, requests, level, rows); }},
                           alone(on_one, "two requests on one thread"),
                           alone(on_two, "two requests on two threads")};
  for (Way& way : ways) way.level_us.resize(static_cast<size_t>(decode.shape.levels));
  const Logits logits(decode.source, kRequests, decode.shape.beams, decode.shape.columns, decode.shape.levels);
  for (int64_t turn = 0; turn < (context.options.quick ? 2 : 200); ++turn)
    for (Way& way : ways)
      for (int32_t run = 0; run < 8; ++run) decode_once(way, decode.shape.levels, logits.at(0), run > 0);
  const Case where = where_of(world, decode);
  std::printf("\n%s, what it is made of  %s\n", decode.table.c_str(), describe(where).c_str());
  report(context, decode, where, ways, pool);
}

}  // namespace bench
