// Runners.
// SPDX-License-Identifier: Apache-2.0
#include "sidbeam/runner.h"

#include "runner/capi/first_version.h"
#include "runner/capi/handles.h"
#include "support/arguments.h"

using sidbeam::capi::require;
using sidbeam::runner::object;

extern "C" {

sidbeam_status sidbeam_runner_create(sidbeam_runtime* runtime, const sidbeam_runner_config* config,
                                     sidbeam_runner** out, sidbeam_error* err) {
  return sidbeam::guarded(err, [&] {
    require(runtime, "runtime");
    require(out, "out");
    const auto given = sidbeam::capi::read_struct(config, "config");
    *out = sidbeam::runner::handle(sidbeam::runner::make_service(runtime, given).release());
  });
}

sidbeam_status sidbeam_runner_run(sidbeam_runner* runner, const sidbeam_request* request, sidbeam_error* err) {
  return sidbeam::guarded(err, [&] {
    require(runner, "runner");
    sidbeam_shared_kv shared_kv;
    object(runner)->runner->run(sidbeam::runner::complete_request(*object(runner), request, shared_kv));
  });
}

sidbeam_status sidbeam_runner_submit(sidbeam_runner* runner, const sidbeam_request* request, int64_t* id,
                                     sidbeam_error* err) {
  return sidbeam::guarded(err, [&] {
    require(runner, "runner");
    sidbeam_shared_kv shared_kv;
    const int64_t number =
        object(runner)->runner->submit(sidbeam::runner::complete_request(*object(runner), request, shared_kv));
    if (id != nullptr) *id = number;
  });
}

sidbeam_status sidbeam_runner_cancel(sidbeam_runner* runner, int64_t id, sidbeam_error* err) {
  return sidbeam::guarded(err, [&] {
    require(runner, "runner");
    object(runner)->runner->cancel(id);
  });
}

sidbeam_status sidbeam_runner_drain(sidbeam_runner* runner, int64_t timeout_us, int32_t* idle, sidbeam_error* err) {
  return sidbeam::guarded(err, [&] {
    require(runner, "runner");
    sidbeam::check_range("timeout_us", timeout_us, 0, INT64_MAX);
    const bool empty = object(runner)->runner->drain(timeout_us);
    if (idle != nullptr) *idle = empty ? 1 : 0;
  });
}

sidbeam_status sidbeam_runner_get_stats(const sidbeam_runner* runner, sidbeam_runner_stats* out, sidbeam_error* err) {
  return sidbeam::guarded(err, [&] {
    require(runner, "runner");
    sidbeam::capi::check_output(out, "out");
    sidbeam_runner_stats stats = object(runner)->runner->stats();
    stats.memory_bytes += object(runner)->output->memory_bytes();  // the lanes share it
    sidbeam::write_struct(stats, out);
  });
}

sidbeam_status sidbeam_runner_close(sidbeam_runner* runner, sidbeam_error* err) {
  return sidbeam::guarded(err, [&] {
    require(runner, "runner");
    object(runner)->runner->close();
  });
}

void sidbeam_runner_destroy(sidbeam_runner* runner) {
  if (runner != nullptr && sidbeam_runner_close(runner, nullptr) == SIDBEAM_OK) delete object(runner);
}

}  // extern "C"
