// SPDX-License-Identifier: Apache-2.0
#include "mapped.h"

#include <support/escape.h>
#include <unistd.h>

#include <csignal>

namespace cli {
namespace {

std::string prefix, files, message;  // the message is complete before the signal, whose handler may not allocate

extern "C" void tell_lost_page(int, siginfo_t* info, void*) {
  if (info->si_code == BUS_ADRERR) {
    (void)!::write(STDERR_FILENO, message.data(), message.size());
    ::_exit(1);
  }
  std::signal(SIGBUS, SIG_DFL);  // something else, which comes again
}

void compose() {
  message = prefix + ": cannot read " + (files.empty() ? "a mapped file" : files) +
            ": truncated while it was read, or the disk failed\n";
}

}  // namespace

void catch_lost_pages(const std::string& command) {
  prefix = sidbeam::escaped(command);
  files.clear();
  compose();
  struct sigaction action {};
  action.sa_sigaction = tell_lost_page;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

void name_mapped(const std::string& path) {
  files += (files.empty() ? "'" : " or '") + sidbeam::escaped(path) + "'";
  compose();
}

}  // namespace cli
