// Models that carry a draft head, on a CUDA device against the CPU's: the states of their one pass, whole batches of
// lanes, again and again, so that graphs serve other batches than they were captured with, and runners.
// SPDX-License-Identifier: Apache-2.0
#include "head_case.h"

#include <atomic>
#include <iostream>

#include "../../unit/model_runs.h"
#include "program.h"

namespace gpu {
namespace {

using differential::expect;

constexpr float kNear = 5e-5F;
const std::atomic<bool> kNo{false}, kYes{true};

// Of one batch: prompts of one position, of many, and of the golden ones.
void states_of_model(const std::string& name, const std::vector<int32_t>& begin, size_t positions) {
  const Golden golden(name);
  const GoldenKv given(golden);
  const HeadModel there(name, SIDBEAM_DEVICE_CUDA), here(name, SIDBEAM_DEVICE_CPU);
  std::mt19937_64 random(7);
  const History one = random_history(random, 1, 2), many = random_history(random, positions, 1);
  std::vector<std::vector<Prompt>> batches = {{golden.prompts[0].prompt(), one.prompt(), many.prompt()},
                                              {many.prompt()},
                                              {given.prompt(), golden.prompts[1].prompt()}};
  DeviceStates on_device(there, begin);
  for (const std::vector<Prompt>& prompts : batches) {
    const std::vector<float> far = on_device.of(prompts), near = cpu_states(here, begin, prompts);
    expect(far.size() == near.size(), name, ": ", far.size(), " elements of states, expected ", near.size());
    const float off = distance(far.data(), near.data(), near.size());
    expect(off < kNear, name, ": states of ", prompts.size(), " prompts are off by ", off);
    expect(on_device.of(prompts) == far, name, ": other bits again");
  }
}

std::vector<Job> batch_of(const HeadWorld& w, const Golden& golden, size_t round) {
  const auto job = [&](size_t prompt, int32_t beams, const differential::Constraint& of, int64_t number,
                       const std::atomic<bool>& cancelled) {
    return Job{golden.prompts[prompt].prompt(), of.get(), beams, number, nullptr, &cancelled};
  };
  const int32_t most = w.c.beams;
  return {job(round % 3, most, w.many, 11, kNo), job(1, 2, w.many, 12, kYes),
          job(2, most, w.many, round == 1 ? kEnding : 14, kNo), job(3, 4, w.few, 15, kNo)};
}

void batches(const HeadCase& c) {
  const Golden golden(c.model);
  const HeadWorld w(c);
  HeadLane there(w, SIDBEAM_DEVICE_CUDA), here(w, SIDBEAM_DEVICE_CPU);
  for (size_t round = 0; round < 3; ++round) {
    const std::vector<Job> jobs = batch_of(w, golden, round);
    const Collector far = there.run(jobs), near = here.run(jobs);
    for (size_t i = 0; i < jobs.size(); ++i)
      compare(far.found[i], near.found[i],
              c.text() + ", round " + std::to_string(round) + ", request " + std::to_string(i) + " " + far.message);
    const bool may_miss = c.strategy == SIDBEAM_STRATEGY_HASH_FINAL;
    expect(near.found[0].status == SIDBEAM_OK && (may_miss || !near.found[0].scores.empty()), c.text(),
           ": found nothing");
  }
  expect((there.adjusted() > 0) == c.adjusts, c.text(), ": adjust was called ", there.adjusted(), " times");
}

struct HeadKind {
  int32_t input, transition;
};
constexpr HeadKind kHeads[] = {{SIDBEAM_DRAFT_INPUT_BOTH, SIDBEAM_DRAFT_TRANSITION_RNN},
                               {SIDBEAM_DRAFT_INPUT_BOTH, SIDBEAM_DRAFT_TRANSITION_GRU},
                               {SIDBEAM_DRAFT_INPUT_STATE, SIDBEAM_DRAFT_TRANSITION_GRU},
                               {SIDBEAM_DRAFT_INPUT_STATE, SIDBEAM_DRAFT_TRANSITION_ADD},
                               {SIDBEAM_DRAFT_INPUT_BOTH, SIDBEAM_DRAFT_TRANSITION_NONE},
                               {SIDBEAM_DRAFT_INPUT_STATE, SIDBEAM_DRAFT_TRANSITION_NONE},
                               {SIDBEAM_DRAFT_INPUT_HIDDEN, SIDBEAM_DRAFT_TRANSITION_NONE}};
struct Search {
  int32_t strategy, normalization;
};
constexpr Search kSearches[] = {{SIDBEAM_STRATEGY_TRIE, SIDBEAM_NORMALIZE_FULL},
                                {SIDBEAM_STRATEGY_TRIE, SIDBEAM_NORMALIZE_VALID},
                                {SIDBEAM_STRATEGY_HASH_FINAL, SIDBEAM_NORMALIZE_LEVEL},
                                {SIDBEAM_STRATEGY_NONE, SIDBEAM_NORMALIZE_FULL}};

// Each head with two searches, and in turn with the models, few and many beams, and a callback of the host or none.
void all_batches() {
  size_t number = 0;
  for (const HeadKind& head : kHeads) {
    for (int i = 0; i < 2; ++i, ++number) {
      HeadCase c;
      c.model = kDeviceModels[number % kDeviceModels.size()];
      c.input = head.input, c.transition = head.transition;
      c.strategy = kSearches[number % 4].strategy, c.normalization = kSearches[number % 4].normalization;
      c.beams = number % 3 == 0 ? 30 : 6;  // 30: more than the first level has codes
      c.adjusts = number / 4 % 2 == 1;
      batches(c);
    }
  }
}

// Enqueued, captured and launched as graphs, also after batches of other sizes.
void graphs_have_the_same_bits() {
  for (const int32_t transition : {SIDBEAM_DRAFT_TRANSITION_GRU, SIDBEAM_DRAFT_TRANSITION_NONE}) {
    HeadCase c;
    c.transition = transition;
    const Golden golden(c.model);
    const HeadWorld w(c);
    HeadLane lane(w, SIDBEAM_DEVICE_CUDA);
    std::vector<Job> jobs = batch_of(w, golden, 0);
    jobs.erase(jobs.begin() + 1);
    const std::vector<Found> expected = lane.run(jobs).found;
    for (int round = 0; round < 4; ++round) {
      expect(lane.run({jobs[1]}).found[0].sids == expected[1].sids, c.text(), ": another result alone");
      expect(lane.run({jobs[2], jobs[0]}).found[1].sids == expected[0].sids, c.text(), ": another result of two");
      expect(lane.run(jobs).found == expected, c.text(), ": other bits in round ", round);
    }
  }
}

// Of weights with 16 bits, whose products are rounded otherwise than the CPU's.
void a_decoder_there_finds_the_same() {
  for (const int32_t weights : {SIDBEAM_WEIGHTS_BF16, SIDBEAM_WEIGHTS_F16}) {
    HeadCase c;
    c.weights = weights, c.dtype = weights == SIDBEAM_WEIGHTS_F16 ? SIDBEAM_DTYPE_F16 : SIDBEAM_DTYPE_BF16;
    const Golden golden(c.model);
    const HeadWorld w(c);
    HeadLane lane(w, SIDBEAM_DEVICE_CUDA);
    const std::vector<Job> jobs = {batch_of(w, golden, 0)[0], batch_of(w, golden, 1)[0]};
    const std::vector<Found> found = lane.run(jobs).found, expected = decoded(w, {jobs[0].prompt, jobs[1].prompt});
    for (size_t i = 0; i < jobs.size(); ++i) compare(found[i], expected[i], c.text() + ", beside a decoder");
    expect(!found[0].sids.empty(), c.text(), ": found nothing");
  }
}

// Through the C ABI, one request after the other.
void runners() {
  const HeadCase c;
  const Golden golden(c.model);
  const HeadWorld w(c);
  const std::vector<Found> far = answers(w, SIDBEAM_DEVICE_CUDA, golden.prompts),
                           near = answers(w, SIDBEAM_DEVICE_CPU, golden.prompts);
  for (size_t i = 0; i < near.size(); ++i) {
    compare(far[i], near[i], "a runner's request " + std::to_string(i));
    expect(near[i].status == SIDBEAM_OK && !near[i].sids.empty(), "a runner found nothing");
  }
}

#ifdef SIDBEAM_EMULATED
void batches_after_the_first_allocate_nothing() {
  const HeadCase c;
  const Golden golden(c.model);
  const HeadWorld w(c);
  HeadLane lane(w, SIDBEAM_DEVICE_CUDA);
  const std::vector<Job> jobs = batch_of(w, golden, 0);
  const Found first = lane.run(jobs).found[0];
  emulator_fail_allocation(1);
  for (int i = 0; i < 3; ++i) expect(lane.run(jobs).found[0] == first, "a later batch has other bits");
  void* memory = nullptr;
  expect(cudaMalloc(&memory, 1) == cudaErrorMemoryAllocation, "a later batch allocated");
  emulator_fail_allocation(0);
}

void a_launch_that_fails_harms_no_later_batch() {
  const HeadCase c;
  const Golden golden(c.model);
  const HeadWorld w(c);
  const std::vector<Job> jobs = {batch_of(w, golden, 0)[0]};
  const Found expected = HeadLane(w, SIDBEAM_DEVICE_CUDA).run(jobs).found[0];
  HeadLane lane(w, SIDBEAM_DEVICE_CUDA);
  int64_t n = 1, failed = 0;
  for (;; n += 5) {
    emulator_fail_launch(n);
    const Found found = lane.run(jobs).found[0];
    emulator_fail_launch(0);
    if (found == expected) break;
    expect(found.status == SIDBEAM_DEVICE_ERROR && found.endings == 1, "launch ", n, ": status ", found.status);
    ++failed;
    expect(lane.run(jobs).found[0] == expected, "launch ", n, " that failed spoilt the next batch");
  }
  expect(failed > 2, "only ", failed, " launches failed");
}
#endif

// Attention of 300 positions is cut into splits; the emulator takes seconds for it.
void states() {
  int number = 0;
  for (const char* name : kDeviceModels)
    for (const std::vector<int32_t>& begin : {std::vector<int32_t>{}, std::vector<int32_t>{9, 30}})
      states_of_model(name, begin, number++ % 5 == 0 ? 300 : 40);
}

int run_all() {
  states();
  all_batches();
  graphs_have_the_same_bits();
  a_decoder_there_finds_the_same();
  runners();
#ifdef SIDBEAM_EMULATED
  batches_after_the_first_allocate_nothing();
  a_launch_that_fails_harms_no_later_batch();
#endif
  std::cout << "head: passed\n";
  return 0;
}

}  // namespace
}  // namespace gpu

int main() { return gpu::run_program(gpu::run_all); }
