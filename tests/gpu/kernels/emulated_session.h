// A session whose slots live on the (emulated) device, beside one of the CPU that says which calls are right and, where
// bits are promised to be equal, what they must be. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <map>
#include <memory>
#include <vector>

#include "backend/cuda/kernels.h"
#include "decode/objects.h"
#include "decode/session.h"

namespace gpu_test {

void check(cudaError_t error, const char* what);

// Device memory that gives itself back.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const void* from, size_t bytes);
  explicit DeviceMemory(size_t bytes);
  void* data() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(void* pointer) const { check(cudaFree(pointer), "cudaFree"); }
  };
  std::unique_ptr<void, Free> memory_;
};

template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(int64_t count) : count_(count), memory_(static_cast<size_t>(count) * sizeof(T)) {}
  DeviceArray(const T* from, int64_t count) : count_(count), memory_(from, static_cast<size_t>(count) * sizeof(T)) {}
  explicit DeviceArray(const std::vector<T>& from) : DeviceArray(from.data(), static_cast<int64_t>(from.size())) {}
  T* data() const { return static_cast<T*>(memory_.data()); }
  std::vector<T> read() const {
    std::vector<T> out(static_cast<size_t>(count_));
    check(cudaMemcpy(out.data(), data(), out.size() * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return out;
  }
  void write(const std::vector<T>& values) {
    check(cudaMemcpy(data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  }

 private:
  int64_t count_ = 0;
  DeviceMemory memory_;
};

// An index on the device: a copy of every array.
class DeviceIndex {
 public:
  explicit DeviceIndex(const sidbeam::IndexView& host);
  const sidbeam::IndexView* view() const { return static_cast<const sidbeam::IndexView*>(view_.data()); }
  // What the device finds wrong with it.
  uint64_t damage() const;
  // Flips a bit of some array but the offsets of items, whose every rising order is sound.
  void flip(uint64_t random);

 private:
  const void* copy(const void* data, uint64_t bytes);
  sidbeam::UintArray copy(const sidbeam::UintArray& array, uint64_t count);
  std::vector<DeviceMemory> arrays_;
  std::vector<uint64_t> bytes_;
  DeviceMemory view_;
};
// The one of a constraint, made once.
const DeviceIndex& device_index(const sidbeam_constraint* constraint);
void forget_indexes();

// Columns of all levels, maps included.
struct DeviceColumns {
  explicit DeviceColumns(const sidbeam::Vocabulary& vocabulary);
  std::vector<DeviceArray<int32_t>> maps;
  DeviceArray<sidbeam::LevelColumns> columns;
};

// Rows copied to the device: what lies between the first and the last element, at the same misalignment.
struct DeviceRows {
  DeviceRows(const sidbeam_rows& rows, int64_t slots);
  void read_back(const sidbeam_rows& rows) const;
  sidbeam::cuda::StepView view;

 private:
  DeviceMemory memory_;
  int64_t lowest_ = 0, bytes_ = 0, element_ = 0;
};

struct EmulatedSession {
  explicit EmulatedSession(const sidbeam_session& cpu);
  void start(const sidbeam_session& cpu, const sidbeam_start_args& args);
  void step(const sidbeam_session& cpu, const sidbeam_step_args& args);
  void stop(const int32_t* slots, int64_t count);
  // The host's copies of the arrays, as the C ABI gives them.
  void get_beams(sidbeam_beams& out);
  void get_stats(sidbeam_stats& out) const;
  void get_items(const sidbeam_session& cpu, const int32_t* slots, int64_t count, sidbeam_items& out) const;

  sidbeam::cuda::SessionView view;
  bool followed = true;  // the CPU's session has done all the same steps, with the same bits promised

 private:
  DeviceColumns columns_;
  DeviceArray<sidbeam::cuda::Slot> table_;
  DeviceArray<int64_t> states_, counters_;
  DeviceArray<uint64_t> range_ends_;
  DeviceArray<float> scores_;
  DeviceArray<int32_t> parents_, tokens_, history_parents_, history_tokens_, live_, active_, level_, errors_;
  DeviceArray<char> workspace_;
  std::vector<int32_t> host_parents_, host_tokens_, host_live_, host_active_, host_level_, host_errors_;
  std::vector<float> host_scores_;
  std::vector<int64_t> host_states_;
};

}  // namespace gpu_test
