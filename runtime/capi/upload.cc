// Indexes on devices.
// SPDX-License-Identifier: Apache-2.0
#include "capi/guard.h"
#include "capi/log.h"
#include "decode/objects.h"
#include "sidbeam/builder.h"
#include "sidbeam/index.h"

using namespace sidbeam;
using namespace sidbeam::capi;

namespace {

constexpr int64_t kLeastChunk = 4096, kMostChunk = int64_t{1} << 30;
constexpr int32_t kKinds = SIDBEAM_KIND_TRIE | SIDBEAM_KIND_SORTED | SIDBEAM_KIND_HASH | SIDBEAM_KIND_COMPACT_TRIE;

// The kinds that are asked for, as the index has them.
int32_t kinds_asked(int32_t kinds, const IndexView& index) {
  if ((kinds & ~kKinds) != 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.kinds is 0x%x, expected SIDBEAM_KIND_* or'ed", static_cast<unsigned>(kinds));
  if (kinds == 0) return kinds_of(index);
  if ((kinds & SIDBEAM_KIND_COMPACT_TRIE) != 0) kinds |= SIDBEAM_KIND_TRIE;
  if ((kinds & SIDBEAM_KIND_HASH) != 0) kinds |= SIDBEAM_KIND_SORTED;
  kinds &= ~SIDBEAM_KIND_COMPACT_TRIE;
  const int32_t missing = kinds & ~kinds_of(index);
  if (missing != 0)
    fail(SIDBEAM_MISSING_SECTION, "config.kinds asks for %s, expected an index built with kinds %s",
         (missing & SIDBEAM_KIND_TRIE) != 0   ? "a trie"
         : (missing & SIDBEAM_KIND_HASH) != 0 ? "a hash set"
                                              : "columns",
         (missing & SIDBEAM_KIND_TRIE) != 0   ? "trie"
         : (missing & SIDBEAM_KIND_HASH) != 0 ? "hash"
                                              : "sorted");
  return kinds;
}

sidbeam_upload_config upload_config(const sidbeam_upload_config* given, const IndexView& index) {
  const sidbeam_upload_config defaults = SIDBEAM_UPLOAD_CONFIG_INIT;
  sidbeam_upload_config config = read_struct(given != nullptr ? given : &defaults, "config");
  config.kinds = kinds_asked(config.kinds, index);
  if (config.verify != 0 && config.verify != 1)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.verify is %d, expected 0 or 1", config.verify);
  if (config.chunk_bytes != 0 && (config.chunk_bytes < kLeastChunk || config.chunk_bytes > kMostChunk))
    fail(SIDBEAM_INVALID_ARGUMENT, "config.chunk_bytes is %lld, expected %lld..%lld, or 0",
         static_cast<long long>(config.chunk_bytes), static_cast<long long>(kLeastChunk),
         static_cast<long long>(kMostChunk));
  if (config.bytes_per_second < 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.bytes_per_second is %lld, expected at least 0",
         static_cast<long long>(config.bytes_per_second));
  return config;
}

}  // namespace

extern "C" {

sidbeam_status sidbeam_index_upload(sidbeam_index* index, const sidbeam_upload_config* config, sidbeam_error* err) {
  return guarded(err, [&] {
    require(index, "index");
    const sidbeam_upload_config checked = upload_config(config, index->index.view);
    index->bring_upload(checked);
    if ((checked.kinds & SIDBEAM_KIND_TRIE) != 0) index->bring_live(checked);
    log(*index->runtime, SIDBEAM_LOG_INFO, "index %s is on CUDA device %d: %lld bytes",
        index->index.header.info.fingerprint, checked.device_id,
        static_cast<long long>(index->describe_upload(checked.device_id).bytes));
  });
}

sidbeam_status sidbeam_index_get_upload(const sidbeam_index* index, int32_t device_id, sidbeam_upload_info* out,
                                        sidbeam_error* err) {
  return guarded(err, [&] {
    require(index, "index");
    check_output(out, "out");
    write_struct(index->describe_upload(device_id), out);
  });
}

void sidbeam_index_unload(sidbeam_index* index, int32_t device_id) {
  if (index == nullptr) return;
  guarded(nullptr, [&] { index->unload(device_id); });
}

}  // extern "C"
