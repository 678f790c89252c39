// Table swap: steps while another thread brings in a new index, and after the session has moved to it.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <thread>

#include "index_load.h"
#include "index_tables.h"

namespace bench {
namespace {

struct Generation {
  Index index;
  Constraint constraint;
};

Generation with_constraint(Index index) {
  Constraint constraint = constrain(index.get());
  return {std::move(index), std::move(constraint)};
}

Generation open_generation(sidbeam_runtime* runtime, const std::string& path, int32_t residency) {
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  config.residency = residency;
  return with_constraint(make<Index>("index_open", sidbeam_index_open, runtime, path.c_str(), &config));
}

// One thread: the other core belongs to the steps.
Generation build_generation(sidbeam_runtime* runtime, const Pages<int32_t>& rows) {
  BuildShape shape;
  shape.threads = 1;
  const Builder builder = make_builder(runtime, shape);
  add_rows(builder.get(), rows, kLevels);
  return with_constraint(make<Index>("builder_finish", sidbeam_builder_finish, builder.get()));
}

// Runs in a thread of its own; rethrows a failure there.
class Background {
 public:
  explicit Background(std::function<void()> work)
      : thread_([this, work = std::move(work)] {
          try {
            work();
          } catch (const std::exception& error) {
            failure_ = error.what();
          }
          done_.store(true, std::memory_order_release);
        }) {}
  bool done() const { return done_.load(std::memory_order_acquire); }
  void join() {
    thread_.join();
    if (!failure_.empty()) throw std::runtime_error(failure_);
  }

 private:
  std::atomic<bool> done_{false};
  std::string failure_;
  std::jthread thread_;  // the last: it uses the others, and ends before them
};

struct Samples {
  std::vector<double> before, during, starts, after, takes;
};

// The host drops the old index on the background thread, so that unmapping is not a step's business.
void swap_once(Load& load, Generation& now, const std::function<Generation()>& bring, int steps, Samples& samples) {
  for (int step = 0; step < steps; ++step) samples.before.push_back(load.step());
  Generation next;
  double takes = 0;
  Background bringing([&] { takes = seconds_of([&] { next = bring(); }); });
  do {
    samples.during.push_back(load.step());
  } while (!bringing.done());
  bringing.join();
  samples.takes.push_back(1e3 * takes);
  samples.starts.push_back(load.start(next.constraint.get()));
  std::swap(now, next);
  Background dropping([&next] { next = Generation(); });
  for (int step = 0; step < steps || !dropping.done(); ++step) samples.after.push_back(load.step());
  dropping.join();
  load.expect_items(now.index.get());
}

void add(Measurements& out, const char* name, int64_t sids, const Samples& samples) {
  const std::pair<const char*, const std::vector<double>*> phases[] = {
      {"before", &samples.before}, {"during", &samples.during}, {"after", &samples.after}};
  for (const auto& [phase, values] : phases) {
    const Case where = {{"N", sids}, {"phase", std::string(phase)}};
    const Measurement body = {"swap", where, name, "us", summarise(*values), ""};
    out.push_back(body);
    add_tail(out, body, *values);
  }
  const Case where = {{"N", sids}};
  const std::string text = name;
  out.push_back({"swap", where, text + ": start with the new one", "us", summarise(samples.starts), ""});
  out.push_back({"swap", where, text + ": takes", "ms", summarise(samples.takes), "on the other thread"});
}

}  // namespace

Measurements swap_table(const Settings& settings) {
  Measurements out;
  const int64_t sids = settings.quick ? 20000 : 10000000;
  const int steps = settings.quick ? 16 : 1000;
  const std::string paths[] = {settings.files->path(kAllKinds[0], sids, 1, settings.threads),
                               settings.files->path(kAllKinds[0], sids, 2, settings.threads)};
  const Pages<int32_t> rows = draw_rows(sids, kLevels, kCodes, 3);
  const Runtime runtime = runtime_of(1);
  const auto opening = [&](int round, int32_t residency) {
    return open_generation(runtime.get(), paths[round % 2], residency);
  };
  struct Way {
    const char* name;
    int rounds;
    std::function<Generation(int)> bring;
  };
  const Way ways[] = {
      {"open, map", 10, [&](int round) { return opening(round, SIDBEAM_RESIDENCY_MAP); }},
      {"open, prefault", 10, [&](int round) { return opening(round, SIDBEAM_RESIDENCY_PREFAULT); }},
      {"open, copy", 10, [&](int round) { return opening(round, SIDBEAM_RESIDENCY_COPY); }},
      {"build", 3, [&](int) { return build_generation(runtime.get(), rows); }},
  };
  for (const Way& way : ways) {
    Generation now = opening(1, SIDBEAM_RESIDENCY_PREFAULT);
    Load load(runtime.get(), now.constraint.get());
    Samples samples;
    for (int step = 0; step < steps; ++step) load.step();  // warm
    for (int round = 0; round < (settings.quick ? 2 : way.rounds); ++round)
      swap_once(
          load, now, [&] { return way.bring(round); }, steps, samples);
    add(out, way.name, sids, samples);
  }
  return out;
}

}  // namespace bench
