// The shared objects behind the handles of the C ABI.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "backend/backend.h"
#include "backend/constraint.h"
#include "backend/device.h"
#include "backend/filter_copy.h"
#include "backend/upload.h"
#include "index/index.h"
#include "index/live/filter_bits.h"
#include "index/live/joined_repeats.h"
#include "index/live/merged_lists.h"
#include "index/live/overlay.h"
#include "index/live/request_rules.h"
#include "index/read/repeats.h"
#include "index/read/used_codes.h"
#include "index/rules/expression.h"
#include "index/rules/id_table.h"
#include "support/cpu_target.h"
#include "support/error.h"
#include "support/lazy.h"
#include "support/memory.h"
#include "support/ref_counted.h"
#include "support/spares.h"

struct sidbeam_runtime final : sidbeam::RefCounted<sidbeam_runtime> {
  sidbeam::Allocator allocator;
  sidbeam::CpuTarget target = sidbeam::CpuTarget::kBaseline;  // of kernels, hashing and verification
  int threads = 1;                                            // of builds and verifications
  void (*log)(void* context, int32_t level, const char* message) = nullptr;
  void* log_context = nullptr;
  int32_t log_level = 0;
  std::unique_ptr<sidbeam::Backend> cpu;
  sidbeam::Devices devices;
};

namespace sidbeam {

// What makes an index a version of a live catalogue: its view is the base's, with an overlay where there is a delta.
struct Version {
  Ref<sidbeam_index> base, delta;          // delta null: nothing has been added
  std::shared_ptr<const Overlay> overlay;  // of both
  Buffer<uint64_t> live_rows;              // bits of the item rows that have not gone; empty: none has
  int64_t live_items = 0;
  int64_t number = 0, generation = 0;
  std::unique_ptr<const FilterBits> live;          // what those rows leave; null: all
  FilterCopies copies;                             // of that
  Lazy<JoinedRepeats> repeats;                     // where there is an overlay
  std::vector<std::vector<uint32_t>> delta_codes;  // by attribute: CappedColumn::delta_codes
  // By attribute: the delta's strings that the base lacks. They have the numbers after the base's.
  std::vector<std::vector<uint32_t>> more_strings;

  const uint64_t* live_bits() const { return live_rows.size() > 0 ? live_rows.data() : nullptr; }
};

}  // namespace sidbeam

struct sidbeam_index final : sidbeam::RefCounted<sidbeam_index> {
  sidbeam::Ref<sidbeam_runtime> runtime;  // before the index: its memory goes back to the runtime's allocator
  sidbeam::Index index;
  mutable sidbeam::UsedCodes used_codes;
  mutable std::atomic<int32_t> verified{SIDBEAM_VERIFY_HEADER};  // SIDBEAM_VERIFY_*; rises
  sidbeam::Uploads uploads;
  sidbeam::Lazy<sidbeam::ItemRepeats> repeats;
  sidbeam::Lazy<sidbeam::EdgeParents> parents;
  sidbeam::Lazy<sidbeam::IdTable> id_table;
  sidbeam::Spares<sidbeam::RequestRules> lists;  // memory of constraints that have gone
  std::unique_ptr<sidbeam::Version> version;     // null: a plain index

  // Whether some SID has the code at a level, one that has gone included.
  bool has_code(int level, uint32_t code) const {
    if (version == nullptr) return used_codes.has(index.view, level, code);
    return version->base->has_code(level, code) || (version->delta && version->delta->has_code(level, code));
  }
  // Item rows, those that have gone included.
  uint64_t row_count() const { return sidbeam::row_count(index.view); }
  const sidbeam_index& base() const { return version != nullptr ? *version->base : *this; }
  // Finds or brings its sections on a device and, of a version that items have been added to, its overlay beside them,
  // which is brought where they are.
  sidbeam::Ref<sidbeam::Upload> find_upload(int32_t device_id, int32_t kinds) {
    sidbeam_upload_config config = SIDBEAM_UPLOAD_CONFIG_INIT;
    config.device_id = device_id;
    config.kinds = kinds;
    return with_overlay(base_uploads().find(device_id, kinds), config);
  }
  sidbeam::Ref<sidbeam::Upload> bring_upload(const sidbeam_upload_config& config) {
    return with_overlay(base_uploads().bring(runtime->devices, base().index, config), config);
  }
  // The bits of what has not gone, where something has; null: none.
  sidbeam::Ref<sidbeam::FilterCopy> bring_live(const sidbeam_upload_config& config) {
    if (live_rules() == nullptr) return {};
    if (version->copies.bytes_on(config.device_id) == 0) base_uploads().take_along(version->copies.copies());
    return version->copies.bring(runtime->devices, index.view, *live_rules(), config);
  }
  // With its base go what all versions of its generation have there.
  void unload(int32_t device_id) { base_uploads().forget(device_id); }
  // What of it, its base included, is on a device.
  sidbeam_upload_info describe_upload(int32_t device_id) const {
    sidbeam_upload_info info = base().uploads.describe(device_id);
    if (version != nullptr) info.bytes += version->copies.bytes_on(device_id);
    if (delta() != nullptr) info.bytes += delta()->uploads.describe(device_id).bytes;
    return info;
  }
  const sidbeam_index* delta() const { return version != nullptr ? version->delta.get() : nullptr; }
  const uint64_t* live_rows() const { return version != nullptr ? version->live_bits() : nullptr; }
  // What has not gone; null: all.
  const sidbeam::RulesView* live_rules() const {
    return version != nullptr && version->live != nullptr ? &version->live->view() : nullptr;
  }
  // The attribute of a cap, as capped_attribute() finds it.
  sidbeam::CappedColumn capped(const sidbeam::CapRequest& request, const char* what) const {
    const sidbeam::Attributes& all = index.attributes;
    const sidbeam::Attribute& attribute = sidbeam::capped_attribute(all, request, what);
    if (delta() == nullptr) return {&attribute};
    const auto i = static_cast<size_t>(&attribute - all.data());
    return {&attribute, &delta()->index.attributes[i], version->delta_codes[i].data(), &index.view};
  }

  const sidbeam::RepeatsView& find_repeats() const {
    if (delta() != nullptr) return find_joined_repeats();
    if (version != nullptr) return version->base->find_repeats();
    return repeats.get([&] { return std::make_unique<const sidbeam::ItemRepeats>(index.view, runtime->allocator); })
        .view();
  }
  const sidbeam::RepeatsView& find_joined_repeats() const {
    return version->repeats
        .get([&] {
          return std::make_unique<const sidbeam::JoinedRepeats>(
              index.view, version->base->find_repeats(), find_id_table(), delta()->find_repeats(), runtime->allocator);
        })
        .view();
  }
  const sidbeam::EdgeParents& find_parents() const {
    if (version != nullptr) return version->base->find_parents();
    return parents.get(
        [&] { return std::make_unique<const sidbeam::EdgeParents>(index.view, runtime->threads, runtime->allocator); });
  }
  sidbeam::Tries tries() const {
    return {index.view, find_parents(), delta() != nullptr ? &delta()->find_parents() : nullptr};
  }
  const sidbeam::IdTable& find_id_table() const {
    if (version != nullptr) return version->base->find_id_table();
    return id_table.get([&] { return std::make_unique<const sidbeam::IdTable>(index.view, runtime->allocator); });
  }

 private:
  sidbeam::Uploads& base_uploads() { return version != nullptr ? version->base->uploads : uploads; }
  sidbeam::Ref<sidbeam::Upload> with_overlay(sidbeam::Ref<sidbeam::Upload> of_base,
                                             const sidbeam_upload_config& config) {
    if (!of_base || delta() == nullptr || (config.kinds & SIDBEAM_KIND_TRIE) == 0) return of_base;
    // Beside the same one each time, however many the base has.
    sidbeam::Ref<sidbeam::Upload> below = base_uploads().find(config.device_id, SIDBEAM_KIND_TRIE);
    if (!below) below = std::move(of_base);  // it was unloaded meanwhile
    sidbeam::Uploads& overlays = version->delta->uploads;
    if (sidbeam::Ref<sidbeam::Upload> found = overlays.find_overlay(*below)) return found;
    base_uploads().take_along(overlays.copies());
    return overlays.bring_overlay(runtime->devices, version->delta->index, version->base->index, index.view,
                                  std::move(below), config);
  }
};

struct sidbeam_filter final : sidbeam::RefCounted<sidbeam_filter> {
  sidbeam::Ref<sidbeam_index> index;
  sidbeam::Buffer<uint64_t> rows;                         // bits
  int64_t items = 0;                                      // rows that are in and have not gone
  std::unique_ptr<const sidbeam::Expression> expression;  // what it was made of; null: of rows
  sidbeam::Lazy<sidbeam::FilterBits> derived;
  sidbeam::FilterCopies copies;

  const sidbeam::FilterBits& prepare() const {
    return derived.get([&] {
      return std::make_unique<const sidbeam::FilterBits>(index->tries(), rows.data(), index->live_rows(),
                                                         index->runtime->threads, index->runtime->allocator);
    });
  }
};

struct sidbeam_constraint final : sidbeam::Constraint {
  using Lists = sidbeam::Spares<sidbeam::RequestRules>::Taken;

  sidbeam::Ref<sidbeam_index> index;    // before the lists, whose memory goes back to it
  sidbeam::Ref<sidbeam_filter> filter;  // null: all items
  std::unique_ptr<const Lists> lists;   // null: no list
  sidbeam::Lazy<sidbeam::MergedLists> merged;
  int64_t unknown_excluded = 0, unknown_allowed = 0;

  ~sidbeam_constraint() override {
    constexpr int64_t kMostKept = 8 << 20;  // of an unusual request
    if (lists != nullptr && (**lists).bytes() > kMostKept) **lists = sidbeam::RequestRules();
  }
  const sidbeam::RulesView* rules() const override { return lists != nullptr ? &(**lists).view() : filtered(); }
  // What the filter leaves, or what has not gone.
  const sidbeam::RulesView* filtered() const { return filter ? &filter->prepare().view() : index->live_rules(); }
  const sidbeam::RulesView* merged_lists() const override {
    if (lists == nullptr || index->delta() == nullptr) return nullptr;
    return &merged
                .get([&] {
                  return std::make_unique<const sidbeam::MergedLists>(index->tries(), *rules(),
                                                                      index->runtime->allocator);
                })
                .view();
  }
  const sidbeam::IndexView& view() const override { return index->index.view; }
  const sidbeam::RepeatsView& repeats() const override { return index->find_repeats(); }
  sidbeam::CappedColumn capped(const sidbeam::CapRequest& request, const char* what) const override {
    return index->capped(request, what);
  }
  const std::string& codebook() const { return index->index.header.codebook; }  // "": nobody has named it
  sidbeam::Ref<sidbeam::Upload> find_upload(int32_t device_id, int32_t kinds) const override {
    return index->find_upload(device_id, kinds);
  }
  sidbeam::Ref<sidbeam::Upload> bring_upload(int32_t device_id, int32_t kinds) const override {
    sidbeam_upload_config config = SIDBEAM_UPLOAD_CONFIG_INIT;
    config.device_id = device_id;
    config.kinds = kinds;
    return index->bring_upload(config);
  }
  sidbeam::Ref<sidbeam::FilterCopy> bring_filter(int32_t device_id) const override {
    const sidbeam::RulesView* left = filtered();
    if (left == nullptr || (lists != nullptr && (**lists).view().only_listed))
      return {};  // an allow list is what the filter left
    sidbeam_upload_config config = SIDBEAM_UPLOAD_CONFIG_INIT;
    config.device_id = device_id;
    if (!filter) return index->bring_live(config);
    return filter->copies.bring(index->runtime->devices, index->index.view, *left, config);
  }
};
