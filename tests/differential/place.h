// Where sessions and constraint sets do their work, and how a case's arrays get there and back. The differential test
// knows no device; tests/gpu brings one. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <sidbeam/sidbeam.h>

namespace differential {

class Place {
 public:
  virtual ~Place() = default;
  // As session_config has them.
  virtual int32_t device_type() const { return SIDBEAM_DEVICE_CPU; }
  virtual int32_t device_id() const { return 0; }
  virtual void* stream() const { return nullptr; }
  // Before a session or constraint set uses the index there.
  virtual void prepare(sidbeam_index* /*index*/) const {}
  // A copy of the host's bytes there; on the CPU the bytes themselves.
  virtual std::shared_ptr<void> copy(void* here, size_t bytes) const;
  // What is there, copied over what is here once all work is done.
  virtual void fetch(void* here, const void* there, size_t bytes) const;
  virtual void wait() const {}
  virtual void step(sidbeam_session* session, const sidbeam_step_args* args) const;
};

// An array of the host's and its counterpart.
template <class T>
class Array {
 public:
  Array(const Place& place, std::vector<T> values) : place_(&place), here_(std::move(values)) {
    if (!here_.empty()) there_ = place.copy(here_.data(), bytes());
  }
  Array(const Place& place, size_t count, T value) : Array(place, std::vector<T>(count, value)) {}
  T* data() const { return static_cast<T*>(there_.get()); }  // nullptr where it is empty
  size_t size() const { return here_.size(); }
  const std::vector<T>& fetch() {
    if (!here_.empty()) place_->fetch(here_.data(), there_.get(), bytes());
    return here_;
  }

 private:
  size_t bytes() const { return here_.size() * sizeof(T); }
  const Place* place_;
  std::vector<T> here_;
  std::shared_ptr<void> there_;
};

}  // namespace differential
