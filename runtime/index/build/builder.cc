// Builds an index in steps: sort, count, place, fill, checksum. The exact place of every byte is known before the first
// one is written.
// SPDX-License-Identifier: Apache-2.0
#include "index/build/builder.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>

#include "index/attributes/digest.h"
#include "index/attributes/sections.h"
#include "index/build/arrow.h"
#include "index/build/attribute_scan.h"
#include "index/build/catalogue.h"
#include "index/build/column_digests.h"
#include "index/build/emit.h"
#include "index/build/plan.h"
#include "index/build/progress.h"
#include "index/build/sorted.h"
#include "index/fingerprint.h"
#include "index/header.h"
#include "support/error.h"
#include "support/output_file.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

using ll = long long;

sidbeam_builder_config checked(const sidbeam_builder_config& config) {
  check_config(config);
  return config;
}

// Zeroes the padding between the sections and after the last one; the header takes `header_bytes`.
void zero_padding(const FileHeader& header, uint64_t header_bytes, uint8_t* base) {
  uint64_t end = header_bytes;
  for (const Section& section : header.sections) {
    std::memset(base + end, 0, section.offset - end);
    end = section.offset + section.spec.length;
  }
  std::memset(base + end, 0, header.file_bytes - end);
}

// Writes the file and gives the build's memory back piece by piece as it enters the page cache, so that the whole file
// is never in memory twice.
void write_memory(IndexMemory& memory, int64_t bytes, const sidbeam_builder_config& config, OutputFile& file) {
  constexpr int64_t kWrittenAtOnce = int64_t{16} << 20;
  Progress progress(config, SIDBEAM_PHASE_SYNC, bytes);
  for (int64_t at = 0; at < bytes; at += kWrittenAtOnce) {
    const int64_t piece = std::min(kWrittenAtOnce, bytes - at);
    file.write(memory.data() + at, piece);
    memory.discard(at, piece);
    progress.advance(piece);
  }
  file.sync();
  progress.advance(0);  // the last moment to cancel
}

}  // namespace

struct BuilderState {
  BuilderState(const sidbeam_builder_config& given, int given_threads, const Allocator& given_allocator,
               CpuTarget given_target)
      : config(checked(given)),
        codebook(given.codebook == nullptr ? "" : given.codebook),
        target(given_target),
        threads(thread_count(given.threads > 0 ? given.threads : given_threads)),
        allocator(given_allocator),
        catalogue(config, allocator) {
    config.codes = nullptr;  // owned by the caller; the layout has a copy
    config.codebook = nullptr;
    if (codebook.size() > kMaxMetadataBytes)
      fail(SIDBEAM_INVALID_ARGUMENT, "codebook has %zu bytes, expected at most %llu", codebook.size(),
           static_cast<unsigned long long>(kMaxMetadataBytes));
  }

  void check_open() const {
    if (closed)
      fail(SIDBEAM_BAD_STATE, "the builder has been sorted: nothing can be added after plan, write or finish");
  }

  void add(const Catalogue::Pairs& pairs) {
    check_open();
    if (pairs.count < 0)
      fail(SIDBEAM_INVALID_ARGUMENT, "count is %lld, expected 0 or more", static_cast<ll>(pairs.count));
    catalogue.last_added = catalogue.rows;
    if (pairs.count == 0) return;
    if (pairs.codes == nullptr)
      fail(SIDBEAM_INVALID_ARGUMENT, "codes is NULL, expected %lld rows", static_cast<ll>(pairs.count));
    catalogue.add(pairs, threads);
  }

  void sort() {
    if (catalogue.rows == 0) fail(SIDBEAM_INVALID_ARGUMENT, "the catalogue is empty: nothing was added");
    closed = true;
    if (scan) return;
    if (!sorted) {
      catalogue.attributes.complete(catalogue.rows);
      const int64_t added = catalogue.bytes();
      need_memory(added + most_bytes_to_sort(catalogue.layout, catalogue.rows, threads));
      sorted = sort_catalogue(catalogue, config, threads);
      sort_peak = added + sorted->sort_bytes;
      catalogue.release_words();
    }
    LevelScan counted = scan_levels(catalogue, *sorted, config, threads);
    attributes = scan_attributes(catalogue, *sorted, threads);
    digests = column_digests(*sorted, config, target, threads);
    scan = std::move(counted);
  }

  // The header with every section placed. Encodes the header once without checksums to learn its length.
  FileHeader placed() {
    FileHeader header = scan->header;
    header.target = target;
    header.own_hash_seed = header.shape.hash && config.hash_seed != 0;
    if (header.own_hash_seed) header.shape.hash_seed = static_cast<uint64_t>(config.hash_seed);
    header.codebook = codebook;
    for (const auto& [key, value] : metadata) header.metadata.emplace_back(key, value);
    for (const SectionSpec& spec : sections_of(header.shape)) header.sections.push_back({spec, 0, 0});
    if (!attributes.empty()) header.minor = kAttributesMinor;
    for (const AttributeScan& attribute : attributes) {
      header.attributes.push_back(attribute.shape);
      header.attributes.back().first_section = static_cast<uint32_t>(header.sections.size());
      for (const SectionSpec& spec : attribute_sections(attribute.shape, header.shape.items))
        header.sections.push_back({spec, 0, 0});
    }
    header_bytes = encode_header(header).size();
    header.file_bytes = place_sections(header_bytes - sizeof(Preamble), header.sections);
    return header;
  }

  int64_t peak(uint64_t file_bytes) const {
    int64_t scanned = 0;
    for (const AttributeScan& attribute : attributes) scanned += attribute.bytes();
    return std::max(sort_peak, catalogue.bytes() + sorted->bytes() + scanned + static_cast<int64_t>(file_bytes));
  }

  void need_memory(int64_t bytes) const {
    if (config.memory_limit_bytes != 0 && bytes > config.memory_limit_bytes)
      fail(SIDBEAM_OUT_OF_MEMORY, "the build needs about %lld bytes, memory_limit_bytes is %lld",
           static_cast<ll>(bytes), static_cast<ll>(config.memory_limit_bytes));
  }

  // Writes the whole file to `base`, which has room for header.file_bytes.
  void fill(FileHeader& header, uint8_t* base) {
    emit_sections(catalogue, *sorted, *scan, attributes, header, base, config, threads);
    zero_padding(header, header_bytes, base);
    hash(header, base);
    const std::vector<uint8_t> encoded = encode_header(header);
    if (encoded.size() != header_bytes)
      fail(SIDBEAM_INTERNAL, "the header has %zu bytes, %zu were left for it", encoded.size(), header_bytes);
    std::memcpy(base, encoded.data(), encoded.size());
  }

  // Computes the fingerprint and the checksums, longest section first: one hash cannot be split across threads, so a
  // long one must not start last.
  void hash(FileHeader& header, const uint8_t* base) const {
    std::vector<Section*> longest_first;
    int64_t bytes = 0;
    for (Section& section : header.sections) {
      longest_first.push_back(&section);
      bytes += static_cast<int64_t>(section.spec.length);
    }
    std::stable_sort(longest_first.begin(), longest_first.end(),
                     [](const Section* a, const Section* b) { return a->spec.length > b->spec.length; });
    std::vector<Hash128> hashes(header.sections.size());  // of attributes
    Progress progress(config, SIDBEAM_PHASE_CHECKSUM, bytes);
    parallel_for(threads, static_cast<int64_t>(longest_first.size()) + 1, [&](int64_t task) {
      if (task == 0) {
        header.fingerprint = fingerprint(view_of(header, base), digests);
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

  sidbeam_builder_config config;
  std::string codebook;
  std::map<std::string, std::string> metadata;
  uint64_t metadata_bytes = 0;
  CpuTarget target;
  int threads;
  Allocator allocator;
  Catalogue catalogue;
  bool closed = false;                    // nothing may be added any more
  std::optional<SortedCatalogue> sorted;  // once set, the catalogue has no words
  int64_t sort_peak = 0;                  // peak memory of the sort
  std::optional<LevelScan> scan;
  std::vector<AttributeScan> attributes;
  std::vector<Hash128> digests;  // one per column
  size_t header_bytes = 0;       // preamble and header
};

Builder::Builder(const sidbeam_builder_config& config, int threads, const Allocator& allocator, CpuTarget target)
    : state_(std::make_unique<BuilderState>(config, threads, allocator, target)) {}

Builder::~Builder() = default;

void Builder::add(const int32_t* codes, const int32_t* lengths, int64_t count, const int64_t* ids,
                  const int64_t* priorities) {
  if (state_->catalogue.id_type == IdType::kString)
    fail(SIDBEAM_INVALID_ARGUMENT, "id_type is SIDBEAM_ID_STRING: pairs are added with add_named, not with add");
  Catalogue::Pairs pairs;
  pairs.codes = codes;
  pairs.lengths = lengths;
  pairs.count = count;
  pairs.ids = ids;
  pairs.priorities = priorities;
  state_->add(pairs);
}

void Builder::add_named(const int32_t* codes, const int32_t* lengths, int64_t count, const char* id_bytes,
                        const int64_t* id_offsets, const int64_t* priorities) {
  if (state_->catalogue.id_type != IdType::kString)
    fail(SIDBEAM_INVALID_ARGUMENT, "id_type is not SIDBEAM_ID_STRING: pairs are added with add, not with add_named");
  if (count > 0 && id_offsets == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "id_offsets is NULL, expected count + 1 numbers");
  Catalogue::Pairs pairs;
  pairs.codes = codes;
  pairs.lengths = lengths;
  pairs.count = count;
  pairs.id_bytes = id_bytes;
  pairs.id_offsets = id_offsets;
  pairs.priorities = priorities;
  state_->add(pairs);
}

int64_t Builder::add_arrow(arrow::Stream& stream, const sidbeam_arrow_config& config) {
  state_->check_open();
  const int64_t before = state_->catalogue.rows;
  const int64_t pairs = sidbeam::add_arrow(state_->catalogue, stream, config, state_->threads);
  state_->catalogue.last_added = before;
  return pairs;
}

void Builder::declare_attribute(const char* name, int32_t type) {
  state_->check_open();
  state_->catalogue.attributes.declare(name, type, state_->catalogue.rows);
}

void Builder::set_attribute(const sidbeam_attribute_column& column, int64_t count) {
  state_->check_open();
  Catalogue& catalogue = state_->catalogue;
  if (column.name == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "column.name is NULL, expected a name");
  if (count != catalogue.rows - catalogue.last_added)
    fail(SIDBEAM_INVALID_ARGUMENT, "attribute '%.128s': count is %lld, expected %lld, the rows of the last add",
         column.name, static_cast<ll>(count), static_cast<ll>(catalogue.rows - catalogue.last_added));
  catalogue.attributes.set(column, catalogue.last_added, count);
}

void Builder::set_metadata(const char* key, const char* value) {
  if (key == nullptr || *key == '\0') fail(SIDBEAM_INVALID_ARGUMENT, "key is empty, expected a name");
  if (value == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "value of '%.100s' is NULL, expected text", key);
  auto& metadata = state_->metadata;
  const auto before = metadata.find(key);
  const uint64_t replaced = before == metadata.end() ? 0 : std::strlen(key) + before->second.size();
  const uint64_t bytes = state_->metadata_bytes - replaced + std::strlen(key) + std::strlen(value);
  if (bytes > kMaxMetadataBytes || (before == metadata.end() && metadata.size() >= kMaxMetadataEntries))
    fail(SIDBEAM_INVALID_ARGUMENT,
         "metadata '%.100s' makes %llu bytes, expected at most %llu in fewer than %llu entries", key,
         static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(kMaxMetadataBytes),
         static_cast<unsigned long long>(kMaxMetadataEntries));
  metadata.insert_or_assign(key, value);
  state_->metadata_bytes = bytes;
}

Plan Builder::plan() {
  state_->sort();
  const FileHeader header = state_->placed();
  Plan plan = plan_of(header);
  plan.info.exact = 1;
  plan.info.peak_bytes = state_->peak(header.file_bytes);
  return plan;
}

void Builder::write(const char* path) {
  if (path == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "path is NULL");
  // Opened before the sort, so that a missing folder is reported at once.
  OutputFile file(path, state_->config.allow_attribute_loss != 0);
  state_->sort();
  FileHeader header = state_->placed();
  const auto bytes = static_cast<int64_t>(header.file_bytes);
  state_->need_memory(state_->peak(header.file_bytes));
  file.reserve(bytes);
  IndexMemory memory(state_->allocator, bytes);
  state_->fill(header, memory.data());
  write_memory(memory, bytes, state_->config, file);
  file.commit();
}

Index Builder::finish() {
  state_->sort();
  FileHeader header = state_->placed();
  state_->need_memory(state_->peak(header.file_bytes));
  IndexMemory memory(state_->allocator, static_cast<int64_t>(header.file_bytes));
  state_->fill(header, memory.data());
  return make_index(header, memory.release());
}

}  // namespace sidbeam
