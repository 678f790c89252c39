// Catalogue files of every format that `sidbeam build` reads, ids, logits, what is asked of a model, and operations on
// a live catalogue: the first ones, and changes to any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../files/mutate.h"
#include "../random.h"

namespace fuzz {

enum class Form : uint8_t {
  kLcrec,
  kJsonl,
  kCsv,
  kNpy,
  kRaw,
  kXllm,
  kIds,
  kLogits,
  kHidden,
  kPrompts,
  kMap,
  kRecords,
  kNpz,
  kOperations
};
constexpr int kForms = 14;

// A small one of each form, some of several.
struct CatalogueFile {
  Form form;
  std::vector<uint8_t> bytes;
};
std::vector<CatalogueFile> catalogue_files();

// The bytes of a .npy file of version 1. `shape` as Python writes it, "(2, 3)".
std::vector<uint8_t> npy_bytes(const std::string& dtype, const std::string& shape, const void* data, size_t bytes);

// Changes lines, numbers, quotes, records and headers, whichever there are.
void mutate_catalogue(std::vector<uint8_t>& bytes, size_t most, Random& random, MutateBytes mutate_bytes);

}  // namespace fuzz
