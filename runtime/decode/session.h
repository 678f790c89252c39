// A decoder session: the checks of its calls, and the backend that has its slots and beams.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "backend/backend.h"
#include "backend/named_slots.h"
#include "decode/objects.h"
#include "decode/vocabulary.h"
#include "sidbeam/session.h"

// One thread at a time.
struct sidbeam_session {
  sidbeam::Ref<sidbeam_runtime> runtime;
  sidbeam::Ref<sidbeam_constraint> constraint;  // of slots that name none
  int32_t device_type = 0, device_id = 0;
  int32_t slots = 0, beams = 0, levels = 0;  // S, M, L
  int32_t strategy = 0, normalization = 0, top_k = 0, mode = 0;
  int64_t max_listed = 0;  // item rows of a constraint's lists; 0: any number, on the CPU
  sidbeam::Vocabulary vocabulary;
  sidbeam::NamedSlots named;                   // by starts and stops
  sidbeam::Buffer<sidbeam::SlotStart> starts;  // [S] of the current start
  std::unique_ptr<sidbeam::SessionBackend> backend;
};

namespace sidbeam {

// Throws if a strategy cannot run on an index; `what` names it.
void check_strategy(int32_t strategy, const IndexView& index, const char* what);
// Throws where a constraint has rules and the strategy takes none, or more listed item rows than max_listed (0: none
// is too many).
void check_rules(int32_t strategy, int64_t max_listed, const sidbeam_constraint& constraint, const char* what);
// Throws unless candidates of so many beams have places at every level of the index (backend/score.h).
void check_places(int32_t beams, const IndexView& index, const char* what);
// The slots that a list names: `count`, or all of them where it is NULL and count 0 or S. Throws.
int64_t listed_slots(const sidbeam_session& session, const int32_t* slots, int64_t count);

std::unique_ptr<sidbeam_session> create_session(sidbeam_runtime* runtime, const sidbeam_session_config& config);
void start_slots(sidbeam_session& session, const sidbeam_start_args& args);
// `rows` are args.rows, whose strides it resolves.
void step_session(sidbeam_session& session, const sidbeam_step_args& args, sidbeam_rows& rows);
// Throws where the next step reads more than children.
void list_children(const sidbeam_session& session, const int32_t* slots, int64_t count, int32_t lse_given,
                   const ChildColumns& out);
void stop_slots(sidbeam_session& session, const int32_t* slots, int64_t count, void* stream);
void get_items(const sidbeam_session& session, const int32_t* slots, int64_t count, const sidbeam_items& out);
sidbeam_stats stats_of(const sidbeam_session& session);
// Writes up to `capacity` counters into names (may be NULL) and values; returns how many there are.
int64_t get_counters(const sidbeam_session& session, int64_t capacity, const char** names, int64_t* values);

}  // namespace sidbeam
