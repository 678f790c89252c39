// Command lines of every subcommand, drawn from a script.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "../random.h"
#include "scratch.h"

namespace fuzz {

using Arguments = std::vector<std::string>;

// Names in the scratch folder that a command may write.
constexpr const char* kOutput = "out";

// What reads an index file; its name is in the scratch folder.
Arguments on_index(const Scratch& scratch, const std::string& index, uint8_t choice, Random& random);
// What reads a catalogue, ids or logits.
Arguments on_catalogue(const Scratch& scratch, const std::string& file, uint8_t form, uint8_t choice, Random& random);
// Options and values that may or may not go together.
Arguments any_arguments(const Scratch& scratch, const std::string& file, Random& random);

}  // namespace fuzz
