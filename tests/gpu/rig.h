// The same session three times, with the same inputs: on the CPU, on the device call by call, and on the device by one
// graph that was captured before anything was started. Where a step reads children alone, they are listed before it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "checks.h"
#include "device_place.h"

namespace gpu {

// How a slot is sampled, in the modes that sample.
struct Sampling {
  int64_t seed = 0, request = 0;
  std::vector<int64_t> draws;  // [beams]; empty: none given
  int32_t top_k = 0;
  float top_p = 1, noise_scale = 1;
};

class Rig {
 public:
  // Logits rows are [slots, beams, columns]; with `listed`, [slots * beams, columns], a slot list and a row map.
  explicit Rig(const differential::Case& c, bool listed = false, int mode = SIDBEAM_MODE_SEARCH);

  const differential::World& world() const { return world_; }
  const DevicePlace& device() const { return device_; }
  sidbeam_runtime* runtime() const { return runtime_.get(); }
  sidbeam_session* graphed() const { return graphed_.get(); }
  sidbeam_session* eager() const { return eager_.get(); }
  size_t slots() const { return static_cast<size_t>(world_.c.slots); }

  // As wide as that, or as that at each level.
  void start(int slot, size_t catalogue, int width, const oracle::Sid& prefix,
             const differential::Settings& settings = {}, const Sampling& sampling = {}) {
    start(slot, catalogue, std::vector<int32_t>{width}, prefix, settings, sampling);
  }
  void start(int slot, size_t catalogue, const std::vector<int32_t>& widths, const oracle::Sid& prefix,
             const differential::Settings& settings = {}, const Sampling& sampling = {});
  void stop(int slot);
  // Replaces the index that new starts get by this number; sessions that follow the old one keep it.
  void swap(size_t catalogue, uint64_t seed);
  // Draws other rules for the same index, for new starts; as Case::rules has them.
  void rule(size_t catalogue, int64_t rules, uint64_t seed);
  // The order of the slots in the list, -1 among them; the rest of the list is -1.
  void list(const std::vector<int>& order);
  // The temperature and soft-cap of each entry of a step, from now on; at first none.
  void say(const std::vector<differential::Settings>& each);
  // New logits, then a step on each of the three: the same afterwards, and returned.
  std::vector<differential::Snapshot> step(uint64_t round);
  // What the three are at, which must be the same: on the CPU the same bits where no floating-point sum differs, and
  // otherwise near. Stochastic beams have the same bits, log_masses apart; without noise those that are near may differ
  // in order, and are compared until they do.
  std::vector<differential::Snapshot> compare(const std::string& what);
  // Slots without noise that went other ways on the device and on the CPU, steps that were compared with it, and those
  // of them that had to have the same bits, log_masses of stochastic beams apart.
  int64_t strayed() const { return strayed_; }
  int64_t compared() const { return compared_; }
  int64_t same_bits() const { return same_bits_; }

 private:
  bool has_bits_of_the_cpu(size_t slot) const;
  void compare_with_cpu(const sidbeam_beams& there, const sidbeam_beams& here, size_t slot, const std::string& what);
  void fill(uint64_t round);
  sidbeam_step_args args_there() const;
  void step_on_cpu();
  void list_children(sidbeam_session* session, size_t which) const;
  // Of each beam of each entry of the list, on the device; `which`: eager or graphed.
  std::vector<std::vector<int32_t>> children_there(size_t which) const;
  std::vector<std::vector<int32_t>> children_here() const;
  void compare_children(const std::vector<std::vector<int32_t>>& expected, uint64_t round) const;
  void capture();

  differential::World world_;
  bool listed_;
  int mode_;
  std::vector<bool> truncated_, silent_, astray_;  // of each slot
  int64_t strayed_ = 0, compared_ = 0, same_bits_ = 0;
  differential::Runtime runtime_;
  differential::Place here_;
  DevicePlace device_;
  std::vector<differential::Loaded> loaded_;
  int64_t columns_;
  std::vector<float> wide_;
  std::vector<uint16_t> narrow_;
  std::vector<int32_t> list_, map_;
  std::vector<float> temperatures_, soft_caps_, lse_;
  std::shared_ptr<void> rows_there_memory_, list_there_, map_there_, temperatures_there_, soft_caps_there_, lse_there_;
  sidbeam_rows rows_here_, rows_there_;
  differential::Session cpu_, eager_, graphed_;
  bool lists_;                                                  // children, before each step
  std::shared_ptr<void> offsets_there_[2], children_there_[2];  // eager, graphed
  std::optional<Graph> graph_;
};

}  // namespace gpu
