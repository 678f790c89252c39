// SPDX-License-Identifier: Apache-2.0
#include "backend/upload.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "backend/overlay_upload.h"
#include "index/format.h"
#include "sidbeam/builder.h"

namespace sidbeam {
namespace {

constexpr int64_t kDefaultChunk = int64_t{8} << 20;

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

// Keeps copies below a rate by sleeping between chunks.
class Throttle {
 public:
  explicit Throttle(int64_t bytes_per_second) : rate_(static_cast<double>(bytes_per_second)) {}
  void passed(int64_t bytes) {
    if (rate_ <= 0) return;
    bytes_ += static_cast<double>(bytes);
    std::this_thread::sleep_until(begin_ + std::chrono::duration<double>(bytes_ / rate_));
  }

 private:
  using Clock = std::chrono::steady_clock;
  double rate_, bytes_ = 0;
  std::chrono::time_point<Clock> begin_ = Clock::now();
};

Ref<Upload> upload(Ref<Device> device, const Index& index, const sidbeam_upload_config& config) {
  const Placement placement = placement_of(index, config.kinds);
  const int64_t chunk = config.chunk_bytes > 0 ? config.chunk_bytes : kDefaultChunk;
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
  Made* made = made_.find();
  if (made == nullptr) return {};
  const std::lock_guard lock(made->mutex);
  for (const Ref<Upload>& upload : made->uploads)
    if (upload->device().id() == device_id && (upload->kinds() & kinds) == kinds)
      return Ref<Upload>::share(upload.get());
  return {};
}

Ref<Upload> Uploads::bring(Devices& devices, const Index& index, const sidbeam_upload_config& config) {
  Made& made = made_.get();
  const std::lock_guard bringing(made.bringing);
  if (Ref<Upload> found = find(config.device_id, config.kinds)) return found;
  Ref<Upload> brought = upload(Ref<Device>::share(&devices.open(config.device_id)), index, config);
  const std::lock_guard lock(made.mutex);
  made.uploads.push_back(Ref<Upload>::share(brought.get()));
  return brought;
}

Ref<Upload> Uploads::bring_overlay(Devices& devices, const Index& delta, const Index& base, const IndexView& version,
                                   Ref<Upload> below, const sidbeam_upload_config& config) {
  Made& made = made_.get();
  const std::lock_guard bringing(made.bringing);
  const auto is_beside = [&](const Ref<Upload>& upload) { return upload->below() == below.get(); };
  {
    const std::lock_guard lock(made.mutex);
    const auto found = std::find_if(made.uploads.begin(), made.uploads.end(), is_beside);
    if (found != made.uploads.end()) return share(*found);
  }
  Throttle throttle(config.bytes_per_second);
  const IndexView beside = device_view(base, placement_of(base, below->kinds()), below->base());
  const int32_t device_id = below->device().id();
  Ref<Upload> brought = upload_overlay(Ref<Device>::share(&devices.open(device_id)), delta, *version.overlay, beside,
                                       std::move(below), config, [&](int64_t bytes) { throttle.passed(bytes); });
  const std::lock_guard lock(made.mutex);
  // One beside a base that was unloaded since goes.
  std::erase_if(made.uploads, [&](const Ref<Upload>& upload) { return upload->device().id() == device_id; });
  made.uploads.push_back(share(brought));
  return brought;
}

void Uploads::forget(int32_t device_id) {
  Made* made = made_.find();
  if (made == nullptr) return;
  const std::lock_guard lock(made->mutex);
  std::erase_if(made->uploads, [&](const Ref<Upload>& upload) { return upload->device().id() == device_id; });
}

sidbeam_upload_info Uploads::describe(int32_t device_id) const {
  sidbeam_upload_info out = SIDBEAM_UPLOAD_INFO_INIT;
  Made* made = made_.find();
  if (made == nullptr) return out;
  const std::lock_guard lock(made->mutex);
  for (const Ref<Upload>& upload : made->uploads) {
    if (upload->device().id() != device_id) continue;
    out.kinds |= upload->kinds();
    out.bytes += upload->bytes();
  }
  return out;
}

}  // namespace sidbeam
