// SPDX-License-Identifier: Apache-2.0
#include "functions.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <vector>

namespace fuzz::abi {
namespace {

std::deque<Function>& functions() {
  static std::deque<Function> all;
  return all;
}

// What a table of the library has.
std::vector<const void*>& required() {
  static std::vector<const void*> all;
  return all;
}

const char* name_of(const void* address) {
  Dl_info found = {};
  return dladdr(address, &found) != 0 && found.dli_sname != nullptr ? found.dli_sname : "a function without a name";
}

bool is_enlisted(const void* address) {
  const auto& all = functions();
  return std::any_of(all.begin(), all.end(), [&](const Function& one) { return one.address == address; });
}

}  // namespace

Function& enlist(const void* address) { return functions().emplace_back(Function{address}); }

// The table of api.h names every function except sidbeam_get_api (tests/abi compares it with symbols.txt).
void require_every_function() {
  const sidbeam_api* api = nullptr;
  if (ABI(get_api)(SIDBEAM_ABI_VERSION, &api, nullptr) != SIDBEAM_OK) std::abort();
  require_functions(reinterpret_cast<const void* const*>(&api->version),
                    (api->struct_size - offsetof(sidbeam_api, version)) / sizeof(void*));
}

void require_functions(const void* const* entries, size_t count) {
  int missing = 0;
  required().assign(entries, entries + count);
  for (size_t i = 0; i < count; ++i) {
    if (is_enlisted(entries[i])) continue;
    std::fprintf(stderr, "%s is called nowhere\n", name_of(entries[i]));
    ++missing;
  }
  if (missing > 0) std::abort();
}

void require_every_success() {
  int missing = 0;
  const std::vector<const void*>& all = required();
  for (const Function& one : functions()) {
    if (std::find(all.begin(), all.end(), one.address) == all.end()) continue;  // of what another target calls
    std::fprintf(stderr, "%9llu of %9llu calls succeeded: %s\n", static_cast<unsigned long long>(one.successes),
                 static_cast<unsigned long long>(one.calls), name_of(one.address));
    if (one.successes == 0 && &one != &Called<sidbeam_index_upload>::entry) ++missing;  // there is no device
  }
  if (missing > 0) std::_Exit(1);
}

}  // namespace fuzz::abi
