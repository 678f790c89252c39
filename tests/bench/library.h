// The library through its C ABI: handles that free themselves, failures as exceptions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sidbeam/sidbeam.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "catalogue.h"

namespace bench {

template <auto release>
struct Releaser {
  template <typename T>
  void operator()(T* handle) const {
    release(handle);
  }
};
using Runtime = std::unique_ptr<sidbeam_runtime, Releaser<sidbeam_runtime_release>>;
using Builder = std::unique_ptr<sidbeam_builder, Releaser<sidbeam_builder_destroy>>;
using Index = std::unique_ptr<sidbeam_index, Releaser<sidbeam_index_release>>;
using Constraint = std::unique_ptr<sidbeam_constraint, Releaser<sidbeam_constraint_release>>;
using Session = std::unique_ptr<sidbeam_session, Releaser<sidbeam_session_destroy>>;

// A call that must succeed: call("step", sidbeam_session_step, arguments without the error).
template <typename Function, typename... Arguments>
void call(const char* name, Function function, Arguments... arguments) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  const sidbeam_status status = function(arguments..., &err);
  if (status != SIDBEAM_OK)
    throw std::runtime_error(std::string(name) + ": " + sidbeam_status_name(status) + ": " + err.message);
}

// Whether a runtime of this library can step on threads of its own.
bool has_step_threads();
Runtime make_runtime(int32_t step_threads);

// Kinds of an index that the library may have or not: the trie with the item-column tail.
inline constexpr int32_t kCompactTrie = 8;
bool has_kind(sidbeam_runtime* runtime, int32_t kind);
Constraint build_constraint(sidbeam_runtime* runtime, const Catalogue& catalogue, int32_t kinds);

}  // namespace bench
