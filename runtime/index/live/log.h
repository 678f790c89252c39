// The log of a live catalogue: a preamble, then one record per publication. A record is whole or it was never written:
// its checksum is seeded by the log's own random salt, so that what was left in the file's blocks by another log is not
// taken for one. schemas/README.md describes the bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/cpu_target.h"
#include "support/file_descriptor.h"
#include "support/hashing.h"
#include "support/mapped_file.h"

namespace sidbeam {

// Whose log it is.
struct LogHeader {
  Hash128 base = {};  // fingerprint of the index that it goes on from
  uint64_t salt = 0;
  int64_t first_version = 0;  // of its first record
};

struct LogRecord {
  int64_t version = 0;
  std::span<const uint8_t> payload;
  uint64_t synced = 0;  // bytes of the log that were on the disk when it was written
};

// What a log holds, and how it ends.
struct LogContents {
  enum class End : uint8_t {
    kClean,
    // What follows is no record, and nothing behind it was written after a sync that it was part of: a write that was
    // cut short, or several that the disk did not get in their order.
    kTorn,
    kDamaged  // a record that had been on the disk
  };
  LogHeader header;
  std::vector<LogRecord> records;  // views of the bytes
  uint64_t whole_bytes = 0;        // up to the end of the last of them
  uint64_t synced_bytes = 0;       // of them, those that the records say were on the disk
  End end = End::kClean;
};

// Throws CORRUPT or UNSUPPORTED where the preamble is not that of a log.
LogContents read_log(CpuTarget target, std::span<const uint8_t> bytes, const char* path);

// A log that another process may be writing.
class LogReader {
 public:
  LogReader(CpuTarget target, std::string path);
  const LogHeader& header() const { return header_; }
  const std::string& path() const { return path_; }
  uint64_t whole_bytes() const { return at_; }
  uint64_t synced_bytes() const { return synced_; }
  // Records that are whole by now and were not read before; they are views until the next call.
  LogContents read();

 private:
  CpuTarget target_;
  std::string path_;
  InputFile file_;
  LogHeader header_;
  uint64_t at_, synced_;
  int64_t next_version_;
  std::vector<uint8_t> bytes_;
};

// The end of a log, to which one process appends. A write that fails is taken back. Where that fails too, or a sync, it
// is final, since what the file holds is then unknown: every later call fails with the same message.
class LogWriter {
 public:
  // Creates the file, which must not exist, and syncs it; its name in the folder is the caller's to sync.
  static LogWriter create(CpuTarget target, const std::string& path, const LogHeader& header);
  // Goes on behind `whole_bytes`, after which the file is cut. What comes after `synced_bytes` is written once more: if
  // a sync of it failed, the system shows it all the same, and would sync it no more.
  static LogWriter open(CpuTarget target, const std::string& path, const LogHeader& header, uint64_t whole_bytes,
                        uint64_t synced_bytes);

  void append(int64_t version, std::span<const uint8_t> payload);
  void sync();
  uint64_t bytes() const { return end_; }
  uint64_t unsynced_bytes() const { return end_ - synced_; }
  bool failed() const { return !failure_.empty(); }

 private:
  LogWriter(CpuTarget target, std::string path, FileDescriptor file, uint64_t salt, uint64_t end);
  void check_sound() const;
  [[noreturn]] void fail_for_good(const char* action, int error);
  int write_pieces(std::span<iovec> pieces);
  void write_again(uint64_t begin);

  CpuTarget target_;
  std::string path_;
  FileDescriptor file_;
  uint64_t salt_, end_, synced_;
  std::string failure_;
};

}  // namespace sidbeam
