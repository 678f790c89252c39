// The calls that move a session.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "world.h"

namespace fuzz::abi {

// The answer of a call that gives this index to a session of that strategy.
void judge_strategy(const sidbeam_session_config& config, const sidbeam_index_info& info, Answers& answers);

void start(World& world);
void start(World& world, Session& session);
void step(World& world);
void step_children(World& world);
void get_items(World& world);
void stop(World& world);

}  // namespace fuzz::abi
