// Changes to an index file that know its structure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../random.h"
#include "layout.h"

namespace fuzz {

// How a harness uses an input: its last bytes. The rest is the file.
constexpr size_t kScriptBytes = 16;

// libFuzzer's own mutation of bytes; the harnesses' LLVMFuzzerCustomMutator passes it down.
using MutateBytes = size_t (*)(uint8_t* data, size_t size, size_t most);

// Changes the contents of one section. The size stays.
void mutate_contents(IndexFile& file, Random& random, MutateBytes mutate_bytes);
// Changes a field of the header, or the list of sections.
void mutate_header(IndexFile& file, Random& random);
// An input of a few changes: file, then script. If the file cannot be read, only `mutate_bytes` changes it.
std::vector<uint8_t> mutate_input(const uint8_t* data, size_t size, size_t most, Random& random,
                                  MutateBytes mutate_bytes);
// A file with sections of both.
std::vector<uint8_t> cross_inputs(const uint8_t* a, size_t a_size, const uint8_t* b, size_t b_size, size_t most,
                                  Random& random);

}  // namespace fuzz
