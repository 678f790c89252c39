// What may be captured, asked of the device: each call that session.h and states.h allow in a graph, in a capture of
// its own in global mode, replayed once. A line says what came, also where calls before it failed. (capture.cc asks for
// CUDA's own calls.) Exit status 77: no device. SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include "device_place.h"
#include "library.h"

namespace {

using differential::Array;
using differential::call;

std::string name_of(cudaError_t status) { return cudaGetErrorName(status); }

// What became of a capture: everything that went wrong, in order.
struct Outcome {
  std::string wrong;
  void add(const std::string& what) { wrong += (wrong.empty() ? "" : "; ") + what; }
  void add(const char* step, cudaError_t status) {
    if (status == cudaSuccess) return;
    cudaGetLastError();
    add(std::string(step) + ": " + name_of(status));
  }
};

void replay(cudaGraph_t graph, cudaStream_t stream, Outcome* outcome) {
  cudaGraphExec_t exec = nullptr;
  outcome->add("instantiate", cudaGraphInstantiate(&exec, graph, 0));
  if (exec == nullptr) return;
  outcome->add("launch", cudaGraphLaunch(exec, stream));
  outcome->add("replay", cudaStreamSynchronize(stream));
  cudaGraphExecDestroy(exec);
}

Outcome capture(cudaStream_t stream, const std::function<void()>& enqueue) {
  Outcome outcome;
  outcome.add("begin", cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  if (!outcome.wrong.empty()) return outcome;
  try {
    enqueue();
  } catch (const std::exception& error) {
    outcome.add(error.what());
  }
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  outcome.add("ask for the capture", cudaStreamIsCapturing(stream, &status));
  if (status == cudaStreamCaptureStatusInvalidated) outcome.add("the capture is invalid");
  if (status == cudaStreamCaptureStatusNone) outcome.add("the capture has ended");
  cudaGraph_t graph = nullptr;
  outcome.add("end", cudaStreamEndCapture(stream, &graph));
  if (graph != nullptr) {
    replay(graph, stream, &outcome);
    cudaGraphDestroy(graph);
  }
  return outcome;
}

differential::Case small_case() {
  differential::Case c;
  c.seed = 3;
  c.levels = 3;
  c.codes = 40;
  c.sids = 300;
  c.beams = 8;
  c.slots = 2;
  return repaired(c);
}

// A session whose slots have started, a set of the same constraint, and device memory for every argument. Nothing has
// been stepped or called: what a kernel needs must be there before it is first captured.
class Probe {
 public:
  Probe() {
    const size_t rows = 16, columns = static_cast<size_t>(world_.columns);
    logits_.emplace(place_, rows * columns, -1.0F);
    rows_ = sidbeam_rows_dense(logits_->data(), SIDBEAM_DTYPE_F32, 2, 8, world_.columns);
    rows_.device_type = SIDBEAM_DEVICE_CUDA;
    flat_rows_ = sidbeam_rows_dense(logits_->data(), SIDBEAM_DTYPE_F32, 0, 16, world_.columns);
    flat_rows_.device_type = SIDBEAM_DEVICE_CUDA;
    sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
    start.stream = place_.stream();
    call("sidbeam_session_start", sidbeam_session_start, session_.get(), &start);
    place_.wait();
  }

  cudaStream_t stream() const { return static_cast<cudaStream_t>(place_.stream()); }

  void step() {
    sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
    args.rows = &rows_;
    args.stream = place_.stream();
    call("sidbeam_session_step", sidbeam_session_step, session_.get(), &args);
  }
  void children() {
    call("sidbeam_session_children", sidbeam_session_children, const_session(), static_cast<const int32_t*>(nullptr),
         int64_t{0}, 1, int64_t{64}, offsets_.data(), codes_.data(), place_.stream());
  }
  void fetch() {
    sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
    call("sidbeam_session_fetch", sidbeam_session_fetch, session_.get(), &beams, place_.stream());
  }
  void get_beams() {
    sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
    call("sidbeam_session_get_beams", sidbeam_session_get_beams, const_session(), &beams);
  }
  void get_items() {
    sidbeam_items items = SIDBEAM_ITEMS_INIT;
    items.ordinals = states_.data();
    items.stream = place_.stream();
    call("sidbeam_session_get_items", sidbeam_session_get_items, const_session(), kNone, int64_t{0}, &items);
  }
  void prefixes() {
    call("sidbeam_constraint_set_prefixes", sidbeam_constraint_set_prefixes, const_set(), kNone, codes_.data(),
         int64_t{0}, lengths_.data(), int64_t{16}, states_.data(), place_.stream());
  }
  void advance() {
    call("sidbeam_constraint_set_advance", sidbeam_constraint_set_advance, const_set(), kNone, states_.data(),
         int64_t{16}, kNone, codes_.data(), int64_t{16}, next_.data(), place_.stream());
  }
  void mask() {
    call("sidbeam_constraint_set_mask", sidbeam_constraint_set_mask, const_set(), kNone, begins_.data(), &flat_rows_,
         static_cast<void*>(logits_->data()), place_.stream());
  }
  void bitmask() {
    const int64_t words = (world_.columns + 31) / 32;
    call("sidbeam_constraint_set_bitmask", sidbeam_constraint_set_bitmask, const_set(), kNone, begins_.data(),
         int64_t{16}, words, words_.data(), place_.stream());
  }
  void topk() {
    call("sidbeam_constraint_set_topk", sidbeam_constraint_set_topk, const_set(), kNone, begins_.data(), &flat_rows_,
         static_cast<int32_t>(SIDBEAM_NORMALIZE_FULL), 4, codes_.data(), log_probs_.data(), next_.data(),
         place_.stream());
  }

 private:
  static constexpr const int32_t* kNone = nullptr;
  const sidbeam_session* const_session() const { return session_.get(); }
  const sidbeam_constraint_set* const_set() const { return set_.get(); }

  differential::World world_ = differential::make_world(small_case());
  differential::Runtime runtime_ = differential::make_runtime(nullptr);
  gpu::DevicePlace place_{0};
  differential::Loaded loaded_ = differential::load(runtime_.get(), world_, 0);
  differential::Vocabulary vocabulary_{world_};
  differential::Session session_ =
      differential::make_session(runtime_.get(), place_, loaded_.constraint.get(), world_, SIDBEAM_STRATEGY_TRIE, 2);
  differential::ConstraintSet set_ =
      differential::make_set(runtime_.get(), place_, {loaded_.constraint.get()}, &vocabulary_.view);
  Array<sidbeam_state> begins_{place_, 16, 0}, states_{place_, 16, 0}, next_{place_, 64, 0};
  Array<int64_t> offsets_{place_, 17, 0};
  Array<int32_t> codes_{place_, 64, 0}, lengths_{place_, 16, 0};
  Array<uint32_t> words_{place_, 16 * (static_cast<size_t>(world_.columns) + 31) / 32 + 16, 0};
  Array<float> log_probs_{place_, 64, 0};
  std::optional<Array<float>> logits_;
  sidbeam_rows rows_, flat_rows_;
};

int probe_library(Probe& probe) {
  const std::pair<const char*, void (Probe::*)()> entries[] = {{"session_step", &Probe::step},
                                                               {"session_children", &Probe::children},
                                                               {"session_fetch", &Probe::fetch},
                                                               {"session_get_beams", &Probe::get_beams},
                                                               {"session_get_items", &Probe::get_items},
                                                               {"constraint_set_prefixes", &Probe::prefixes},
                                                               {"constraint_set_advance", &Probe::advance},
                                                               {"constraint_set_mask", &Probe::mask},
                                                               {"constraint_set_bitmask", &Probe::bitmask},
                                                               {"constraint_set_topk", &Probe::topk}};
  int failed = 0;
  for (const auto& entry : entries) {
    const Outcome outcome = capture(probe.stream(), [&] { (probe.*entry.second)(); });
    std::cout << (outcome.wrong.empty() ? "ok      " : "FAILED  ") << entry.first
              << (outcome.wrong.empty() ? "" : ": " + outcome.wrong) << '\n';
    failed += !outcome.wrong.empty();
  }
  return failed;
}

}  // namespace

int main() {
  if (!gpu::has_device()) return 77;
  std::cout << std::unitbuf;  // a time limit may end this
  try {
    Probe probe;
    const int failed = probe_library(probe);
    std::cout << (failed == 0 ? "every call may be captured" : std::to_string(failed) + " calls failed") << '\n';
    return failed == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::cout << "FAILED  before any capture: " << error.what() << '\n';
    return 1;
  }
}
