// A random caller of the ABI: every function, with right and wrong arguments, on handles that are made, shared and
// released in any order. Everything that a call answers, writes, logs and allocates is checked against the headers.
//
// Set SIDBEAM_FUZZ_REACH=1 to fail if some function has not succeeded once by the end of the run.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "abi/operations.h"
#include "equal_inputs.h"

namespace {

using namespace fuzz::abi;

constexpr int kMostCalls = 60;

// Most inputs begin with an index, a constraint and a session: nothing else gives the calls anything to do.
void prepare(World& world) {
  if (world.one_in(8)) return;
  make_constraint(world);
  make_session(world);
  if (world.flip()) make_set(world);
}

void call(World& world) {
  const std::span<const Operation> groups[] = {runtime_operations(),   builder_operations(),   index_operations(),
                                               session_operations(),   stateless_operations(), session_operations(),
                                               stateless_operations(), disc_operations(),      speculation_operations(),
                                               filter_operations(),    catalog_operations()};
  const std::span<const Operation>& group = groups[world.in(0, static_cast<int32_t>(std::size(groups)) - 1)];
  group[static_cast<size_t>(world.in(0, static_cast<int32_t>(group.size()) - 1))](world);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  fuzz::weigh_inputs_equally(argc, argv);
  require_every_function();
  const char* reach = std::getenv("SIDBEAM_FUZZ_REACH");
  if (reach != nullptr && reach[0] == '1') std::atexit(require_every_success);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  World world(data, size);
  prepare(world);
  for (int calls = 0; calls < kMostCalls && world.input.remaining_bytes() > 0; ++calls) call(world);
  return 0;
}
