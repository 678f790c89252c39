// SPDX-License-Identifier: Apache-2.0
#include "index/build/assembly.h"

#include <algorithm>
#include <cstring>

#include "index/attributes/digest.h"
#include "index/attributes/sections.h"
#include "index/build/column_digests.h"
#include "index/build/emit.h"
#include "index/build/progress.h"
#include "index/fingerprint.h"
#include "support/error.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

using ll = long long;

// Zeroes the padding between the sections and after the last one; the header takes `header_bytes`.
void zero_padding(const FileHeader& header, uint64_t header_bytes, uint8_t* base) {
  uint64_t end = header_bytes;
  for (const Section& section : header.sections) {
    std::memset(base + end, 0, section.offset - end);
    end = section.offset + section.spec.length;
  }
  std::memset(base + end, 0, header.file_bytes - end);
}

}  // namespace

void Assembly::sort() {
  if (catalogue_.rows == 0) fail(SIDBEAM_INVALID_ARGUMENT, "the catalogue is empty: nothing was added");
  if (scan_) return;
  if (!sorted_) {
    catalogue_.attributes.complete(catalogue_.rows);
    const int64_t added = catalogue_.bytes();
    need_memory(added + most_bytes_to_sort(catalogue_.layout, catalogue_.rows, settings_.threads));
    sorted_ = sort_catalogue(catalogue_, settings_.config, settings_.threads);
    sort_peak_ = added + sorted_->sort_bytes;
    if (!keeps_catalogue_) catalogue_.release_words();
  }
  LevelScan counted = scan_levels(catalogue_, *sorted_, settings_.config, settings_.threads);
  attributes_ = scan_attributes(catalogue_, *sorted_, settings_.threads);
  digests_ = column_digests(*sorted_, settings_.config, settings_.target, settings_.threads);
  scan_ = std::move(counted);
}

// Encodes the header once without checksums to learn its length.
FileHeader Assembly::place() {
  FileHeader header = scan_->header;
  header.target = settings_.target;
  header.own_hash_seed = header.shape.hash && settings_.config.hash_seed != 0;
  if (header.own_hash_seed) header.shape.hash_seed = static_cast<uint64_t>(settings_.config.hash_seed);
  header.codebook = settings_.codebook;
  for (const auto& [key, value] : settings_.metadata) header.metadata.emplace_back(key, value);
  for (const SectionSpec& spec : sections_of(header.shape)) header.sections.push_back({spec, 0, 0});
  if (!attributes_.empty()) header.minor = kAttributesMinor;
  if (header.shape.priorities) header.minor = kPrioritiesMinor;
  for (const AttributeScan& attribute : attributes_) {
    header.attributes.push_back(attribute.shape);
    header.attributes.back().first_section = static_cast<uint32_t>(header.sections.size());
    for (const SectionSpec& spec : attribute_sections(attribute.shape, header.shape.items))
      header.sections.push_back({spec, 0, 0});
  }
  header_bytes_ = encode_header(header).size();
  header.file_bytes = place_sections(header_bytes_ - sizeof(Preamble), header.sections);
  return header;
}

int64_t Assembly::peak(uint64_t file_bytes) const {
  int64_t scanned = 0;
  for (const AttributeScan& attribute : attributes_) scanned += attribute.bytes();
  return std::max(sort_peak_, catalogue_.bytes() + sorted_->bytes() + scanned + static_cast<int64_t>(file_bytes));
}

void Assembly::need_memory(int64_t bytes) const {
  if (settings_.config.memory_limit_bytes != 0 && bytes > settings_.config.memory_limit_bytes)
    fail(SIDBEAM_OUT_OF_MEMORY, "the build needs about %lld bytes, memory_limit_bytes is %lld", static_cast<ll>(bytes),
         static_cast<ll>(settings_.config.memory_limit_bytes));
}

void Assembly::fill(FileHeader& header, uint8_t* base) const {
  emit_sections(catalogue_, *sorted_, *scan_, attributes_, header, base, settings_.config, settings_.threads);
  zero_padding(header, header_bytes_, base);
  hash(header, base);
  const std::vector<uint8_t> encoded = encode_header(header);
  if (encoded.size() != header_bytes_)
    fail(SIDBEAM_INTERNAL, "the header has %zu bytes, %zu were left for it", encoded.size(), header_bytes_);
  std::memcpy(base, encoded.data(), encoded.size());
}

// Computes the fingerprint and the checksums, longest section first: one hash cannot be split across threads, so a
// long one must not start last.
void Assembly::hash(FileHeader& header, const uint8_t* base) const {
  std::vector<Section*> longest_first;
  int64_t bytes = 0;
  for (Section& section : header.sections) {
    longest_first.push_back(&section);
    bytes += static_cast<int64_t>(section.spec.length);
  }
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [](const Section* a, const Section* b) { return a->spec.length > b->spec.length; });
  std::vector<Hash128> hashes(header.sections.size());  // of attributes
  Progress progress(settings_.config, SIDBEAM_PHASE_CHECKSUM, bytes);
  parallel_for(settings_.threads, static_cast<int64_t>(longest_first.size()) + 1, [&](int64_t task) {
    if (task == 0) {
      header.fingerprint = fingerprint(view_of(header, base), digests_);
      return;
    }
    Section& section = *longest_first[static_cast<size_t>(task) - 1];
    if (is_attribute(section.spec.kind)) {
      Stream128 stream(header.target);
      stream.add(base + section.offset, section.spec.length);
      section.checksum = stream.value_64();
      hashes[static_cast<size_t>(&section - header.sections.data())] = stream.value();
    } else {
      section.checksum = xxh3_64(header.target, base + section.offset, section.spec.length);
    }
    progress.advance(static_cast<int64_t>(section.spec.length));
  });
  progress.advance(0);  // reports the progress of other threads since this thread's last call
  if (!header.attributes.empty())
    header.attribute_digest = attribute_digest(header.attributes, header.shape.items, hashes);
}

Index assemble(Assembly& assembly, const Allocator& allocator) {
  assembly.sort();
  FileHeader header = assembly.place();
  assembly.need_memory(assembly.peak(header.file_bytes));
  IndexMemory memory(allocator, static_cast<int64_t>(header.file_bytes));
  assembly.fill(header, memory.data());
  return make_index(header, memory.release());
}

}  // namespace sidbeam
