// The C ABI as this program uses it: handles that release themselves, and calls whose failure is an exception.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_ABI_H
#define SIDBEAM_CLI_ABI_H

#include <sidbeam/sidbeam.h>
#include <support/escape.h>

#include <memory>
#include <string>

#include "failure.h"
#include "mapped.h"

namespace cli {

template <auto release>
struct Release {
  template <class T>
  void operator()(T* handle) const {
    release(handle);
  }
};

using Runtime = std::unique_ptr<sidbeam_runtime, Release<sidbeam_runtime_release>>;
using Builder = std::unique_ptr<sidbeam_builder, Release<sidbeam_builder_destroy>>;
using Plan = std::unique_ptr<sidbeam_plan, Release<sidbeam_plan_destroy>>;
using Index = std::unique_ptr<sidbeam_index, Release<sidbeam_index_release>>;
using Filter = std::unique_ptr<sidbeam_filter, Release<sidbeam_filter_release>>;
using Constraint = std::unique_ptr<sidbeam_constraint, Release<sidbeam_constraint_release>>;
using Session = std::unique_ptr<sidbeam_session, Release<sidbeam_session_destroy>>;

struct LibraryFailure : Failure {
  LibraryFailure(sidbeam_status code, const std::string& message) : Failure(message, code) {}
};

// Calls a function of the library with these arguments and an error, and throws what that error says.
template <class... Parameters, class... Arguments>
void call(sidbeam_status (*function)(Parameters...), Arguments... arguments) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  if (const sidbeam_status status = function(arguments..., &err); status != SIDBEAM_OK) {
    throw LibraryFailure(status, err.message[0] != '\0' ? err.message : sidbeam_status_name(status));
  }
}

inline Runtime make_runtime(int32_t threads = 0) {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  config.threads = threads;
  sidbeam_runtime* runtime = nullptr;
  call(sidbeam_runtime_create, &config, &runtime);
  return Runtime(runtime);
}

// Like call, for functions that know a file but do not name it: every failure names `path`.
template <class... Arguments>
void call_about(const std::string& path, Arguments... arguments) {
  try {
    call(arguments...);
  } catch (const LibraryFailure& failure) {
    const std::string what = failure.what();
    if (what.find(sidbeam::escaped(path)) != what.npos) throw;  // the library has named it
    throw LibraryFailure(failure.status, "'" + path + "': " + what);
  }
}

// By SIDBEAM_ATTRIBUTE_*, as --attributes has them.
inline constexpr const char* kAttributeTypes[] = {"", "i64", "f32", "bool", "string", "strings"};

// An index file, or a version of a live catalogue: its folder (the newest), or FOLDER@VERSION. In live.cc.
Index open_index(const std::string& path, const sidbeam_open_config& config, int32_t threads);

// Mapped, and checked no further than its header.
inline Index open_index(const std::string& path, int32_t threads = 0) {
  name_mapped(path);
  return open_index(path, SIDBEAM_OPEN_CONFIG_INIT, threads);
}

inline sidbeam_index_info index_info(const sidbeam_index* index) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  call(sidbeam_index_get_info, index, &info);
  return info;
}

// An index that is verified in full, and in memory, where it stays so: its counts are those of its SIDs. What sizes
// arrays by the counts and fills them from the SIDs asks for this type.
class SoundIndex {
 public:
  explicit SoundIndex(const std::string& path)
      : index_(open_index(path, {sizeof(sidbeam_open_config), SIDBEAM_RESIDENCY_COPY, SIDBEAM_VERIFY_FULL}, 0)),
        info_(index_info(index_.get())) {
    if (info_.version > 0) throw Failure("'" + path + "' is a version of a live catalogue, expected an index file");
  }
  const sidbeam_index* get() const { return index_.get(); }
  const sidbeam_index_info& info() const { return info_; }

 private:
  Index index_;
  sidbeam_index_info info_;
};

}  // namespace cli

#endif
