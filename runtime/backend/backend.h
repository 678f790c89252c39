// The interface between decode/ and a device. decode/ decides what to compute and checks arguments as far as the host
// can; a backend holds the beams and computes. The CPU (cpu/) and CUDA devices (device_*, through the plugin in cuda/)
// implement the same calls. A session or set is bound to one of them when it is made.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "backend/level_columns.h"
#include "backend/rows.h"
#include "backend/truncation.h"
#include "sidbeam/session.h"
#include "sidbeam/states.h"
#include "support/cpu_target.h"
#include "support/executor.h"
#include "support/host_device.h"
#include "support/memory.h"

namespace sidbeam {

class Constraint;  // backend/constraint.h

// Counters of steps. Hosts see those in sidbeam_stats as fields and the others by name; a device keeps them as an array
// in this order.
struct StepCounters {
  int64_t steps = 0;       // calls of step
  int64_t slot_steps = 0;  // slots stepped
  int64_t rows_read = 0, rows_skipped = 0, rows_bad = 0;
  int64_t candidates = 0;  // codes considered
  int64_t dead_beams = 0;  // beams that a step could not fill
  int64_t shrinks = 0;     // times the selection's workspace was cut back
  int64_t list_rows = 0, dense_rows = 0, unconstrained_rows = 0, probed_rows = 0;  // by how children were found
  int64_t single_rows = 0;  // beams with one child, scored without a list; not in list_rows
  int64_t split_slots = 0;  // slots whose rows several threads shared
};

// Codes of prefixes, one prefix per entry of a call. With stride 0 all entries share one prefix.
struct PrefixArray {
  const int32_t* codes = nullptr;
  int64_t stride = 0;
  int32_t capacity = 0;  // most codes of a prefix

  SIDBEAM_HD const int32_t* of(int64_t i) const { return codes != nullptr ? codes + i * stride : nullptr; }
};

// The columns of each level's codes in a logits row. Borrowed; columns and maps are in host memory.
struct VocabularyView {
  const LevelColumns* columns = nullptr;  // [levels]
  const int64_t* map_codes = nullptr;     // [levels] codes covered by the map
  int32_t levels = 0;
};

// The parameters of a session. The vocabulary must outlive the backend.
struct SessionShape {
  int32_t slots = 0, beams = 0, levels = 0;  // S, M, L
  int32_t strategy = 0, normalization = 0, top_k = 0;
  int32_t mode = 0;  // SIDBEAM_MODE_*
  bool log_probs_promised = false;
  VocabularyView vocabulary;
  // Of slots under rules on a device: the most item rows that a constraint lists, and whether their memory is taken
  // now rather than by the first start under rules.
  int64_t max_listed = 0;
  bool makes_room_for_rules = false;
};

// How a slot is sampled, or a row of a stateless call; see sidbeam/sampling.h.
struct SlotSampling {
  uint64_t seed = 0;
  int64_t request = 0;
  Truncation truncation;
  float noise_scale = 1.0F;
  const int64_t* draws = nullptr;  // [width] in host memory; nullptr: 0, 1 ...
};

// Most beams of a slot at each level.
struct LevelWidths {
  const int32_t* widths = nullptr;  // [levels] in host memory, the last of which goes on; 0: `most`
  int32_t levels = 0;               // 0: `most` at every level
  int32_t most = 0;                 // M

  int32_t at(int32_t level) const {
    const int32_t width = levels > 0 ? widths[std::min(level, levels - 1)] : 0;
    return width > 0 ? width : most;
  }
};

// A slot to be started.
struct SlotStart {
  Constraint* constraint = nullptr;
  int32_t slot = 0;
  LevelWidths widths;
  RowSettings settings{0.0F, 0.0F};  // 0: not given
  int32_t prefix_length = 0;
  const int32_t* prefix = nullptr;  // in host memory
  SlotSampling sampling;            // of the modes that sample
};

struct SessionCounts {
  StepCounters counters;
  int64_t memory_bytes = 0;
};

// Where the columns of children go; see sidbeam_session_children().
struct ChildColumns {
  int64_t capacity = 0;
  int64_t* offsets = nullptr;
  int32_t* columns = nullptr;
  void* stream = nullptr;
};

// Lists that the host writes, and their copies on the device that reads them; on the CPU they are the same.
struct StepListArrays {
  int32_t *slots = nullptr, *row_map = nullptr;  // [S], [S, M]
  const int32_t *slots_there = nullptr, *row_map_there = nullptr;
  int64_t memory_bytes = 0;
};

// For take_beams() and the steps after it.
class StepLists : public StepListArrays {
 public:
  virtual ~StepLists() = default;
  // Copies the first `count` slots and their rows of the map, in the order of the stream. The lists may be written
  // again once the stream has reached this point.
  virtual void send(int64_t count, void* stream) = 0;
  // What is enqueued on the stream by now may use the lists and their copies.
  virtual void mark(void* stream) noexcept = 0;
};

// Marks lists at the end of a scope that enqueues work on them, also where that fails.
class MarksLists {
 public:
  MarksLists(StepLists& lists, void* stream) : lists_(lists), stream_(stream) {}
  MarksLists(const MarksLists&) = delete;
  MarksLists& operator=(const MarksLists&) = delete;
  ~MarksLists() { lists_.mark(stream_); }

 private:
  StepLists& lists_;
  void* stream_;
};

// The slots of one session and their beams, on the device that holds them. Implements sidbeam/session.h for arguments
// that have been checked as far as the host can without knowing the contents of slots. Used by one thread at a time.
class SessionBackend {
 public:
  virtual ~SessionBackend() = default;
  // Throws if the host cannot read the list; `name` is its name in messages.
  virtual void check_host(const void* list, const char* name) const = 0;
  // Each slot is named once. Starts all of them or, if it throws, none.
  virtual void start(const SlotStart* starts, int64_t count, void* stream) = 0;
  virtual void stop(const int32_t* slots, int64_t count, void* stream) = 0;
  // Gives the first `count` slots of lists that were sent, all of them started, the beams that the same slots of
  // another session on this device have: of the same levels, strategy and mode, and at most as many beams. All of them
  // or, if it throws, none.
  virtual void take_beams(const StepLists& lists, int64_t count, SessionBackend& from, void* stream) = 0;
  // args.count is the number of slots, and strides are resolved. Checks what depends on the contents of slots.
  virtual void step(const sidbeam_step_args& args) = 0;
  // Of mode SEARCH and strategy TRIE, with a list that has been checked where the host has it; nullptr: all slots in
  // order.
  virtual void children(const int32_t* slots, int64_t count, const ChildColumns& out) const = 0;
  virtual sidbeam_beams beams() const = 0;
  // Beams that the host can read once the stream has reached this point.
  virtual sidbeam_beams fetch(void* stream) = 0;
  // Beams that the host can read now: waits for the stream.
  virtual sidbeam_beams read(void* stream) = 0;
  // `slots` is in host memory; nullptr: all slots in order.
  virtual void items(const int32_t* slots, int64_t count, const sidbeam_items& out) const = 0;
  virtual SessionCounts counts() const = 0;
};

// The parameters of a set: borrowed, must outlive the backend, at least one constraint.
struct SetShape {
  Constraint* const* constraints = nullptr;
  int32_t count = 0;
  VocabularyView vocabulary;
  uint32_t codes = 0;  // of the widest level of any constraint, the end not counted
};

// The constraint that entry i of a call follows: which[i], or constraint 0 if `which` is null.
struct SetCall {
  const int32_t* which = nullptr;
  int64_t count = 0;
  void* stream = nullptr;
};

// How the rows of a call are sampled.
struct SetSampling {
  int32_t normalization = 0;
  const float* inverse_temperatures = nullptr;  // per row; nullptr: 1
  sidbeam_sampling arrays;
};

// The stateless calls of one set; see sidbeam/states.h. Sizes have been checked and strides resolved. Any number of
// threads may call at a time.
class SetBackend {
 public:
  virtual ~SetBackend() = default;
  virtual void prefixes(const SetCall& call, const PrefixArray& prefixes, const int32_t* lengths,
                        int64_t* out) const = 0;
  virtual void advance(const SetCall& call, const int64_t* in, int64_t in_count, const int32_t* parents,
                       const int32_t* codes, int64_t* out) const = 0;
  virtual void mask(const SetCall& call, const int64_t* states, const sidbeam_rows& rows, void* data) const = 0;
  // Every valid column is below 32 * words_per_row.
  virtual void bitmask(const SetCall& call, const int64_t* states, int64_t words_per_row, uint32_t* words) const = 0;
  virtual void topk(const SetCall& call, const int64_t* states, const sidbeam_rows& rows, int32_t normalization,
                    int32_t k, int32_t* codes, float* log_probs, int64_t* next) const = 0;
  // The entries of `sampling` have not been checked.
  virtual void sample(const SetCall& call, const int64_t* states, const sidbeam_rows& rows, const SetSampling& how,
                      const sidbeam_sampled& out) const = 0;
};

// A device (the CPU is one). Made once; makes every session and every set on the device.
class Backend {
 public:
  virtual ~Backend() = default;
  // Slots that name no constraint follow `constraint`.
  virtual std::unique_ptr<SessionBackend> make_session(const SessionShape& shape, Constraint& constraint,
                                                       const Allocator& allocator) = 0;
  virtual std::unique_ptr<SetBackend> make_set(const SetShape& shape, const Allocator& allocator) = 0;
  // Of S slots and M beams, for sessions of this device.
  virtual std::unique_ptr<StepLists> make_step_lists(int64_t slots, int64_t beams, const Allocator& allocator) = 0;
};

// The CPU, with the kernels of a target that this machine has. Steps use one thread of the executor per `grain`
// elements of logits (nullptr: only the caller's thread).
std::unique_ptr<Backend> make_cpu_backend(CpuTarget target, std::unique_ptr<Executor> executor, int64_t grain);

}  // namespace sidbeam
