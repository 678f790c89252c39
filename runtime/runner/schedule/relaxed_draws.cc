// SPDX-License-Identifier: Apache-2.0
#include "runner/schedule/relaxed_draws.h"

#include "support/error.h"

namespace sidbeam::runner {

// Memory of one call: all of it is free again once what was taken has been given back.
struct RelaxedDraws::Arena {
  Buffer<char> memory;
  int64_t used = 0, taken = 0;

  static void* allocate(void* context, int64_t bytes, int64_t alignment) {
    auto& arena = *static_cast<Arena*>(context);
    const int64_t begin = (arena.used + alignment - 1) / alignment * alignment;
    if (begin + bytes > arena.memory.size()) return nullptr;
    arena.used = begin + bytes;
    ++arena.taken;
    return arena.memory.data() + begin;
  }
  static void release(void* context, void* /*memory*/, int64_t /*bytes*/, int64_t /*alignment*/) {
    auto& arena = *static_cast<Arena*>(context);
    if (--arena.taken == 0) arena.used = 0;
  }
};

void RelaxedDraws::ArenaDeleter::operator()(Arena* arena) const { delete arena; }

RelaxedDraws::RelaxedDraws(const Allocator& allocator, int64_t most) : arena_(new Arena) {
  // What the core takes for a verification: three doubles per extension, and an index per draft. (If it took more, a
  // request with the longest list would end as OUT_OF_MEMORY.)
  constexpr int64_t kOfExtension = 3 * sizeof(double), kOfDrafts = SIDBEAM_MAX_BEAMS * sizeof(int64_t);
  constexpr int64_t kAlignments = int64_t{4} * 4096;
  arena_->memory = Buffer<char>(allocator, checked_bytes(most, kOfExtension) + kOfDrafts + kAlignments);
  sidbeam_allocator arena = SIDBEAM_ALLOCATOR_INIT;
  arena.context = arena_.get();
  arena.allocate = Arena::allocate;
  arena.release = Arena::release;
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  config.allocator = &arena;
  sidbeam_runtime* made = nullptr;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(sidbeam_runtime_create(&config, &made, &error), error);
  runtime_.reset(made);
}

int64_t RelaxedDraws::memory_bytes() const { return arena_->memory.bytes(); }

int32_t RelaxedDraws::draw(const DrawKey& key, const Distribution& from, int32_t draws, int64_t* extensions) {
  if (from.count == 0) return 0;
  sidbeam_relaxed_draw_args args = SIDBEAM_RELAXED_DRAW_ARGS_INIT;
  args.draws = draws;
  args.count = from.count;
  args.log_probs = from.log_probs;
  args.without_replacement = key.without_replacement ? 1 : 0;
  args.seed = key.seed;
  args.request = key.request;
  args.level = key.level;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(sidbeam_relaxed_draw(runtime_.get(), &args, extensions, &error), error);
  int32_t drawn = 0;
  while (drawn < draws && extensions[drawn] >= 0) ++drawn;
  return drawn;
}

int32_t RelaxedDraws::verify(const DrawKey& key, const Distribution& target, const float* draft, const int64_t* drafts,
                             int32_t draft_count, int32_t beams, int64_t* extensions) {
  sidbeam_relaxed_verify_args args = SIDBEAM_RELAXED_VERIFY_ARGS_INIT;
  args.beams = beams;
  args.count = target.count;
  args.target = target.log_probs;
  args.draft = draft;
  args.drafts = drafts;
  args.draft_count = draft_count;
  args.without_replacement = key.without_replacement ? 1 : 0;
  args.seed = key.seed;
  args.request = key.request;
  args.level = key.level;
  sidbeam_relaxed_beams out = SIDBEAM_RELAXED_BEAMS_INIT;
  out.extensions = extensions;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(sidbeam_relaxed_verify(runtime_.get(), &args, &out, &error), error);
  return out.live;
}

}  // namespace sidbeam::runner
