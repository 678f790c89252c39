// Nodes of trees, in one pass with the prompts that begin with it. The host knows all rows, so that nothing of them is
// found out on the device. No graphs: rows are others in each pass.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runner/cuda/forward.h"
#include "runner/cuda/parts.h"
#include "runner/cuda/rows.h"
#include "support/cuda/check.h"
#include "support/error.h"

namespace sidbeam::runner::cuda {
namespace {

using sidbeam::cuda::check;

// Calls with(first, end) for the rows of each run of nodes that `same` says are alike; roots are no nodes here.
template <class Same, class With>
void for_runs(const DecodeRows& nodes, const Same& same, const With& with) {
  for (int32_t first = 0, end = 0; first < nodes.rows; first = end) {
    end = first + 1;
    if (nodes.depths[first] == 0) continue;
    while (end < nodes.rows && nodes.depths[end] > 0 && same(first, end)) ++end;
    with(first, end);
  }
}

}  // namespace

int64_t ForwardPass::most_columns() const {
  int64_t most = 0;
  for (int32_t level = 0; level < limits_.levels; ++level) most = std::max(most, levels_[level].columns);
  return most;
}

void ForwardPass::run_tree(const Prompt* prompts, const DecodeRows& nodes) {
  const Current current(device_);
  begin_tree(nodes);
  begin_prompts(prompts);
  const int which = encodes() ? 1 : 0;
  const bool begins = !begun_.empty();
  const int64_t group = write_inputs(host_[which], prompts, !encodes(), true), prompt_rows = rows_;
  const int64_t count = write_nodes(nodes, prompt_rows, group);
  send_nodes(count, nodes.depth, nodes.rows);
  send_inputs(which, prompt_rows + count, group, begins ? nodes.rows : 0);

  Pass all, last;
  all.x = x_, last.x = x_last_;
  if (begins) add_prompts(prompts, all, last), last.order = there_[which].order;
  if (count > 0) {
    Section section = describe_nodes(prompts, nodes);
    section.rows = count;
    section.ancestors = there_[which].ancestors;
    section.positions = there_[which].positions + prompt_rows;
    section.places = there_[which].places + prompt_rows;
    all.add(section);
    section.positions = there_[which].last_positions + begun_.size();
    last.add(section);
  }
  check(launch_embed(model_.dtype, model_.embedding, c_.vocabulary, there_[which].tokens, static_cast<int32_t>(group),
                     prompt_rows + count, c_.hidden, x_, stream_),
        "launch an embedding");
  run_decoder(all, begins ? &last : nullptr);
  rows_ = nodes.rows;
}

// Whose prompts are read: those that have a root here. A slot that ended before its first pass has none.
void ForwardPass::begin_tree(const DecodeRows& nodes) {
  const int64_t most = limits_.requests * limits_.tree_rows;
  if (nodes.rows < 1 || nodes.rows > most || nodes.depth != limits_.levels - 1)
    fail(SIDBEAM_INTERNAL, "run_tree: %d rows of depth %d, expected 1..%lld and %d", nodes.rows, nodes.depth,
         static_cast<long long>(most), limits_.levels - 1);
  batch_ = nodes.requests[nodes.rows - 1] + 1;
  begun_.clear();
  for (int32_t row = 0; row < nodes.rows; ++row)
    if (nodes.depths[row] == 0) begun_.push_back(nodes.requests[row]);
}

// Rows behind those of prompts; returns how many. Lists of ancestors end with the node itself, so that a T5's biases of
// their last entries are those of all depths.
int64_t ForwardPass::write_nodes(const DecodeRows& nodes, int64_t before, int64_t group) {
  RowInputs& inputs = host_[encodes() ? 1 : 0];
  const auto roots = static_cast<int64_t>(begun_.size());
  int64_t count = 0, root = 0;
  for (int32_t r = 0; r < nodes.rows; ++r) {
    const int32_t depth = nodes.depths[r];
    inputs.order[r] = static_cast<int32_t>(depth == 0 ? root++ : roots + count);
    if (depth == 0) continue;
    const int64_t row = before + count, place = nodes.requests[r] * slots_;
    const auto position = static_cast<int32_t>(inputs.lengths[nodes.requests[r]] + depth - 1);
    std::fill_n(inputs.tokens + row * group, group, -1);
    inputs.tokens[row * group] = nodes.tokens[r];
    inputs.positions[row] = inputs.last_positions[roots + count] = position;
    inputs.last_rows[roots + count] = static_cast<int32_t>(row);
    inputs.places[row] = place + nodes.slots[r];
    int32_t* const list = inputs.ancestors + count++ * nodes.depth;
    const int32_t* const slots = nodes.ancestors + int64_t{r} * nodes.depth;
    std::fill_n(list, nodes.depth - depth, -1);
    std::transform(slots, slots + depth, list + nodes.depth - depth,
                   [place](int32_t slot) { return static_cast<int32_t>(place + slot); });
  }
  return count;
}

void ForwardPass::send_nodes(int64_t count, int32_t depth, int64_t results) {
  const RowInputs &from = host_[encodes() ? 1 : 0], &to = there_[encodes() ? 1 : 0];
  const auto send = [&](int32_t* target, const int32_t* source, int64_t n) {
    check(cudaMemcpyAsync(target, source, static_cast<size_t>(n) * sizeof *source, cudaMemcpyHostToDevice, stream_),
          "copy a tree");
  };
  send(to.ancestors, from.ancestors, count * depth);
  send(to.order, from.order, results);
}

// A request's nodes are one part; but of the begin tokens of a T5, whose bias is that of a depth, one per depth.
Section ForwardPass::describe_nodes(const Prompt* prompts, const DecodeRows& nodes) {
  const RowInputs& inputs = host_[encodes() ? 1 : 0];
  const int32_t tile = attention_tile_rows(model_.dtype);
  const AttentionShape of = shape(nodes.depth), of_cross = shape(0);
  Parts own(of, tile, described_[0]), cross(of_cross, tile, described_[1]);
  const auto same_request = [&](int32_t a, int32_t b) { return nodes.requests[a] == nodes.requests[b]; };
  const auto alike = [&](int32_t a, int32_t b) {
    return same_request(a, b) && (!encodes() || nodes.depths[a] == nodes.depths[b]);
  };
  for_runs(nodes, alike, [&](int32_t first, int32_t end) {
    const int32_t request = nodes.requests[first];
    const int64_t length = inputs.lengths[request];
    SharedPart part = own_part(request);
    if (encodes()) {
      part.bias = config_.decoder_bias.zero - (length + nodes.depths[first] - 1);
      part.bias_head_stride = config_.decoder_bias.stride;
    }
    own.add(part, end - first, length, least_items(of, plan_of(length, of.depth)));
  });
  Section section;
  section.depth = nodes.depth;
  section.self = own.send(beam_parts_, stream_);
  if (!encodes()) return section;
  for_runs(nodes, same_request, [&](int32_t first, int32_t end) {
    const int32_t request = nodes.requests[first];
    const int64_t length = prompts[request].positions;
    cross.add(cross_part(request), end - first, length, least_items(of_cross, plan_of(length, 0)));
  });
  section.cross = cross.send(cross_beam_parts_, stream_);
  return section;
}

// A product per run of nodes with the same output layer; with NORMALIZE_FULL that is one for all.
float* ForwardPass::tree_logits(const int32_t* depths) {
  const Current current(device_);
  const int64_t stride = most_columns();
  for (int64_t first = 0, end = 0; first < rows_; first = end) {
    const DeviceLevel& of = levels_[depths[first]];
    for (end = first + 1; end < rows_ && levels_[depths[end]].weights == of.weights; ++end) {
    }
    float* const out = logits_ + first * stride;
    products_.enqueue({of.weights, at(final_, first * c_.hidden), out, end - first, of.columns, c_.hidden, stride,
                       model_.dtype, SIDBEAM_DTYPE_F32, false},
                      stream_);
    check(launch_holes(of.holes, of.hole_count, out, end - first, stride, stream_), "launch the output");
  }
  return logits_;
}

}  // namespace sidbeam::runner::cuda
