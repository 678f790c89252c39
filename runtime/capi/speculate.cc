// SPDX-License-Identifier: Apache-2.0
#include "decode/speculate.h"

#include "capi/guard.h"
#include "decode/relaxed.h"

using namespace sidbeam;
using namespace sidbeam::capi;

extern "C" {

sidbeam_status sidbeam_speculation_create(sidbeam_runtime* runtime, const sidbeam_speculation_config* config,
                                          sidbeam_speculation** out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(runtime, "runtime");
    require(out, "out");
    *out = create_speculation(runtime, read_struct(config, "config")).release();
  });
}

sidbeam_status sidbeam_speculation_begin(sidbeam_speculation* speculation, const int32_t* slots, int64_t count,
                                         int64_t* active, sidbeam_error* err) {
  return guarded(err, [&] {
    require(speculation, "speculation");
    require(active, "active");
    *active = begin_round(*speculation, slots, count);
  });
}

sidbeam_status sidbeam_speculation_get_tree(const sidbeam_speculation* speculation, sidbeam_speculation_tree* out,
                                            sidbeam_error* err) {
  return guarded(err, [&] {
    require(speculation, "speculation");
    check_output(out, "out");
    write_struct(tree_of(*speculation), out);
  });
}

sidbeam_status sidbeam_speculation_add(sidbeam_speculation* speculation, sidbeam_error* err) {
  return guarded(err, [&] {
    require(speculation, "speculation");
    add_drafted(*speculation);
  });
}

sidbeam_status sidbeam_speculation_get_mask(const sidbeam_speculation* speculation, uint8_t* mask, int64_t columns,
                                            sidbeam_error* err) {
  return guarded(err, [&] {
    require(speculation, "speculation");
    require(mask, "mask");
    fill_mask(*speculation, mask, columns);
  });
}

sidbeam_status sidbeam_speculation_verify(sidbeam_speculation* speculation, const sidbeam_speculation_verify_args* args,
                                          sidbeam_error* err) {
  return guarded(err, [&] {
    require(speculation, "speculation");
    sidbeam_speculation_verify_args copy = read_struct(args, "args");
    const sidbeam_rows rows = read_struct(copy.rows, "args.rows");
    copy.rows = &rows;
    verify_round(*speculation, copy);
  });
}

sidbeam_status sidbeam_speculation_get_stats(const sidbeam_speculation* speculation, sidbeam_speculation_stats* out,
                                             sidbeam_error* err) {
  return guarded(err, [&] {
    require(speculation, "speculation");
    check_output(out, "out");
    write_struct(speculation->stats, out);
  });
}

sidbeam_status sidbeam_relaxed_draw(sidbeam_runtime* runtime, const sidbeam_relaxed_draw_args* args, int64_t* drafts,
                                    sidbeam_error* err) {
  return guarded(err, [&] {
    require(runtime, "runtime");
    const sidbeam_relaxed_draw_args copy = read_struct(args, "args");
    require(copy.log_probs, "args.log_probs");
    require(drafts, "drafts");
    draw_extensions(runtime->allocator, copy, drafts);
  });
}

sidbeam_status sidbeam_relaxed_verify(sidbeam_runtime* runtime, const sidbeam_relaxed_verify_args* args,
                                      sidbeam_relaxed_beams* out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(runtime, "runtime");
    const sidbeam_relaxed_verify_args copy = read_struct(args, "args");
    require(copy.target, "args.target");
    require(copy.draft, "args.draft");
    if (copy.draft_count > 0) require(copy.drafts, "args.drafts");
    sidbeam_relaxed_beams beams = read_struct(out, "out");
    require(beams.extensions, "out.extensions");
    verify_extensions(runtime->allocator, copy, beams);
    out->live = beams.live;
    out->accepted = beams.accepted;
    out->goes_on = beams.goes_on;
  });
}

void sidbeam_speculation_destroy(sidbeam_speculation* speculation) { delete speculation; }

}  // extern "C"
