// SPDX-License-Identifier: Apache-2.0
#include "zip.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "bytes.h"
#include "failure.h"

namespace importer {
namespace {

constexpr int64_t kEndBytes = 22, kEntryBytes = 46, kLocalBytes = 30;
constexpr uint32_t kIn64 = 0xffffffff;  // the field is in the extra data

[[noreturn]] void damaged(const InputFile& file, const char* what) {
  throw Failure("'" + file.path() + "': not a whole .npz file (" + what + ")");
}

template <class T>
T field(const std::string& bytes, int64_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Bytes that must lie within the file.
std::string piece(const InputFile& file, int64_t at, int64_t bytes, const char* what) {
  if (at < 0 || bytes < 0 || at > file.size() || bytes > file.size() - at) damaged(file, what);
  return file.piece(at, bytes);
}

struct Directory {
  int64_t at, bytes;
};

Directory find_directory(const InputFile& file) {
  const int64_t most = std::min<int64_t>(file.size(), kEndBytes + 65535);
  const int64_t tail_at = file.size() - most;
  const std::string tail = file.piece(tail_at, most);
  const size_t found = tail.rfind(std::string_view("PK\5\6", 4));
  if (found == tail.npos || tail.size() - found < kEndBytes) damaged(file, "no end of its directory");
  const auto end = static_cast<int64_t>(found);
  const auto bytes = field<uint32_t>(tail, end + 12), at = field<uint32_t>(tail, end + 16);
  if (bytes != kIn64 && at != kIn64) return {at, bytes};
  const std::string locator = piece(file, tail_at + end - 20, 20, "no 64-bit directory");
  if (locator.compare(0, 4, "PK\6\7", 4) != 0) damaged(file, "no 64-bit directory");
  const std::string end64 = piece(file, field<int64_t>(locator, 8), 56, "no 64-bit directory");
  return {field<int64_t>(end64, 48), field<int64_t>(end64, 40)};
}

// Sizes and places that do not fit into an entry, in this order: size, compressed size, place.
void read_extra(const InputFile& file, const std::string& extra, int64_t* const (&fields)[3], const bool (&in_64)[3]) {
  for (size_t at = 0; at + 4 <= extra.size();) {
    const auto id = field<uint16_t>(extra, static_cast<int64_t>(at));
    const size_t bytes = field<uint16_t>(extra, static_cast<int64_t>(at) + 2), end = at + 4 + bytes;
    if (end > extra.size()) damaged(file, "extra data");
    size_t next = at + 4;
    for (int i = 0; id == 1 && i < 3; ++i) {
      if (!in_64[i]) continue;
      if (next + 8 > end) damaged(file, "extra data");
      *fields[i] = field<int64_t>(extra, static_cast<int64_t>(next));
      next += 8;
    }
    at = end;
  }
}

ZipMember read_entry(const InputFile& file, const std::string& directory, int64_t* at) {
  const auto left = static_cast<int64_t>(directory.size()) - *at;
  if (left < kEntryBytes || directory.compare(static_cast<size_t>(*at), 4, "PK\1\2", 4) != 0) {
    damaged(file, "its directory");
  }
  const auto method = field<uint16_t>(directory, *at + 10);
  const auto name = field<uint16_t>(directory, *at + 28), extra = field<uint16_t>(directory, *at + 30);
  const auto comment = field<uint16_t>(directory, *at + 32);
  if (left < kEntryBytes + name + extra + comment) damaged(file, "its directory");
  const auto packed32 = field<uint32_t>(directory, *at + 20), bytes32 = field<uint32_t>(directory, *at + 24);
  const auto local32 = field<uint32_t>(directory, *at + 42);
  int64_t bytes = bytes32, packed = packed32, local = local32;
  const auto name_at = static_cast<size_t>(*at + kEntryBytes);
  read_extra(file, directory.substr(name_at + name, extra), {&bytes, &packed, &local},
             {bytes32 == kIn64, packed32 == kIn64, local32 == kIn64});
  ZipMember member{directory.substr(name_at, name), 0, bytes, field<uint32_t>(directory, *at + 16)};
  if (method != 0 || packed != bytes) {
    throw Failure(
        "'" + file.path() + "': array '" + member.name + "' is compressed, expected numpy.savez (not savez_compressed)",
        SIDBEAM_UNSUPPORTED);
  }
  const std::string header = piece(file, local, kLocalBytes, "a member's header");
  if (header.compare(0, 4, "PK\3\4", 4) != 0) damaged(file, "a member's header");
  member.data_at = local + kLocalBytes + field<uint16_t>(header, 26) + field<uint16_t>(header, 28);
  if (member.data_at > file.size() || bytes < 0 || bytes > file.size() - member.data_at) damaged(file, "a member");
  *at += kEntryBytes + name + extra + comment;
  return member;
}

// tables[k][byte]: of that byte and k zeros behind it, so that eight bytes take eight independent look-ups.
using CrcTables = std::array<std::array<uint32_t, 256>, 8>;

constexpr CrcTables make_crc_tables() {
  CrcTables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320U : 0U);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = before >> 8 ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

// Of the bytes before, 0 where there are none, and of these.
uint32_t crc32(uint32_t before, std::string_view bytes) {
  static constexpr CrcTables kTables = make_crc_tables();
  uint32_t crc = ~before;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    const uint64_t word = eight_bytes(bytes.data()) ^ crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][word >> (8 * k) & 0xff];
  }
  for (const char byte : bytes) crc = crc >> 8 ^ kTables[0][(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

}  // namespace

void check_crc(const InputFile& file, const ZipMember& member, const InputFile::Poll& poll) {
  constexpr int64_t kPiece = int64_t{1} << 20;
  uint32_t crc = 0;
  for (int64_t at = 0; at < member.bytes; at += kPiece) {
    poll();
    crc = crc32(crc, file.piece(member.data_at + at, std::min(kPiece, member.bytes - at)));
  }
  if (crc == member.crc) return;
  char text[64];
  std::snprintf(text, sizeof text, "%08x, expected %08x as in its directory", crc, member.crc);
  throw Failure("'" + file.path() + "': array '" + member.name + "' is damaged: its CRC-32 is " + text);
}

bool is_zip(const InputFile& file) { return file.head(4) == std::string_view("PK\3\4", 4); }

std::vector<ZipMember> zip_members(const InputFile& file) {
  const Directory where = find_directory(file);
  const std::string directory = piece(file, where.at, where.bytes, "its directory");
  std::vector<ZipMember> members;
  for (int64_t at = 0; at < static_cast<int64_t>(directory.size());) {
    members.push_back(read_entry(file, directory, &at));
  }
  return members;
}

}  // namespace importer
