// The most that two cores can make of two requests, and the cost of handing work over.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decode_case.h"

namespace bench {

// Of a case of two slots, into its table.
void run_thread_floors(Context& context, World& world, const DecodeCase& decode);

}  // namespace bench
