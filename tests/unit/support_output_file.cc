// A file that is there whole or not at all.
// SPDX-License-Identifier: Apache-2.0
#include "support/output_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "index_catalogues.h"

namespace sidbeam::testing {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "sidbeam-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = (folder_ / "x.sidx").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  void put(const std::string& text) { std::ofstream(path_) << text; }
  std::string content() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
  std::string path_;
};

void write_new(const std::string& path) {
  OutputFile file(path.c_str());
  file.allocate(3);
  std::memcpy(file.data(), "new", 3);
  file.sync();
  file.commit();
}

TEST_F(OutputFileTest, KeepsTheModeOfTheOldFile) {
  put("old");
  ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  write_new(path_);
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST_F(OutputFileTest, ReplacesWhatALinkPointsTo) {
  put("old");
  const std::string link = (folder_ / "link.sidx").string();
  ASSERT_EQ(::symlink("x.sidx", link.c_str()), 0);
  write_new(link);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(entries(), 2u);
}

TEST_F(OutputFileTest, DoesNotReplaceWhatIsNoFile) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  try {
    write_new(path_);
    FAIL() << "a pipe was replaced";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status, SIDBEAM_IO_ERROR);
    EXPECT_NE(std::string(failure.message).find("it is not a file"), std::string::npos) << failure.message;
  }
  EXPECT_TRUE(fs::is_fifo(path_));
}

TEST_F(OutputFileTest, AppearsWithCommitAndReplaces) {
  put("old");
  {
    OutputFile file(path_.c_str());
    file.allocate(3);
    std::memcpy(file.data(), "new", 3);
    file.sync();
    EXPECT_EQ(content(), "old");
    file.commit();
    EXPECT_EQ(content(), "new");
  }
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(entries(), 1u);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(static_cast<mode_t>(fs::status(path_).permissions()), 0666 & ~mask);
}

TEST_F(OutputFileTest, LeavesNothingWithoutCommit) {
  put("old");
  {
    OutputFile file(path_.c_str());
    file.allocate(1000);
  }
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFileTest, SaysWhatAndWhy) {
  const std::string absent = (folder_ / "no" / "y.sidx").string();
  EXPECT_FAILS(SIDBEAM_IO_ERROR, "cannot create '" + absent + "': No such file or directory",
               OutputFile(absent.c_str()));
  EXPECT_FAILS(SIDBEAM_IO_ERROR, "Is a directory", OutputFile(folder_.c_str()));
  EXPECT_FAILS(SIDBEAM_IO_ERROR, "cannot create ''", OutputFile(""));
}

// A limit on the size of files stands for a full disk.
TEST_F(OutputFileTest, NoSpaceKeepsTheOldFile) {
  put("old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Failure failure = failure_of([&] {
    TestCatalogue catalogue;
    catalogue.codes = {256, 256};
    for (int32_t i = 0; i < 3000; ++i) catalogue.pairs.push_back({{i % 256, i / 256}, i, "", 0});
    Builder builder(catalogue.config(), 1, default_allocator());
    add_pairs(builder, catalogue, 0, catalogue.pairs.size());
    builder.write(path_.c_str());
  });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(failure.status, SIDBEAM_IO_ERROR);
  EXPECT_NE(std::string(failure.message).find("File too large"), std::string::npos) << failure.message;
  EXPECT_NE(std::string(failure.message).find(path_), std::string::npos) << failure.message;
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFileTest, CancelledBuildKeepsTheOldFile) {
  TestCatalogue catalogue;
  catalogue.codes = {4};
  catalogue.pairs = {{{1}, 5, "", 0}};
  for (int32_t phase = SIDBEAM_PHASE_SORT; phase <= SIDBEAM_PHASE_SYNC; ++phase) {
    put("old");
    sidbeam_builder_config config = catalogue.config();
    config.progress = [](void* context, int32_t now, int64_t, int64_t) -> int32_t {
      return now == *static_cast<int32_t*>(context);
    };
    config.progress_context = &phase;
    Builder builder(config, 1, default_allocator());
    add_pairs(builder, catalogue, 0, 1);
    EXPECT_FAILS(SIDBEAM_CANCELLED, "cancelled", builder.write(path_.c_str()));
    EXPECT_EQ(content(), "old");
    EXPECT_EQ(entries(), 1u);
  }
}

TEST_F(OutputFileTest, WrittenFileIsTheIndexInMemory) {
  TestCatalogue catalogue;
  catalogue.codes = {4, 4};
  catalogue.pairs = {{{1, 2}, 5, "", 0}, {{3, 3}, 6, "", 0}};
  Builder builder(catalogue.config(), 1, default_allocator());
  add_pairs(builder, catalogue, 0, 2);
  builder.write(path_.c_str());
  const std::vector<uint8_t> bytes = bytes_of(builder.finish());
  EXPECT_EQ(content(), std::string(bytes.begin(), bytes.end()));
  builder.write(path_.c_str());
  EXPECT_EQ(entries(), 1u);
}

}  // namespace
}  // namespace sidbeam::testing
