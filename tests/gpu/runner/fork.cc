// A child of fork() leaves the runner's objects on a CUDA device as they are, and is refused what only the device could
// do. The emulator works in a child, so that what must not be called would be seen there.
// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <iostream>

#include "../../random_head.h"
#include "hidden_case.h"
#include "program.h"
#include "sidbeam/runner.h"

namespace gpu {
namespace {

constexpr unsigned kSeconds = 60;
constexpr int32_t kWidth = 8;  // of hidden states

using Model = std::unique_ptr<sidbeam_model, handles::Releaser<sidbeam_model_release>>;
using Runner = std::unique_ptr<sidbeam_runner, handles::Releaser<sidbeam_runner_destroy>>;

// One of everything that the runner's library has on a device.
struct World {
  differential::Runtime runtime = differential::make_runtime(nullptr);
  differential::Constraint constraint = make_constraint(runtime.get(), 50, 1, false, true);
  DevicePlace device{0};
  differential::Array<float> states{device, std::vector<float>(kColumns* kWidth)};
  std::mt19937_64 random{5};
  heads::HeadShape shape{{kCodes[0], kCodes[1], kCodes[2]}, kWidth, kWidth};
  oracle::DraftModel weights = heads::random_head(shape, random);
  handles::Index index = heads::make_index(runtime.get(), shape.codes, heads::random_sids(shape.codes, 60, random));
  sidbeam_error err = SIDBEAM_ERROR_INIT;

  heads::DraftHead head = heads::DraftFile(weights, SIDBEAM_DTYPE_F32).head();
  heads::DraftDecoder decoder = make_decoder();
  Model model = make_model();
  Runner runner = make_runner();
  Layer layer = make_layer();
  handles::Session session = make_session();
  Hidden hidden = make_hidden();

  heads::DraftDecoder make_decoder() {
    sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
    config.head = head.get(), config.index = index.get(), config.device_type = SIDBEAM_DEVICE_CUDA;
    config.beams = 2;
    sidbeam_draft_decoder* made = nullptr;
    call("decoder", sidbeam_draft_decoder_create, runtime.get(), static_cast<const sidbeam_draft_config*>(&config),
         &made);
    return heads::DraftDecoder(made);
  }
  static Model make_model() {
    sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
    config.device_type = SIDBEAM_DEVICE_CUDA;
    sidbeam_model* made = nullptr;
    call("model", sidbeam_model_open, SIDBEAM_TEST_MODELS "/qwen3", static_cast<const sidbeam_model_config*>(&config),
         &made);
    return Model(made);
  }
  Runner make_runner() {
    sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
    vocabulary.levels = 3, vocabulary.offsets = kOffsets, vocabulary.end_column = kEnd;
    sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
    config.model = model.get(), config.constraint = constraint.get(), config.vocabulary = &vocabulary;
    config.beams = 2, config.max_prompt = 8;
    sidbeam_runner* made = nullptr;
    call("runner", sidbeam_runner_create, runtime.get(), static_cast<const sidbeam_runner_config*>(&config), &made);
    return Runner(made);
  }
  Layer make_layer() {
    sidbeam_output_layer_config config = SIDBEAM_OUTPUT_LAYER_CONFIG_INIT;
    config.device_type = SIDBEAM_DEVICE_CUDA;
    config.weights = states.data(), config.columns = kColumns, config.width = kWidth;
    sidbeam_output_layer* made = nullptr;
    call("layer", sidbeam_output_layer_create, static_cast<const sidbeam_output_layer_config*>(&config), &made);
    return Layer(made);
  }
  handles::Session make_session() {
    sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
    config.beams = 2, config.constraint = constraint.get(), config.device_type = SIDBEAM_DEVICE_CUDA;
    sidbeam_session* made = nullptr;
    call("session", sidbeam_session_create, runtime.get(), static_cast<const sidbeam_session_config*>(&config), &made);
    return handles::Session(made);
  }
  Hidden make_hidden() {
    sidbeam_hidden_config config = SIDBEAM_HIDDEN_CONFIG_INIT;
    config.session = session.get(), config.layer = layer.get();
    sidbeam_hidden* made = nullptr;
    call("hidden", sidbeam_hidden_create, static_cast<const sidbeam_hidden_config*>(&config), &made);
    return Hidden(made);
  }

  void draft() {
    sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
    with_draft_args(
        [&](const sidbeam_draft_args* args) { call("run", sidbeam_draft_decoder_run, decoder.get(), args, &result); });
  }
  void draft_start() {
    with_draft_args(
        [&](const sidbeam_draft_args* args) { call("start", sidbeam_draft_decoder_start, decoder.get(), args); });
  }
  void draft_decode() {
    sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
    with_draft_args([&](const sidbeam_draft_args* args) {
      call("decode", sidbeam_draft_decoder_decode, decoder.get(), args, &result);
    });
  }
  void step() {
    sidbeam_rows rows = sidbeam_rows_dense(states.data(), SIDBEAM_DTYPE_F32, 1, 2, kWidth);
    rows.device_type = SIDBEAM_DEVICE_CUDA;
    sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
    args.hidden = &rows, args.stream = device.stream();
    call("step", sidbeam_hidden_step, hidden.get(), static_cast<const sidbeam_hidden_step_args*>(&args));
  }

 private:
  template <class Function>
  void with_draft_args(const Function& function) {
    sidbeam_rows rows = sidbeam_rows_dense(states.data(), SIDBEAM_DTYPE_F32, 1, 4, kWidth);
    rows.device_type = SIDBEAM_DEVICE_CUDA;
    sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;
    args.hidden = &rows, args.stream = device.stream();
    function(&args);
  }
};

// Runs `body` in a child, which must end well, and in time.
template <class Body>
void in_child(const Body& body) {
  std::cout.flush();
  const pid_t child = fork();
  if (child == 0) {
    alarm(kSeconds);
    try {
      body();
      _exit(0);
    } catch (const std::exception& failure) {
      std::cerr << "in the child: " << failure.what() << std::endl;
    } catch (const sidbeam::Failure& failure) {
      std::cerr << "in the child: " << failure.message << std::endl;
    }
    _exit(1);
  }
  int status = 0;
  expect(waitpid(child, &status, 0) == child && status == 0, "the child's status is ", status);
}

// With the code and the words of the core.
template <class Call>
void refused(const Call& call) {
  std::string how = "it was not refused";
  try {
    call();
  } catch (const differential::Mismatch& failure) {
    how = failure.what();
  }
  expect(how.find("failed: bad state: CUDA device 0 was opened before this process was forked, expected objects made "
                  "in it") != std::string::npos,
         how);
}

// What the device holds; unknown where it is real.
int64_t live_allocations() {
#ifdef SIDBEAM_EMULATED
  return emulator_live_allocations();
#else
  return 0;
#endif
}

void use_and_let_go(World& w) {
  const int64_t live = live_allocations();
  refused([&] { w.draft(); });
  refused([&] { w.draft_start(); });
  refused([&] { w.draft_decode(); });
  refused([&] { w.step(); });
  refused([&] { w.make_hidden(); });
  refused([&] { w.make_runner(); });
  w.runner.reset();
  w.model.reset();
  w.hidden.reset();
  w.session.reset();
  w.layer.reset();
  w.decoder.reset();
  w.head.reset();
  expect(live_allocations() == live, live, " allocations became ", live_allocations());
}

void a_child_lets_go_of_what_is_on_a_device(World& w) {
  w.draft();
  in_child([&] { use_and_let_go(w); });
  w.draft();  // the parent never notices
  w.make_runner();
  w.device.wait();
}

#ifdef SIDBEAM_EMULATED
// The first decoder of a child uploads the head for the child, and later ones share that.
void a_child_has_uploads_of_its_own(World& w) {
  in_child([&] {
    w.device.prepare(w.index.get());
    const int64_t before = emulator_live_bytes();
    const heads::DraftDecoder first = w.make_decoder();
    const int64_t with_first = emulator_live_bytes();
    const heads::DraftDecoder second = w.make_decoder();
    const int64_t of_first = with_first - before, of_second = emulator_live_bytes() - with_first;
    const int64_t weights = 4 * (20 + 16 + 12) * 2 * kWidth;  // of the levels' heads alone
    expect(of_first >= of_second + weights, "the first decoder took ", of_first, " bytes, and the second ", of_second);
  });
}
#endif

int run_all() {
  World w;
  a_child_lets_go_of_what_is_on_a_device(w);
#ifdef SIDBEAM_EMULATED
  a_child_has_uploads_of_its_own(w);
#endif
  std::cout << "fork: passed\n";
  return 0;
}

}  // namespace
}  // namespace gpu

int main() { return gpu::run_program(gpu::run_all); }
