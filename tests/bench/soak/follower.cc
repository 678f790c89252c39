// SPDX-License-Identifier: Apache-2.0
#include "follower.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "index_tables.h"

namespace bench::soak {
namespace {

// The parent has closed its end, or is gone.
bool is_stopped(int running) {
  pollfd end{running, POLLIN, 0};
  return poll(&end, 1, 0) != 0;
}

Sight look(sidbeam_catalog* catalog, Searcher& searcher) {
  const Version version = version_of(catalog, 0);
  std::vector<Request> requests;
  for (const uint64_t seed : follower_seeds(version.number)) requests.push_back({&version, seed, {}});
  Sight sight{version.number, 0, memory_of_this_process("VmRSS")};
  for (const std::vector<Found>& found : searcher.run(requests)) sight.hash = sight.hash * 31 + hash_of(found);
  return sight;
}

void follow(const std::string& folder, int sights, int running) {
  const Runtime runtime = make_runtime(1);
  const Catalog catalog =
      make<Catalog>("catalog_follow", sidbeam_catalog_follow, runtime.get(), folder.c_str(), nullptr);
  Searcher searcher(version_of(catalog.get(), 0).index.get());
  for (int64_t seen = 0; !is_stopped(running);) {
    int64_t version = 0;
    call("catalog_refresh", sidbeam_catalog_refresh, catalog.get(), int64_t{200}, &version);
    if (version == seen) continue;
    const Sight sight = look(catalog.get(), searcher);
    if (write(sights, &sight, sizeof sight) != sizeof sight) throw std::runtime_error("cannot write to the parent");
    seen = version;
  }
}

// Without destructors or buffers of the parent's.
[[noreturn]] void run_child(const std::string& folder, int sights, int running) {
  try {
    follow(folder, sights, running);
    _exit(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_soak: the follower: %s\n", error.what());
    _exit(1);
  }
}

}  // namespace

std::vector<uint64_t> follower_seeds(int64_t version) {
  const auto first = static_cast<uint64_t>(version) * kSlots;
  return {first, first + 1, first + 2, first + 3};
}

Follower::Follower(const std::string& folder) {
  int sights[2], running[2];
  std::fflush(nullptr);
  if (pipe(sights) != 0 || pipe(running) != 0) throw std::runtime_error("cannot make a pipe");
  process_ = fork();
  if (process_ < 0) throw std::runtime_error("cannot fork");
  if (process_ == 0) {
    close(sights[0]);
    close(running[1]);
    run_child(folder, sights[1], running[0]);
  }
  close(sights[1]);
  close(running[0]);
  sights_ = sights[0];
  running_ = running[1];
}

Follower::~Follower() {
  stop();
  if (process_ > 0) waitpid(process_, nullptr, 0);
  close(sights_);
}

// One write is one read: it is shorter than a pipe's unit.
bool Follower::next(Sight& sight) { return read(sights_, &sight, sizeof sight) == sizeof sight; }

void Follower::stop() {
  if (running_ >= 0) close(std::exchange(running_, -1));
}

void Follower::join() {
  int status = 0;
  waitpid(std::exchange(process_, -1), &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error("the follower failed");
}

}  // namespace bench::soak
