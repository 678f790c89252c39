// What answers requests under load: the runner, or another engine behind the runner's queue and lanes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sidbeam/runner.h>

#include <cstdint>
#include <memory>
#include <string>

namespace bench {

constexpr int32_t kLevels = 4, kTokens = 1100;

struct ServerSettings {
  bool valid = false;  // items of a catalogue alone, not any four tokens
  int32_t batch = 1;   // most requests that leave together: of those that wait, since none waits for others
  int32_t lanes = 1;   // with a thread each
};

// Functions are the runner's. submit() returns OK or QUEUE_FULL, and throws what else went wrong.
class Server {
 public:
  virtual ~Server() = default;
  virtual sidbeam_status submit(const sidbeam_request& request) = 0;
  virtual void run(const sidbeam_request& request) = 0;
  virtual void drain() = 0;
};

struct Served {
  sidbeam_model* model = nullptr;
  int64_t positions = 0;  // of a prompt
  int32_t beams = 0, queue_requests = 0;
};
std::unique_ptr<Server> serve_model(const Served& served, const ServerSettings& settings);

// The same queue, batches, lanes and threads. A lane hands its batch to a process of its own, as a line of JSON
// ([[5, 9, ..], ..], the prompts), and waits for the line that says that it is done.
std::unique_ptr<Server> serve_process(const std::string& command, const Served& served, const ServerSettings& settings);

}  // namespace bench
