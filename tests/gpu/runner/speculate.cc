// Speculation on a device: batches of several requests, with widths and constraints of their own, against the target
// alone there, and against the CPU's speculation, rounds included.
// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "program.h"
#include "speculate_case.h"

namespace gpu {
namespace {

using differential::expect;

const std::atomic<bool> kNo{false};

Job job(const Golden& golden, size_t prompt, int32_t beams, sidbeam_constraint* constraint,
        const std::atomic<bool>& cancelled = kNo) {
  Job made{golden.prompts[prompt].prompt(), constraint, beams, static_cast<int64_t>(prompt), nullptr, &cancelled};
  made.seed = 5, made.sampling_request = static_cast<int64_t>(prompt);
  return made;
}

void compare_rounds(const Rounds& there, const Rounds& here, const std::string& what) {
  const auto text = [](const Rounds& of) {
    std::ostringstream out;
    out << of.count << " rounds gained " << of.levels << " levels, drafted " << of.drafted_levels << ", accepted "
        << of.accepted_levels << ", of " << of.nodes << " nodes";
    return out.str();
  };
  expect(text(there) == text(here), what, ": ", text(there), ", expected ", text(here));
}

struct Tally {
  int32_t rounds = 0, accepted = 0, requests = 0;
};

Tally compare_case(const SpeculateCase& c) {
  const Golden golden(c.target);
  const SpeculateWorld w(c.variable);
  SpeculateLane there(c, w, SIDBEAM_DEVICE_CUDA, Drafts::kWith), here(c, w, SIDBEAM_DEVICE_CPU, Drafts::kWith),
      alone(c, w, SIDBEAM_DEVICE_CUDA, Drafts::kWithout);
  Tally tally;
  for (size_t round = 0; round < 2; ++round) {
    const std::vector<Job> jobs = {job(golden, round, kBeams, w.many.get()), job(golden, 2, 2, w.many.get()),
                                   job(golden, 3, 4, w.few.get()), job(golden, 1 - round, kBeams, w.ruled.get())};
    const RoundsCollector far = there.run(jobs), near = here.run(jobs), plain = alone.run(jobs);
    for (size_t i = 0; i < jobs.size(); ++i) {
      const std::string what =
          c.text() + ", round " + std::to_string(round) + ", request " + std::to_string(i) + " " + far.all.message;
      expect(far.all.found[i].status == SIDBEAM_OK && !far.all.found[i].scores.empty(), what, ": found nothing");
      compare(far.all.found[i], near.all.found[i], what);
      if (!c.relaxed) compare(far.all.found[i], plain.all.found[i], what + ", the target alone");
      compare_rounds(far.rounds[i], near.rounds[i], what);
      tally.rounds += far.rounds[i].count, tally.accepted += far.rounds[i].accepted_levels, ++tally.requests;
    }
  }
  std::cout << c.text() << ": " << tally.requests << " requests, " << tally.rounds << " rounds, " << tally.accepted
            << " levels accepted\n";
  return tally;
}

// In 16 bits, whose products are rounded otherwise than the CPU's, the target alone there is what is near.
void narrow(const SpeculateCase& c) {
  const Golden golden(c.target);
  const SpeculateWorld w(c.variable);
  SpeculateLane there(c, w, SIDBEAM_DEVICE_CUDA, Drafts::kWith), alone(c, w, SIDBEAM_DEVICE_CUDA, Drafts::kWithout);
  const std::vector<Job> jobs = {job(golden, 0, kBeams, w.many.get()), job(golden, 2, 3, w.many.get())};
  const RoundsCollector found = there.run(jobs), plain = alone.run(jobs);
  for (size_t i = 0; i < jobs.size(); ++i) {
    expect(!found.all.found[i].scores.empty(), c.text(), ": found nothing ", found.all.message);
    compare(found.all.found[i], plain.all.found[i], c.text(), 5e-2F);
  }
}

// A request that is cancelled while a round runs ends with it, and the others do not notice.
void cancel(const SpeculateCase& c) {
  const Golden golden(c.target);
  const SpeculateWorld w(c.variable);
  SpeculateLane there(c, w, SIDBEAM_DEVICE_CUDA, Drafts::kWith), here(c, w, SIDBEAM_DEVICE_CPU, Drafts::kWith);
  std::atomic<bool> later{false};
  const std::vector<Job> jobs = {job(golden, 0, kBeams, w.many.get()), job(golden, 1, kBeams, w.many.get(), later),
                                 job(golden, 2, kBeams, w.few.get()), job(golden, 3, 3, w.many.get())};
  const RoundsCollector whole = there.run(jobs);
  expect(whole.rounds[1].count > 1 && whole.rounds[2].count == 1, "requests ended after ", whole.rounds[1].count,
         " and ", whole.rounds[2].count, " rounds, expected more than one, and one");
  const RoundsCollector far = there.run(jobs, &later);
  later = false;
  const RoundsCollector near = here.run(jobs, &later);
  for (size_t i = 0; i < jobs.size(); ++i) {
    compare(far.all.found[i], near.all.found[i], "cancelled midway, request " + std::to_string(i));
    compare_rounds(far.rounds[i], near.rounds[i], "cancelled midway, request " + std::to_string(i));
    if (i != 1) expect(far.all.found[i] == whole.all.found[i], "other bits beside a request that was cancelled");
  }
  expect(far.all.found[1].status == SIDBEAM_CANCELLED && far.rounds[1].count == 1, "a cancelled request ended with ",
         far.all.found[1].status, " after ", far.rounds[1].count, " rounds");
}

// The slot of one that ends between the start and the first round has no root, and its prompt, which its host may have
// freed, is not read.
void cancel_first(const SpeculateCase& c, int32_t device_type) {
  const Golden golden(c.target);
  const SpeculateWorld w(c.variable);
  SpeculateLane lane(c, w, device_type, Drafts::kWith);
  const std::atomic<bool> yes{true};
  std::atomic<bool> started{false};  // set when the second one ends, at the start
  std::vector<Job> jobs = {job(golden, 0, kBeams, w.many.get(), started), job(golden, 2, kBeams, w.many.get(), yes),
                           job(golden, 1, kBeams, w.many.get())};
  const RoundsCollector whole = lane.run(jobs);
  jobs[0].prompt.tokens = nullptr;
  const RoundsCollector found = lane.run(jobs, &started);
  expect(found.all.found[0].status == SIDBEAM_CANCELLED && found.rounds[0].count == 0, "a request ended with ",
         found.all.found[0].status, " after ", found.rounds[0].count, " rounds, expected to be cancelled before one");
  compare(found.all.found[2], whole.all.found[2], "behind a slot without a root");
}

using ModelHandle = std::unique_ptr<sidbeam_model, decltype(&sidbeam_model_release)>;

ModelHandle open_on(int32_t device_type, int32_t device_id) {
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  config.weights = SIDBEAM_WEIGHTS_F32;
  config.device_type = device_type, config.device_id = device_id;
  sidbeam_model* model = nullptr;
  const std::string folder = model_folder("qwen3");
  differential::call("open", sidbeam_model_open, folder.c_str(), static_cast<const sidbeam_model_config*>(&config),
                     &model);
  return {model, sidbeam_model_release};
}

void refuse(const ModelHandle& model, const ModelHandle& draft, const std::string& words) {
  const SpeculateWorld w(false);
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = 3;
  vocabulary.offsets = kOffsets;
  sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
  config.model = model.get();
  config.draft = draft.get();
  config.constraint = w.many.get();
  config.vocabulary = &vocabulary;
  config.beams = kBeams;
  sidbeam_runner* runner = nullptr;
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  const sidbeam_status status = sidbeam_runner_create(w.runtime.get(), &config, &runner, &err);
  expect(status == SIDBEAM_UNSUPPORTED && runner == nullptr && words == err.message, "expected '", words,
         "', got status ", status, ": ", err.message);
}

// The models are on one device.
void refuse_places() {
  const ModelHandle there = open_on(SIDBEAM_DEVICE_CUDA, 0), here = open_on(SIDBEAM_DEVICE_CPU, 0);
  refuse(there, here, "config.draft is on the CPU, expected CUDA device 0, as config.model");
  refuse(here, there, "config.draft is on CUDA device 0, expected the CPU, as config.model");
#ifdef SIDBEAM_EMULATED
  const ModelHandle elsewhere = open_on(SIDBEAM_DEVICE_CUDA, 1);
  refuse(there, elsewhere, "config.draft is on CUDA device 1, expected CUDA device 0, as config.model");
#endif
}

// Through the C ABI.
void runner() {
  const ModelHandle target = open_on(SIDBEAM_DEVICE_CUDA, 0), draft = open_on(SIDBEAM_DEVICE_CUDA, 0);
  const SpeculateWorld w(false);
  sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
  config.model = target.get(), config.draft = draft.get();
  config.constraint = w.many.get();
  config.beams = kBeams;
  sidbeam_runner* made = nullptr;
  differential::call("runner", sidbeam_runner_create, w.runtime.get(),
                     static_cast<const sidbeam_runner_config*>(&config), &made);
  const std::unique_ptr<sidbeam_runner, decltype(&sidbeam_runner_destroy)> runner(made, sidbeam_runner_destroy);
  const Golden golden("qwen3");
  const Prompt prompt = golden.prompts[0].prompt();
  int32_t live = 0;
  sidbeam_request request = SIDBEAM_REQUEST_INIT;
  request.tokens = prompt.tokens, request.positions = prompt.positions, request.group = prompt.group;
  request.context = &live;
  request.done = [](void* context, const sidbeam_result* result) { *static_cast<int32_t*>(context) = result->live; };
  differential::call("run", sidbeam_runner_run, made, static_cast<const sidbeam_request*>(&request));
  sidbeam_runner_stats stats = SIDBEAM_RUNNER_STATS_INIT;
  differential::call("stats", sidbeam_runner_get_stats, static_cast<const sidbeam_runner*>(made), &stats);
  expect(live == kBeams && stats.rounds == 1 && stats.round_levels == 3 && stats.accepted_levels == 2,
         "a runner found ", live, " SIDs in ", stats.rounds, " rounds, which gained ", stats.round_levels, " levels");
}

#ifdef SIDBEAM_EMULATED
void batches_after_the_first_allocate_nothing(const SpeculateCase& c) {
  const Golden golden(c.target);
  const SpeculateWorld w(c.variable);
  SpeculateLane lane(c, w, SIDBEAM_DEVICE_CUDA, Drafts::kWith);
  const std::vector<Job> jobs = {job(golden, 0, kBeams, w.many.get()), job(golden, 1, kBeams, w.many.get())};
  const Found first = lane.run(jobs).all.found[0];
  emulator_fail_allocation(1);
  for (int i = 0; i < 2; ++i) expect(lane.run(jobs).all.found[0] == first, c.text(), ": a later batch has other bits");
  void* memory = nullptr;
  expect(cudaMalloc(&memory, 1) == cudaErrorMemoryAllocation, c.text(), ": a later batch allocated");
  emulator_fail_allocation(0);
}

void a_launch_that_fails_harms_no_later_batch(const SpeculateCase& c) {
  const Golden golden(c.target);
  const SpeculateWorld w(c.variable);
  const std::vector<Job> jobs = {job(golden, 0, 3, w.many.get())};
  SpeculateLane lane(c, w, SIDBEAM_DEVICE_CUDA, Drafts::kWith);
  const Found expected = lane.run(jobs).all.found[0];
  int64_t failed = 0;
  for (int64_t n = 1;; n += 23) {
    emulator_fail_launch(n);
    const Found found = lane.run(jobs).all.found[0];
    emulator_fail_launch(0);
    if (found == expected) break;
    expect(found.status == SIDBEAM_DEVICE_ERROR && found.endings == 1, "launch ", n, ": status ", found.status);
    ++failed;
    expect(lane.run(jobs).all.found[0] == expected, "launch ", n, " that failed spoilt the next batch");
  }
  expect(failed > 2, "only ", failed, " launches failed");
}
#endif

int run_all() {
  refuse_places();
  runner();
  // The same model drafts all levels in one round; others seldom help.
  SpeculateCase c;
  c.draft = c.target;
  const Tally same = compare_case(c);
  expect(same.rounds == same.requests, "a draft that is the target took ", same.rounds, " rounds");
  int32_t more = 0;
  for (SpeculateCase other : {
           SpeculateCase{"llama", "qwen2", kBeams, SIDBEAM_WEIGHTS_F32, SIDBEAM_NORMALIZE_LEVEL},
           SpeculateCase{"t5_gated", "t5_relu", 9, SIDBEAM_WEIGHTS_F32, SIDBEAM_NORMALIZE_FULL},
           SpeculateCase{"qwen3", "t5_gated", 11, SIDBEAM_WEIGHTS_F32, SIDBEAM_NORMALIZE_VALID},
           SpeculateCase{"t5_gated", "llama", 8, SIDBEAM_WEIGHTS_F32, SIDBEAM_NORMALIZE_LEVEL, SIDBEAM_MODE_STOCHASTIC},
           SpeculateCase{"llama", "llama", 8, SIDBEAM_WEIGHTS_F32, SIDBEAM_NORMALIZE_FULL, SIDBEAM_MODE_STOCHASTIC},
       }) {
    const Tally tally = compare_case(other);
    more += tally.rounds - tally.requests;
  }
  expect(more > 0, "every request took one round");
  SpeculateCase variable{"qwen3", "llama", 8, SIDBEAM_WEIGHTS_F32, SIDBEAM_NORMALIZE_LEVEL};
  variable.variable = true;
  compare_case(variable);
  SpeculateCase relaxed{"qwen3", "qwen2", 10};
  relaxed.relaxed = relaxed.without_replacement = true;
  compare_case(relaxed);
  narrow({"qwen3", "llama", 7, SIDBEAM_WEIGHTS_BF16});
  narrow({"t5_gated", "t5_relu", kBeams, SIDBEAM_WEIGHTS_F16, SIDBEAM_NORMALIZE_LEVEL});
  cancel({"t5_gated", "llama", kBeams});
  for (const int32_t device_type : {SIDBEAM_DEVICE_CUDA, SIDBEAM_DEVICE_CPU}) {
    cancel_first({"t5_gated", "qwen3", kBeams}, device_type);
    cancel_first({"qwen3", "t5_gated", kBeams}, device_type);
  }
#ifdef SIDBEAM_EMULATED
  batches_after_the_first_allocate_nothing({"t5_gated", "llama", 8});
  a_launch_that_fails_harms_no_later_batch({"qwen3", "llama_linear", kBeams});
#endif
  std::cout << "speculate: passed\n";
  return 0;
}

}  // namespace
}  // namespace gpu

int main() { return gpu::run_program(gpu::run_all); }
