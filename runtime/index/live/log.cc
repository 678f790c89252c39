// SPDX-License-Identifier: Apache-2.0
#include "index/live/log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "support/error.h"

namespace sidbeam {
namespace {

using ull = unsigned long long;

constexpr char kLogMagic[8] = {'S', 'I', 'D', 'B', 'L', 'O', 'G', '\n'};
constexpr uint32_t kLogMajor = 2, kLogMinor = 0;
constexpr uint64_t kAlignment = 8;

struct LogPreamble {
  char magic[8];
  uint32_t major, minor;
  uint64_t base_low, base_high, salt;
  int64_t first_version;
  uint64_t zero;
  uint64_t checksum;  // XXH3-64 of what comes before
};
static_assert(sizeof(LogPreamble) == 64);

struct RecordFrame {
  uint64_t bytes;  // of the payload, which zeros fill up to a multiple of 8
  int64_t version;
  uint64_t synced;    // bytes of the log that were on the disk when this was written
  uint64_t checksum;  // XXH3-64, seeded by the salt, of what comes before and the payload
};
static_assert(sizeof(RecordFrame) == 32);

constexpr uint64_t padded(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// The payload's checksum is the seed of that of the frame, so that neither is copied.
uint64_t checksum_of(CpuTarget target, uint64_t salt, const RecordFrame& frame, const uint8_t* payload) {
  const uint64_t of_payload = xxh3_64(target, payload, frame.bytes, salt);
  return xxh3_64(target, &frame, offsetof(RecordFrame, checksum), of_payload);
}

LogPreamble preamble_of(CpuTarget target, const LogHeader& header) {
  LogPreamble out = {};
  std::memcpy(out.magic, kLogMagic, sizeof kLogMagic);
  out.major = kLogMajor;
  out.minor = kLogMinor;
  out.base_low = header.base.low;
  out.base_high = header.base.high;
  out.salt = header.salt;
  out.first_version = header.first_version;
  out.checksum = xxh3_64(target, &out, offsetof(LogPreamble, checksum));
  return out;
}

LogHeader read_preamble(CpuTarget target, std::span<const uint8_t> bytes, const char* path) {
  LogPreamble preamble;
  if (bytes.size() < sizeof preamble)
    fail(SIDBEAM_CORRUPT, "'%s' has %zu bytes, expected at least %zu, the preamble of a log", path, bytes.size(),
         sizeof preamble);
  std::memcpy(&preamble, bytes.data(), sizeof preamble);
  if (std::memcmp(preamble.magic, kLogMagic, sizeof kLogMagic) != 0)
    fail(SIDBEAM_CORRUPT, "'%s' does not begin as the log of a live catalogue does", path);
  if (preamble.checksum != xxh3_64(target, &preamble, offsetof(LogPreamble, checksum)))
    fail(SIDBEAM_CORRUPT, "'%s': the checksum of the preamble does not match", path);
  if (preamble.major != kLogMajor)
    fail(SIDBEAM_UNSUPPORTED, "'%s' is of format %u.%u, this library reads %u", path, preamble.major, preamble.minor,
         kLogMajor);
  return {{preamble.base_low, preamble.base_high}, preamble.salt, preamble.first_version};
}

// The record at a place, which must be whole; false where there is none, or one of another version than `version`.
bool read_record(CpuTarget target, uint64_t salt, std::span<const uint8_t> bytes, uint64_t at, int64_t version,
                 LogRecord& record) {
  RecordFrame frame;
  if (bytes.size() - at < sizeof frame) return false;
  std::memcpy(&frame, bytes.data() + at, sizeof frame);
  const uint64_t room = bytes.size() - at - sizeof frame;
  if (frame.bytes == 0 || frame.bytes > room || padded(frame.bytes) > room) return false;
  if (frame.version != version) return false;
  const uint8_t* payload = bytes.data() + at + sizeof frame;
  if (checksum_of(target, salt, frame, payload) != frame.checksum) return false;
  record = {frame.version, {payload, frame.bytes}, frame.synced};
  return true;
}

// Whether the place where a record of `version` should have been was on the disk when a later one was written. What is
// looked at is hashed only where its version may be there: versions rise by one, and each record has a frame.
bool was_synced(CpuTarget target, uint64_t salt, std::span<const uint8_t> bytes, uint64_t at, int64_t version,
                uint64_t begin) {
  const uint64_t first = at;
  for (; bytes.size() - at >= sizeof(RecordFrame); at += kAlignment) {
    RecordFrame frame;
    std::memcpy(&frame, bytes.data() + at, sizeof frame);
    const auto most = static_cast<int64_t>((at - first) / sizeof frame);
    LogRecord record;
    if (frame.synced > begin + first && frame.version > version && frame.version - version <= most + 1 &&
        read_record(target, salt, bytes, at, frame.version, record))
      return true;
  }
  return false;
}

// The records of bytes that begin at byte `begin` of a log, the first of them of `version`.
LogContents read_records(CpuTarget target, const LogHeader& header, std::span<const uint8_t> bytes, uint64_t begin,
                         int64_t version) {
  LogContents log;
  log.header = header;
  log.synced_bytes = sizeof(LogPreamble);
  uint64_t at = 0;
  LogRecord record;
  for (; read_record(target, header.salt, bytes, at, version, record); ++version) {
    log.records.push_back(record);
    log.synced_bytes = std::max(log.synced_bytes, record.synced);
    at += sizeof(RecordFrame) + padded(record.payload.size());
  }
  log.whole_bytes = begin + at;
  if (at == bytes.size()) return log;
  const bool synced = was_synced(target, header.salt, bytes, at, version, begin);
  log.end = synced ? LogContents::End::kDamaged : LogContents::End::kTorn;
  return log;
}

}  // namespace

LogContents read_log(CpuTarget target, std::span<const uint8_t> bytes, const char* path) {
  const LogHeader header = read_preamble(target, bytes, path);
  return read_records(target, header, bytes.subspan(sizeof(LogPreamble)), sizeof(LogPreamble), header.first_version);
}

LogReader::LogReader(CpuTarget target, std::string path)
    : target_(target), path_(std::move(path)), file_(open_file(path_.c_str())), at_(sizeof(LogPreamble)), synced_(at_) {
  bytes_.resize(std::min<uint64_t>(sizeof(LogPreamble), static_cast<uint64_t>(file_.bytes)));
  read_file(file_, path_.c_str(), 0, bytes_.data(), std::ssize(bytes_));
  header_ = read_preamble(target_, bytes_, path_.c_str());
  next_version_ = header_.first_version;
}

LogContents LogReader::read() {
  // No further than the file reaches now: what is written meanwhile may be seen in part, its end before its beginning.
  struct stat status {};
  if (::fstat(file_.descriptor.get(), &status) != 0)
    fail(SIDBEAM_IO_ERROR, "cannot stat '%.300s': %s", path_.c_str(), strerrordesc_np(errno));
  const auto bytes = static_cast<uint64_t>(status.st_size);
  if (bytes < at_)
    fail(SIDBEAM_CORRUPT, "'%.300s' has become shorter: of %llu bytes that were read %llu are left", path_.c_str(),
         static_cast<ull>(at_), static_cast<ull>(bytes));
  bytes_.resize(bytes - at_);
  read_file(file_, path_.c_str(), static_cast<int64_t>(at_), bytes_.data(), std::ssize(bytes_));
  LogContents log = read_records(target_, header_, bytes_, at_, next_version_);
  at_ = log.whole_bytes;
  synced_ = std::min(at_, std::max(synced_, log.synced_bytes));
  next_version_ += std::ssize(log.records);
  return log;
}

LogWriter::LogWriter(CpuTarget target, std::string path, FileDescriptor file, uint64_t salt, uint64_t end)
    : target_(target), path_(std::move(path)), file_(std::move(file)), salt_(salt), end_(end), synced_(0) {}

LogWriter LogWriter::create(CpuTarget target, const std::string& path, const LogHeader& header) {
  FileDescriptor file = open_at(AT_FDCWD, path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0666);
  if (file.get() < 0) fail(SIDBEAM_IO_ERROR, "cannot create '%.300s': %s", path.c_str(), strerrordesc_np(errno));
  LogWriter writer(target, path, std::move(file), header.salt, 0);
  LogPreamble preamble = preamble_of(target, header);
  iovec pieces[] = {{&preamble, sizeof preamble}};
  if (const int error = writer.write_pieces(pieces)) writer.fail_for_good("write", error);
  writer.sync();
  return writer;
}

LogWriter LogWriter::open(CpuTarget target, const std::string& path, const LogHeader& header, uint64_t whole_bytes,
                          uint64_t synced_bytes) {
  FileDescriptor file = open_at(AT_FDCWD, path.c_str(), O_RDWR);
  if (file.get() < 0) fail(SIDBEAM_IO_ERROR, "cannot open '%.300s': %s", path.c_str(), strerrordesc_np(errno));
  LogWriter writer(target, path, std::move(file), header.salt, whole_bytes);
  if (TEMP_FAILURE_RETRY(::ftruncate(writer.file_.get(), static_cast<off_t>(whole_bytes))) != 0)
    writer.fail_for_good("cut", errno);
  writer.write_again(std::min(synced_bytes, whole_bytes));
  writer.sync();
  return writer;
}

void LogWriter::check_sound() const {
  if (failed()) fail(SIDBEAM_IO_ERROR, "%s", failure_.c_str());
}

void LogWriter::fail_for_good(const char* action, int error) {
  failure_ = std::string("cannot ") + action + " the log '" + path_ + "': " + strerrordesc_np(error) +
             "; it takes no more until the catalogue is opened again";
  fail(SIDBEAM_IO_ERROR, "%s", failure_.c_str());
}

// Writes them at the end; returns the error, or 0. (Fewer bytes than there are come back where the disk is full, and
// the next call says why.)
int LogWriter::write_pieces(std::span<iovec> pieces) {
  uint64_t written = 0;
  while (!pieces.empty()) {
    const ssize_t n =
        ::pwritev(file_.get(), pieces.data(), static_cast<int>(pieces.size()), static_cast<off_t>(end_ + written));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : EIO;
    written += static_cast<uint64_t>(n);
    auto left = static_cast<uint64_t>(n);
    for (; !pieces.empty() && left >= pieces[0].iov_len; pieces = pieces.subspan(1)) left -= pieces[0].iov_len;
    if (!pieces.empty()) pieces[0] = {static_cast<char*>(pieces[0].iov_base) + left, pieces[0].iov_len - left};
  }
  end_ += written;
  return 0;
}

// Writes what the file has from `begin` up to its end, as it is.
void LogWriter::write_again(uint64_t begin) {
  std::vector<uint8_t> bytes(std::min<uint64_t>(end_ - begin, 1 << 20));
  const uint64_t end = end_;
  for (end_ = begin; end_ < end;) {
    const ssize_t n = TEMP_FAILURE_RETRY(
        ::pread(file_.get(), bytes.data(), std::min<uint64_t>(end - end_, bytes.size()), static_cast<off_t>(end_)));
    if (n <= 0) fail_for_good("read", n < 0 ? errno : EIO);
    iovec pieces[] = {{bytes.data(), static_cast<size_t>(n)}};
    if (const int error = write_pieces(pieces)) fail_for_good("write", error);
  }
}

void LogWriter::append(int64_t version, std::span<const uint8_t> payload) {
  check_sound();
  RecordFrame frame{payload.size(), version, synced_, 0};
  frame.checksum = checksum_of(target_, salt_, frame, payload.data());
  uint8_t zeros[kAlignment] = {};
  iovec pieces[] = {{&frame, sizeof frame},
                    {const_cast<uint8_t*>(payload.data()), payload.size()},
                    {zeros, padded(payload.size()) - payload.size()}};
  const int error = write_pieces(std::span(pieces).first(pieces[2].iov_len > 0 ? 3 : 2));
  if (error == 0) return;
  if (TEMP_FAILURE_RETRY(::ftruncate(file_.get(), static_cast<off_t>(end_))) != 0) fail_for_good("write", error);
  fail(SIDBEAM_IO_ERROR, "cannot write the log '%.300s': %s", path_.c_str(), strerrordesc_np(error));
}

void LogWriter::sync() {
  check_sound();
  if (synced_ == end_) return;
  if (TEMP_FAILURE_RETRY(::fdatasync(file_.get())) != 0) fail_for_good("sync", errno);
  synced_ = end_;
}

}  // namespace sidbeam
