// The log of a live catalogue: cut at every byte, with every bit of it flipped, with blocks of another log behind it.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "index/live/log.h"
#include "index/live/publication.h"
#include "support/cpu_target.h"
#include "support/error.h"

namespace sidbeam::testing {
namespace {

using Bytes = std::vector<uint8_t>;
using End = LogContents::End;

class LiveLog : public ::testing::Test {
 protected:
  LiveLog() : path_(::testing::TempDir() + "live_log_" + std::to_string(::getpid())) {}
  ~LiveLog() override { ::unlink(path_.c_str()); }

  // A log of records of these sizes.
  Bytes make(const std::vector<size_t>& sizes, uint64_t salt = 5, int64_t first = 2) {
    ::unlink(path_.c_str());
    payloads_.clear();
    ends_.clear();
    LogWriter writer = LogWriter::create(target_, path_, {{1, 2}, salt, first});
    ends_.push_back(writer.bytes());
    for (const size_t size : sizes) {
      Bytes& payload = payloads_.emplace_back(size);
      for (uint8_t& byte : payload) byte = static_cast<uint8_t>(random_());
      writer.append(first++, payload);
      writer.sync();
      ends_.push_back(writer.bytes());
    }
    return read_file();
  }
  Bytes read_file() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  LogContents read(const Bytes& bytes) const { return read_log(target_, bytes, "log"); }
  // The records are the first ones that were written.
  void expect_prefix(const LogContents& log) const {
    ASSERT_LE(log.records.size(), payloads_.size());
    for (size_t i = 0; i < log.records.size(); ++i) {
      ASSERT_EQ(Bytes(log.records[i].payload.begin(), log.records[i].payload.end()), payloads_[i]);
      ASSERT_EQ(log.records[i].version, log.header.first_version + static_cast<int64_t>(i));
    }
    ASSERT_EQ(log.whole_bytes, ends_[log.records.size()]);
  }
  int32_t status_of(const Bytes& bytes) const {
    try {
      read(bytes);
    } catch (const Failure& failure) {
      return failure.status;
    }
    return SIDBEAM_OK;
  }

  CpuTarget target_ = best_cpu_target();
  std::string path_;
  std::mt19937 random_{1};
  std::vector<Bytes> payloads_;
  std::vector<uint64_t> ends_;  // of the preamble and of each record
};

TEST_F(LiveLog, HoldsWhatWasAppended) {
  const Bytes bytes = make({1, 7, 8, 9, 5000, 3});
  const LogContents log = read(bytes);
  expect_prefix(log);
  EXPECT_EQ(log.records.size(), 6U);
  EXPECT_EQ(log.end, End::kClean);
  EXPECT_EQ(log.header.base, (Hash128{1, 2}));
  EXPECT_EQ(log.header.first_version, 2);
  EXPECT_EQ(log.whole_bytes, bytes.size());
}

TEST_F(LiveLog, EndsWithTheLastWholeRecordWhereverItIsCut) {
  const Bytes bytes = make({20, 1, 40});
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<int64_t>(size));
    if (size < ends_[0]) {
      EXPECT_EQ(status_of(cut), SIDBEAM_CORRUPT);
      continue;
    }
    const LogContents log = read(cut);
    expect_prefix(log);
    const auto whole = static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), size) - ends_.begin()) - 1;
    ASSERT_EQ(log.records.size(), whole);
    ASSERT_EQ(log.end, size == ends_[whole] ? End::kClean : End::kTorn) << size;
  }
}

TEST_F(LiveLog, NoticesEveryBitThatIsFlipped) {
  const Bytes bytes = make({20, 13, 40});
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    Bytes flipped = bytes;
    flipped[bit / 8] = static_cast<uint8_t>(flipped[bit / 8] ^ 1U << bit % 8);
    if (bit / 8 < ends_[0]) {
      ASSERT_NE(status_of(flipped), SIDBEAM_OK) << bit;
      continue;
    }
    const LogContents log = read(flipped);
    expect_prefix(log);
    const auto record = static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), bit / 8) - ends_.begin()) - 1;
    const size_t end_of_payload = ends_[record] + 32 + payloads_[record].size();
    if (bit / 8 >= end_of_payload) continue;  // padding, which nobody reads
    ASSERT_EQ(log.records.size(), record) << bit;
    ASSERT_EQ(log.end, record + 1 == payloads_.size() ? End::kTorn : End::kDamaged) << bit;
  }
}

TEST_F(LiveLog, TakesNoRecordOfAnotherLogForItsOwn) {
  const Bytes other = make({20, 20, 20}, 6);
  Bytes bytes = make({20});
  bytes.insert(bytes.end(), other.begin() + static_cast<int64_t>(bytes.size()), other.end());
  const LogContents log = read(bytes);
  expect_prefix(log);
  EXPECT_EQ(log.records.size(), 1U);
  EXPECT_EQ(log.end, End::kTorn);
}

TEST_F(LiveLog, GoesOnBehindATornRecord) {
  Bytes bytes = make({20, 30});
  {
    const LogContents log = read(bytes);
    std::ofstream(path_, std::ios::binary | std::ios::app) << "half a record, perhaps";
    LogWriter writer = LogWriter::open(target_, path_, log.header, log.whole_bytes, log.synced_bytes);
    payloads_.push_back({1, 2, 3});
    writer.append(4, payloads_.back());
    writer.sync();
    ends_.push_back(writer.bytes());
  }
  bytes = read_file();
  const LogContents log = read(bytes);
  expect_prefix(log);
  EXPECT_EQ(log.records.size(), 3U);
  EXPECT_EQ(log.end, End::kClean);
}

TEST_F(LiveLog, RecordsThatNoSyncFollowedMayBeMissing) {
  ::unlink(path_.c_str());
  LogWriter writer = LogWriter::create(target_, path_, {{1, 2}, 5, 2});
  const uint64_t begin = writer.bytes();
  for (int64_t version = 2; version < 5; ++version) {
    payloads_.emplace_back(40, static_cast<uint8_t>(version));
    writer.append(version, payloads_.back());
    if (version == 2) writer.sync();
  }
  const Bytes bytes = read_file();
  const uint64_t record = (bytes.size() - begin) / 3;
  ends_ = {begin, begin + record, begin + 2 * record, begin + 3 * record};
  for (size_t hole = 0; hole < 3; ++hole) {
    Bytes lost = bytes;
    std::fill_n(lost.begin() + static_cast<int64_t>(ends_[hole]), record, uint8_t{0});
    const LogContents log = read(lost);
    expect_prefix(log);
    EXPECT_EQ(log.records.size(), hole);
    EXPECT_EQ(log.end, hole == 0 ? End::kDamaged : End::kTorn) << hole;
  }
}

TEST_F(LiveLog, IsReadAsItGrows) {
  ::unlink(path_.c_str());
  LogWriter writer = LogWriter::create(target_, path_, {{1, 2}, 5, 2});
  LogReader reader(target_, path_);
  EXPECT_EQ(reader.read().records.size(), 0U);
  for (int64_t version = 2; version < 8; ++version) {
    writer.append(version, Bytes(static_cast<size_t>(version), 1));
    if (version % 2 == 0) writer.append(++version, Bytes(100, 2));
    const LogContents log = reader.read();
    ASSERT_FALSE(log.records.empty());
    EXPECT_EQ(log.records.back().version, version);
    EXPECT_EQ(log.end, End::kClean);
    EXPECT_EQ(reader.whole_bytes(), writer.bytes());
  }
  ASSERT_EQ(::truncate(path_.c_str(), 100), 0);
  EXPECT_THROW(reader.read(), Failure);
}

TEST_F(LiveLog, AFailedWriteIsTakenBack) {
  const Bytes bytes = make({20});
  const LogContents log = read(bytes);
  LogWriter writer = LogWriter::open(target_, path_, log.header, log.whole_bytes, log.synced_bytes);
  std::string message;
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit full{bytes.size() + 50, before.rlim_max};
  const auto on_signal = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  try {
    writer.append(3, Bytes(100));
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status, SIDBEAM_IO_ERROR);
    message = failure.message;
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, on_signal);
  EXPECT_EQ(message, "cannot write the log '" + path_ + "': File too large");
  EXPECT_EQ(read_file(), bytes);
  payloads_.emplace_back(100, uint8_t{7});
  writer.append(3, payloads_.back());
  writer.sync();
  ends_.push_back(writer.bytes());
  const Bytes after = read_file();
  expect_prefix(read(after));
  EXPECT_EQ(read(after).records.size(), 2U);
}

TEST(LivePublication, TakesNoMoreThanCanBeReadAgain) {
  const uint64_t row = 0;
  const std::span<const uint64_t> rows(&row, uint64_t{1} << 28);  // nothing of them is read before they are counted
  try {
    (void)write_publication({7, 0, 3}, rows);
    FAIL() << "it was written";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status, SIDBEAM_UNSUPPORTED);
    EXPECT_STREQ(failure.message, "what version 7 changes would take 2147483648 bytes of the log, more than 2 GiB");
  }
}

}  // namespace
}  // namespace sidbeam::testing
