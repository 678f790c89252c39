// A file that is there whole or not at all.
// SPDX-License-Identifier: Apache-2.0
#include "support/output_file.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
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

void write_new(const std::string& path, bool allow_attribute_loss = false) {
  OutputFile file(path.c_str(), allow_attribute_loss);
  file.reserve(3);
  file.write("ne", 2);
  file.write("w", 1);
  file.sync();
  file.commit();
}

// The value of this attribute; "-" if the file has none.
std::string attribute(const std::string& path, const char* name) {
  char value[256];
  const ssize_t bytes = ::getxattr(path.c_str(), name, value, sizeof value);
  return bytes < 0 ? "-" : std::string(value, static_cast<size_t>(bytes));
}

// An access list as the kernel stores it: owner rw, user 1234 r, group none, mask r, others none.
std::string access_list() {
  struct Entry {
    uint16_t tag, permissions;
    uint32_t id;
  };
  constexpr uint32_t kVersion = 2, kNobody = 0xFFFFFFFF;
  const Entry entries[] = {{1, 6, kNobody}, {2, 4, 1234}, {4, 0, kNobody}, {16, 4, kNobody}, {32, 0, kNobody}};
  std::string bytes(sizeof kVersion + sizeof entries, '\0');
  std::memcpy(bytes.data(), &kVersion, sizeof kVersion);
  std::memcpy(bytes.data() + sizeof kVersion, entries, sizeof entries);
  return bytes;
}

// A temporary file as a writer has it, or as a killed writer leaves it.
std::string leftover_name(char digit) { return ".sidbeam-" + std::string(16, digit) + ".tmp"; }

TEST_F(OutputFileTest, KeepsTheModeOfTheOldFile) {
  put("old");
  ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  write_new(path_);
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST_F(OutputFileTest, KeepsOwnerAndMode) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  put("old");
  ASSERT_EQ(::chown(path_.c_str(), 1234, 4321), 0);
  ASSERT_EQ(::chmod(path_.c_str(), 04750), 0);
  write_new(path_);
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 1234u);
  EXPECT_EQ(status.st_gid, 4321u);
  EXPECT_EQ(status.st_mode & 07777, 04750u);
}

// In a process of another user, in a folder that everybody may write to.
TEST_F(OutputFileTest, ALostOwnerIsAnErrorOrGrantsNobodyMore) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may become another user";
  put("old");
  ASSERT_EQ(::chmod(path_.c_str(), 04664), 0);
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setgid(4321) != 0 || ::setuid(1234) != 0) ::_exit(2);
    const std::string message = failure_of([&] { write_new(path_); }).message;
    const bool refused = message.find("cannot keep the owner of '" + path_ + "'") == 0;
    if (!refused || content() != "old" || entries() != 1) ::_exit(3);
    write_new(path_, true);
    ::_exit(content() == "new" && entries() == 1 ? 0 : 4);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  struct stat now {};
  ASSERT_EQ(::stat(path_.c_str(), &now), 0);
  EXPECT_EQ(now.st_uid, 1234u);
  EXPECT_EQ(now.st_mode & 07777, 0644u);  // the other group's may not write; no set-user-id for another user
}

TEST_F(OutputFileTest, KeepsExtendedAttributesAndTheAccessList) {
  put("old");
  if (::setxattr(path_.c_str(), "user.origin", "here", 4, 0) != 0) GTEST_SKIP() << "no extended attributes";
  const std::string list = access_list();
  const bool lists = ::setxattr(path_.c_str(), "system.posix_acl_access", list.data(), list.size(), 0) == 0;
  struct stat before {};
  ASSERT_EQ(::stat(path_.c_str(), &before), 0);
  write_new(path_);
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(attribute(path_, "user.origin"), "here");
  EXPECT_EQ(attribute(path_, "system.posix_acl_access"), lists ? list : "-");
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode, before.st_mode);
}

// Attributes that the folder gives to new files, but the old file did not have.
TEST_F(OutputFileTest, AnInheritedAccessListDoesNotStay) {
  put("old");
  ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  const std::string list = access_list();
  if (::setxattr(folder_.c_str(), "system.posix_acl_default", list.data(), list.size(), 0) != 0)
    GTEST_SKIP() << "no access lists";
  write_new(path_);
  EXPECT_EQ(attribute(path_, "system.posix_acl_access"), "-");
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST_F(OutputFileTest, CapabilitiesOfTheOldContentsDoNotStay) {
  put("old");
  constexpr uint32_t kCapability[] = {0x02000000, 1, 0, 0, 0};
  if (::setxattr(path_.c_str(), "security.capability", kCapability, sizeof kCapability, 0) != 0)
    GTEST_SKIP() << "no file capabilities";
  write_new(path_);
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(attribute(path_, "security.capability"), "-");
}

TEST_F(OutputFileTest, MakesWhatALinkPointsTo) {
  ASSERT_EQ(::mkdir((folder_ / "there").c_str(), 0777), 0);
  const std::string link = (folder_ / "link.sidx").string();
  ASSERT_EQ(::symlink("second.sidx", link.c_str()), 0);
  ASSERT_EQ(::symlink("there/../x.sidx", (folder_ / "second.sidx").c_str()), 0);
  write_new(link);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(entries(), 4u);
}

TEST_F(OutputFileTest, RefusesLinksWithoutAnEnd) {
  ASSERT_EQ(::symlink("link.sidx", path_.c_str()), 0);
  ASSERT_EQ(::symlink("x.sidx", (folder_ / "link.sidx").c_str()), 0);
  EXPECT_FAILS(SIDBEAM_IO_ERROR, "Too many levels of symbolic links", write_new(path_));
  EXPECT_EQ(entries(), 2u);
}

// A link of /proc names a file by a text that may name another.
TEST_F(OutputFileTest, RefusesAFileThatHasLostItsName) {
  put("old");
  const FileDescriptor file = open_at(AT_FDCWD, path_.c_str(), O_RDONLY);
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  const std::string link = "/proc/self/fd/" + std::to_string(file.get());
  EXPECT_FAILS(SIDBEAM_IO_ERROR, "the file has no name", write_new(link));
  EXPECT_EQ(entries(), 0u);
}

TEST_F(OutputFileTest, TakesNamesAsLongAsTheFileSystemDoes) {
  path_ = (folder_ / std::string(255, 'x')).string();
  put("old");
  write_new(path_);
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFileTest, WritesIntoAFolderThatMovesMeanwhile) {
  const fs::path moved = folder_.string() + "-moved";
  put("old");
  {
    OutputFile file(path_.c_str(), false);
    fs::rename(folder_, moved);
    file.write("new", 3);
    file.sync();
    file.commit();
  }
  folder_ = moved;
  path_ = (folder_ / "x.sidx").string();
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFileTest, WithdrawsANewFileThatReplacedNone) {
  const auto withdraw = [this](bool commit) {
    OutputFile file(path_.c_str(), false);
    file.write("new", 3);
    file.sync();
    if (commit) file.commit();
    return file.withdraw();
  };
  EXPECT_FALSE(withdraw(true));
  EXPECT_EQ(entries(), 0u);
  put("old");
  EXPECT_FALSE(withdraw(false));
  EXPECT_EQ(content(), "old");
  EXPECT_TRUE(withdraw(true));
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFileTest, SweepsWhatDeadWritersLeftAndNothingElse) {
  const auto there = [this](const std::string& name) { return fs::exists(fs::symlink_status(folder_ / name)); };
  for (const char digit : {'1', '2'}) std::ofstream(folder_ / leftover_name(digit)) << "half";
  const FileDescriptor writer = open_at(AT_FDCWD, (folder_ / leftover_name('2')).c_str(), O_RDWR);
  ASSERT_EQ(::flock(writer.get(), LOCK_EX | LOCK_NB), 0);
  const std::string others[] = {".sidbeam-1111.tmp", ".sidbeam-111111111111111G.tmp", "sidbeam-1111111111111111.tmp"};
  for (const std::string& name : others) std::ofstream(folder_ / name) << "other";
  ASSERT_EQ(::mkfifo((folder_ / leftover_name('3')).c_str(), 0600), 0);
  ASSERT_EQ(::symlink("nowhere", (folder_ / leftover_name('4')).c_str()), 0);
  write_new(path_);
  EXPECT_FALSE(there(leftover_name('1')));
  EXPECT_TRUE(there(leftover_name('2')));
  for (const std::string& name : others) EXPECT_TRUE(there(name));
  EXPECT_TRUE(there(leftover_name('3')));
  EXPECT_TRUE(there(leftover_name('4')));
  EXPECT_EQ(entries(), 7u);
}

TEST_F(OutputFileTest, TwoWritersOfAFolderDoNotSweepEachOther) {
  OutputFile first(path_.c_str(), false), second(path_.c_str(), false);
  first.write("first", 5);
  second.write("second", 6);
  first.sync();
  first.commit();
  EXPECT_EQ(content(), "first");
  second.sync();
  second.commit();
  EXPECT_EQ(content(), "second");
  EXPECT_EQ(entries(), 1u);
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
    OutputFile file(path_.c_str(), false);
    file.write("new", 3);
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
    OutputFile file(path_.c_str(), false);
    file.reserve(1000);
    file.write("new", 3);
  }
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFileTest, SaysWhatAndWhy) {
  const std::string absent = (folder_ / "no" / "y.sidx").string();
  EXPECT_FAILS(SIDBEAM_IO_ERROR, "cannot create '" + absent + "': No such file or directory",
               OutputFile(absent.c_str(), false));
  EXPECT_FAILS(SIDBEAM_IO_ERROR, "Is a directory", OutputFile(folder_.c_str(), false));
  EXPECT_FAILS(SIDBEAM_IO_ERROR, "cannot create ''", OutputFile("", false));
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
    EXPECT_FAILS(SIDBEAM_CANCELLED, "the build was cancelled", builder.write(path_.c_str()));
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
