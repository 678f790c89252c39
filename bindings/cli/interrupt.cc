// Ctrl-C in commands that write a file.
// SPDX-License-Identifier: Apache-2.0
#include "interrupt.h"

#include <unistd.h>

#include <csignal>

namespace cli {
namespace {

volatile std::sig_atomic_t raised = 0;
std::string kept;

// A read may begin to wait between a look at the flag and the signal, which would not end it: the signal comes again
// every second, by SIGALRM.
extern "C" void raise_flag(int) {
  raised = 1;
  struct sigaction action {};
  action.sa_handler = raise_flag;
  ::sigaction(SIGALRM, &action, nullptr);
  ::alarm(1);
}

}  // namespace

void catch_interrupts(const std::string& output) {
  kept = output;
  struct sigaction action {};
  action.sa_handler = raise_flag;  // without SA_RESTART: a read that waits on a pipe must return
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return raised != 0; }

void throw_cancelled() { throw Cancelled("cancelled; '" + kept + "' is as it was"); }

void throw_if_interrupted() {
  if (interrupted()) throw_cancelled();
}

}  // namespace cli
