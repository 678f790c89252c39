// The versions of a live catalogue that are kept: what each changed, and those indexes that somebody may ask for soon.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "live/generation.h"

namespace sidbeam {

struct LiveVersion {
  int64_t number = 0, published_ns = 0;
  int64_t back_to = 0;  // the version whose content it has again; 0: none
  std::shared_ptr<Generation> generation;
  int64_t items = 0;              // live pairs
  std::vector<uint64_t> toggled;  // item rows that came or went since the version of the generation before it
  Ref<sidbeam_index> index;       // null: made when it is asked for
};

// Lets the index of a version, which nobody has yet, know whose it is.
inline void name_index(LiveVersion& version) {
  version.index->version->number = version.number;
  version.index->version->generation = version.generation->number;
}

// Which are kept, the newest always.
struct KeepPolicy {
  int64_t versions = 16;
  int64_t age_ns = 0;  // since it ceased to be the newest; 0: any
};

// From any thread. Whoever changes the versions, or the generations that they are of, holds the writer's lock.
class VersionList {
 public:
  // Adds versions, of which the last has an index. Those that are no longer kept go, those before a gap with them, and
  // indexes that only this list has, except the newest two. Does not throw: the nodes are there already.
  void add(std::list<LiveVersion>&& versions, const KeepPolicy& keep) noexcept;

  // The newest, with its index.
  Ref<sidbeam_index> newest(int64_t* number = nullptr) const;
  // The index of a version, or null where it is kept without one. Throws where it is not kept.
  Ref<sidbeam_index> find(int64_t number) const;
  // Keeps the index of a version that had none, if it is still there.
  void set_index(int64_t number, const Ref<sidbeam_index>& index);
  // Rows that have come or gone in a generation since a version, of which those that come an odd number of times differ
  // from it, and what is known of the version itself, without an index.
  std::vector<uint64_t> toggled_since(int64_t number, LiveVersion& out) const;

  // Calls visit(version) for all from the oldest on, under the lock.
  template <class Visit>
  void for_each(const Visit& visit) const {
    const std::scoped_lock lock(mutex_);
    for (const LiveVersion& each : versions_) visit(each);
  }
  bool empty() const {
    const std::scoped_lock lock(mutex_);
    return versions_.empty();
  }
  void swap(VersionList& other) noexcept {
    const std::scoped_lock lock(mutex_, other.mutex_);
    versions_.swap(other.versions_);
  }

 private:
  const LiveVersion& at(int64_t number) const;
  void prune(const KeepPolicy& keep, std::list<LiveVersion>& gone) noexcept;

  mutable std::mutex mutex_;
  std::list<LiveVersion> versions_;
};

}  // namespace sidbeam
