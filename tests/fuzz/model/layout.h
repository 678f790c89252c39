// Tensors as a config asks for them, and where a file has them. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "input.h"

namespace fuzz {

using Json = nlohmann::ordered_json;

// The header of a checkpoint that fits the config, without places; empty where the config's sizes are not small.
Json tensors_of(const Json& config);
// Gives tensors of known types and small shapes places one behind the other; returns the bytes of all.
uint32_t place_tensors(Json& header);
Json index_of_tensors(const Json& header);
// The header of an adapter of that rank for a checkpoint that fits the config, without places: it changes every matrix,
// or puts another one in the place of the last `replaced`.
Json adapter_tensors_of(const Json& config, int64_t rank, size_t replaced);

}  // namespace fuzz
