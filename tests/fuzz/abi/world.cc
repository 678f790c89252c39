// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace fuzz::abi {
namespace {

// Removed when the program ends.
struct Folder {
  Folder() {
    const char* base = std::getenv("TMPDIR");
    path = std::string(base == nullptr ? "/tmp" : base) + "/sidbeam-fuzz-abi-XXXXXX";
    FUZZ_CHECK(mkdtemp(path.data()) != nullptr);
  }
  ~Folder() { rmdir(path.c_str()); }
  std::string path;
};

}  // namespace

World::World(const uint8_t* data, size_t size) : input(data, size) {}

// Releases everything in an order drawn from the input; then nothing may be left.
World::~World() {
  while (drop_any()) {
  }
  FUZZ_CHECK(allocator.held() == 0);
  for (const Lent& one : lent) FUZZ_CHECK(one.returns == (one.lent ? 1 : 0));
  for (const std::string& path : written) std::remove(path.c_str());
  if (stored != kNone) std::filesystem::remove_all(catalog_folder());
}

bool World::drop_any() {
  const auto drop = [](auto& all, const auto& let_go, size_t& at) {
    if (at >= all.size()) {
      at -= all.size();
      return false;
    }
    let_go(all[at]);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
  };
  const size_t count = runtimes.size() + builders.size() + indexes.size() + constraints.size() + sessions.size() +
                       sets.size() + plans.size() + discs.size() + rigs.size() + filters.size() + ruled.size() +
                       catalogs.size();
  if (count == 0) return false;
  auto at = static_cast<size_t>(in(0, static_cast<int32_t>(count) - 1));
  if (at < rigs.size()) {
    drop_part(rigs[at]);
    return true;
  }
  at -= rigs.size();
  return drop(
             runtimes,
             [](sidbeam_runtime* one) {
               ABI(runtime_release)
               (one);
             },
             at) ||
         drop(
             builders,
             [](const Builder& one) {
               ABI(builder_destroy)
               (one.handle);
             },
             at) ||
         drop(
             indexes,
             [](const auto& one) {
               ABI(index_release)
               (one.handle);
             },
             at) ||
         drop(
             constraints,
             [](const auto& one) {
               ABI(constraint_release)
               (one.handle);
             },
             at) ||
         drop(
             sessions,
             [](const auto& one) {
               ABI(session_destroy)
               (one->handle);
             },
             at) ||
         drop(
             sets,
             [](const ConstraintSet& one) {
               ABI(constraint_set_destroy)
               (one.handle);
             },
             at) ||
         drop(
             filters,
             [](const Filter& one) {
               ABI(filter_release)
               (one.handle);
             },
             at) ||
         drop(
             ruled,
             [](const auto& one) {
               ABI(constraint_release)
               (one.handle);
             },
             at) ||
         drop(
             catalogs,
             [](const Catalog& one) {
               ABI(catalog_close)
               (one.handle);
             },
             at) ||
         drop(
             plans,
             [](sidbeam_plan* one) {
               ABI(plan_destroy)
               (one);
             },
             at) ||
         drop(
             discs,
             [](const Disc& one) {
               ABI(disc_destroy)
               (one.handle);
             },
             at);
}

void World::drop_part(std::unique_ptr<Rig>& rig) {
  if (rig->speculation != nullptr) {
    ABI(speculation_destroy)(rig->speculation);
    rig->speculation = nullptr;
    return;
  }
  sidbeam_session*& session = rig->draft == nullptr || (rig->target != nullptr && flip()) ? rig->target : rig->draft;
  ABI(session_destroy)(session);
  session = nullptr;
  if (rig->target != nullptr || rig->draft != nullptr) return;
  std::swap(rig, rigs.back());
  rigs.pop_back();
}

int32_t World::fault(int32_t count) {
  const int32_t drawn = in(0, 255);
  return drawn % 8 != 1 ? 0 : 1 + drawn / 8 % count;
}

int64_t World::strange() {
  constexpr int64_t kStrange[] = {-1, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX, int64_t{1} << 62, 1 << 20, -7};
  return kStrange[in(0, 7)];
}

std::vector<int32_t> World::numbers(size_t count, int32_t lowest, int32_t highest) {
  std::vector<int32_t> drawn(count);
  for (int32_t& number : drawn) number = in(lowest, highest);
  return drawn;
}

const std::string& World::folder() const {
  static const Folder instance;
  return instance.path;
}

// None, an error of the right size or a larger one, or one of an invalid size, which is left unwritten.
void World::prepare_error() {
  static constexpr size_t kOwn = sizeof(sidbeam_error), kSizes[] = {kOwn, kOwn + 40, 8, 5000, 0xffffffff};
  const int32_t kind = in(0, 7);
  error_memory_.reset();
  error_ = nullptr;
  if (kind == 1) return;
  const int32_t which = kind < 2 || kind > 5 ? 0 : kind - 1;
  error_is_one_ = which < 2;
  error_memory_ = std::make_unique<Guarded>(std::min(kSizes[which], kOwn + 40), alignof(sidbeam_error));
  const auto claimed = static_cast<uint32_t>(kSizes[which]);
  std::memcpy(error_memory_->data(), &claimed, sizeof claimed);
  error_memory_->keep();
  error_ = reinterpret_cast<sidbeam_error*>(error_memory_->data());
}

void World::check(sidbeam_status status) {
  const bool told = error_ != nullptr && error_is_one_ && status != SIDBEAM_OK;
  if (!expected.allow(status))
    std::fprintf(stderr, "answer %d (%s): %s\n", status, sidbeam_status_name(status), told ? error_->message : "");
  FUZZ_CHECK(expected.allow(status));
  if (error_ != nullptr) FUZZ_CHECK(error_memory_->intact());
  if (error_ != nullptr && !told) FUZZ_CHECK(error_memory_->untouched());
  if (told) {
    FUZZ_CHECK(error_->code == status);
    FUZZ_CHECK(std::memchr(error_->message, 0, sizeof error_->message) != nullptr);
    FUZZ_CHECK(is_line(error_->message));
    const uint8_t* bytes = error_memory_->data();
    FUZZ_CHECK(std::all_of(bytes + sizeof *error_, bytes + error_memory_->bytes(), [](uint8_t b) { return b == 0; }));
  }
  for (const Guarded* output : outputs) {
    FUZZ_CHECK(output->intact());
    FUZZ_CHECK(status == SIDBEAM_OK || output->untouched());
  }
  expected = {};
}

Claim draw_claim(World& world, const Sizes& sizes, bool output) {
  const size_t own = sizes.own;
  constexpr size_t kNoStruct[] = {5000, 1 << 20, 0x7fffffff, 0xffffffff};
  const int32_t kind = world.in(0, 63);
  if (kind == 1) {  // newer, with nothing in what is new
    const auto more = static_cast<size_t>(8 * world.in(1, 8));
    return {own + more, own + more, 0};
  }
  if (kind == 2) {  // newer, with something there
    if (!output) world.expected.fails(SIDBEAM_UNSUPPORTED);
    return {own + 8, own + 8, 3};
  }
  if (kind == 3) {
    world.expected.fails(SIDBEAM_INVALID_ARGUMENT);
    const auto size = static_cast<size_t>(world.in(0, static_cast<int32_t>(sizes.first) - 1));
    return {size, std::max<size_t>(size, 4), 0};
  }
  if (kind == 4) {
    world.expected.fails(SIDBEAM_INVALID_ARGUMENT);
    return {kNoStruct[world.in(0, 3)], own, 0};
  }
  if (kind == 5 && sizes.may_be_old) return {sizes.first, sizes.first, 0};
  return {own, own, 0};
}

}  // namespace fuzz::abi
