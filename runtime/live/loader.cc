// SPDX-License-Identifier: Apache-2.0
#include "live/loader.h"

#include <algorithm>
#include <utility>

#include "index/live/publication.h"
#include "index/read/open.h"
#include "support/error.h"

namespace sidbeam {
namespace {

using ll = long long;

}  // namespace

Ref<sidbeam_index> open_base(const Ref<sidbeam_runtime>& runtime, const std::string& path,
                             const ManifestGeneration& generation, const BaseSettings& settings) {
  auto index = std::make_unique<sidbeam_index>();
  index->runtime = share(runtime);
  index->index = open_index(path.c_str(), settings.residency, settings.verify, runtime->threads, runtime->allocator,
                            runtime->target);
  index->verified = settings.verify;
  if (identity_of(runtime->target, index->index.header) != generation.base_identity ||
      index->index.bytes.size() != generation.base_bytes)
    fail(SIDBEAM_CORRUPT, "'%.300s' is another index than the base that the catalogue was made of", path.c_str());
  return Ref<sidbeam_index>::adopt(index.release());
}

CatalogLoader::CatalogLoader(Ref<sidbeam_runtime> runtime, const CatalogFolder& folder, const BaseSettings& settings)
    : runtime_(std::move(runtime)), folder_(runtime_->target, folder.path()), settings_(settings) {}

bool CatalogLoader::continues(const Manifest& manifest) const {
  for (const Log& log : logs_) {
    const auto same = std::find_if(
        manifest.segments.begin(), manifest.segments.end(),
        [&](const ManifestSegment& each) { return each.log == log.segment.log && each.salt == log.segment.salt; });
    if (same != manifest.segments.end() && same->last_version == log.segment.last_version) continue;
    const auto is_its = [&](const ManifestGeneration& each) { return each.number == log.segment.generation; };
    if (std::any_of(manifest.generations.begin(), manifest.generations.end(), is_its)) return false;
  }
  // A log that is not known begins behind what was read, unless it was forgotten and is listed again.
  return std::all_of(manifest.segments.begin(), manifest.segments.end(), [&](const ManifestSegment& each) {
    return each.first_version > newest_ ||
           std::any_of(logs_.begin(), logs_.end(), [&](const Log& log) { return log.segment.salt == each.salt; });
  });
}

Generation& CatalogLoader::generation(const Manifest& manifest, int64_t number) {
  for (const std::shared_ptr<Generation>& each : generations_)
    if (each->number == number) return *each;
  const ManifestGeneration& from = find_generation(manifest, number);
  Ref<sidbeam_index> base = open_base(runtime_, folder_.file(from.base), from, settings_);
  return *generations_.emplace_back(std::make_shared<Generation>(number, std::move(base)));
}

CatalogLoader::Log& CatalogLoader::log_of(const Manifest& manifest, const ManifestSegment& segment) {
  for (Log& each : logs_)
    if (each.segment.salt == segment.salt) return each;
  Log& log = logs_.emplace_back(Log{segment, LogReader(runtime_->target, folder_.file(segment.log))});
  const LogHeader& header = log.reader.header();
  if (header.salt != segment.salt || header.first_version != segment.first_version ||
      header.base != find_generation(manifest, segment.generation).base_identity)
    fail(SIDBEAM_CORRUPT, "'%.300s' is another log than the one that the manifest names", log.reader.path().c_str());
  return log;
}

// Null where it is damaged or gone, and that is accepted. One that cannot be read now, for want of descriptors or by
// the disk's fault, may be read later.
CatalogLoader::Log* CatalogLoader::find_log(const Manifest& manifest, const ManifestSegment& segment,
                                            bool accept_loss) {
  const auto known = logs_.size();
  try {
    return &log_of(manifest, segment);
  } catch (const Failure& failure) {
    if (!accept_loss || (failure.status != SIDBEAM_CORRUPT && folder_.has(segment.log))) throw;
    while (logs_.size() > known) logs_.pop_back();
    return nullptr;
  }
}

void CatalogLoader::replay(const Log& log, const LogRecord& record, std::list<LiveVersion>& out) {
  const auto is_its = [&](const std::shared_ptr<Generation>& each) { return each->number == log.segment.generation; };
  const auto& generation = *std::find_if(generations_.begin(), generations_.end(), is_its);
  PublicationInfo info;
  try {
    info = apply_publication(record.payload, generation->base->index.view, generation->store);
  } catch (const Failure& failure) {
    if (failure.status != SIDBEAM_CORRUPT && failure.status != SIDBEAM_INVALID_ARGUMENT) throw;
    fail(SIDBEAM_CORRUPT, "'%.300s', version %lld: %s", log.reader.path().c_str(), static_cast<ll>(record.version),
         failure.message);
  }
  if (info.version != record.version)
    fail(SIDBEAM_CORRUPT, "'%.300s', version %lld: the record says that it is of version %lld",
         log.reader.path().c_str(), static_cast<ll>(record.version), static_cast<ll>(info.version));
  LiveVersion& version = out.emplace_back();
  version.number = info.version;
  version.published_ns = info.nanoseconds;
  version.back_to = info.back_to;
  version.generation = generation;
  version.items = static_cast<int64_t>(generation->store.live_count());
  generation->store.sort_toggled();
  version.toggled = generation->store.seal();
}

// Reads what is new in a log; false where its end is damaged, and that is accepted.
bool CatalogLoader::read_log(Log& log, bool is_last, bool accept_loss, std::list<LiveVersion>& out) {
  const int64_t last = log.segment.last_version;
  if (last != 0 && newest_ >= last) return true;  // read before; what follows was given up
  const LogContents contents = log.reader.read();
  for (const LogRecord& record : contents.records) {
    if (last != 0 && record.version > last) return true;
    if (record.version <= newest_)
      fail(SIDBEAM_CORRUPT, "'%.300s': version %lld comes after version %lld", log.reader.path().c_str(),
           static_cast<ll>(record.version), static_cast<ll>(newest_));
    replay(log, record, out);
    newest_ = record.version;
    newest_generation_ = log.segment.generation;
  }
  if (last != 0 && newest_ == last) return true;
  // A log of another generation is named once its first record is on the disk; without it, the next one would go there.
  const bool is_damaged = contents.end == LogContents::End::kDamaged ||
                          (contents.end == LogContents::End::kTorn && !is_last) || last != 0 ||
                          (is_last && newest_generation_ != 0 && newest_generation_ != log.segment.generation);
  if (!is_damaged) return true;
  if (accept_loss) return false;
  fail(SIDBEAM_CORRUPT, "the log '%.300s' is damaged at byte %llu, after version %lld", log.reader.path().c_str(),
       static_cast<unsigned long long>(contents.whole_bytes), static_cast<ll>(newest_));
}

// Lets a manifest end with the newest version that was read, which is of this log or the one before.
void CatalogLoader::give_up_after(Manifest& manifest, size_t segment) {
  lost_ = folder_.file(manifest.segments[segment].log);
  if (newest_ < manifest.segments[segment].first_version) {
    if (segment == 0) fail(SIDBEAM_CORRUPT, "nothing can be read of the first log, '%.300s'", lost_.c_str());
    manifest.segments.resize(segment);
    while (logs_.size() > segment) logs_.pop_back();
  } else {
    manifest.segments.resize(segment + 1);
    manifest.segments[segment].last_version = newest_;
  }
}

// Lets bases and logs go that the manifest has ceased to name.
void CatalogLoader::forget_unlisted() {
  logs_.remove_if([&](const Log& log) {
    return std::none_of(manifest_.segments.begin(), manifest_.segments.end(),
                        [&](const ManifestSegment& each) { return each.salt == log.segment.salt; });
  });
  std::erase_if(generations_, [&](const std::shared_ptr<Generation>& generation) {
    return std::none_of(manifest_.generations.begin(), manifest_.generations.end(),
                        [&](const ManifestGeneration& each) { return each.number == generation->number; });
  });
}

std::list<LiveVersion> CatalogLoader::read(const Manifest& given, bool accept_loss, const sidbeam_index* before) {
  std::list<LiveVersion> versions;
  Manifest manifest = given;
  for (size_t i = 0; i < manifest.segments.size(); ++i) {
    generation(manifest, manifest.segments[i].generation);
    Log* const log = find_log(manifest, manifest.segments[i], accept_loss);
    if (log != nullptr && read_log(*log, i + 1 == manifest.segments.size(), accept_loss, versions)) continue;
    give_up_after(manifest, i);
    break;
  }
  manifest_ = std::move(manifest);
  forget_unlisted();
  for (const std::shared_ptr<Generation>& each : generations_)
    if (each->store.added() != each->added.pairs) each->added = join_store(*each);
  if (versions.empty()) return versions;
  LiveVersion& last = versions.back();
  const Generation& of = *last.generation;
  last.index = make_version(of, of.added, of.store.live(), of.store.rows(), before);
  name_index(last);
  return versions;
}

}  // namespace sidbeam
