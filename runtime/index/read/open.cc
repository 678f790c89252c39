// SPDX-License-Identifier: Apache-2.0
#include "index/read/open.h"

#include <array>
#include <cstdio>
#include <cstring>

#include "index/format.h"
#include "index/header.h"
#include "index/verify/verify.h"
#include "support/error.h"
#include "support/mapped_file.h"

namespace sidbeam {
namespace {

// Runs `body` and puts the file's name in front of its error messages.
template <class Body>
auto with_path(const char* path, Body&& body) {
  try {
    return body();
  } catch (const Failure& failure) {
    if (failure.status != SIDBEAM_CORRUPT && failure.status != SIDBEAM_UNSUPPORTED) throw;
    fail(failure.status, "'%.200s': %s", path, failure.message);
  }
}

// Reads only the header, so that nothing is mapped or copied for a file that is no index.
FileHeader read_header(const InputFile& file, const char* path, CpuTarget target) {
  alignas(Preamble) std::array<uint8_t, sizeof(Preamble)> start{};
  const auto file_bytes = static_cast<uint64_t>(file.bytes);
  if (file_bytes >= start.size()) read_file(file, path, 0, start.data(), static_cast<int64_t>(start.size()));
  // operator new returns memory aligned to 16 bytes.
  std::vector<uint8_t> bytes(header_length(start, file_bytes));
  read_file(file, path, 0, bytes.data(), static_cast<int64_t>(bytes.size()));
  return decode_header(bytes, file_bytes, target);
}

IndexBytes map_file(const InputFile& file, const char* path, int32_t residency) {
  Mapping mapping(file, path, residency != SIDBEAM_RESIDENCY_MAP);
  if (residency == SIDBEAM_RESIDENCY_LOCK) mapping.lock(path);
  const uint8_t* data = mapping.data();
  const int64_t size = mapping.size();
  IndexBytes bytes(data, size, [data, size] { unmap(data, size); });
  mapping.release();
  return bytes;
}

IndexBytes copy_file(const InputFile& file, const char* path, const Allocator& allocator) {
  IndexMemory memory(allocator, file.bytes);
  read_file(file, path, 0, memory.data(), file.bytes);
  return memory.release();
}

Index verified(Index index, int32_t verify, int threads) {
  verify_index(index, verify, threads);
  return index;
}

}  // namespace

void check_open_config(int32_t residency, int32_t verify) {
  if (residency < SIDBEAM_RESIDENCY_MAP || residency > SIDBEAM_RESIDENCY_COPY)
    fail(SIDBEAM_INVALID_ARGUMENT, "residency is %d, expected SIDBEAM_RESIDENCY_* (0 to 3)", residency);
  if (verify < SIDBEAM_VERIFY_HEADER || verify > SIDBEAM_VERIFY_FULL)
    fail(SIDBEAM_INVALID_ARGUMENT, "verify is %d, expected SIDBEAM_VERIFY_* (0 to 2)", verify);
}

IndexHeaderInfo peek_index(const char* path) {
  const InputFile file = open_file(path);
  return with_path(path, [&] { return header_info(read_header(file, path, best_cpu_target())); });
}

Index open_index(const char* path, int32_t residency, int32_t verify, int threads, const Allocator& allocator,
                 CpuTarget target) {
  check_open_config(residency, verify);
  const InputFile file = open_file(path);
  return with_path(path, [&] {
    const auto file_bytes = static_cast<uint64_t>(file.bytes);
    read_header(file, path, target);
    IndexBytes bytes =
        residency == SIDBEAM_RESIDENCY_COPY ? copy_file(file, path, allocator) : map_file(file, path, residency);
    // The header is decoded again from the bytes that will be used: the file may have been overwritten since the first
    // read.
    const FileHeader header = decode_header({bytes.data(), file_bytes}, file_bytes, target);
    return verified(make_index(header, std::move(bytes)), verify, threads);
  });
}

Index open_index_memory(const void* data, int64_t bytes, std::function<void()> release, int32_t residency,
                        int32_t verify, int threads, const Allocator& allocator, CpuTarget target) {
  check_open_config(residency, verify);
  if (residency == SIDBEAM_RESIDENCY_LOCK)
    fail(SIDBEAM_INVALID_ARGUMENT, "residency LOCK is for files, expected MAP, PREFAULT or COPY for memory");
  if (data == nullptr || bytes < 0)
    fail(SIDBEAM_INVALID_ARGUMENT, data == nullptr ? "data is NULL" : "bytes is below 0");
  const bool copy = residency == SIDBEAM_RESIDENCY_COPY;
  if (!copy && reinterpret_cast<uintptr_t>(data) % kSectionAlignment != 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "data lies at %p, expected a multiple of %llu, or residency COPY", data,
         static_cast<unsigned long long>(kSectionAlignment));
  const auto size = static_cast<uint64_t>(bytes);
  IndexBytes owned(static_cast<const uint8_t*>(data), bytes, nullptr);
  if (copy) {
    header_length({static_cast<const uint8_t*>(data), size},
                  size);  // checked before memory is allocated for bytes that are no index
    IndexMemory memory(allocator, bytes);
    std::memcpy(memory.data(), data, size);
    owned = memory.release();
  }
  const FileHeader header = decode_header({owned.data(), size}, size, target);
  Index index = verified(make_index(header, std::move(owned)), verify, threads);
  if (!release) return index;
  if (copy) {
    release();
  } else {
    // The index takes the bytes only now, so that they stay with the caller if anything above fails.
    index.bytes = IndexBytes(static_cast<const uint8_t*>(data), bytes, std::move(release));
  }
  return index;
}

}  // namespace sidbeam
