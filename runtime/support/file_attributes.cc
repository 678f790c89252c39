// SPDX-License-Identifier: Apache-2.0
#include "support/file_attributes.h"

#include <fcntl.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "support/error.h"
#include "support/file_descriptor.h"

namespace sidbeam {
namespace {

constexpr const char* kAccessList = "system.posix_acl_access";
constexpr unsigned kModeBits = 07777, kSetIds = 06000, kGroupBits = 070, kOthers = 07;

bool speaks_of_contents(std::string_view name) {
  return name == "security.capability" || name == "security.ima" || name == "security.evm";
}

bool has_none(int error) { return error == EOPNOTSUPP || error == ENOSYS; }

// Calls a function that fills a buffer, with one that is large enough; false with errno where it fails.
template <class Fill>
bool fill(std::string& out, const Fill& call) {
  for (;;) {
    const ssize_t needed = call(nullptr, 0);
    if (needed < 0) return false;
    out.resize(static_cast<size_t>(needed));
    if (needed == 0) return true;
    const ssize_t got = call(out.data(), out.size());
    if (got < 0 && errno == ERANGE) continue;  // it grew in between
    if (got < 0) return false;
    out.resize(static_cast<size_t>(got));
    return true;
  }
}

bool value_of(int file, const char* name, std::string& value) {
  return fill(value, [&](char* out, size_t size) { return ::fgetxattr(file, name, out, size); });
}

bool names_of(int file, std::vector<std::string>& names) {
  std::string list;
  if (!fill(list, [&](char* out, size_t size) { return ::flistxattr(file, out, size); })) return has_none(errno);
  for (size_t at = 0; at < list.size(); at += names.back().size() + 1) names.emplace_back(list.c_str() + at);
  return true;
}

class Keeper {
 public:
  Keeper(const OldFile& old, int to, bool allow_loss) : old_(old), to_(to), allow_loss_(allow_loss) {}

  unsigned keep() {
    keep_owner();
    keep_extended();
    return keep_mode();
  }

 private:
  void lost(const char* what, int error) const {
    if (allow_loss_) return;
    fail(
        SIDBEAM_IO_ERROR,
        "cannot keep the %.100s of '%.200s': %s (allow_attribute_loss, or --allow-attribute-loss, replaces it without)",
        what, old_.path, strerrordesc_np(error));
  }

  struct stat status() const {
    struct stat now {};
    if (::fstat(to_, &now) != 0) fail(SIDBEAM_IO_ERROR, "cannot stat '%.300s': %s", old_.path, strerrordesc_np(errno));
    return now;
  }

  void keep_owner() {
    const struct stat now = status();
    const uid_t user = old_.status.st_uid;
    const gid_t group = old_.status.st_gid;
    if (now.st_uid == user && now.st_gid == group) return;
    if (::fchown(to_, user, group) == 0) return;
    lost("owner", errno);
    owner_is_lost_ = now.st_uid != user;
    // Members of a group may give their own files to it.
    group_is_lost_ = now.st_gid != group && ::fchown(to_, static_cast<uid_t>(-1), group) != 0;
  }

  void keep_extended() {
    const FileDescriptor from = open_at(old_.folder, old_.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    std::vector<std::string> names, inherited;
    if (from.get() < 0 || !names_of(from.get(), names)) {
      lost("extended attributes", errno);
      access_list_is_lost_ = true;
      return;
    }
    for (const std::string& name : names)
      if (!speaks_of_contents(name)) keep_one(from.get(), name);
    // A list that the folder gives to new files.
    if (!names_of(to_, inherited)) return lost("extended attributes", errno);
    const auto has_list = [](const auto& all) { return std::find(all.begin(), all.end(), kAccessList) != all.end(); };
    if (has_list(inherited) && !has_list(names) && ::fremovexattr(to_, kAccessList) != 0) lost(kAccessList, errno);
  }

  void keep_one(int from, const std::string& name) {
    std::string value, here;
    if (!value_of(from, name.c_str(), value)) {
      if (errno == ENODATA) return;  // removed since it was listed
    } else if ((value_of(to_, name.c_str(), here) && here == value) ||
               ::fsetxattr(to_, name.c_str(), value.data(), value.size(), 0) == 0) {
      return;
    }
    lost(("attribute " + name).c_str(), errno);
    if (name == kAccessList) access_list_is_lost_ = true;
  }

  unsigned keep_mode() const {
    unsigned mode = old_.status.st_mode & kModeBits;
    // The bits of the group would be another group's, or the upper bound of a list that is gone.
    if (group_is_lost_ || access_list_is_lost_) mode &= ~kGroupBits | (mode & kOthers) << 3;
    if (owner_is_lost_ || group_is_lost_) mode &= ~kSetIds;
    // Some file systems have one mode for all files, and refuse to set it.
    if ((status().st_mode & kModeBits) != mode && ::fchmod(to_, mode) != 0) lost("mode", errno);
    return mode;
  }

  const OldFile& old_;
  int to_;
  bool allow_loss_, owner_is_lost_ = false, group_is_lost_ = false, access_list_is_lost_ = false;
};

}  // namespace

unsigned keep_attributes(const OldFile& old, int to, bool allow_loss) { return Keeper(old, to, allow_loss).keep(); }

}  // namespace sidbeam
