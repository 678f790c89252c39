// Gathers a catalogue, and writes the index that it makes (assembly.h).
// SPDX-License-Identifier: Apache-2.0
#include "index/build/builder.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>

#include "index/build/arrow.h"
#include "index/build/assembly.h"
#include "index/build/catalogue.h"
#include "index/build/plan.h"
#include "index/build/progress.h"
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
               CpuTarget target)
      : settings{checked(given),
                 given.codebook == nullptr ? "" : given.codebook,
                 {},
                 target,
                 thread_count(given.threads > 0 ? given.threads : given_threads)},
        allocator(given_allocator),
        catalogue(settings.config, allocator),
        assembly(catalogue, settings, false) {
    settings.config.codes = nullptr;  // owned by the caller; the layout has a copy
    settings.config.codebook = nullptr;
    if (settings.codebook.size() > kMaxMetadataBytes)
      fail(SIDBEAM_INVALID_ARGUMENT, "codebook has %zu bytes, expected at most %llu", settings.codebook.size(),
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
    if (pairs.codes == nullptr && !pairs.read_codes)
      fail(SIDBEAM_INVALID_ARGUMENT, "codes is NULL, expected %lld rows", static_cast<ll>(pairs.count));
    catalogue.add(pairs, settings.threads);
  }

  void sort() {
    closed = catalogue.rows > 0;
    assembly.sort();
  }

  BuildSettings settings;
  uint64_t metadata_bytes = 0;
  Allocator allocator;
  Catalogue catalogue;
  bool closed = false;  // nothing may be added any more
  Assembly assembly;
};

Builder::Builder(const sidbeam_builder_config& config, int threads, const Allocator& allocator, CpuTarget target)
    : state_(std::make_unique<BuilderState>(config, threads, allocator, target)) {}

Builder::~Builder() = default;

void Builder::add(const Catalogue::Pairs& pairs) { state_->add(pairs); }

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
  const int64_t pairs = sidbeam::add_arrow(state_->catalogue, stream, config, state_->settings.threads);
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
  auto& metadata = state_->settings.metadata;
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
  const FileHeader header = state_->assembly.place();
  Plan plan = plan_of(header);
  plan.info.exact = 1;
  plan.info.peak_bytes = state_->assembly.peak(header.file_bytes);
  return plan;
}

void Builder::write(const char* path) {
  if (path == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "path is NULL");
  const sidbeam_builder_config& config = state_->settings.config;
  // Opened before the sort, so that a missing folder is reported at once.
  OutputFile file(path, config.allow_attribute_loss != 0);
  state_->sort();
  Assembly& assembly = state_->assembly;
  FileHeader header = assembly.place();
  const auto bytes = static_cast<int64_t>(header.file_bytes);
  assembly.need_memory(assembly.peak(header.file_bytes));
  file.reserve(bytes);
  IndexMemory memory(state_->allocator, bytes);
  assembly.fill(header, memory.data());
  write_memory(memory, bytes, config, file);
  file.commit();
}

Index Builder::finish() {
  state_->sort();
  return assemble(state_->assembly, state_->allocator);
}

}  // namespace sidbeam
