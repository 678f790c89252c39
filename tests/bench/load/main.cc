// bench_load: latency of a real model's requests as the offered load grows: the runner's, with what it can do switched
// on one at a time, and another engine's behind the runner's own queue and lanes.
//
//   bench_load --list
//   bench_load --table load_models [--quick] [--model FOLDER] [--rival COMMAND] [--seconds S] [--json FILE]
//
// Requests arrive at random moments (Poisson) that do not wait for answers, and are timed from the moment at which they
// were to arrive. Each series gets the same arrivals. --model: a T5 of 1100 tokens (one with random weights is made);
// --rival: CTranslate2 on the same checkpoint (load/rival.py). --seconds: of each load (7), longer where that is less
// than 100 requests. --quick: a tiny model, a few requests; that every answer is the one of a request alone, which all
// runs check. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

#include "../../random_constraint.h"
#include "program.h"
#include "random_model.h"
#include "servers.h"

namespace bench {
namespace {

constexpr int32_t kQueue = 64, kPrompts = 16;

struct Options : TableOptions {
  std::string model, rival;
  double seconds = 7;
};

// What a host does itself per request, before the model has it: made up, since hosts differ (looking up a history,
// reading JSON).
enum class Host { kNothing, kInTurn, kBeside };

struct Variant {
  const char* name;
  ServerSettings settings;
  Host host = Host::kNothing;
  bool rival = false;
};
constexpr Variant kVariants[] = {
    {"sidbeam", {}},
    {"+ constraint", {.valid = true}},
    {"+ batches of 8", {.batch = 8}},
    {"+ second lane", {.lanes = 2}},
    {"host's work in turn", {}, Host::kInTurn},
    {"host's work beside", {}, Host::kBeside},
    {"CTranslate2", {}, Host::kNothing, true},
    {"CTranslate2, batches of 8", {.batch = 8}, Host::kNothing, true},
};

int64_t nanoseconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}
int64_t now() { return nanoseconds_of(CLOCK_MONOTONIC); }

void sleep_until(int64_t time) {
  const timespec until{time / 1000000000, time % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

void compute(int64_t nanoseconds) {
  const int64_t end = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID) + nanoseconds;
  while (nanoseconds_of(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

// Of the bits of SIDs and scores (FNV-1a).
uint64_t digest(const sidbeam_result& result) {
  uint64_t hash = 0xCBF29CE484222325;
  const auto mix = [&](uint32_t value) { hash = (hash ^ value) * 0x100000001B3; };
  for (int32_t i = 0; i < result.live * result.levels; ++i) mix(static_cast<uint32_t>(result.sids[i]));
  for (int32_t i = 0; i < result.live; ++i) {
    uint32_t bits;
    std::memcpy(&bits, result.scores + i, sizeof bits);
    mix(bits);
  }
  return hash;
}

struct Sent {
  int64_t arrival = 0, latency = -1;  // ns; -1: refused
  uint64_t digest = 0;
  std::string failure;
};

void done(void* context, const sidbeam_result* result) {
  auto& sent = *static_cast<Sent*>(context);
  sent.latency = now() - sent.arrival;
  if (result->status != SIDBEAM_OK) sent.failure = result->message;
  sent.digest = digest(*result);
}

// One that is under load, and the answers of a request alone.
struct Subject {
  const Variant* variant;
  std::unique_ptr<Server> server;
  std::vector<uint64_t> answers;
};

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {
    const bool quick = options.quick;
    if (options.model.empty())
      files_.emplace(quick ? ModelShape{"t5-32", true, 1, 32, 2, 16, 64}
                           : ModelShape{"t5-128", true, 4, 128, 6, 64, 1024});
    served_ = {nullptr, quick ? 8 : 60, quick ? 5 : 50, kQueue};
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    sidbeam_model_config weights = SIDBEAM_MODEL_CONFIG_INIT;
    const std::string& folder = files_ ? files_->folder() : options.model;
    handles::check(sidbeam_model_open(folder.c_str(), &weights, &served_.model, &error), error);
    model_.reset(served_.model);
    std::mt19937 random(11);
    for (int64_t i = 0; i < served_.positions * kPrompts; ++i)
      tokens_.push_back(static_cast<int32_t>(3 + random() % (kTokens - 3)));
  }

  Measurements run() {
    const std::string rival = options_.rival.empty() && options_.quick ? "cat" : options_.rival;
    for (const Variant& variant : kVariants) {
      if (variant.rival && rival.empty()) continue;
      subjects_.push_back(
          {&variant,
           variant.rival ? serve_process(rival, served_, variant.settings) : serve_model(served_, variant.settings),
           {}});
      answer_alone(subjects_.back());
      const Subject& first = subjects_.front();
      if (!variant.rival && variant.settings.valid == first.variant->settings.valid &&
          subjects_.back().answers != first.answers)
        throw std::runtime_error(std::string(variant.name) + " answers otherwise than " + first.variant->name);
    }
    const double alone = alone_ns(*subjects_.front().server);
    Measurements all;
    all.push_back({"load_models", where(100), "a request alone", "ms alone", exactly(alone / 1e6), ""});
    for (const int percent : options_.quick ? std::vector<int>{50, 95} : std::vector<int>{10, 30, 50, 70, 85, 95}) {
      const double gap = alone * 100 / percent;
      all.push_back({"load_models", where(percent), "offered", "requests/s", exactly(1e9 / gap), ""});
      for (Subject& subject : subjects_) offer(subject, percent, gap, all);
    }
    return all;
  }

 private:
  Case where(int percent) const {
    return {{"load_percent", int64_t{percent}}, {"S", served_.positions}, {"M", int64_t{served_.beams}}};
  }

  sidbeam_request request_of(size_t number, Sent& sent) const {
    sidbeam_request request = SIDBEAM_REQUEST_INIT;
    request.tokens = tokens_.data() + static_cast<size_t>(served_.positions) * (number % kPrompts);
    request.positions = served_.positions;
    request.beams = served_.beams;
    request.done = done;
    request.context = &sent;
    return request;
  }

  // Warms up, too.
  void answer_alone(Subject& subject) const {
    for (size_t i = 0; i < kPrompts; ++i) {
      Sent sent;
      subject.server->run(request_of(i, sent));
      if (!sent.failure.empty()) throw std::runtime_error(subject.variant->name + (": " + sent.failure));
      subject.answers.push_back(sent.digest);
    }
  }

  // The mean time of a request, one after the other: its inverse is what one lane can do.
  double alone_ns(Server& server) const {
    const int64_t begin = now(), end = begin + (options_.quick ? 0 : int64_t{3} * 1000000000);
    int64_t requests = 0;
    for (Sent sent; requests < kPrompts || now() < end; ++requests)
      server.run(request_of(static_cast<size_t>(requests), sent));
    return static_cast<double>(now() - begin) / static_cast<double>(requests);
  }

  void offer(Subject& subject, int percent, double gap, Measurements& all) const {
    const int64_t work = options_.quick ? 20000 : 2000000;
    const auto count = static_cast<size_t>(options_.quick ? 30.0 : std::max(100.0, options_.seconds * 1e9 / gap));
    std::vector<Sent> sent(count);
    std::mt19937_64 random(1);
    auto at = static_cast<double>(now() + 1000000);
    int64_t refused = 0;
    for (size_t i = 0; i < count; ++i) {
      at -= std::log((static_cast<double>(random() >> 11) + 0.5) * 0x1p-53) * gap;
      sent[i].arrival = static_cast<int64_t>(at);
      sleep_until(sent[i].arrival);
      if (subject.variant->host != Host::kNothing) compute(work);
      if (subject.variant->host == Host::kInTurn) {
        subject.server->run(request_of(i, sent[i]));
      } else if (subject.server->submit(request_of(i, sent[i])) != SIDBEAM_OK) {
        ++refused;
      }
    }
    subject.server->drain();
    std::vector<double> latencies;
    for (size_t i = 0; i < count; ++i) {
      if (sent[i].latency < 0) continue;
      latencies.push_back(static_cast<double>(sent[i].latency) / 1e6);
      if (!sent[i].failure.empty()) throw std::runtime_error(subject.variant->name + (": " + sent[i].failure));
      if (sent[i].digest != subject.answers[i % kPrompts])
        throw std::runtime_error(std::string(subject.variant->name) + " answers otherwise under load");
    }
    all.push_back({"load_models", where(percent), subject.variant->name, "ms", summarise(latencies), ""});
    if (refused == 0) return;
    const double share = 100.0 * static_cast<double>(refused) / static_cast<double>(count);
    all.push_back({"load_models", where(percent), subject.variant->name, "% refused", exactly(share), ""});
  }

  const Options& options_;
  std::optional<RandomModel> files_;
  Served served_;
  std::unique_ptr<sidbeam_model, handles::Releaser<sidbeam_model_release>> model_;
  std::vector<int32_t> tokens_;
  std::vector<Subject> subjects_;
};

Measurements load_models_table(const Options& options) { return Bench(options).run(); }

constexpr TableOf<Options> kTables[] = {
    {"load_models", "latency from the intended arrival, by offered load; 100 % is what one lane can do",
     load_models_table},
};

int run(int argc, char** argv) {
  Options options;
  options.parse(
      argc, argv,
      std::vector<Option>{
          {"--model FOLDER", &options.model}, {"--rival COMMAND", &options.rival}, {"--seconds S", &options.seconds}});
  return run_tables<Options>(kTables, options, options);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::run_program("bench_load", [&] { return bench::run(argc, argv); });
}
