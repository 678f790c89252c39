// SPDX-License-Identifier: Apache-2.0
#include "backend/filter_copy.h"

#include <algorithm>
#include <utility>

namespace sidbeam {
namespace {

constexpr int64_t kMostChunk = int64_t{8} << 20;

// Arrays of bits to be copied: each once, whatever number of levels has it.
class Placement {
 public:
  // bits_from() reads a word more than there are numbers.
  void add(const uint64_t* bits, uint64_t numbers) {
    if (find(bits) != nullptr) return;
    const auto bytes = static_cast<int64_t>((numbers + 63) / 64 + 1) * static_cast<int64_t>(sizeof(uint64_t));
    parts_.push_back({bits, bytes_, bytes});
    bytes_ += (bytes + kUploadAlignment - 1) / kUploadAlignment * kUploadAlignment;
  }
  int64_t bytes() const { return bytes_; }
  void copy_to(Upload& upload, int64_t chunk) const {
    for (const Part& part : parts_)
      for (int64_t at = 0; at < part.bytes; at += chunk)
        upload.copy(part.at + at, reinterpret_cast<const uint8_t*>(part.bits) + at, std::min(chunk, part.bytes - at));
  }
  const uint64_t* place_of(const uint64_t* bits, const uint8_t* base) const {
    return reinterpret_cast<const uint64_t*>(base + find(bits)->at);
  }

 private:
  struct Part {
    const uint64_t* bits;
    int64_t at, bytes;
  };
  const Part* find(const uint64_t* bits) const {
    const auto part = std::find_if(parts_.begin(), parts_.end(), [&](const Part& each) { return each.bits == bits; });
    return part != parts_.end() ? &*part : nullptr;
  }

  std::vector<Part> parts_;
  int64_t bytes_ = 0;
};

}  // namespace

FilterCopy::FilterCopy(Ref<Device> device, const IndexView& index, const RulesView& filter)
    : levels_(static_cast<size_t>(index.csr_levels)), view_(filter) {
  Placement placement;
  placement.add(filter.rows.bits, index.items);
  placement.add(filter.sids.bits, index.sids);
  for (int32_t l = index.csr_levels - 1; l >= 0; --l) placement.add(filter.level[l].edges.bits, index.level[l].edges);
  const int64_t chunk = std::min(kMostChunk, placement.bytes());
  upload_ = Ref<Upload>::adopt(new Upload(std::move(device), 0, placement.bytes(), chunk, nullptr));
  placement.copy_to(*upload_, chunk);
  upload_->finish();
  const auto there = [&](const uint64_t* bits) { return placement.place_of(bits, upload_->base()); };
  view_.rows.bits = there(filter.rows.bits);
  view_.sids.bits = there(filter.sids.bits);
  for (size_t l = 0; l < levels_.size(); ++l) levels_[l].edges.bits = there(filter.level[l].edges.bits);
  view_.level = levels_.data();
}

Ref<FilterCopy> FilterCopies::bring(Devices& devices, int32_t device_id, const IndexView& index,
                                    const RulesView& filter) const {
  Made& made = made_.get();
  const std::lock_guard lock(made.mutex);
  for (const Ref<FilterCopy>& copy : made.copies)
    if (copy->upload().device().id() == device_id) return Ref<FilterCopy>::share(copy.get());
  auto copy = Ref<FilterCopy>::adopt(new FilterCopy(Ref<Device>::share(&devices.open(device_id)), index, filter));
  made.copies.push_back(Ref<FilterCopy>::share(copy.get()));
  return copy;
}

int64_t FilterCopies::bytes() const {
  Made* made = made_.find();
  if (made == nullptr) return 0;
  const std::lock_guard lock(made->mutex);
  int64_t bytes = 0;
  for (const Ref<FilterCopy>& copy : made->copies) bytes += copy->upload().bytes();
  return bytes;
}

}  // namespace sidbeam
