// Handles of the C ABI that free themselves, for tests and benchmarks in C++.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>

#include <sidbeam/sidbeam.h>

namespace handles {

template <auto release>
struct Releaser {
  template <typename T>
  void operator()(T* handle) const {
    release(handle);
  }
};
using Runtime = std::unique_ptr<sidbeam_runtime, Releaser<sidbeam_runtime_release>>;
using Builder = std::unique_ptr<sidbeam_builder, Releaser<sidbeam_builder_destroy>>;
using Plan = std::unique_ptr<sidbeam_plan, Releaser<sidbeam_plan_destroy>>;
using Index = std::unique_ptr<sidbeam_index, Releaser<sidbeam_index_release>>;
using Catalog = std::unique_ptr<sidbeam_catalog, Releaser<sidbeam_catalog_close>>;
using Filter = std::unique_ptr<sidbeam_filter, Releaser<sidbeam_filter_release>>;
using Constraint = std::unique_ptr<sidbeam_constraint, Releaser<sidbeam_constraint_release>>;
using ConstraintSet = std::unique_ptr<sidbeam_constraint_set, Releaser<sidbeam_constraint_set_destroy>>;
using Disc = std::unique_ptr<sidbeam_disc, Releaser<sidbeam_disc_destroy>>;
using Session = std::unique_ptr<sidbeam_session, Releaser<sidbeam_session_destroy>>;
using Speculation = std::unique_ptr<sidbeam_speculation, Releaser<sidbeam_speculation_destroy>>;

// For calls that are not what is tested: the program ends where one fails.
template <class Call>
void check(const Call& call) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  if (call(&err) == SIDBEAM_OK) return;
  std::fprintf(stderr, "%s\n", err.message);
  std::abort();
}

template <class Handle, class Make>
Handle made(const Make& make) {
  typename Handle::pointer handle = nullptr;
  check([&](sidbeam_error* err) { return make(&handle, err); });
  return Handle(handle);
}

}  // namespace handles
