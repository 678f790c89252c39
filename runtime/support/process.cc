// SPDX-License-Identifier: Apache-2.0
#include "support/process.h"

#include <pthread.h>

namespace sidbeam {
namespace {

void count_fork() { fork_count.fetch_add(1, std::memory_order_relaxed); }

// As the library is loaded, when no thread of it can be in the middle of anything.
[[maybe_unused]] const int kRegistered = pthread_atfork(nullptr, nullptr, count_fork);

}  // namespace
}  // namespace sidbeam
