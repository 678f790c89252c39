// Models.
// SPDX-License-Identifier: Apache-2.0
#include "runner/models/model.h"

#include "runner/capi/first_version.h"
#include "runner/capi/handles.h"
#include "support/arguments.h"

namespace sidbeam::runner {
namespace {

void check_config(const sidbeam_model_config& config) {
  check_range("config.weights", config.weights, SIDBEAM_WEIGHTS_STORED, SIDBEAM_WEIGHTS_INT8);
  check_range("config.device_type", config.device_type, SIDBEAM_DEVICE_CPU, SIDBEAM_DEVICE_CUDA);
  if (config.device_type == SIDBEAM_DEVICE_CPU) check_range("config.device_id", config.device_id, 0, 0);
}

}  // namespace
}  // namespace sidbeam::runner

extern "C" {

uint32_t sidbeam_runner_abi_version(void) { return SIDBEAM_RUNNER_ABI_VERSION; }

sidbeam_status sidbeam_model_open(const char* folder, const sidbeam_model_config* config, sidbeam_model** out,
                                  sidbeam_error* err) {
  return sidbeam::guarded(err, [&] {
    sidbeam::capi::require(folder, "folder");
    sidbeam::capi::require(out, "out");
    const sidbeam_model_config defaults = SIDBEAM_MODEL_CONFIG_INIT;
    const auto given = sidbeam::capi::read_struct(config != nullptr ? config : &defaults, "config");
    sidbeam::runner::check_config(given);
    *out = sidbeam::runner::handle(sidbeam::runner::open_model(folder, given));
  });
}

sidbeam_status sidbeam_model_get_info(const sidbeam_model* model, sidbeam_model_info* out, sidbeam_error* err) {
  return sidbeam::guarded(err, [&] {
    sidbeam::capi::require(model, "model");
    sidbeam::capi::check_output(out, "out");
    sidbeam::write_struct(sidbeam::runner::object(model)->info(), out);
  });
}

void sidbeam_model_retain(sidbeam_model* model) {
  if (model != nullptr) sidbeam::runner::object(model)->retain();
}

void sidbeam_model_release(sidbeam_model* model) {
  if (model != nullptr) sidbeam::runner::object(model)->release();
}

}  // extern "C"
