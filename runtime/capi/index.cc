// Opening, checking and describing an index.
// SPDX-License-Identifier: Apache-2.0
#include "sidbeam/index.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "capi/guard.h"
#include "capi/log.h"
#include "capi/section.h"
#include "decode/objects.h"
#include "index/read/open.h"
#include "index/verify/verify.h"

using namespace sidbeam;
using namespace sidbeam::capi;

namespace {

sidbeam_open_config open_config(const sidbeam_open_config* given) {
  const sidbeam_open_config defaults = SIDBEAM_OPEN_CONFIG_INIT;
  return read_struct(given != nullptr ? given : &defaults, "config");
}

// A handle that still waits for its index.
std::unique_ptr<sidbeam_index> new_handle(sidbeam_runtime* runtime) {
  auto handle = std::make_unique<sidbeam_index>();
  handle->runtime = Ref<sidbeam_runtime>::share(runtime);
  return handle;
}

// Copies an array by level to the caller's, which may be NULL and is returned.
template <class T>
const T* copied(const std::vector<T>& from, T* to) {
  if (to != nullptr) std::copy(from.begin(), from.end(), to);
  return to;
}

// A version of a live catalogue is no file.
void refuse_version(const sidbeam_index& index) {
  if (index.version != nullptr)
    fail(SIDBEAM_UNSUPPORTED, "the index is a version of a live catalogue, which has no bytes of its own");
}

}  // namespace

extern "C" {

sidbeam_status sidbeam_index_peek(const char* path, int32_t capacity, int32_t* codes, int32_t* max_children,
                                  int64_t* nodes, sidbeam_index_info* out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(path, "path");
    check_output(out, "out");
    const IndexHeaderInfo header = peek_index(path);
    sidbeam_index_info info = header.info;
    if ((codes != nullptr || max_children != nullptr || nodes != nullptr) && capacity < info.levels)
      fail(SIDBEAM_INVALID_ARGUMENT, "capacity is %d, expected at least %d, the levels of '%s'", capacity, info.levels,
           path);
    info.codes = copied(header.codes, codes);
    info.max_children = copied(header.max_children, max_children);
    info.nodes = copied(header.nodes, nodes);
    info.live_items = info.items;
    write_struct(info, out);
  });
}

sidbeam_status sidbeam_index_open(sidbeam_runtime* runtime, const char* path, const sidbeam_open_config* config,
                                  sidbeam_index** out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(runtime, "runtime");
    require(path, "path");
    require(out, "out");
    const sidbeam_open_config checked = open_config(config);
    auto handle = new_handle(runtime);
    handle->index =
        open_index(path, checked.residency, checked.verify, runtime->threads, runtime->allocator, runtime->target);
    handle->verified = checked.verify;
    log(*runtime, SIDBEAM_LOG_INFO, "opened index '%s': %llu SIDs, fingerprint %s", path,
        static_cast<unsigned long long>(handle->index.view.sids), handle->index.header.info.fingerprint);
    *out = handle.release();
  });
}

sidbeam_status sidbeam_index_open_memory(sidbeam_runtime* runtime, const void* data, int64_t bytes,
                                         void (*release)(void* context), void* context,
                                         const sidbeam_open_config* config, sidbeam_index** out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(runtime, "runtime");
    require(data, "data");
    require(out, "out");
    if (bytes < 0) fail(SIDBEAM_INVALID_ARGUMENT, "bytes is %lld, expected at least 0", static_cast<long long>(bytes));
    const sidbeam_open_config checked = open_config(config);
    auto handle = new_handle(runtime);
    std::function<void()> on_release;
    if (release != nullptr) on_release = [release, context] { release(context); };
    handle->index = open_index_memory(data, bytes, std::move(on_release), checked.residency, checked.verify,
                                      runtime->threads, runtime->allocator, runtime->target);
    handle->verified = checked.verify;
    *out = handle.release();
  });
}

void sidbeam_index_retain(sidbeam_index* index) {
  if (index != nullptr) index->retain();
}

void sidbeam_index_release(sidbeam_index* index) {
  if (index != nullptr) index->release();
}

sidbeam_status sidbeam_index_verify(const sidbeam_index* index, int32_t depth, sidbeam_error* err) {
  return guarded(err, [&] {
    require(index, "index");
    if (depth < SIDBEAM_VERIFY_HEADER || depth > SIDBEAM_VERIFY_FULL)
      fail(SIDBEAM_INVALID_ARGUMENT, "depth is %d, expected HEADER (0) to FULL (2)", depth);
    verify_index(index->base().index, depth, index->runtime->threads);
    int32_t before = index->verified;
    while (before < depth && !index->verified.compare_exchange_weak(before, depth)) {
    }
  });
}

sidbeam_status sidbeam_index_get_info(const sidbeam_index* index, sidbeam_index_info* out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(index, "index");
    check_output(out, "out");
    const IndexHeaderInfo& header = index->index.header;
    sidbeam_index_info info = header.info;
    info.codes = header.codes.data();
    info.max_children = header.max_children.data();
    info.nodes = header.nodes.data();
    info.verified = index->verified;
    info.live_items = info.items;
    if (index->version != nullptr) {
      info.version = index->version->number;
      info.generation = index->version->generation;
      info.live_items = index->version->live_items;
    }
    write_struct(info, out);
  });
}

sidbeam_status sidbeam_index_get_section(const sidbeam_index* index, int64_t i, sidbeam_section_info* out,
                                         sidbeam_error* err) {
  return guarded(err, [&] {
    require(index, "index");
    check_output(out, "out");
    write_struct(describe_section(index->index.header.sections, i), out);
  });
}

sidbeam_status sidbeam_index_get_metadata(const sidbeam_index* index, int64_t i, const char** key, const char** value,
                                          sidbeam_error* err) {
  return guarded(err, [&] {
    require(index, "index");
    require(key, "key");
    require(value, "value");
    const auto& metadata = index->index.header.metadata;
    if (i < 0 || static_cast<size_t>(i) >= metadata.size())
      fail(SIDBEAM_INVALID_ARGUMENT, "i is %lld, expected less than %zu, the entries there are",
           static_cast<long long>(i), metadata.size());
    *key = metadata[static_cast<size_t>(i)].first.c_str();
    *value = metadata[static_cast<size_t>(i)].second.c_str();
  });
}

const char* sidbeam_index_codebook(const sidbeam_index* index) {
  return index != nullptr ? index->index.header.codebook.c_str() : nullptr;
}

sidbeam_status sidbeam_index_bytes(const sidbeam_index* index, const void** data, int64_t* bytes, sidbeam_error* err) {
  return guarded(err, [&] {
    require(index, "index");
    require(data, "data");
    require(bytes, "bytes");
    refuse_version(*index);
    *data = index->index.bytes.data();
    *bytes = index->index.bytes.size();
  });
}

sidbeam_status sidbeam_index_write(const sidbeam_index* index, const char* path, sidbeam_error* err) {
  return guarded(err, [&] {
    require(index, "index");
    require(path, "path");
    refuse_version(*index);
    write_index(index->index, path);
    log(*index->runtime, SIDBEAM_LOG_INFO, "wrote index '%s'", path);
  });
}

}  // extern "C"
