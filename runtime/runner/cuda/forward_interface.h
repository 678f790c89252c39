// Forward passes on a device: what the runner gives its plugin. Plain data; addresses are of the device unless a
// comment says host. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runner/formats/config.h"
#include "runner/models/forward.h"
#include "sidbeam/base.h"

namespace sidbeam::runner {

// A part of an array that is to be on the device: elements of one type, in host memory.
struct HostArray {
  const void* data = nullptr;
  int32_t dtype = 0;  // SIDBEAM_DTYPE_*
  int64_t elements = 0;
};

// y = x W + bias; weights [outputs, inputs] in the model's type or, where there are scales, int8.
struct DeviceLinear {
  const void* weights = nullptr;
  const float* scales = nullptr;  // [outputs] of int8
  const float* bias = nullptr;    // nullptr: none
  int64_t outputs = 0, inputs = 0;
};

struct DeviceAttention {
  const float* norm = nullptr;
  DeviceLinear qkv;  // queries of all heads, then keys, then values
  const float *q_norm = nullptr, *k_norm = nullptr;
  DeviceLinear output;
};

struct DeviceLayer {
  DeviceAttention self, cross;  // cross: of a T5's decoder
  const float* norm = nullptr;  // of the feed-forward
  DeviceLinear in, out;         // gated: in has the part that goes through the activation, then the other
};

struct DeviceStack {
  const DeviceLayer* layers = nullptr;  // [count], host
  int32_t count = 0;
  const float* norm = nullptr;
};

struct DeviceModel {
  int32_t device_id = 0;
  int32_t dtype = 0;  // of matrices that are not int8, embedding, activations, keys and values
  ModelConfig config;
  const void* embedding = nullptr;  // [vocabulary, hidden]
  DeviceStack encoder, decoder;
};

// Biases by distance: head h's at distance 0 is zero[h * stride]; of a T5.
struct DeviceBias {
  const float* zero = nullptr;
  int64_t stride = 0;
};

// The output layer at a level.
struct DeviceLevel {
  const void* weights = nullptr;  // [columns, hidden]
  int64_t columns = 0;
  const int32_t* holes = nullptr;  // [hole_count] columns without a token
  int64_t hole_count = 0;
};

struct DeviceForwardConfig {
  const DeviceModel* model = nullptr;  // host; outlives the forward pass
  // begin_tokens as they are fed, also those of a T5, with the placeholders behind them; outlive the forward pass. With
  // placeholders it has states instead of logits, and reads prompts alone.
  ForwardLimits limits;
  const DeviceLevel* levels = nullptr;  // [limits.levels], host; read at creation; nullptr with placeholders
  const float *cosines = nullptr, *sines = nullptr;  // [positions, head_dim / 2]; nullptr: no RoPE
  DeviceBias encoder_bias, decoder_bias;
  const float* ancestor_bias = nullptr;  // of every depth d from 1 on, [heads, d], one after the other
  void* stream = nullptr;  // on which all is enqueued; it outlives the forward pass. nullptr: one of its own
};

// What a lane's session has found, and the rows of the next level that it makes of that: row i * beams + m is beam m of
// request i. Level 0 has a row per request instead, of beam 0, and only sets row_beams, row_map and slots.
struct DeviceBeamList {
  int32_t requests = 0, beams = 0, level = 0;
  int32_t codes = 0;                                                         // of the level before
  const int32_t* code_tokens = nullptr;                                      // [codes] to feed
  const int32_t *beam_codes = nullptr, *parents = nullptr, *live = nullptr;  // as in sidbeam_beams, by slots
  const int32_t* ancestors_before = nullptr;                                 // [rows, level - 1]
  // As in DecodeRows; a beam that is not to be fed has token and slot -1, and no ancestors.
  int32_t *row_requests = nullptr, *row_tokens = nullptr, *row_slots = nullptr, *ancestors = nullptr;
  int32_t* row_beams = nullptr;  // [rows]
  int32_t* row_map = nullptr;    // [requests, beams] row of each beam that is fed; -1: none
  int32_t* slots = nullptr;      // [requests] 0, 1, ...
};

// Work that a function enqueues on the stream of a forward pass. What has the same key enqueues the same, with the same
// arguments, each time.
struct DeviceWork {
  int64_t key = 0;
  sidbeam_status (*enqueue)(void* context, sidbeam_error* err) = nullptr;
  void* context = nullptr;
};

struct DeviceForward;

// Host functions; each writes `err`, if there is one, and returns its status.
struct ForwardDevice {
  // Makes an array of `dtype` on the device, of the parts one after the other; waits for it.
  sidbeam_status (*upload)(int32_t device_id, const HostArray* parts, int32_t count, int32_t dtype, void** out,
                           sidbeam_error* err);
  // Writes a part into an array of `dtype` on the device, from element `first` on; waits for it.
  sidbeam_status (*write)(int32_t device_id, const HostArray* part, void* array, int64_t first, int32_t dtype,
                          sidbeam_error* err);
  // Makes [count, columns] of rows of [rows, columns]; which: [count], host, -1 is zeros. Waits for it.
  sidbeam_status (*gather)(int32_t device_id, const void* table, int64_t rows, int64_t columns, int32_t dtype,
                           const int32_t* which, int64_t count, void** out, sidbeam_error* err);
  void (*release)(int32_t device_id, void* array);
  sidbeam_status (*zeros)(int32_t device_id, int64_t bytes, void** out, sidbeam_error* err);
  sidbeam_status (*pinned)(int32_t device_id, int64_t bytes, void** out, sidbeam_error* err);
  void (*release_pinned)(int32_t device_id, void* array);
  // Fails unless an address is memory of the device, or, with there == false, the host's; `name` is what it is called.
  sidbeam_status (*check_memory)(int32_t device_id, const void* address, bool there, const char* name,
                                 sidbeam_error* err);
  sidbeam_status (*create)(const DeviceForwardConfig*, DeviceForward** out, sidbeam_error* err);
  void (*destroy)(DeviceForward*);
  sidbeam_status (*prefill)(DeviceForward*, const Prompt* prompts, int32_t count, sidbeam_error* err);
  sidbeam_status (*decode)(DeviceForward*, const DecodeRows*, sidbeam_error* err);
  // As TreeForward's: the rows and `depths` are the host's, and read before the call returns.
  sidbeam_status (*run_tree)(DeviceForward*, const Prompt* prompts, const DecodeRows* nodes, sidbeam_error* err);
  sidbeam_status (*tree_logits)(DeviceForward*, const int32_t* depths, float** out, sidbeam_error* err);
  // Enqueues the work: as it is the first time, since libraries load kernels at their first launch; captured in a graph
  // the second time; and later by launching the graph, without calling `enqueue`. A key whose work failed starts anew.
  // Prefill is no such work.
  sidbeam_status (*replay)(DeviceForward*, const DeviceWork*, sidbeam_error* err);
  // The device's address, always the same, of work that is enqueued.
  sidbeam_status (*logits)(DeviceForward*, int32_t level, float** out, sidbeam_error* err);
  // [requests of the prefill, placeholder_count + 1, hidden], f32: the states after the last norm at the last position
  // before the placeholders and at theirs. Always the same address; nullptr without placeholders.
  const float* (*states)(const DeviceForward*);
  sidbeam_status (*list_beams)(DeviceForward*, const DeviceBeamList*, sidbeam_error* err);
  // Enqueue a copy from or to pinned memory.
  sidbeam_status (*to_device)(DeviceForward*, void* to, const void* from, int64_t bytes, sidbeam_error* err);
  sidbeam_status (*to_host)(DeviceForward*, void* to, const void* from, int64_t bytes, sidbeam_error* err);
  // Until all that is enqueued is done; the thread sleeps.
  sidbeam_status (*wait)(DeviceForward*, sidbeam_error* err);
  void* (*stream)(DeviceForward*);  // on which all of it is enqueued
  int64_t (*memory_bytes)(const DeviceForward*);
};

}  // namespace sidbeam::runner
