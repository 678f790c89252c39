// The library through its C ABI: handles that free themselves, failures as exceptions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sidbeam/sidbeam.h>

#include <stdexcept>
#include <string>
#include <vector>

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

// The same of one that makes a handle: without the result too.
template <class Handle, class Function, class... Arguments>
Handle make(const char* name, Function function, Arguments... arguments) {
  typename Handle::pointer made = nullptr;
  call(name, function, arguments..., &made);
  return Handle(made);
}

Runtime make_runtime(int32_t step_threads);

// With the whole catalogue in it.
Builder fill_builder(sidbeam_runtime* runtime, const Catalogue& catalogue, int32_t kinds);
Index build_index(sidbeam_runtime* runtime, const Catalogue& catalogue, int32_t kinds);

// Views of the numbers, and what is made of such; nullptr: no filter, no list.
sidbeam_item_list list_of(const std::vector<int64_t>& numbers, int32_t by = SIDBEAM_ITEMS_BY_ROW);
Filter filter_of(sidbeam_index* index, const std::vector<int64_t>& rows);
Constraint constrain(sidbeam_index* index, sidbeam_filter* filter = nullptr,
                     const sidbeam_item_list* excluded = nullptr, const sidbeam_item_list* allowed = nullptr);

}  // namespace bench
