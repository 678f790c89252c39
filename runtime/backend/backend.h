// What decode/ asks of a device. What is to be computed is decided before, and arguments are checked as far as the host
// can; a backend holds the beams and computes. The CPU (cpu/) and CUDA devices (device_*, by the plugin in cuda/) have
// the same calls; which one a session or a set talks to is chosen once, when it is made.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "backend/level_columns.h"
#include "backend/rows.h"
#include "sidbeam/session.h"
#include "sidbeam/states.h"
#include "support/cpu_target.h"
#include "support/executor.h"
#include "support/host_device.h"
#include "support/memory.h"

namespace sidbeam {

class Constraint;  // backend/constraint.h

// What steps count. Hosts see the ones of sidbeam_stats as fields and all others by name; a device has them as an array
// in this order.
struct StepCounters {
  int64_t steps = 0;       // calls of step
  int64_t slot_steps = 0;  // slots stepped
  int64_t rows_read = 0, rows_skipped = 0, rows_bad = 0;
  int64_t candidates = 0;  // codes considered
  int64_t dead_beams = 0;  // beams that a step could not fill
  int64_t shrinks = 0;     // times that the selection's workspace was cut back
  int64_t list_rows = 0, dense_rows = 0, unconstrained_rows = 0, probed_rows = 0;  // by how their children were found
  int64_t single_rows = 0;  // of beams with one child, scored by themselves; not among list_rows
  int64_t split_slots = 0;  // slots whose rows were divided among threads
};

// Codes of prefixes, one prefix per entry of a call. Stride 0: one for all.
struct PrefixArray {
  const int32_t* codes = nullptr;
  int64_t stride = 0;
  int32_t capacity = 0;  // codes that a prefix can have

  SIDBEAM_HD const int32_t* of(int64_t i) const { return codes != nullptr ? codes + i * stride : nullptr; }
};

// Where the codes of each level stand in a logits row. Columns and maps are the host's; borrowed.
struct VocabularyView {
  const LevelColumns* columns = nullptr;  // [levels]
  const int64_t* map_codes = nullptr;     // [levels] codes that a map covers
  int32_t levels = 0;
};

// What a session is made with. The vocabulary must outlive the backend.
struct SessionShape {
  int32_t slots = 0, beams = 0, levels = 0;  // S, M, L
  int32_t strategy = 0, normalization = 0, top_k = 0;
  bool log_probs_promised = false;
  VocabularyView vocabulary;
};

// A slot to be started.
struct SlotStart {
  Constraint* constraint = nullptr;
  int32_t slot = 0, width = 0;
  RowSettings settings{0.0F, 0.0F};  // 0: not given
  int32_t prefix_length = 0;
  const int32_t* prefix = nullptr;  // the host's
};

struct SessionCounts {
  StepCounters counters;
  int64_t memory_bytes = 0;
};

// The slots of one session with their beams, where these are: what sidbeam/session.h says, for arguments that have been
// checked as far as the host can without knowing what the slots hold. One thread at a time.
class SessionBackend {
 public:
  virtual ~SessionBackend() = default;
  // Throws where the host cannot read a list, which `name` names in messages.
  virtual void check_host(const void* list, const char* name) const = 0;
  // Each slot is named once. All of them or, where it throws, none.
  virtual void start(const SlotStart* starts, int64_t count, void* stream) = 0;
  virtual void stop(const int32_t* slots, int64_t count, void* stream) = 0;
  // args.count is the number of slots, and strides are resolved. Checks what depends on the slots.
  virtual void step(const sidbeam_step_args& args) = 0;
  virtual sidbeam_beams beams() const = 0;
  // Beams that the host can read, once the stream has got there.
  virtual sidbeam_beams fetch(void* stream) = 0;
  // `slots` is the host's; nullptr: all in order.
  virtual void items(const int32_t* slots, int64_t count, const sidbeam_items& out) const = 0;
  virtual SessionCounts counts() const = 0;
};

// What a set is made with; borrowed, and must outlive the backend. At least one constraint.
struct SetShape {
  Constraint* const* constraints = nullptr;
  int32_t count = 0;
  VocabularyView vocabulary;
  uint32_t codes = 0;  // of the widest level of any constraint, the end not counted
};

// Which constraint the entries of a call follow: which[i], or constraint 0 where that is null.
struct SetCall {
  const int32_t* which = nullptr;
  int64_t count = 0;
  void* stream = nullptr;
};

// The stateless forms of one set; see sidbeam/states.h. Sizes have been checked and strides resolved. Any number of
// threads at a time.
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
};

// A device, the CPU among them: made once, and asked for every session and every set on it.
class Backend {
 public:
  virtual ~Backend() = default;
  // Slots that name no constraint follow `constraint`.
  virtual std::unique_ptr<SessionBackend> make_session(const SessionShape& shape, Constraint& constraint,
                                                       const Allocator& allocator) = 0;
  virtual std::unique_ptr<SetBackend> make_set(const SetShape& shape, const Allocator& allocator) = 0;
};

// The CPU, with the kernels of a target that this machine has. Steps use the executor (nullptr: the caller's thread
// alone), one thread per `grain` elements of logits.
std::unique_ptr<Backend> make_cpu_backend(CpuTarget target, std::unique_ptr<Executor> executor, int64_t grain);

}  // namespace sidbeam
