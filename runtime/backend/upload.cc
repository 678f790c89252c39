// SPDX-License-Identifier: Apache-2.0
#include "backend/upload.h"

#include <algorithm>

#include "backend/overlay_upload.h"
#include "backend/upload_parts.h"
#include "index/format.h"
#include "sidbeam/builder.h"

namespace sidbeam {
namespace {

// A section and where it lies in the upload.
struct PlacedSection {
  const SectionInfo* section;
  int64_t at;
};

struct Placement {
  std::vector<PlacedSection> parts;
  int64_t bytes = kUploadHeaderBytes;
};

Placement placement_of(const Index& index, int32_t kinds) {
  Placement placement;
  for (const SectionInfo& section : index.header.sections) {
    if (!is_read(section, kinds)) continue;
    placement.parts.push_back({&section, placement.bytes});
    const auto bytes = static_cast<int64_t>(section.bytes);
    placement.bytes += (bytes + kUploadAlignment - 1) / kUploadAlignment * kUploadAlignment;
  }
  return placement;
}

IndexView device_view(const Index& index, const Placement& placement, const uint8_t* base) {
  IndexView view = index.view;
  for (const SectionInfo& section : index.header.sections) place_section(section, nullptr, view);
  for (const PlacedSection& part : placement.parts) place_section(*part.section, base + part.at, view);
  view.has_trie = static_cast<bool>(view.level[0].row_pointers);
  view.has_columns = static_cast<bool>(view.level[0].column);
  return view;
}

Ref<Upload> upload(Ref<Device> device, const Index& index, const sidbeam_upload_config& config) {
  const Placement placement = placement_of(index, config.kinds);
  const int64_t chunk = chunk_of(config, placement.bytes);
  auto made = Ref<Upload>::adopt(new Upload(std::move(device), config.kinds, placement.bytes, chunk, config.stream));
  Throttle throttle(config.bytes_per_second);
  for (const PlacedSection& part : placement.parts) {
    const uint8_t* data = index.bytes.data() + part.section->offset;
    const auto bytes = static_cast<int64_t>(part.section->bytes);
    for (int64_t at = 0; at < bytes; at += chunk) {
      const int64_t n = std::min(chunk, bytes - at);
      made->copy(part.at + at, data + at, n);
      throttle.passed(n);
    }
  }
  const int64_t damage = made->finish(device_view(index, placement, made->base()), config.verify != 0);
  if (damage != 0)
    fail(SIDBEAM_CORRUPT, "the structure of the index has %lld faults, found on CUDA device %d",
         static_cast<long long>(damage), config.device_id);
  return made;
}

}  // namespace

int32_t kinds_of(const IndexView& index) {
  return (index.has_trie ? SIDBEAM_KIND_TRIE : 0) | (index.has_columns ? SIDBEAM_KIND_SORTED : 0) |
         (index.hash.keys != nullptr ? SIDBEAM_KIND_HASH : 0);
}

int32_t kinds_for(int32_t strategy, const IndexView& index) {
  if (strategy == SIDBEAM_STRATEGY_TRIE) return SIDBEAM_KIND_TRIE;
  if (strategy == SIDBEAM_STRATEGY_HASH_FINAL) return SIDBEAM_KIND_HASH | SIDBEAM_KIND_SORTED;
  // The baseline needs something to find SIDs in at the end.
  if (strategy == SIDBEAM_STRATEGY_NONE && index.has_trie) return SIDBEAM_KIND_TRIE;
  return SIDBEAM_KIND_SORTED;
}

Ref<Upload> Uploads::find(int32_t device_id, int32_t kinds) const {
  const Made* made = made_.find();
  if (made == nullptr) return {};
  return made->copies->find(
      [&](const Upload& upload) { return upload.device().id() == device_id && (upload.kinds() & kinds) == kinds; });
}

Ref<Upload> Uploads::bring(Devices& devices, const Index& index, const sidbeam_upload_config& config) {
  const auto fits = [&](const Upload& upload) {
    return upload.device().id() == config.device_id && (upload.kinds() & config.kinds) == config.kinds;
  };
  return made_.get().copies->bring(
      fits, [&] { return upload(Ref<Device>::share(&devices.open(config.device_id)), index, config); });
}

Ref<Upload> Uploads::find_overlay(const Upload& below) const {
  const Made* made = made_.find();
  if (made == nullptr) return {};
  return made->copies->find([&](const Upload& upload) { return upload.below() == &below; });
}

Ref<Upload> Uploads::bring_overlay(Devices& devices, const Index& delta, const Index& base, const IndexView& version,
                                   Ref<Upload> below, const sidbeam_upload_config& config) {
  Copies<Upload>& copies = *made_.get().copies;
  const auto is_beside = [&](const Upload& upload) { return upload.below() == below.get(); };
  return copies.bring(is_beside, [&] {
    const IndexView beside = device_view(base, placement_of(base, below->kinds()), below->base());
    const int32_t device_id = below->device().id();
    Ref<Upload> made = upload_overlay(Ref<Device>::share(&devices.open(device_id)), delta, *version.overlay, beside,
                                      share(below), config);
    copies.forget(device_id);  // one beside a base that was unloaded meanwhile
    return made;
  });
}

void Uploads::take_along(const std::shared_ptr<OnDevices>& copies) {
  Made& made = made_.get();
  const std::lock_guard lock(made.mutex);
  std::erase_if(made.others, [&](const auto& other) { return other.expired() || other.lock() == copies; });
  made.others.push_back(copies);
}

void Uploads::forget(int32_t device_id) {
  Made* made = made_.find();
  if (made == nullptr) return;
  made->copies->forget(device_id);
  const std::lock_guard lock(made->mutex);
  for (const auto& other : made->others)
    if (const std::shared_ptr<OnDevices> copies = other.lock()) copies->forget(device_id);
}

sidbeam_upload_info Uploads::describe(int32_t device_id) const {
  sidbeam_upload_info out = SIDBEAM_UPLOAD_INFO_INIT;
  const Made* made = made_.find();
  if (made == nullptr) return out;
  made->copies->for_each([&](const Upload& upload) {
    if (upload.device().id() != device_id) return;
    out.kinds |= upload.kinds();
    out.bytes += upload.bytes();
  });
  return out;
}

}  // namespace sidbeam
