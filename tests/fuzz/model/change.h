// Changes to a JSON document, as readers of models and adapters may meet them. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "layout.h"

namespace fuzz {

constexpr int64_t kHardNumbers[] = {0,  1,         2,         3,          4,         5,         7,         8,
                                    16, 31,        64,        127,        255,       256,       65535,     1 << 24,
                                    -1, INT32_MAX, 1LL << 31, UINT32_MAX, 1LL << 32, 1LL << 62, INT64_MAX, INT64_MIN};

std::optional<Json> parse(const std::string& text);
// A word of the texts that readers know.
std::string some_text(Random& random);
// Of the kind that the reader expects, most of the time.
Json similar_value(const Json& value, Random& random);
// A value, a field or an element, somewhere within.
void change_json(Json& json, Random& random);
// What a tree of values cannot hold: a name twice, and texts that are no JSON.
void change_text(std::string& text, Random& random, MutateBytes mutate_bytes);

}  // namespace fuzz
