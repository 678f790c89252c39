// A draft head on a device: what the runner gives its plugin. Plain data; addresses are of the device unless a comment
// says host. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sidbeam/base.h"
#include "sidbeam/draft.h"
#include "sidbeam/rows.h"

namespace sidbeam::runner {

// Rows of floats begin at multiples of 16 bytes, and so do those of weights.
constexpr int64_t draft_stride(int64_t columns) { return (columns + 3) / 4 * 4; }
constexpr int64_t draft_weights_stride(int64_t inputs) { return (inputs + 7) / 8 * 8; }

// The weights of a level. Matrices are of the head's type and have rows of draft_weights_stride() elements; biases have
// draft_stride() floats.
struct DeviceDraftLevel {
  int64_t codes = 0;                                     // V_l
  const void *on_hidden = nullptr, *on_state = nullptr;  // [V_l, D]; nullptr: the input does not have it
  const float* bias = nullptr;                           // [V_l]; nullptr: none
  // Of the transition to the next level, as DraftLevel has them.
  const float* moves = nullptr;           // [V_l, G], dense
  const void* recurrent = nullptr;        // [G, D]
  const float* recurrent_bias = nullptr;  // [G]; nullptr: none
};

struct DeviceDraftConfig {
  int32_t device_id = 0;
  int32_t dtype = 0;                  // of weights
  int32_t input = 0, transition = 0;  // SIDBEAM_DRAFT_*
  int32_t levels = 0;
  int64_t hidden = 0, gates = 0;               // D, G
  const DeviceDraftLevel* of_level = nullptr;  // [levels], host; outlives the object
  // Rows of logits of a request at each level, and of states: row m is beam m's, or one row is all beams'. Without a
  // transition there is one of the states, and rows of logits beyond the first are copies.
  int64_t rows[SIDBEAM_MAX_LEVELS] = {};
  int64_t requests = 0, beams = 0;  // B, M
};

// Where things are, for the life of the object.
struct DeviceDraftView {
  float* logits = nullptr;  // [requests, rows, V_l], a row every draft_stride(V_l); of the level
  // Results, as in sidbeam_draft_result.
  int32_t *live = nullptr, *errors = nullptr, *sids = nullptr;
  float* scores = nullptr;
  int64_t* ordinals = nullptr;
};

struct DeviceDraft;

// Host functions; each writes `err`, if there is one, and returns its status. Work of a run is enqueued on its stream.
struct DraftDevice {
  sidbeam_status (*create)(const DeviceDraftConfig*, DeviceDraft** out, sidbeam_error* err);
  void (*destroy)(DeviceDraft*);
  DeviceDraftView (*view)(const DeviceDraft*);
  int64_t (*memory_bytes)(const DeviceDraft*);
  // A run of hidden.slots requests: takes the states s_1 = h_0. hidden: host, strides are resolved; it is read until
  // the last level's logits.
  sidbeam_status (*begin)(DeviceDraft*, const sidbeam_rows* hidden, void* stream, sidbeam_error* err);
  sidbeam_status (*logits)(DeviceDraft*, int32_t level, sidbeam_error* err);
  // The states of level l + 1 of the beams that a step of level l has found. Not without a transition.
  sidbeam_status (*advance)(DeviceDraft*, int32_t level, const sidbeam_beams* beams, sidbeam_error* err);
  // Live, errors and scores, and what stands for no SID in all results; sids and ordinals are there already.
  sidbeam_status (*finish)(DeviceDraft*, const sidbeam_beams* beams, sidbeam_error* err);
};

}  // namespace sidbeam::runner
