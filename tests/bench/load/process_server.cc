// SPDX-License-Identifier: Apache-2.0
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "../../random_constraint.h"
#include "runner/schedule/runner.h"
#include "servers.h"

namespace bench {
namespace {

using namespace sidbeam;
using namespace sidbeam::runner;

// A program of the shell's; one end of a socket is its standard input and output.
class Process {
 public:
  explicit Process(const std::string& command) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("no socket");
    socket_ = ends[0];
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    std::string text = command;
    char shell[] = "sh", option[] = "-c";
    char* const arguments[] = {shell, option, text.data(), nullptr};
    const int failure = posix_spawn(&process_, "/bin/sh", &files, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    ::close(ends[1]);
    if (failure != 0) throw std::runtime_error("cannot start: " + command);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    ::close(socket_);  // the end of its input
    waitpid(process_, nullptr, 0);
  }

  // Whether a line came back.
  bool ask(const std::string& line) {
    for (size_t sent = 0; sent < line.size();) {
      const ssize_t size = send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
      if (size <= 0) return false;
      sent += static_cast<size_t>(size);
    }
    char part[4096];
    for (;;) {
      const ssize_t size = recv(socket_, part, sizeof part, 0);
      if (size <= 0) return false;
      if (part[size - 1] == '\n') return true;
    }
  }

 private:
  int socket_ = -1;
  pid_t process_ = 0;
};

class ProcessLane final : public Lane {
 public:
  explicit ProcessLane(const std::string& command) : process_(command) {}
  void run(const Job* jobs, int32_t count, Ended& ended) noexcept override {
    line_ = "[";
    for (int32_t i = 0; i < count; ++i) {
      line_ += i == 0 ? "[" : ", [";
      for (int64_t p = 0; p < jobs[i].prompt.positions; ++p)
        line_ += (p == 0 ? "" : ", ") + std::to_string(jobs[i].prompt.tokens[p]);
      line_ += "]";
    }
    line_ += "]\n";
    const bool done = process_.ask(line_);
    for (int32_t i = 0; i < count; ++i)
      ended.ended(i, done ? Outcome{} : Outcome{SIDBEAM_IO_ERROR, "the process ended"});
  }
  int32_t levels() const override { return kLevels; }
  int64_t memory_bytes() const override { return 0; }

 private:
  Process process_;
  std::string line_;
};

class ProcessServer final : public Server {
 public:
  ProcessServer(const std::string& command, const Served& served, const ServerSettings& settings) {
    RunnerConfig config;
    config.allocator = default_allocator();
    config.queue_requests = served.queue_requests;
    config.batch.requests = settings.batch;
    config.prompt_tokens = served.positions;
    config.lane_threads = true;
    std::vector<std::unique_ptr<Lane>> lanes;
    for (int32_t i = 0; i < settings.lanes; ++i) lanes.push_back(std::make_unique<ProcessLane>(command));
    runner_.reset(new Runner(config, std::move(lanes)));
  }

  sidbeam_status submit(const sidbeam_request& request) override {
    return status_of([&] { runner_->submit(complete(request)); });
  }
  void run(const sidbeam_request& request) override {
    status_of([&] { runner_->run(complete(request)); });
  }
  void drain() override { runner_->drain(0); }

 private:
  template <typename Call>
  static sidbeam_status status_of(Call call) {
    try {
      call();
    } catch (const Failure& failure) {
      if (failure.status != SIDBEAM_QUEUE_FULL) throw std::runtime_error(failure.message);
      return SIDBEAM_QUEUE_FULL;
    }
    return SIDBEAM_OK;
  }
  sidbeam_request complete(sidbeam_request request) const {
    request.group = 1;
    request.constraint = constraint_.get();  // the queue holds one; the process knows of none
    return request;
  }

  handles::Runtime runtime_ = handles::make_runtime();
  handles::Constraint constraint_ = handles::make_constraint(runtime_.get(), {3}, 3, 1);
  std::unique_ptr<Runner, handles::Releaser<Runner::destroy>> runner_;
};

}  // namespace

std::unique_ptr<Server> serve_process(const std::string& command, const Served& served,
                                      const ServerSettings& settings) {
  return std::make_unique<ProcessServer>(command, served, settings);
}

}  // namespace bench
