// A model's forward passes for the batches of one lane: prompts once on one row each, then the beams, a level per pass.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "sidbeam/runner.h"
#include "support/host_device.h"

namespace sidbeam {
struct Allocator;
}

namespace sidbeam::runner {

class Exchange;

// One request's history, checked by the caller: tokens in the vocabulary, at least one position in all, no more than
// the limits.
struct Prompt {
  const int32_t* tokens = nullptr;  // [positions, group]; -1: none
  int64_t positions = 0;
  int32_t group = 1;
  // KV that the host computed; nullptr: none. A decoder alone continues it with the tokens, if there are any, and the
  // begin tokens; a T5 attends to it instead of encoding tokens, of which there must be none.
  const sidbeam_shared_kv* shared_kv = nullptr;
};

// What a lane's memory is made for.
struct ForwardLimits {
  int32_t requests = 1;  // of a batch
  int32_t beams = 1, levels = 1;
  int32_t max_group = 1;
  int64_t max_prompt = 1;   // positions of a prompt, those of its shared_kv included, begin tokens excluded
  int64_t prompt_rows = 0;  // positions of a batch's prompts together, counted likewise; 0: requests * max_prompt
  // Most nodes of a request in a pass over trees, and the unshared slots that its trees have; 0: no trees.
  int64_t tree_rows = 0, tree_slots = 0;
  // Tokens between the prompt and the first code; of a T5 the first of the decoder. Copied. Empty: of a T5 the
  // decoder_start_token, else none.
  const int32_t* begin_tokens = nullptr;
  int64_t begin_count = 0;
  // Tokens behind those, of a pass whose hidden states are wanted. Copied.
  const int32_t* placeholders = nullptr;
  int64_t placeholder_count = 0;
};

// Beams that are fed at one level. All requests of a batch are at the same one. Or nodes of trees, at several.
struct DecodeRows {
  int32_t rows = 0;                    // 1 .. requests * beams
  int32_t depth = 0;                   // codes that a beam has: 1 .. levels - 1; of nodes the most
  const int32_t* requests = nullptr;   // [rows] rising: the prompt's number within the batch
  const int32_t* tokens = nullptr;     // [rows] of the last code
  const int32_t* slots = nullptr;      // [rows] unshared slot of the request that the row writes
  const int32_t* ancestors = nullptr;  // [rows, depth] slots of the request that it reads, in order of depth; the last
                                       // is its own, behind which a node of less depth has -1
  // [rows] codes that a node has, rising within a request; nullptr: beams. 0: the root of a tree that begins with the
  // prompt, whose last position is the row; of its tokens, slots and ancestors nothing is read.
  const int32_t* depths = nullptr;
  // On CUDA: what the lane's session found, of which the rows were made; a draft head alone reads it.
  const sidbeam_beams* beams = nullptr;

  int32_t depth_of(int32_t row) const { return depths != nullptr ? depths[row] : depth; }
};

// Slots of a request: one per beam and level but the last, whose codes are not fed.
SIDBEAM_HD constexpr int32_t unshared_slot(int32_t beams, int32_t depth, int32_t beam) {
  return (depth - 1) * beams + beam;
}

// Elements of the logits of a pass, by row and column of the level.
struct LogitElements {
  const int32_t *rows = nullptr, *columns = nullptr;  // [count]
  int64_t count = 0;
};

// One lane's state. All memory is taken, and touched, at creation. The CPU's and CUDA's implement it; on CUDA the
// arrays of DecodeRows and the logits are in device memory.
class Forward {
 public:
  virtual ~Forward() = default;
  // Begins a batch. Afterwards row i is the last position of prompt i.
  virtual void prefill(const Prompt* prompts, int32_t count) = 0;
  // Afterwards row r is row r of `beams`.
  virtual void decode(const DecodeRows& beams) = 0;
  // [rows of the last pass, columns(level)], dense, for the host to change; valid until the next call.
  virtual float* logits(int32_t level) = 0;
  // Of logits() these elements alone, with the same bits; the others may hold anything. Not called unless
  // has_elements().
  virtual float* some_logits(int32_t /*level*/, const LogitElements& /*elements*/) { return nullptr; }
  virtual bool has_elements() const { return false; }
  // How many elements of logits() take as long as one of some_logits(): measured, unless has_elements() is false.
  virtual int32_t element_cost() const { return 1; }
  virtual int64_t columns(int32_t level) const = 0;
  virtual int64_t memory_bytes() const = 0;
};

// The CPU's, whose hidden states go on to a draft head.
class StatesForward {
 public:
  virtual ~StatesForward() = default;
  // Reads prompts. [count, placeholder_count + 1, hidden], dense: the last layer's states after its norm, at the last
  // position before the placeholders and at theirs; valid until the next call.
  virtual const float* states(const Prompt* prompts, int32_t count) = 0;
  virtual int64_t memory_bytes() const = 0;
};

// Where the sessions of a lane are; without a stream on the CPU.
struct LanePlace {
  int32_t device_id = 0;
  void* stream = nullptr;
};

// How a pass over trees on a device is made.
struct TreePlace {
  void* stream = nullptr;    // that it shares with another, which outlives it; nullptr: one of its own
  bool host_logits = false;  // logits are brought to the host, and waited for
};

// One that takes trees (speculation), all of whose arrays are the host's.
class TreeForward {
 public:
  virtual ~TreeForward() = default;
  // Nodes, in one pass. A batch begins with a pass that has the roots of all its prompts, which are read in it.
  virtual void run_tree(const Prompt* prompts, const DecodeRows& nodes) = 0;
  // [nodes, most columns of a level], dense: row r has the columns of level depths[r], then zeros or what was there. In
  // the memory of place(), in the order of its stream; valid until the next call.
  virtual float* tree_logits(const int32_t* depths) = 0;
  // Of sessions that are stepped on the logits.
  virtual LanePlace place() const { return {}; }
  // Of such a lane; this outlives it.
  virtual std::unique_ptr<Exchange> make_exchange(const Allocator& allocator);
  virtual int64_t memory_bytes() const = 0;
};

}  // namespace sidbeam::runner
