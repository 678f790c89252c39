// Lanes on a CUDA device against the CPU's, with the small models of tests/unit/models: batches of several requests,
// with widths and constraints of their own, again and again, so that graphs serve other batches than they were
// captured with.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <iostream>

#include "../../unit/models.h"
#include "device_place.h"
#include "lane_case.h"
#include "library.h"
#include "program.h"
#include "runner/formats/config.h"
#include "small_catalogue.h"

namespace gpu {
namespace {

using differential::expect;
using namespace sidbeam::runner;

constexpr int32_t kListed = 40;  // item rows that some_rules(300) list: excluded ones that pass the filter

differential::ItemRules more_rules() {
  differential::ItemRules rules = some_rules(300);
  rules.excluded->entries.push_back(2);
  return rules;
}

// A model's lane, wherever it is.
struct Place {
  Place(const std::string& name, const Golden& golden, sidbeam_runtime* runtime, sidbeam_constraint* constraint,
        int32_t device_type, int32_t normalization, bool variable, bool adjusts) {
    sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
    config.weights = SIDBEAM_WEIGHTS_F32;
    config.device_type = device_type;
    model = sidbeam::Ref<Model>::adopt(open_model(model_folder(name).c_str(), config));
    sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
    vocabulary.levels = 3;
    vocabulary.offsets = kOffsets;
    vocabulary.end_column = kEnd;
    OutputConfig columns;
    columns.levels = 3, columns.codes = kCodes, columns.vocabulary = &vocabulary;
    columns.normalization = normalization, columns.variable_length = variable;
    output = model->make_output(sidbeam::default_allocator(), columns);
    ForwardLimits limits;
    limits.requests = 4, limits.beams = kBeams, limits.levels = 3, limits.max_group = 3, limits.max_prompt = 40;
    limits.begin_tokens = golden.begin.data(), limits.begin_count = static_cast<int64_t>(golden.begin.size());
    LaneConfig of;
    of.runtime = runtime, of.constraint = constraint, of.output = &output->columns();
    of.requests = 4, of.beams = kBeams, of.normalization = normalization, of.max_listed = kListed;
    if (adjusts)
      of.adjust = [](void* context, const sidbeam_level* level) -> int32_t {
        ++*static_cast<int*>(context);
        return level->request == 13 && level->level == 1 ? 1 : 0;  // ends that request
      };
    of.adjust_context = &adjusted;
    lane = make_lane(sidbeam::default_allocator(), of,
                     model->make_forward(sidbeam::default_allocator(), *output, limits, workers_of()));
  }

  int adjusted = 0;
  sidbeam::Ref<Model> model;
  std::unique_ptr<Output> output;
  std::unique_ptr<sidbeam::runner::Lane> lane;
};

// Narrower and wider again, from level to level; graphs read them on the device.
void set_widths(Job& job, int32_t levels) {
  static const int32_t widths[3] = {2, kBeams, 1};
  job.widths = widths;
  job.width_levels = levels;
}

void run_model(const std::string& name, int32_t normalization, bool variable, bool adjusts) {
  const Golden golden(name);
  const differential::Runtime runtime = differential::make_runtime(nullptr);
  const differential::Constraint many = make_constraint(runtime.get(), 300, 1, variable, true),
                                 few = make_constraint(runtime.get(), 4, 2, variable, true),
                                 ruled = make_constraint(runtime.get(), 300, 1, variable, true, some_rules(300)),
                                 too_many = make_constraint(runtime.get(), 300, 1, variable, true, more_rules()),
                                 elsewhere = make_constraint(runtime.get(), 9, 3, variable, false);
  Place there(name, golden, runtime.get(), many.get(), SIDBEAM_DEVICE_CUDA, normalization, variable, adjusts);
  Place here(name, golden, runtime.get(), many.get(), SIDBEAM_DEVICE_CPU, normalization, variable, adjusts);
  const std::atomic<bool> no{false}, yes{true};
  const auto job = [&](size_t prompt, int32_t beams, sidbeam_constraint* constraint, int64_t number,
                       const std::atomic<bool>& cancelled) {
    return Job{golden.prompts[prompt].prompt(), constraint, beams, number, nullptr, &cancelled};
  };
  for (uint64_t round = 0; round < 4; ++round) {
    std::vector<Job> jobs = {job(round % 3, kBeams, many.get(), 11, no), job(1, 2, many.get(), 12, yes),
                             job(2, kBeams, round == 0 ? many.get() : ruled.get(), round == 1 ? 13 : 14, no),
                             job(3, 4, few.get(), 15, no)};
    // A new user: the begin tokens are all that there is.
    if (round == 3 && here.model->info().encoder_layers == 0 && !golden.begin.empty()) jobs[0].prompt = {};
    if (round > 1) set_widths(jobs[2], round == 2 ? 3 : 2);
    Collector far(jobs.size()), near(jobs.size());
    there.lane->run(jobs.data(), static_cast<int32_t>(jobs.size()), far);
    here.lane->run(jobs.data(), static_cast<int32_t>(jobs.size()), near);
    for (size_t i = 0; i < jobs.size(); ++i)
      compare(far.found[i], near.found[i],
              name + ", round " + std::to_string(round) + ", request " + std::to_string(i) + " " + far.message);
    expect(near.found[0].status == SIDBEAM_OK && !near.found[0].scores.empty(), name, ": found nothing");
  }
  expect((there.adjusted > 0) == adjusts, name, ": adjust was called ", there.adjusted, " times");
  // A request whose index is not on the device, or whose rules list too much, ends by itself.
  const std::vector<Job> jobs = {job(0, kBeams, elsewhere.get(), 16, no), job(1, kBeams, many.get(), 17, no),
                                 job(0, kBeams, too_many.get(), 18, no)};
  Collector far(3), near(3);
  there.lane->run(jobs.data(), 3, far);
  here.lane->run(jobs.data(), 3, near);
  expect(far.found[0].status == SIDBEAM_BAD_STATE, name, ": an index that is not uploaded gave ", far.found[0].status);
  expect(far.found[2].status == SIDBEAM_INVALID_ARGUMENT && near.found[2].status == SIDBEAM_OK, name,
         ": a list that is too long gave ", far.found[2].status, " and ", near.found[2].status);
  expect(far.message.find("lists 41 item rows, expected at most 40") != std::string::npos, name, ": ", far.message);
  compare(far.found[1], near.found[1], name + " beside requests that did not start");
}

// When one job has ended, sets the flag by which another is cancelled.
class Canceller final : public Ended {
 public:
  Canceller(Collector& to, std::atomic<bool>& flag) : to_(to), flag_(flag) {}
  void ended(int32_t job, const Outcome& outcome) override {
    to_.ended(job, outcome);
    flag_ = true;
  }

 private:
  Collector& to_;
  std::atomic<bool>& flag_;
};

// Enqueued, captured and launched as graphs, which hold whole levels or end at the host's callback: the same bits, also
// after batches of other shapes, and where a request ends on the way.
void run_graphs(const std::string& name, int32_t normalization, bool variable) {
  const Golden golden(name);
  const differential::Runtime runtime = differential::make_runtime(nullptr);
  const differential::Constraint many = make_constraint(runtime.get(), 300, 1, variable, true),
                                 few = make_constraint(runtime.get(), 4, 2, variable, true),
                                 ruled = make_constraint(runtime.get(), 300, 1, variable, true, some_rules(300));
  Place whole(name, golden, runtime.get(), many.get(), SIDBEAM_DEVICE_CUDA, normalization, variable, false);
  Place parts(name, golden, runtime.get(), many.get(), SIDBEAM_DEVICE_CUDA, normalization, variable, true);
  const std::atomic<bool> no{false}, yes{true};
  std::atomic<bool> later{false};
  const auto job = [&](size_t prompt, int32_t beams, sidbeam_constraint* constraint,
                       const std::atomic<bool>& cancelled) {
    return Job{golden.prompts[prompt].prompt(), constraint, beams, 14, nullptr, &cancelled};
  };
  std::vector<Job> jobs = {job(0, kBeams, ruled.get(), no), job(1, 3, few.get(), no), job(2, kBeams, many.get(), no)};
  set_widths(jobs[2], 3);
  const std::vector<Job> ending = {job(3, kBeams, many.get(), yes), job(0, kBeams, ruled.get(), no),
                                   job(1, 3, few.get(), no), job(2, kBeams, ruled.get(), later)};
  std::vector<Found> expected;
  for (int round = 0; round < 4; ++round) {
    for (Place* place : {&whole, &parts}) {
      const std::string what = name + ", round " + std::to_string(round) + (place == &whole ? "" : " with adjust");
      Collector all(jobs.size()), fewer(ending.size());
      place->lane->run(jobs.data(), static_cast<int32_t>(jobs.size()), all);
      if (expected.empty()) expected = all.found;
      expect(all.found == expected && expected[0].status == SIDBEAM_OK, what, ": other bits; ", all.message);
      Collector alone(1);
      place->lane->run(&jobs[1], 1, alone);
      expect(alone.found[0].sids == expected[1].sids, what, ": another result alone");
      later = false;
      Canceller canceller(fewer, later);
      place->lane->run(ending.data(), static_cast<int32_t>(ending.size()), canceller);
      expect(fewer.found[0].status == SIDBEAM_CANCELLED && fewer.found[3].status == SIDBEAM_CANCELLED, what,
             ": was not cancelled");
      for (size_t i = 0; i < 2; ++i) {
        const std::string which = what + ", beside a request that was cancelled";
        compare(fewer.found[i + 1], expected[i], which);
#ifdef SIDBEAM_EMULATED  // where a product does not depend on how many rows it has
        expect(fewer.found[i + 1] == expected[i], which, ": other bits");
#endif
      }
    }
  }
}

int run_all() {
  run_model("llama", SIDBEAM_NORMALIZE_FULL, false, true);
  run_model("t5_gated", SIDBEAM_NORMALIZE_LEVEL, true, false);
  run_model("qwen3", SIDBEAM_NORMALIZE_VALID, false, true);
  run_graphs("llama", SIDBEAM_NORMALIZE_LEVEL, true);
  run_graphs("t5_gated", SIDBEAM_NORMALIZE_FULL, false);
  std::cout << "lane: passed\n";
  return 0;
}

}  // namespace
}  // namespace gpu

int main() { return gpu::run_program(gpu::run_all); }
