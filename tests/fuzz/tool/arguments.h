// Command lines of every subcommand, drawn from a script.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../random.h"
#include "sound.h"

namespace fuzz {

using Arguments = std::vector<std::string>;

// A name in the scratch folder that a command may write.
constexpr const char* kOutput = "out";

// What a command line may name: files of this input, and files that are sound.
struct Room {
  const Scratch& scratch;
  const Sound& sound;
};

// What reads an index file; its name is in the scratch folder. Choices differ up to kIndexCommands.
constexpr uint8_t kIndexCommands = 12;
Arguments on_index(const Room& room, const std::string& index, uint8_t choice, Random& random);
// What reads a draft head.
Arguments on_draft_head(const Room& room, const std::string& head, uint8_t choice, Random& random);
// What reads a catalogue, ids, logits, prompts, tokens of codes, hidden states or operations on a live catalogue. Of
// eight choices, 7 makes a catalogue instead of reading one, and 5 is about a live one.
Arguments on_catalogue(const Room& room, const std::string& file, uint8_t form, uint8_t choice, Random& random);
// Options and values that may or may not go together, of any command of the program.
Arguments any_arguments(const Room& room, const std::string& file, Random& random);

}  // namespace fuzz
