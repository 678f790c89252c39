/* How slots of a start, or logits rows of a stateless call, are sampled. See flat.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_SAMPLING_H
#define SIDBEAM_FLAT_SAMPLING_H

/* Fills `out` from the arrays of sidbeam_sampling, each [count] or none; draws [count, draw_stride], where a stride of
 * 0 is `rows`. Returns 1 if there is one to pass: without any array there is none, as mode SEARCH wants it. */
static inline int fl_sampling(flat_in_i64 seeds, flat_in_i64 requests, flat_in_i64 draws, int64_t draw_stride,
                              flat_in_i32 top_ks, flat_in_f32 top_ps, flat_in_f32 noise_scales, int64_t count,
                              int64_t rows, sidbeam_sampling* out, sidbeam_error* err) {
  const int64_t stride = draw_stride > 0 ? draw_stride : rows;
  if (!FLAT_NEED(err, seeds, count) || !FLAT_NEED(err, requests, count) ||
      !FLAT_NEED(err, draws, fl_product(count, stride)) || !FLAT_NEED(err, top_ks, count) ||
      !FLAT_NEED(err, top_ps, count) || !FLAT_NEED(err, noise_scales, count))
    return 0;
  out->seeds = seeds.data;
  out->requests = requests.data;
  out->draws = draws.data;
  out->draw_stride = draw_stride;
  out->top_ks = top_ks.data;
  out->top_ps = top_ps.data;
  out->noise_scales = noise_scales.data;
  return seeds.data != NULL || requests.data != NULL || draws.data != NULL || draw_stride != 0 || top_ks.data != NULL ||
         top_ps.data != NULL || noise_scales.data != NULL;
}

#endif
