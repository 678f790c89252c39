// SPDX-License-Identifier: Apache-2.0
#include "live/versions.h"

#include <iterator>
#include <utility>

#include "support/error.h"

namespace sidbeam {
namespace {

using ll = long long;

}  // namespace

void VersionList::add(std::list<LiveVersion>&& versions, const KeepPolicy& keep) noexcept {
  std::list<LiveVersion> gone;  // these go after the lock
  Ref<sidbeam_index> unused[4];
  const std::scoped_lock lock(mutex_);
  versions_.splice(versions_.end(), versions);
  prune(keep, gone);
  auto* next = std::begin(unused);
  int64_t left = std::ssize(versions_);
  for (LiveVersion& each : versions_)
    if (left-- > 2 && each.index && !each.index->is_shared() && next != std::end(unused))
      *next++ = std::exchange(each.index, {});
}

// Versions that are too many go, and those that had ceased to be the newest too long ago; so do those before a gap: a
// log of a generation that nobody kept.
void VersionList::prune(const KeepPolicy& keep, std::list<LiveVersion>& gone) noexcept {
  const int64_t oldest_ns = versions_.back().published_ns - keep.age_ns;
  auto first = std::prev(versions_.end());
  for (int64_t kept = 1; first != versions_.begin() && kept < keep.versions; ++kept) {
    const auto before = std::prev(first);
    if (before->number + 1 != first->number || (keep.age_ns > 0 && first->published_ns <= oldest_ns)) break;
    first = before;
  }
  gone.splice(gone.end(), versions_, versions_.begin(), first);
}

const LiveVersion& VersionList::at(int64_t number) const {
  for (auto each = versions_.rbegin(); each != versions_.rend(); ++each)
    if (each->number == number) return *each;
  fail(SIDBEAM_INVALID_ARGUMENT, "version is %lld, expected one of those that are kept, %lld to %lld",
       static_cast<ll>(number), static_cast<ll>(versions_.front().number), static_cast<ll>(versions_.back().number));
}

Ref<sidbeam_index> VersionList::newest(int64_t* number) const {
  const std::scoped_lock lock(mutex_);
  if (number != nullptr) *number = versions_.back().number;
  return share(versions_.back().index);
}

Ref<sidbeam_index> VersionList::find(int64_t number) const {
  const std::scoped_lock lock(mutex_);
  return share(at(number).index);
}

void VersionList::set_index(int64_t number, const Ref<sidbeam_index>& index) {
  const std::scoped_lock lock(mutex_);
  for (LiveVersion& each : versions_)
    if (each.number == number) each.index = share(index);
}

std::vector<uint64_t> VersionList::toggled_since(int64_t number, LiveVersion& out) const {
  const std::scoped_lock lock(mutex_);
  const LiveVersion& version = at(number);
  std::vector<uint64_t> rows;
  for (auto each = versions_.rbegin(); each->number != number; ++each)
    if (each->generation == version.generation) rows.insert(rows.end(), each->toggled.begin(), each->toggled.end());
  out.number = number;
  out.published_ns = version.published_ns;
  out.back_to = version.back_to;
  out.generation = version.generation;
  out.items = version.items;
  return rows;
}

}  // namespace sidbeam
