// The state of one input of the random caller: its handles, what is known of them, and how it calls.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "../line.h"
#include "allocator.h"
#include "answers.h"
#include "functions.h"
#include "memory.h"
#include "vocabulary.h"

namespace fuzz::abi {

// A reference that this caller holds, and what is known of the index behind it.
template <class T>
struct Held {
  T* handle = nullptr;
  Facts facts;
};

struct Progress {
  int64_t calls_left = -1;  // until it cancels; -1: never
  int32_t phase = -1;
  bool cancelled = false;
};

struct Builder {
  sidbeam_builder* handle = nullptr;
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  std::vector<int32_t> codes;
  std::unique_ptr<Progress> progress;
  int64_t rows = 0, last_rows = 0;  // of the last add
  std::vector<int32_t> attributes;  // that were declared
  int32_t ids = -1;                 // 1: calls give ids, 0: they do not, -1: none was made
  enum { kOpen, kUnknown, kClosed } closed = kOpen;
};

struct Session {
  sidbeam_session* handle = nullptr;
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  Facts facts;  // of its constraint
  Vocabulary vocabulary;
  std::vector<Facts> slots;                  // of each slot's constraint; nullptr: idle
  std::vector<std::vector<int32_t>> widths;  // [slots] by level, of which the last goes on
  std::vector<bool> fresh;                   // started and not stepped yet
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
};

struct ConstraintSet {
  sidbeam_constraint_set* handle = nullptr;
  std::vector<Facts> facts;
  Vocabulary vocabulary;
};

struct Disc {
  sidbeam_disc* handle = nullptr;
  sidbeam_disc_config config = SIDBEAM_DISC_CONFIG_INIT;
  std::vector<int64_t> out;  // draws that were handed out and not added
  int64_t added = 0;
  bool decided = false;  // every result is, for certain
};

// A target, a draft, and what binds them, which must go before they do.
struct Rig {
  sidbeam_session *target = nullptr, *draft = nullptr;
  sidbeam_speculation* speculation = nullptr;
  sidbeam_session_config target_config = SIDBEAM_SESSION_CONFIG_INIT, draft_config = SIDBEAM_SESSION_CONFIG_INIT;
  int32_t levels = 0, columns = 0, draft_levels = 1;
  bool started = false;
  int64_t active = 0;  // slots of the round
};

// Bytes lent to an index that was opened in memory.
struct Lent {
  Block block;
  bool lent = false;  // the index will give it back
  int32_t returns = 0;
};

class World {
 public:
  // A filter, and the index that it holds.
  struct Filter {
    sidbeam_filter* handle = nullptr;
    Facts facts;
    const sidbeam_index* index = nullptr;
    bool has_text = false;
  };
  // A live catalogue, and what all its versions share.
  struct Catalog {
    sidbeam_catalog* handle = nullptr;
    Facts facts;
    bool in_folder = false, follows = false;
    int64_t newest = 1;  // that was seen of it
  };

  World(const uint8_t* data, size_t size);
  World(const World&) = delete;
  ~World();

  // Draws.
  int32_t in(int32_t lowest, int32_t highest) { return input.ConsumeIntegralInRange(lowest, highest); }
  bool flip() { return in(0, 1) != 0; }
  bool one_in(int32_t n) { return in(0, n - 1) == 1; }
  // Which of `count` faults is put into this call, 1 .. count; mostly 0, none.
  int32_t fault(int32_t count);
  // A number that is no count of anything.
  int64_t strange();
  template <class T>
  T& any(std::vector<T>& all) {
    return all[static_cast<size_t>(in(0, static_cast<int32_t>(all.size()) - 1))];
  }
  std::vector<int32_t> numbers(size_t count, int32_t lowest, int32_t highest);

  // Makes one call and checks its status, its message, and what it wrote against what is expected.
  template <class Call>
  sidbeam_status attempt(const Call& call) {
    prepare_error();
    for (Guarded* output : outputs) output->keep();
    const uint64_t refused = allocator.refused();
    const sidbeam_status status = call(error_);
    if (allocator.refused() != refused) expected.may_fail(SIDBEAM_OUT_OF_MEMORY);
    check(status);
    return status;
  }
  FuzzedDataProvider input;
  CheckedAllocator allocator;
  Answers expected;  // of the next call
  std::vector<sidbeam_runtime*> runtimes;
  std::vector<Builder> builders;
  std::vector<Held<sidbeam_index>> indexes;
  std::vector<Held<sidbeam_constraint>> constraints;
  std::vector<Filter> filters;
  std::vector<Held<sidbeam_constraint>> ruled;  // constraints with rules
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<ConstraintSet> sets;
  std::vector<sidbeam_plan*> plans;
  std::vector<Catalog> catalogs;
  // Whether there is a catalogue in catalog_folder().
  enum { kNone, kUnknown, kStored } stored = kNone;
  std::vector<Disc> discs;
  std::vector<std::unique_ptr<Rig>> rigs;
  std::list<Lent> lent;
  std::vector<std::string> written;  // files that should be there
  std::vector<sidbeam_state> states{0, -1};
  const std::string& folder() const;
  std::string catalog_folder() const { return folder() + "/catalogue"; }

  std::vector<Guarded*> outputs;  // of the next call

  // Destroys one of what a rig has left, and forgets it if that was the last.
  void drop_part(std::unique_ptr<Rig>& rig);
  // Releases one of all handles; false where there is none.
  bool drop_any();

 private:
  void prepare_error();
  void check(sidbeam_status status);

  std::unique_ptr<Guarded> error_memory_;
  sidbeam_error* error_ = nullptr;
  bool error_is_one_ = false;  // of a size that an error may have
};

// An output of the next call.
template <class T>
class Out {
 public:
  Out(World& world, size_t count, size_t alignment = alignof(T))
      : world_(world), memory_(count * sizeof(T), alignment) {
    world_.outputs.push_back(&memory_);
  }
  ~Out() { std::erase(world_.outputs, &memory_); }
  T* get() { return reinterpret_cast<T*>(memory_.data()); }
  T& operator[](size_t i) { return get()[i]; }
  T operator*() { return get()[0]; }
  Guarded& memory() { return memory_; }

 private:
  World& world_;
  Guarded memory_;
};

// Bytes of a struct in the first version of the header; a caller that was compiled with that may go on.
template <class T>
inline constexpr size_t kFirstBytes = sizeof(T);
#define STRUCT(type, bytes) \
  template <>               \
  inline constexpr size_t kFirstBytes<type> = bytes;
#define FIELD(...)
#define CONSTANT(...)
#define ENTRY(...)
#include "../../abi/abi_v1.inc"
#undef STRUCT
#undef FIELD
#undef CONSTANT
#undef ENTRY

// A struct that is passed in, in a block of the size that it claims: its own, a newer header's, that of the first
// version where what came later says nothing, or one that no struct has.
template <class T>
class In {
 public:
  In(World& world, const T& value, bool may_be_old = false);
  const T* get() const { return reinterpret_cast<const T*>(block_.get()); }

 private:
  std::unique_ptr<uint8_t[]> block_;
};

// A struct that is filled in, also of such a size. The part that this library does not know is zero afterwards.
template <class T>
class OutStruct {
 public:
  explicit OutStruct(World& world);
  T* get() { return reinterpret_cast<T*>(memory_->get()); }
  const T& operator*() {
    const uint8_t* bytes = memory_->get();
    FUZZ_CHECK(std::all_of(bytes + sizeof(T), bytes + memory_->memory().bytes(), [](uint8_t b) { return b == 0; }));
    return *get();
  }
  const T* operator->() { return &**this; }

 private:
  std::unique_ptr<Out<uint8_t>> memory_;
};

// The size that a struct claims, and whether the library must then refuse it.
struct Claim {
  size_t size, bytes;  // struct_size; bytes that are there
  uint8_t tail;        // the first byte after the struct
};
struct Sizes {
  size_t first, own;  // of the first version, and now
  bool may_be_old;
};
Claim draw_claim(World& world, const Sizes& sizes, bool output);

template <class T>
In<T>::In(World& world, const T& value, bool may_be_old) {
  const Claim claim = draw_claim(world, {kFirstBytes<T>, sizeof(T), may_be_old}, false);
  block_.reset(new uint8_t[claim.bytes]());
  std::memcpy(block_.get(), &value, std::min(claim.bytes, sizeof(T)));
  if (claim.bytes > sizeof(T)) block_[sizeof(T)] = claim.tail;
  const auto size = static_cast<uint32_t>(claim.size);
  std::memcpy(block_.get(), &size, sizeof size);
}

template <class T>
OutStruct<T>::OutStruct(World& world) {
  const Claim claim = draw_claim(world, {kFirstBytes<T>, sizeof(T), false}, true);
  memory_ = std::make_unique<Out<uint8_t>>(world, claim.bytes, alignof(T));
  const auto size = static_cast<uint32_t>(claim.size);
  std::memcpy(memory_->get(), &size, sizeof size);
}

}  // namespace fuzz::abi
