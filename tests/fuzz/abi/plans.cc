// Plans: of a builder, or of no catalogue at all.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "builders.h"

namespace fuzz::abi {
namespace {

constexpr size_t kMostPlans = 3;

void keep_plan(World& world, sidbeam_plan* plan) {
  if (world.plans.size() >= kMostPlans) return ABI(plan_destroy)(plan);
  world.plans.push_back(plan);
}

sidbeam_plan_info info_of(const sidbeam_plan* plan) {
  sidbeam_plan_info info = SIDBEAM_PLAN_INFO_INIT;
  FUZZ_CHECK(ABI(plan_get_info)(plan, &info, nullptr) == SIDBEAM_OK);
  return info;
}

void describe_plan_section(World& world, const sidbeam_plan* plan, const sidbeam_plan_info& info) {
  const int32_t fault = world.fault(3);
  const int64_t i = fault == 1 ? (world.flip()   ? info.section_count
                                  : world.flip() ? -1
                                                 : INT64_MAX)
                               : world.input.ConsumeIntegralInRange<int64_t>(0, info.section_count - 1);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  OutStruct<sidbeam_section_info> out(world);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(plan_get_section)(fault == 2 ? nullptr : plan, i, fault == 3 ? nullptr : out.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(is_line(out->kind) && is_line(out->encoding) && out->checksum == 0);
  FUZZ_CHECK(out->level >= -1 && out->level < SIDBEAM_MAX_LEVELS);
  FUZZ_CHECK(out->offset > 0 && out->bytes >= 0 && out->offset + out->bytes <= info.file_bytes);
}

}  // namespace

void plan(World& world) {
  if (world.builders.empty()) return;
  Builder& builder = world.any(world.builders);
  const int32_t fault = world.fault(2);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  expect_sorted(world, builder);
  Out<sidbeam_plan*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(builder_plan)(fault == 1 ? nullptr : builder.handle, fault == 2 ? nullptr : out.get(), err);
  });
  note_sorted(builder, status);
  if (status != SIDBEAM_OK) return;
  const sidbeam_plan_info info = info_of(*out);
  FUZZ_CHECK(info.exact == 1 && info.sids > 0 && info.items >= info.sids && info.items <= builder.rows);
  keep_plan(world, *out);
}

void estimate(World& world) {
  Builder builder;
  draw_builder_config(world, builder);
  const int32_t fault = world.fault(11);
  std::vector<int32_t> given = builder.codes;
  spoil_builder_config(world, fault, builder.config, given);
  const Array<int32_t> codes(given);
  builder.config.codes = fault == 9 ? nullptr : codes.get();
  const int64_t sids = fault == 10 ? world.strange() : int64_t{1} << world.in(0, 39);
  if (sids > 1) world.expected.may_fail(SIDBEAM_INVALID_ARGUMENT);
  const In<sidbeam_builder_config> config(world, builder.config);
  Out<sidbeam_plan*> out(world, 1);
  if (fault == 10) {  // some of the strange numbers are counts after all
    world.expected = {};
    world.expected.may_fail(SIDBEAM_INVALID_ARGUMENT);
    world.expected.may_fail(SIDBEAM_UNSUPPORTED);
  }
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(plan_estimate)(config.get(), sids, fault == 11 ? nullptr : out.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  const sidbeam_plan_info info = info_of(*out);
  FUZZ_CHECK(info.exact == 0 && info.sids == sids && info.items == sids);
  keep_plan(world, *out);
}

void describe_plan(World& world) {
  if (world.plans.empty()) return;
  const sidbeam_plan* described = world.any(world.plans);
  const int32_t fault = world.fault(2);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  OutStruct<sidbeam_plan_info> out(world);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(plan_get_info)(fault == 1 ? nullptr : described, fault == 2 ? nullptr : out.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(out->section_count > 0 && out->file_bytes > 0 && out->peak_bytes >= out->file_bytes);
  FUZZ_CHECK(std::all_of(out->nodes, out->nodes + out->levels, [&](int64_t n) { return n >= 0; }));
  describe_plan_section(world, described, *out);
}

void destroy_plan(World& world) {
  if (world.one_in(4)) ABI(plan_destroy)(nullptr);
  if (world.plans.empty()) return;
  sidbeam_plan*& destroyed = world.any(world.plans);
  ABI(plan_destroy)(destroyed);
  std::swap(destroyed, world.plans.back());
  world.plans.pop_back();
}

}  // namespace fuzz::abi
