// Steps from hidden states on a CUDA device: what is refused, with the session as it was, and what puts a slot in
// error. SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "hidden_case.h"
#include "program.h"

namespace gpu {
namespace {

void fails(sidbeam_status status, sidbeam_status expected, const sidbeam_error& err, const char* text) {
  expect(status == expected && std::strstr(err.message, text) != nullptr, "status ", status, " (", err.message,
         "), expected ", expected, " with '", text, "'");
}

struct Refusals {
  differential::Runtime runtime = differential::make_runtime(nullptr);
  differential::Constraint constraint = make_constraint(runtime.get(), 50, 1, false, true);
  DevicePlace device{0};
  std::vector<float> host = std::vector<float>(kColumns * 8);
  differential::Array<float> there{device, std::vector<float>(kColumns * 8)};
  sidbeam_error err = SIDBEAM_ERROR_INIT;

  handles::Session session(int32_t device_type, int32_t normalization = SIDBEAM_NORMALIZE_VALID) {
    sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
    config.beams = 2, config.constraint = constraint.get(), config.device_type = device_type;
    config.normalization = normalization;
    sidbeam_session* made = nullptr;
    call("session", sidbeam_session_create, runtime.get(), static_cast<const sidbeam_session_config*>(&config), &made);
    return handles::Session(made);
  }
  sidbeam_output_layer_config layer_config() const {
    sidbeam_output_layer_config config = SIDBEAM_OUTPUT_LAYER_CONFIG_INIT;
    config.device_type = SIDBEAM_DEVICE_CUDA;
    config.weights = there.data(), config.columns = kColumns, config.width = 8;
    return config;
  }
  Layer layer(const sidbeam_output_layer_config& config) {
    sidbeam_output_layer* made = nullptr;
    call("layer", sidbeam_output_layer_create, &config, &made);
    return Layer(made);
  }
};

void layers_are_refused(Refusals& r) {
  sidbeam_output_layer* none = nullptr;
  const auto refused = [&](auto change, sidbeam_status status, const char* text) {
    sidbeam_output_layer_config config = r.layer_config();
    change(config);
    fails(sidbeam_output_layer_create(&config, &none, &r.err), status, r.err, text);
  };
  refused([&](auto& config) { config.weights = r.host.data(); }, SIDBEAM_INVALID_ARGUMENT,
          "config.weights is memory of the host");
  refused([&](auto& config) { config.bias = r.host.data(); }, SIDBEAM_INVALID_ARGUMENT,
          "config.bias is memory of the host");
  refused([&](auto& config) { config.width = 7; }, SIDBEAM_INVALID_ARGUMENT, "rows of 28 bytes, expected");
  refused([&](auto& config) { config.weights = r.there.data() + 1; }, SIDBEAM_INVALID_ARGUMENT, "multiple of 16 bytes");
  refused([&](auto& config) { config.device_id = 7; }, SIDBEAM_NO_DEVICE, "7");
}

void sessions_are_refused(Refusals& r) {
  const Layer there = r.layer(r.layer_config());
  sidbeam_output_layer_config config = r.layer_config();
  config.device_type = SIDBEAM_DEVICE_CPU, config.weights = r.host.data();
  const Layer here = r.layer(config);
  const handles::Session on_cpu = r.session(SIDBEAM_DEVICE_CPU), on_cuda = r.session(SIDBEAM_DEVICE_CUDA);
  sidbeam_hidden_config how = SIDBEAM_HIDDEN_CONFIG_INIT;
  sidbeam_hidden* none = nullptr;
  how.session = on_cuda.get(), how.layer = here.get();
  fails(sidbeam_hidden_create(&how, &none, &r.err), SIDBEAM_UNSUPPORTED, r.err,
        "config.session is on CUDA, expected one on the CPU, where the layer is");
  how.session = on_cpu.get(), how.layer = there.get();
  fails(sidbeam_hidden_create(&how, &none, &r.err), SIDBEAM_UNSUPPORTED, r.err,
        "config.session is elsewhere, expected one on CUDA device 0, where the layer is");
}

void steps_are_refused(Refusals& r) {
  const Layer layer = r.layer(r.layer_config());
  const handles::Session session = r.session(SIDBEAM_DEVICE_CUDA, SIDBEAM_NORMALIZE_FULL);
  sidbeam_hidden_config how = SIDBEAM_HIDDEN_CONFIG_INIT;
  how.session = session.get(), how.layer = layer.get();
  sidbeam_hidden* made = nullptr;
  call("hidden", sidbeam_hidden_create, static_cast<const sidbeam_hidden_config*>(&how), &made);
  const Hidden hidden(made);
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.stream = r.device.stream();
  call("start", sidbeam_session_start, session.get(), static_cast<const sidbeam_start_args*>(&start));
  const auto refused = [&](auto change, sidbeam_status status, const char* text) {
    sidbeam_rows rows = sidbeam_rows_dense(r.there.data(), SIDBEAM_DTYPE_F32, 1, 2, 8);
    rows.device_type = SIDBEAM_DEVICE_CUDA;
    sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
    args.hidden = &rows, args.stream = r.device.stream();
    change(args, rows);
    fails(sidbeam_hidden_step(made, &args, &r.err), status, r.err, text);
  };
  const int32_t map[] = {0, 1};
  refused([](auto&, auto& rows) { rows.columns = 4; }, SIDBEAM_INVALID_ARGUMENT, "hidden.columns is 4, expected 8");
  refused([](auto&, auto& rows) { rows.rows = 3; }, SIDBEAM_INVALID_ARGUMENT, "expected at most 2 in all on CUDA");
  refused([](auto&, auto& rows) { rows.slots = 2; }, SIDBEAM_INVALID_ARGUMENT, "hidden.slots is 2, expected 1");
  refused([](auto&, auto& rows) { rows.dtype = 3; }, SIDBEAM_INVALID_ARGUMENT, "hidden.dtype is 3");
  refused([](auto&, auto& rows) { rows.device_type = SIDBEAM_DEVICE_CPU; }, SIDBEAM_NO_DEVICE,
          "hidden.device_type is 0, expected CUDA (1)");
  refused([](auto&, auto& rows) { rows.device_id = 1; }, SIDBEAM_NO_DEVICE, "hidden.device_id is 1, expected 0");
  refused([&](auto&, auto& rows) { rows.data = r.host.data(); }, SIDBEAM_INVALID_ARGUMENT,
          "hidden.data is memory of the host");
  refused([&](auto& args, auto& rows) { args.row_map = map, rows.slots = 0; }, SIDBEAM_INVALID_ARGUMENT,
          "row_map is memory of the host");
  refused([](auto& args, auto&) { args.path = 3; }, SIDBEAM_INVALID_ARGUMENT, "args.path is 3");
  refused([](auto& args, auto&) { args.path = SIDBEAM_HIDDEN_CHILDREN; }, SIDBEAM_UNSUPPORTED,
          "a step reads more than children");
  const sidbeam_beams beams = differential::beams_of(r.device, session.get());
  expect(beams.level[0] == 0 && beams.live[0] == 1, "a refused step moved the session to level ", beams.level[0]);
}

// A beam without a row, and a layer that is too narrow for a level: the slot is in error, as after a step.
void what_the_host_cannot_see_puts_the_slot_in_error(Refusals& r) {
  for (const bool narrow : {false, true}) {
    sidbeam_output_layer_config config = r.layer_config();
    if (narrow) config.columns = 15;  // enough for the last level alone
    const Layer layer = r.layer(config);
    const handles::Session session = r.session(SIDBEAM_DEVICE_CUDA);
    sidbeam_hidden_config how = SIDBEAM_HIDDEN_CONFIG_INIT;
    how.session = session.get(), how.layer = layer.get();
    sidbeam_hidden* made = nullptr;
    call("hidden", sidbeam_hidden_create, static_cast<const sidbeam_hidden_config*>(&how), &made);
    const Hidden hidden(made);
    sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
    start.stream = r.device.stream();
    call("start", sidbeam_session_start, session.get(), static_cast<const sidbeam_start_args*>(&start));
    sidbeam_rows rows = sidbeam_rows_dense(r.there.data(), SIDBEAM_DTYPE_F32, 0, 2, 8);
    rows.device_type = SIDBEAM_DEVICE_CUDA;
    const differential::Array<int32_t> map(r.device, narrow ? std::vector<int32_t>{0, 1} : std::vector<int32_t>{-1, 7});
    sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
    args.hidden = &rows, args.row_map = map.data(), args.stream = r.device.stream();
    call("step", sidbeam_hidden_step, made, static_cast<const sidbeam_hidden_step_args*>(&args));
    const sidbeam_beams beams = differential::beams_of(r.device, session.get());
    expect(beams.errors[0] == SIDBEAM_SLOT_BAD_MAP && beams.live[0] == 0, narrow ? "narrow" : "no row", ": error ",
           beams.errors[0], ", live ", beams.live[0]);
  }
}

int run_all() {
  Refusals refusals;
  layers_are_refused(refusals);
  sessions_are_refused(refusals);
  steps_are_refused(refusals);
  what_the_host_cannot_see_puts_the_slot_in_error(refusals);
  std::cout << "hidden refusals: passed\n";
  return 0;
}

}  // namespace
}  // namespace gpu

int main() { return gpu::run_program(gpu::run_all); }
