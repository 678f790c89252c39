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
#include "index/read/repeats.h"
#include "index/read/used_codes.h"
#include "index/rules/derived.h"
#include "index/rules/expression.h"
#include "index/rules/id_table.h"
#include "index/rules/lists.h"
#include "support/cpu_target.h"
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

struct sidbeam_index final : sidbeam::RefCounted<sidbeam_index> {
  sidbeam::Ref<sidbeam_runtime> runtime;  // before the index: its memory goes back to the runtime's allocator
  sidbeam::Index index;
  sidbeam::UsedCodes used_codes;
  mutable std::atomic<int32_t> verified{SIDBEAM_VERIFY_HEADER};  // SIDBEAM_VERIFY_*; rises
  sidbeam::Uploads uploads;
  sidbeam::Lazy<sidbeam::ItemRepeats> repeats;
  sidbeam::Lazy<sidbeam::EdgeParents> parents;
  sidbeam::Lazy<sidbeam::IdTable> id_table;
  sidbeam::Spares<sidbeam::RequestLists> lists;  // memory of constraints that have gone

  const sidbeam::RepeatsView& find_repeats() const {
    return repeats.get([&] { return std::make_unique<const sidbeam::ItemRepeats>(index.view, runtime->allocator); })
        .view();
  }
  const sidbeam::EdgeParents& find_parents() const {
    return parents.get(
        [&] { return std::make_unique<const sidbeam::EdgeParents>(index.view, runtime->threads, runtime->allocator); });
  }
  const sidbeam::IdTable& find_id_table() const {
    return id_table.get([&] { return std::make_unique<const sidbeam::IdTable>(index.view, runtime->allocator); });
  }
};

struct sidbeam_filter final : sidbeam::RefCounted<sidbeam_filter> {
  sidbeam::Ref<sidbeam_index> index;
  sidbeam::Buffer<uint64_t> rows;                         // bits
  int64_t items = 0;                                      // rows that are in
  std::unique_ptr<const sidbeam::Expression> expression;  // what it was made of; null: of rows
  sidbeam::Lazy<sidbeam::DerivedBits> derived;
  sidbeam::FilterCopies copies;

  const sidbeam::DerivedBits& prepare() const {
    return derived.get([&] {
      return std::make_unique<const sidbeam::DerivedBits>(index->index.view, index->find_parents(), rows.data(),
                                                          index->runtime->threads, index->runtime->allocator);
    });
  }
};

struct sidbeam_constraint final : sidbeam::Constraint {
  using Lists = sidbeam::Spares<sidbeam::RequestLists>::Taken;

  sidbeam::Ref<sidbeam_index> index;    // before the lists, whose memory goes back to it
  sidbeam::Ref<sidbeam_filter> filter;  // null: all items
  std::unique_ptr<const Lists> lists;   // null: no list
  int64_t unknown_excluded = 0, unknown_allowed = 0;

  ~sidbeam_constraint() override {
    constexpr int64_t kMostKept = 8 << 20;  // of an unusual request
    if (lists != nullptr && (**lists).bytes() > kMostKept) **lists = sidbeam::RequestLists();
  }
  const sidbeam::RulesView* rules() const override {
    if (lists != nullptr) return &(**lists).view();
    return filter ? &filter->prepare().view() : nullptr;
  }
  const sidbeam::IndexView& view() const override { return index->index.view; }
  const sidbeam::RepeatsView& repeats() const override { return index->find_repeats(); }
  const sidbeam::Attributes& attributes() const override { return index->index.attributes; }
  int64_t allowed_sids() const {
    const sidbeam::RulesView* own = rules();
    return static_cast<int64_t>(own != nullptr ? own->sids_left : index->index.view.sids);
  }
  int64_t allowed_items() const {
    const int64_t filtered = filter ? filter->items : static_cast<int64_t>(index->index.view.items);
    if (lists == nullptr) return filtered;
    return (**lists).view().only_listed ? (**lists).rows() : filtered - (**lists).rows();
  }
  const std::string& codebook() const { return index->index.header.codebook; }  // "": nobody has named it
  sidbeam::Ref<sidbeam::Upload> find_upload(int32_t device_id, int32_t kinds) const override {
    return index->uploads.find(device_id, kinds);
  }
  sidbeam::Ref<sidbeam::Upload> bring_upload(int32_t device_id, int32_t kinds) const override {
    sidbeam_upload_config config = SIDBEAM_UPLOAD_CONFIG_INIT;
    config.device_id = device_id;
    config.kinds = kinds;
    return index->uploads.bring(index->runtime->devices, index->index, config);
  }
  sidbeam::Ref<sidbeam::FilterCopy> bring_filter(int32_t device_id) const override {
    if (!filter || (lists != nullptr && (**lists).view().only_listed))
      return {};  // an allow list is what the filter left
    return filter->copies.bring(index->runtime->devices, device_id, index->index.view, filter->prepare().view());
  }
};
