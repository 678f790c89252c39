// SPDX-License-Identifier: Apache-2.0
#include "functions.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // the program's

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

namespace {

bool is_required(const Function& one) {
  const std::vector<const void*>& all = required();
  return std::find(all.begin(), all.end(), one.address) != all.end()  // not of what another target calls
         && &one != &Called<sidbeam_index_upload>::entry;             // there is no device
}

bool every_one_succeeded() {
  const auto& all = functions();
  return std::all_of(all.begin(), all.end(),
                     [](const Function& one) { return one.successes > 0 || !is_required(one); });
}

}  // namespace

void require_every_success() {
  constexpr int kMostInputs = 20'000;
  std::mt19937 generator(20261130);
  std::vector<uint8_t> bytes;
  for (int i = 0; i < kMostInputs && !every_one_succeeded(); ++i) {
    bytes.resize(256u + generator() % 1024u);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(generator());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  for (const Function& one : functions())
    if (is_required(one))
      std::fprintf(stderr, "%9llu of %9llu calls succeeded: %s\n", static_cast<unsigned long long>(one.successes),
                   static_cast<unsigned long long>(one.calls), name_of(one.address));
  if (!every_one_succeeded()) std::_Exit(1);
}

}  // namespace fuzz::abi
