// SPDX-License-Identifier: Apache-2.0
#include "reader.h"

#include <algorithm>
#include <chrono>

namespace bench::soak {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kHeld{20};  // longer than 16 versions are kept

}  // namespace

Known Reader::known(int64_t version) {
  Known made{version_of(shared_.catalog, version), nullptr};
  made.content = shared_.history.of(made.version.number);
  return made;
}

// One of those that are kept; it may cease to be meanwhile.
Known Reader::older() {
  sidbeam_catalog_info info = SIDBEAM_CATALOG_INFO_INIT;
  call("catalog_get_info", sidbeam_catalog_get_info, shared_.catalog, &info);
  const auto kept = static_cast<uint64_t>(info.version - info.oldest_version + 1);
  const int64_t version = info.oldest_version + static_cast<int64_t>(random_() % kept);
  sidbeam_index* index = nullptr;
  const sidbeam_status status = sidbeam_catalog_snapshot(shared_.catalog, version, &index, nullptr);
  if (status == SIDBEAM_INVALID_ARGUMENT) return known(0);
  if (status != SIDBEAM_OK) throw std::runtime_error("version " + std::to_string(version) + " cannot be had");
  return {{Index(index), version}, shared_.history.of(version)};
}

std::vector<int64_t> Reader::some_ids(const LiveSet& live) {
  std::vector<int64_t> ids;
  for (uint64_t count = random_() % 2 * 5; count > 0; --count) ids.push_back(live[random_() % live.size()].id);
  return ids;
}

void Reader::check(const Request& request, const Known& known, const std::vector<Found>& found) {
  LiveSet allowed = *known.content;
  std::erase_if(allowed, [&](const Pair& pair) {
    return std::find(request.excluded.begin(), request.excluded.end(), pair.id) != request.excluded.end();
  });
  if (found != search(allowed, request.seed, kBeams))
    throw std::runtime_error("version " + std::to_string(known.version.number) + ", seed " +
                             std::to_string(request.seed) + ": what was found is not what is live");
  ++checked;
  for (const Found& one : found) items += std::ssize(one.ids);
}

void Reader::run() {
  Known held = known(0);
  auto until = steady_clock::now() + kHeld;
  Searcher searcher(held.version.index.get());
  while (!shared_.over) {
    if (steady_clock::now() > until) held = known(0), until = steady_clock::now() + kHeld;
    const Known first = known(0), second = older(), third = older();
    const Known* const of_slots[kSlots] = {&first, &second, &third, &held};
    std::vector<Request> requests;
    for (const Known* known : of_slots) requests.push_back({&known->version, random_(), some_ids(*known->content)});
    const std::vector<std::vector<Found>> found = searcher.run(requests);
    for (size_t slot = 0; slot < kSlots; ++slot) check(requests[slot], *of_slots[slot], found[slot]);
  }
}

}  // namespace bench::soak
