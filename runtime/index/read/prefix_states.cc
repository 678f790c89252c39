// SPDX-License-Identifier: Apache-2.0
#include "index/read/prefix_states.h"

#include "index/read/state.h"

namespace sidbeam {

int64_t trie_state(const IndexView& index, const int32_t* prefix, int32_t length) {
  if (length < 0 || length > index.levels) return kDeadState;
  State state;
  return follow_prefix(index, prefix, length, state) ? encode_state(state) : kDeadState;
}

int64_t advance_state(const IndexView& index, int64_t state, int32_t token) {
  if (!is_trie_state(index, state)) return kDeadState;
  if (is_ended(state)) return token == -1 ? state : kDeadState;
  if (token < 0 || decode_state(state).level >= index.levels) return kDeadState;
  return next_state(index, state, static_cast<uint32_t>(token));
}

}  // namespace sidbeam
