// A draft head as the forward pass of a lane: one pass of the model over prompts and placeholders, after which the head
// alone gives the logits of every level.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runner/math/workers.h"
#include "runner/models/forward.h"
#include "runner/models/output.h"

namespace sidbeam::runner {

struct DraftHead;

// The head's rows of logits: code t of every level is column t, and the token that is fed.
std::unique_ptr<Output> make_head_output(const Allocator& allocator, const DraftHead& head);

// For batches of up to `requests` requests of `beams` beams; the head must outlive it. `model` was made for as many
// requests, with a placeholder per level of the head, whose width is its own.
std::unique_ptr<Forward> make_head_forward(const Allocator& allocator, const DraftHead& head,
                                           std::unique_ptr<StatesForward> model, int32_t requests, int32_t beams,
                                           const Workers& workers);

}  // namespace sidbeam::runner
