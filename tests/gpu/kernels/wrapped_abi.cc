// The C ABI as the differential test calls it (linked with --wrap): sessions are those of the emulated device, and
// where CPU and device promise the same bits the CPU's session does the same and all arrays are compared.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "emulated_session.h"
#include "library.h"

using gpu_test::EmulatedSession;

extern "C" {
sidbeam_status __real_sidbeam_session_create(sidbeam_runtime*, const sidbeam_session_config*, sidbeam_session**,
                                             sidbeam_error*);
sidbeam_status __real_sidbeam_session_start(sidbeam_session*, const sidbeam_start_args*, sidbeam_error*);
sidbeam_status __real_sidbeam_session_step(sidbeam_session*, const sidbeam_step_args*, sidbeam_error*);
sidbeam_status __real_sidbeam_session_stop(sidbeam_session*, const int32_t*, int64_t, void*, sidbeam_error*);
sidbeam_status __real_sidbeam_session_get_beams(const sidbeam_session*, sidbeam_beams*, sidbeam_error*);
sidbeam_status __real_sidbeam_session_get_stats(const sidbeam_session*, sidbeam_stats*, sidbeam_error*);
sidbeam_status __real_sidbeam_session_get_items(const sidbeam_session*, const int32_t*, int64_t, sidbeam_items*,
                                                sidbeam_error*);
void __real_sidbeam_session_destroy(sidbeam_session*);
}

namespace {

std::map<const sidbeam_session*, std::unique_ptr<EmulatedSession>>& sessions() {
  static std::map<const sidbeam_session*, std::unique_ptr<EmulatedSession>> all;
  return all;
}
EmulatedSession& of(const sidbeam_session* session) { return *sessions().at(session); }

// Whether the device promises the CPU's bits for a step.
bool bits_are_promised(const sidbeam_session& session, const sidbeam_step_args& args) {
  return args.lse != nullptr || session.normalization == SIDBEAM_NORMALIZE_NONE;
}

void compare(const sidbeam_session* session) {
  sidbeam_beams cpu = SIDBEAM_BEAMS_INIT, device = SIDBEAM_BEAMS_INIT;
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  differential::expect(__real_sidbeam_session_get_beams(session, &cpu, &err) == SIDBEAM_OK, "get_beams failed");
  device = cpu;
  of(session).get_beams(device);
  for (int32_t slot = 0; slot < cpu.slots; ++slot) {
    const auto at = static_cast<size_t>(slot);
    differential::expect_same(differential::snapshot(device, at), differential::snapshot(cpu, at), true,
                              "device and CPU, slot " + std::to_string(slot));
  }
}

}  // namespace

extern "C" {

sidbeam_status __wrap_sidbeam_session_create(sidbeam_runtime* runtime, const sidbeam_session_config* config,
                                             sidbeam_session** out, sidbeam_error* err) {
  const sidbeam_status status = __real_sidbeam_session_create(runtime, config, out, err);
  if (status == SIDBEAM_OK) sessions()[*out] = std::make_unique<EmulatedSession>(**out);
  return status;
}

void __wrap_sidbeam_session_destroy(sidbeam_session* session) {
  sessions().erase(session);
  __real_sidbeam_session_destroy(session);
}

sidbeam_status __wrap_sidbeam_session_start(sidbeam_session* session, const sidbeam_start_args* args,
                                            sidbeam_error* err) {
  const sidbeam_status status = __real_sidbeam_session_start(session, args, err);
  if (status == SIDBEAM_OK) of(session).start(*session, *args);
  if (status == SIDBEAM_OK && of(session).followed) compare(session);
  return status;
}

sidbeam_status __wrap_sidbeam_session_step(sidbeam_session* session, const sidbeam_step_args* args,
                                           sidbeam_error* err) {
  EmulatedSession& device = of(session);
  device.followed = device.followed && bits_are_promised(*session, *args);
  device.step(*session, *args);
  if (!device.followed) return SIDBEAM_OK;
  const sidbeam_status status = __real_sidbeam_session_step(session, args, err);
  if (status == SIDBEAM_OK) compare(session);
  return status;
}

sidbeam_status __wrap_sidbeam_session_stop(sidbeam_session* session, const int32_t* slots, int64_t count, void* stream,
                                           sidbeam_error* err) {
  of(session).stop(slots, count);
  return __real_sidbeam_session_stop(session, slots, count, stream, err);
}

sidbeam_status __wrap_sidbeam_session_get_beams(const sidbeam_session* session, sidbeam_beams* out,
                                                sidbeam_error* err) {
  const sidbeam_status status = __real_sidbeam_session_get_beams(session, out, err);
  if (status == SIDBEAM_OK) of(session).get_beams(*out);
  return status;
}

sidbeam_status __wrap_sidbeam_session_get_stats(const sidbeam_session* session, sidbeam_stats* out,
                                                sidbeam_error* err) {
  const sidbeam_status status = __real_sidbeam_session_get_stats(session, out, err);
  if (status == SIDBEAM_OK) of(session).get_stats(*out);
  return status;
}

sidbeam_status __wrap_sidbeam_session_get_items(const sidbeam_session* session, const int32_t* slots, int64_t count,
                                                sidbeam_items* out, sidbeam_error* err) {
  sidbeam_items unwanted = SIDBEAM_ITEMS_INIT;  // checks the arguments
  unwanted.limit = out->limit;
  unwanted.limit_per_sid = out->limit_per_sid;
  const sidbeam_status status = __real_sidbeam_session_get_items(session, slots, count, &unwanted, err);
  if (status == SIDBEAM_OK) of(session).get_items(*session, slots, count, *out);
  return status;
}

}  // extern "C"
