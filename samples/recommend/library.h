// Handles of the library that release themselves, and a catalogue in it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sidbeam/sidbeam.h>

#include <memory>

#include "dataset.h"

namespace recommend {

template <auto Release>
struct Releaser {
  template <class T>
  void operator()(T* handle) const {
    Release(handle);
  }
};
template <class T, auto Release>
using Handle = std::unique_ptr<T, Releaser<Release>>;
using Runtime = Handle<sidbeam_runtime, sidbeam_runtime_release>;
using Builder = Handle<sidbeam_builder, sidbeam_builder_destroy>;
using Index = Handle<sidbeam_index, sidbeam_index_release>;
using Constraint = Handle<sidbeam_constraint, sidbeam_constraint_release>;
using Session = Handle<sidbeam_session, sidbeam_session_destroy>;

// Where every call of the samples writes its error.
extern sidbeam_error err;
// Throws what `err` says unless the status is OK.
void check(sidbeam_status status);

struct Catalogue {
  Runtime runtime;
  Index index;
  Constraint constraint;  // the index alone
};
Catalogue open_catalogue(const Dataset& data);

// One request's answer, best first. Ordinals are numbers of data.sids; -1 where there is no such SID.
struct Answer {
  std::vector<Sid> sids;
  std::vector<int64_t> ordinals;
};

// Whether a search may return what the user has already.
enum class Seen { kShown, kExcluded };
// The index without the items of these SIDs, numbers of data.sids: made for one request, which it costs microseconds.
Constraint constraint_without(const Catalogue& catalogue, const std::vector<int32_t>& sids);

// Ids of the items of an ordinal.
std::vector<int64_t> items_of(const Catalogue& catalogue, int64_t ordinal);

}  // namespace recommend
