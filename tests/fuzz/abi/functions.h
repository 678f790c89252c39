// The functions of the ABI that the random caller calls. Each registers itself where it is called, so that a function
// that is called nowhere is found before the first input.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sidbeam/sidbeam.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace fuzz::abi {

struct Function {
  const void* address;
  uint64_t calls = 0, successes = 0;
};
Function& enlist(const void* address);

template <auto function>
struct Called {
  static inline Function& entry = enlist(reinterpret_cast<const void*>(function));

  template <class... Arguments>
  static auto call(Arguments... arguments) {
    ++entry.calls;
    using Result = decltype(function(arguments...));
    if constexpr (std::is_void_v<Result>) {
      ++entry.successes;
      function(arguments...);
    } else {
      const Result result = function(arguments...);
      if (!std::is_same_v<Result, sidbeam_status> || result == Result{}) ++entry.successes;
      return result;
    }
  }
};
// ABI(index_verify)(index, depth, err): a counted call.
#define ABI(name) (::fuzz::abi::Called<sidbeam_##name>::call)

// Ends the run if a function of the library, or of a table of functions, is called nowhere in this program.
void require_every_function();
void require_functions(const void* const* entries, size_t count);
// Ends the run if one of these has never succeeded: not even with some more inputs at random, since what libFuzzer
// tries differs from run to run.
void require_every_success();

}  // namespace fuzz::abi
