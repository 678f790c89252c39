// The library through its C ABI: handles that free themselves, failures as exceptions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sidbeam/sidbeam.h>

#include <stdexcept>
#include <string>

#include "../handles.h"
#include "catalogue.h"

namespace bench {

using namespace handles;

// A call that must succeed: call("step", sidbeam_session_step, arguments without the error).
template <typename Function, typename... Arguments>
void call(const char* name, Function function, Arguments... arguments) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  const sidbeam_status status = function(arguments..., &err);
  if (status != SIDBEAM_OK)
    throw std::runtime_error(std::string(name) + ": " + sidbeam_status_name(status) + ": " + err.message);
}

Runtime make_runtime(int32_t step_threads);

// With the whole catalogue in it.
Builder fill_builder(sidbeam_runtime* runtime, const Catalogue& catalogue, int32_t kinds);
Index build_index(sidbeam_runtime* runtime, const Catalogue& catalogue, int32_t kinds);
Constraint constrain(sidbeam_index* index);

}  // namespace bench
