// SPDX-License-Identifier: Apache-2.0
#include "decode/disc.h"

#include "capi/guard.h"

using namespace sidbeam;
using namespace sidbeam::capi;

extern "C" {

sidbeam_status sidbeam_disc_create(sidbeam_runtime* runtime, const sidbeam_disc_config* config, sidbeam_disc** out,
                                   sidbeam_error* err) {
  return guarded(err, [&] {
    require(runtime, "runtime");
    require(out, "out");
    *out = create_disc(runtime, read_struct(config, "config")).release();
  });
}

sidbeam_status sidbeam_disc_next(sidbeam_disc* disc, int64_t capacity, int64_t* draws, int64_t* count,
                                 sidbeam_error* err) {
  return guarded(err, [&] {
    require(disc, "disc");
    require(count, "count");
    if (capacity > 0) require(draws, "draws");
    *count = next_draws(*disc, capacity, draws);
  });
}

sidbeam_status sidbeam_disc_add(sidbeam_disc* disc, const sidbeam_disc_draws* draws, sidbeam_error* err) {
  return guarded(err, [&] {
    require(disc, "disc");
    const sidbeam_disc_draws copy = read_struct(draws, "draws");
    if (copy.count < 0)
      fail(SIDBEAM_INVALID_ARGUMENT, "draws.count is %lld, expected at least 0", static_cast<long long>(copy.count));
    if (copy.count == 0) return;
    require(copy.draws, "draws.draws");
    require(copy.ordinals, "draws.ordinals");
    require(copy.log_probs, "draws.log_probs");
    require(copy.log_masses, "draws.log_masses");
    add_draws(*disc, copy);
  });
}

sidbeam_status sidbeam_disc_get(const sidbeam_disc* disc, sidbeam_disc_results* out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(disc, "disc");
    get_results(*disc, read_struct(out, "out"));
  });
}

void sidbeam_disc_destroy(sidbeam_disc* disc) { delete disc; }

}  // extern "C"
