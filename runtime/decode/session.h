// A decoder session: the table of slots, the beams of each, and the memory for a step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "backend/backend.h"
#include "decode/device_session.h"
#include "decode/objects.h"
#include "decode/vocabulary.h"
#include "sidbeam/session.h"

// Arrays are by slot, then (level, then) beam. A session on a device has its beams there, and of these arrays only what
// checks need. One thread at a time.
struct sidbeam_session {
  sidbeam::Ref<sidbeam_runtime> runtime;
  sidbeam::Ref<sidbeam_constraint> constraint;  // of slots that name none
  int32_t slots = 0, beams = 0, levels = 0;     // S, M, L
  int32_t strategy = 0, normalization = 0, top_k = 0;
  bool log_probs_promised = false;
  sidbeam::Vocabulary vocabulary;
  std::unique_ptr<sidbeam::Stepper> stepper;       // on the CPU
  std::unique_ptr<sidbeam::DeviceSession> device;  // or on a device

  sidbeam::Buffer<sidbeam_constraint*> slot_constraints;     // [S] held; nullptr: idle
  sidbeam::Buffer<int32_t> widths;                           // [S]
  sidbeam::Buffer<int64_t> states;                           // [S, M]
  sidbeam::Buffer<uint64_t> range_ends;                      // [S, M], of the sorted strategies
  sidbeam::Buffer<float> scores;                             // [S, M]
  sidbeam::Buffer<int32_t> parents, tokens;                  // [S, M]
  sidbeam::Buffer<int32_t> history_parents, history_tokens;  // [S, L, M]
  sidbeam::Buffer<int32_t> live, active, level, errors;      // [S]
  sidbeam::Buffer<int64_t> marks;            // [S] number of the call that last named the slot, to find repetitions
  sidbeam::Buffer<sidbeam::SlotStep> steps;  // [S] of the step that is under way
  sidbeam::Buffer<int64_t> start_states, start_range_ends;  // [S] of the start that is under way
  int64_t calls = 0;
  sidbeam_stats stats{};

  sidbeam_session() = default;
  sidbeam_session(const sidbeam_session&) = delete;
  sidbeam_session& operator=(const sidbeam_session&) = delete;
  ~sidbeam_session();
};

namespace sidbeam {

// Throws where a strategy cannot run on an index; `what` names it.
void check_strategy(int32_t strategy, const IndexView& index, const char* what);
// The slot of entry i of a list (nullptr: i), checked, and marked as named by this call.
int32_t named_slot(sidbeam_session& session, const int32_t* slots, int64_t i);
// The constraint that entry i of a start names, or the session's.
sidbeam_constraint* constraint_of(const sidbeam_session& session, const sidbeam_start_args& args, int64_t i);
// Holds a constraint for a slot in place of the one before; nullptr for none.
void hold_constraint(sidbeam_session& session, int64_t slot, sidbeam_constraint* constraint);
// Makes every beam of a slot dead.
void clear_beams(sidbeam_session& session, int64_t slot);
void check_slot_count(const sidbeam_session& session, int64_t count);

std::unique_ptr<sidbeam_session> create_session(sidbeam_runtime* runtime, const sidbeam_session_config& config);
void start_slots(sidbeam_session& session, const sidbeam_start_args& args);
// `rows` are those of args, a copy that is checked and put right.
void step_session(sidbeam_session& session, const sidbeam_step_args& args, sidbeam_rows& rows);
void stop_slots(sidbeam_session& session, const int32_t* slots, int64_t count, void* stream);
void get_beams(const sidbeam_session& session, sidbeam_beams& out);
void fetch_beams(sidbeam_session& session, sidbeam_beams& out, void* stream);
void get_items(const sidbeam_session& session, const int32_t* slots, int64_t count, sidbeam_items& out);
void get_stats(const sidbeam_session& session, sidbeam_stats& out);

}  // namespace sidbeam
