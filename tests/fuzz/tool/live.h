// Command lines about live catalogues: about a copy of the sound one, which they may change, or about it itself.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "arguments.h"
#include "catalogues.h"

namespace fuzz {

// The copy's name in the scratch folder.
constexpr const char* kLive = "live";

// A version of the sound catalogue, or another index, as commands that read one take it.
std::string some_index(const Room& room, Random& random);

// What reads the file of this path.
Arguments create_live(const Room& room, const std::string& index, Random& random);
Arguments create_live_of(const Room& room, const std::string& catalogue);
Arguments add_to_live(const Room& room, const std::string& catalogue, Form form, Random& random);
Arguments remove_from_live(const Room& room, const std::string& ids, Random& random);
// Operations come on standard input.
Arguments operate_live(const Room& room, Random& random);
// What reads no other file.
Arguments any_live(const Room& room, Random& random);

}  // namespace fuzz
