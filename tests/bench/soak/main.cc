// bench_soak: a live catalogue under all that is done to it at once, for as long as is asked.
//
//   bench_soak [--seconds N] [--quick] [--json FILE] [--dir FOLDER]
//
// Ten minutes, or --seconds. One thread adds 200 pairs and removes 200 items a second, publishes every second and now
// and then goes back; one compacts where the catalogue suggests it; four search without rest, in the newest version, in
// older ones and in one that they hold longer than the catalogue keeps it; a process follows the folder. Every result
// is compared with that of a search among the live pairs of its version, to the bit, items included. In the end memory
// and open files must be what they were in the second quarter. --quick: three seconds, to check that everything runs.
// --json appends one measurement per line. Files are made in FOLDER ($TMPDIR or the system's) and removed.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <list>
#include <optional>
#include <thread>

#include "follower.h"
#include "memory.h"
#include "program.h"
#include "reader.h"
#include "writers.h"

namespace bench::soak {
namespace {

using std::chrono::seconds, std::chrono::steady_clock;

constexpr int kReaders = 4;

struct Options {
  int seconds = 600;
  bool quick = false;
  std::string json, folder = std::filesystem::temp_directory_path().string();
};

// What the follower has seen, beside what it had to see.
struct Sights {
  int64_t versions = 0;
  std::vector<double> memory;

  void check(Follower& follower, History& history) {
    for (Sight sight; follower.next(sight); ++versions) {
      const Content content = history.of(sight.version);
      uint64_t hash = 0;
      for (const uint64_t seed : follower_seeds(sight.version))
        hash = hash * 31 + hash_of(search(*content, seed, kBeams));
      if (hash != sight.hash)
        throw std::runtime_error("the follower's version " + std::to_string(sight.version) +
                                 " is not what was published");
      memory.push_back(sight.memory);
    }
  }
};

// Threads, the first failure of which ends all, and the follower that one of them waits for.
class Threads {
 public:
  Threads(std::atomic<bool>& over, Follower& follower) : over_(over), follower_(follower) {}
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { end(); }

  void add(std::function<void()> work) {
    threads_.emplace_back([this, work = std::move(work)] {
      try {
        work();
      } catch (const std::exception& error) {
        const std::lock_guard lock(mutex_);
        if (failure_.empty()) failure_ = error.what();
        over_ = true;
      }
    });
  }
  void join() {
    end();
    if (!failure_.empty()) throw std::runtime_error(failure_);
  }

 private:
  void end() {
    over_ = true;
    follower_.stop();
    threads_.clear();
  }

  std::atomic<bool>& over_;
  Follower& follower_;
  std::mutex mutex_;
  std::string failure_;
  std::list<std::jthread> threads_;
};

LiveSet live_of(const Catalogue& catalogue) {
  LiveSet live;
  for (int64_t i = 0; i < catalogue.sids; ++i) {
    uint32_t sid = 0;
    for (int32_t level = 0; level < kLevels; ++level)
      sid = sid * kCodes + static_cast<uint32_t>(catalogue.sid(i)[level]);
    live.push_back({sid, i});
  }
  return live;
}

// What was published is there when the folder is opened again.
void check_reopened(const std::string& folder, History& history) {
  const Runtime runtime = make_runtime(1);
  const Catalog catalog = make<Catalog>("catalog_open", sidbeam_catalog_open, runtime.get(), folder.c_str(), nullptr);
  const Version newest = version_of(catalog.get(), 0);
  Searcher searcher(newest.index.get());
  std::vector<Request> requests;
  for (uint64_t seed = 1; seed <= kSlots; ++seed) requests.push_back({&newest, seed, {}});
  const Content content = history.of(newest.number);
  const std::vector<std::vector<Found>> found = searcher.run(requests);
  for (size_t slot = 0; slot < kSlots; ++slot)
    if (found[slot] != search(*content, requests[slot].seed, kBeams))
      throw std::runtime_error("the folder that was opened again does not hold what was published");
}

struct Folder {
  std::string path;
  explicit Folder(std::string of) : path(std::move(of)) { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }
};

// The catalogue, and all who use it.
class Soak {
 public:
  explicit Soak(const Options& options);
  void run();
  Measurements report() const;
  void expect_flat() const { memory_.expect_flat(); }

 private:
  const Options& options_;
  Folder folder_;
  Catalogue base_;
  Catalog catalog_;
  Shared shared_;
  std::optional<Follower> follower_;  // before there are threads
  std::optional<Writer> writer_;
  Compactor compactor_{shared_};
  std::list<Reader> readers_;
  Sights sights_;
  Memory memory_;
  int64_t versions_ = 0;
};

Soak::Soak(const Options& options)
    : options_(options),
      folder_(options.folder + "/bench-soak-" + std::to_string(getpid())),
      base_(draw_catalogue(Skew::kZipf, options.quick ? 2000 : 100000, kLevels, kCodes)) {
  const Index index = build_index(make_runtime(1).get(), base_, SIDBEAM_KIND_COMPACT_TRIE);
  catalog_ = make<Catalog>("catalog_create", sidbeam_catalog_create, index.get(), folder_.path.c_str(), nullptr);
  shared_.catalog = catalog_.get();
  const LiveSet first = live_of(base_);
  shared_.history.tell(1, std::make_shared<const LiveSet>(first));
  follower_.emplace(folder_.path);
  writer_.emplace(shared_, first);
  for (uint64_t seed = 0; seed < kReaders; ++seed) readers_.emplace_back(shared_, seed);
}

void Soak::run() {
  Threads threads(shared_.over, *follower_);
  threads.add([&] { writer_->run(); });
  threads.add([&] { compactor_.run(); });
  for (Reader& reader : readers_) threads.add([&] { reader.run(); });
  threads.add([&] { sights_.check(*follower_, shared_.history); });
  const auto end = steady_clock::now() + seconds(options_.seconds);
  while (!shared_.over && steady_clock::now() < end) {
    std::this_thread::sleep_for(seconds(1));
    memory_.look();
  }
  threads.join();
  follower_->join();
  if (sights_.versions > 0) memory_.add("the follower's resident memory", sights_.memory);
  sidbeam_catalog_info info = SIDBEAM_CATALOG_INFO_INIT;
  call("catalog_get_info", sidbeam_catalog_get_info, catalog_.get(), &info);
  versions_ = info.version;
  catalog_.reset();
  check_reopened(folder_.path, shared_.history);
}

Measurements Soak::report() const {
  Measurements out;
  const Case where = {{"seconds", int64_t{options_.seconds}}, {"N", base_.sids}, {"readers", int64_t{kReaders}}};
  const auto add = [&](const char* name, const char* unit, const Statistics& value) {
    out.push_back({"soak", where, name, unit, value, ""});
  };
  const auto count = [&](const char* name, int64_t value) { add(name, "", exactly(static_cast<double>(value))); };
  int64_t requests = 0, items = 0;
  for (const Reader& reader : readers_) requests += reader.checked, items += reader.items;
  count("versions", versions_);
  count("pairs added", writer_->added);
  count("items removed", writer_->removed);
  add("publish", "ms", summarise(writer_->publish_ms));
  count("rollbacks", writer_->rollbacks);
  if (!compactor_.took_ms.empty()) add("compaction at 2 MiB/s", "ms", summarise(compactor_.took_ms));
  count("compactions that a rollback ended", compactor_.given_up);
  count("requests, all as the oracle has them", requests);
  count("items in them", items);
  count("versions that the follower saw, likewise", sights_.versions);
  memory_.report(where, out);
  return out;
}

int run(int argc, char** argv) {
  Options options;
  parse(argc, argv,
        std::vector<Option>{{"--seconds N", &options.seconds},
                            {"--quick", &options.quick},
                            {"--json FILE", &options.json},
                            {"--dir FOLDER", &options.folder}});
  if (options.quick) options.seconds = 3;
  if (options.seconds < 1) throw std::invalid_argument("--seconds: expected at least 1");
  JsonLines lines(options.json);
  Soak soak(options);
  soak.run();
  const Measurements all = soak.report();
  for (const Measurement& measurement : all) lines.add(measurement);
  print(all);
  if (!options.quick) soak.expect_flat();
  return 0;
}

}  // namespace
}  // namespace bench::soak

int main(int argc, char** argv) {
  return bench::run_program("bench_soak", [&] { return bench::soak::run(argc, argv); });
}
