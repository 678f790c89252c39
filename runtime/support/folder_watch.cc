// SPDX-License-Identifier: Apache-2.0
#include "support/folder_watch.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

namespace sidbeam {

FolderWatch::FolderWatch(const std::string& path) : events_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  constexpr uint32_t kChanges = IN_MODIFY | IN_CREATE | IN_MOVED_TO;
  if (events_.get() >= 0 && ::inotify_add_watch(events_.get(), path.c_str(), kChanges) < 0) events_ = FileDescriptor();
}

void FolderWatch::wait(int64_t ms) {
  struct pollfd watched = {events_.get(), POLLIN, 0};  // poll() ignores a negative one
  if (::poll(&watched, 1, static_cast<int>(std::min<int64_t>(ms, INT_MAX))) <= 0) return;
  char events[4096];
  while (::read(events_.get(), events, sizeof events) > 0) continue;
}

}  // namespace sidbeam
