// Tasks on a few threads, for builds and verifications; steps never use it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

namespace sidbeam {

inline constexpr int kMaxThreads = 1024;

// How many threads to use for a setting of `threads`: that many, or for 0 one per core.
int thread_count(int threads);

// Runs task(context, i) for every i in [0, tasks), in rising order of start, on the caller's thread and up to
// threads - 1 others; where those cannot be started the caller does their work. Once a task throws no new one starts,
// and the exception of the lowest task that threw comes out here: the same one whatever the number of threads.
void run_tasks(int threads, int64_t tasks, void (*task)(void* context, int64_t i), void* context);

template <class Body>
void parallel_for(int threads, int64_t tasks, Body&& body) {
  using Function = std::remove_reference_t<Body>;
  run_tasks(
      threads, tasks, [](void* context, int64_t i) { (*static_cast<Function*>(context))(i); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace sidbeam
