// SPDX-License-Identifier: Apache-2.0
#include "runner/formats/text_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "support/error.h"
#include "support/mapped_file.h"

namespace sidbeam::runner {

std::string path_within(const std::string& folder, const char* name) {
  return folder.empty() ? name : folder + "/" + name;
}

bool exists(const std::string& path) {
  if (::access(path.c_str(), F_OK) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  fail(SIDBEAM_IO_ERROR, "cannot stat '%.300s': %s", path.c_str(), strerrordesc_np(errno));
}

std::string read_text(const char* path, int64_t most) {
  const InputFile file = open_file(path);
  if (file.bytes > most)
    fail(SIDBEAM_CORRUPT, "'%.300s' has %lld bytes, expected at most %lld", path, static_cast<long long>(file.bytes),
         static_cast<long long>(most));
  std::string text(static_cast<size_t>(file.bytes), '\0');
  read_file(file, path, 0, text.data(), file.bytes);
  return text;
}

}  // namespace sidbeam::runner
