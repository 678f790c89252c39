// The shared objects behind the handles of the C ABI.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "backend/backend.h"
#include "backend/constraint.h"
#include "backend/device.h"
#include "backend/upload.h"
#include "index/index.h"
#include "index/read/repeats.h"
#include "index/read/used_codes.h"
#include "support/cpu_target.h"
#include "support/memory.h"
#include "support/ref_counted.h"

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
  sidbeam::LazyRepeats repeats;

  const sidbeam::RepeatsView& find_repeats() const { return repeats.of(index.view, runtime->allocator); }
};

struct sidbeam_constraint final : sidbeam::Constraint {
  sidbeam::Ref<sidbeam_index> index;

  const sidbeam::IndexView& view() const override { return index->index.view; }
  const sidbeam::RepeatsView& repeats() const override { return index->find_repeats(); }
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
};
