// A trained decoder, run by the library's runner within this process: history tokens in, SIDs out. samples/train makes
// such models.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sidbeam/runner.h>

#include "library.h"
#include "transitions.h"

namespace recommend {

using Model = Handle<sidbeam_model, sidbeam_model_release>;

// The share of the decoder where it is interpolated with the transition model.
constexpr double kDecoderShare = 0.7;

struct Decoder {
  Model model;
  sidbeam_model_info info;
  // The member "sidbeam" of its config.json: code t of level l is token l * codes + t.
  int32_t levels, codes;
  int32_t begin;  // token at the beginning of a prompt
  int32_t group;  // tokens per position of a prompt: 1, or an item's codes, whose embeddings are summed
  int64_t items;  // most items of a prompt: the latest
};
Decoder open_decoder(const std::string& folder, bool int8);

// Answers the first `queries` of data.test. `strategy` is SIDBEAM_STRATEGY_TRIE or _NONE. With `transitions` scores are
//   log(kDecoderShare P_decoder(prefix) + (1 - kDecoderShare) P_transitions(prefix)),
// both joint probabilities of all codes so far.
std::vector<Answer> run(const Decoder& decoder, const Transitions* transitions, const Catalogue& catalogue,
                        const Dataset& data, int32_t strategy, int32_t beams, size_t queries, Seen seen = Seen::kShown);

}  // namespace recommend
