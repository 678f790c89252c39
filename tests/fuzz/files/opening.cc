// SPDX-License-Identifier: Apache-2.0
#include "opening.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fuzz {
namespace {

constexpr const char* kFileName = "sidbeam-fuzz-index";

// The largest block that the library has taken since this was cleared: that of a copied index, if there is one.
struct Largest {
  const uint8_t* block = nullptr;
  int64_t bytes = 0;
} largest;

void* allocate(void*, int64_t bytes, int64_t alignment) {
  void* block = nullptr;
  if (posix_memalign(&block, static_cast<size_t>(alignment), static_cast<size_t>(bytes)) != 0) return nullptr;
  if (bytes > largest.bytes) largest = {static_cast<const uint8_t*>(block), bytes};
  return block;
}

void release(void*, void* block, int64_t, int64_t) { std::free(block); }

// Of one thread, with memory that can be found.
sidbeam_runtime* watched_runtime() {
  static const Handle<sidbeam_runtime> instance = [] {
    sidbeam_allocator allocator = SIDBEAM_ALLOCATOR_INIT;
    allocator.allocate = allocate;
    allocator.release = release;
    sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
    config.threads = 1;
    config.allocator = &allocator;
    sidbeam_runtime* made = nullptr;
    FUZZ_CHECK(sidbeam_runtime_create(&config, &made, nullptr) == SIDBEAM_OK);
    return Handle<sidbeam_runtime>(made);
  }();
  return instance.get();
}

// Where the file is mapped, or NULL.
const uint8_t* find_mapping() {
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  FUZZ_CHECK(maps != nullptr);
  char line[512];
  uintptr_t begin = 0;
  while (begin == 0 && std::fgets(line, sizeof line, maps) != nullptr)
    if (std::strstr(line, kFileName) != nullptr) FUZZ_CHECK(std::sscanf(line, "%" SCNxPTR, &begin) == 1);
  std::fclose(maps);
  return reinterpret_cast<const uint8_t*>(begin);
}

const MemoryFile& index_file() {
  static const MemoryFile file(kFileName);
  return file;
}

int32_t residency_of(Way way) {
  switch (way) {
    case Way::kPrefault:
      return SIDBEAM_RESIDENCY_PREFAULT;
    case Way::kLock:
      return SIDBEAM_RESIDENCY_LOCK;
    case Way::kCopyOfMemory:
    case Way::kCopyOfFile:
      return SIDBEAM_RESIDENCY_COPY;
    default:
      return SIDBEAM_RESIDENCY_MAP;
  }
}

}  // namespace

MemoryFile::MemoryFile(const char* name)
    : fd_(memfd_create(name, MFD_CLOEXEC)), path_("/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd_)) {
  FUZZ_CHECK(fd_ >= 0);
}

MemoryFile::~MemoryFile() { close(fd_); }

void MemoryFile::write(const uint8_t* data, size_t size) const {
  FUZZ_CHECK(ftruncate(fd_, static_cast<off_t>(size)) == 0);
  FUZZ_CHECK(pwrite(fd_, data, size, 0) == static_cast<ssize_t>(size));
}

Opened::Opened(const uint8_t* data, size_t size, Way way, int32_t verify) : size_(size) {
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  config.residency = residency_of(way);
  config.verify = verify;
  largest = {};
  sidbeam_index* made = nullptr;
  if (way == Way::kBorrow || way == Way::kCopyOfMemory) {
    block_ = block_of(data, size);
    status_ = sidbeam_index_open_memory(watched_runtime(), block_.get(), static_cast<int64_t>(size), nullptr, nullptr,
                                        &config, &made, &err_);
  } else {
    index_file().write(data, size);
    status_ = sidbeam_index_open(watched_runtime(), index_file().path().c_str(), &config, &made, &err_);
  }
  index_.reset(made);
  FUZZ_CHECK(status_ == err_.code);
  FUZZ_CHECK(status_ == SIDBEAM_OK ? made != nullptr : made == nullptr && err_.message[0] != '\0');
  FUZZ_CHECK(std::strchr(err_.message, '\n') == nullptr);
  if (status_ == SIDBEAM_OK) find_bytes(way);
}

Opened::~Opened() {
  disarm();
  index_.reset();  // before its bytes
}

void Opened::find_bytes(Way way) {
  if (way == Way::kBorrow) bytes_ = block_.get();
  if (way == Way::kCopyOfMemory || way == Way::kCopyOfFile) {
    FUZZ_CHECK(largest.bytes >= static_cast<int64_t>(size_));
    bytes_ = largest.block;
  }
  if (way == Way::kMap || way == Way::kPrefault || way == Way::kLock) bytes_ = find_mapping();
  FUZZ_CHECK(bytes_ != nullptr);
}

void Opened::arm() {
  __asan_poison_memory_region(bytes_, size_);
  sidbeam_section_info section = SIDBEAM_SECTION_INFO_INIT;
  for (int32_t i = 0; sidbeam_index_get_section(index(), i, &section, nullptr) == SIDBEAM_OK; ++i)
    if (std::strcmp(section.kind, "unknown") != 0)
      __asan_unpoison_memory_region(bytes_ + section.offset, static_cast<size_t>(section.bytes));
  armed_ = true;
}

void Opened::disarm() {
  if (armed_) __asan_unpoison_memory_region(bytes_, size_);
  armed_ = false;
}

}  // namespace fuzz
