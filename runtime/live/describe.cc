// What a live catalogue says of itself. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "live/catalog.h"
#include "support/error.h"

namespace sidbeam {
namespace {

int64_t bytes_of(const AddedPairs& added) {
  int64_t bytes = added.ordinals.bytes();
  if (added.delta) bytes += added.delta->index.bytes.size() + added.overlay->bytes();
  return bytes;
}

// What a version has that no other one needs.
int64_t own_bytes(const LiveVersion& version) {
  int64_t bytes = static_cast<int64_t>(version.toggled.capacity() * sizeof(uint64_t));
  if (!version.index || version.index->version == nullptr) return bytes;
  const Version& of = *version.index->version;
  bytes += of.live_rows.bytes() + (of.live != nullptr ? of.live->bytes() : 0);
  if (of.delta && of.delta.get() != version.generation->added.delta.get())
    bytes += of.delta->index.bytes.size() + of.overlay->bytes();
  return bytes;
}

}  // namespace

sidbeam_catalog_info LiveCatalog::info() const {
  check_process();
  const std::scoped_lock lock(writer_);
  sidbeam_catalog_info info = SIDBEAM_CATALOG_INFO_INIT;
  std::vector<const Generation*> generations;
  versions_.for_each([&](const LiveVersion& each) {
    if (info.oldest_version == 0) info.oldest_version = each.number;
    info.version = each.number;
    info.generation = each.generation->number;
    info.published_ns = each.published_ns;
    info.items = each.items;
    if (each.index) info.sids = static_cast<int64_t>(sid_count(each.index->index.view));
    info.memory_bytes += own_bytes(each);
    if (std::find(generations.begin(), generations.end(), each.generation.get()) == generations.end())
      generations.push_back(each.generation.get());
  });
  for (const Generation* each : generations) info.memory_bytes += each->store.bytes() + bytes_of(each->added);
  info.follows = folder_ != nullptr ? 1 : 0;
  info.base_items = static_cast<int64_t>(generation_->base->index.view.items);
  info.added = generation_->added.pairs;
  info.removed = info.base_items + info.added - info.items;
  info.changes = change_count_;
  info.compact_soon = info.added > info.base_items / 20 || info.removed > info.base_items / 5 ? 1 : 0;
  if (storage_ != nullptr) {
    info.log_failed = storage_->failed() ? 1 : 0;
    info.log_bytes = storage_->log_bytes();
    info.unsynced_bytes = storage_->unsynced_bytes();
    info.base_bytes = storage_->base_bytes();
  }
  info.cut_bytes = cut_bytes_;
  return info;
}

sidbeam_version_info LiveCatalog::version_info(int64_t version) const {
  check_process();
  const std::scoped_lock lock(writer_);
  (void)versions_.find(version);  // or an error that names those that are kept
  sidbeam_version_info info = SIDBEAM_VERSION_INFO_INIT;
  versions_.for_each([&](const LiveVersion& each) {
    if (each.number != version) return;
    info.in_use = each.index && each.index->is_shared() ? 1 : 0;
    info.version = each.number;
    info.generation = each.generation->number;
    info.published_ns = each.published_ns;
    info.items = each.items;
    info.changed = std::ssize(each.toggled);
    info.bytes = own_bytes(each);
    info.back_to = each.back_to;
  });
  return info;
}

}  // namespace sidbeam
