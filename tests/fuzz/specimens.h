// Small indexes as bytes, for the corpus and for the fuzz targets to damage.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sidbeam/sidbeam.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace fuzz {

// Ends the run where a promise is broken; libFuzzer then keeps the input.
#define FUZZ_CHECK(condition) ((condition) ? (void)0 : fuzz::broken(__FILE__, __LINE__, #condition))
[[noreturn]] void broken(const char* file, int line, const char* what);

struct Release {
  void operator()(sidbeam_runtime* handle) const { sidbeam_runtime_release(handle); }
  void operator()(sidbeam_builder* handle) const { sidbeam_builder_destroy(handle); }
  void operator()(sidbeam_index* handle) const { sidbeam_index_release(handle); }
  void operator()(sidbeam_constraint* handle) const { sidbeam_constraint_release(handle); }
  void operator()(sidbeam_constraint_set* handle) const { sidbeam_constraint_set_destroy(handle); }
  void operator()(sidbeam_session* handle) const { sidbeam_session_destroy(handle); }
};
template <class T>
using Handle = std::unique_ptr<T, Release>;

// One for the whole run, of one thread.
sidbeam_runtime* runtime();

struct Catalogue {
  std::vector<int32_t> codes;  // [levels]
  bool variable_length = false;
  bool named = false;  // ids are strings
  int32_t kinds = SIDBEAM_KIND_TRIE;
  std::vector<int32_t> sids;             // [count, levels]
  std::vector<int32_t> lengths;          // [count]
  bool attributes = false;               // one of each type
  std::vector<int64_t> priorities = {};  // [count], to be kept; or empty
  int64_t count() const { return static_cast<int64_t>(lengths.size()); }
};

Handle<sidbeam_builder> builder_of(const Catalogue& catalogue);
Handle<sidbeam_index> index_of(const Catalogue& catalogue);
Handle<sidbeam_constraint> constraint_of(sidbeam_index* index);
// The file of a catalogue.
std::vector<uint8_t> bytes_of(const Catalogue& catalogue);
// One index of each kind, as files.
const std::vector<std::vector<uint8_t>>& specimens();

// A block of exactly `size` bytes at a multiple of 64, so that AddressSanitizer sees the first byte outside it.
struct FreeBlock {
  void operator()(uint8_t* block) const;
};
using Block = std::unique_ptr<uint8_t, FreeBlock>;
Block block_of(const uint8_t* data, size_t size);

// Makes the checksum of preamble and header right for what they hold.
void repair_checksum(uint8_t* file, size_t size);

}  // namespace fuzz
