/* sidbeam: drawing SIDs instead of searching for the best: what a draw is, and which random numbers it uses.
 *
 * P is the model: its row after soft-cap and temperature, then top-k, then top-p, normalized over all columns
 * (NORMALIZE_FULL) or the level's codes (LEVEL). All of that comes before the mask. A code is then drawn among the
 * valid ones by P, renormalized over them. With x the product over the levels of the valid codes' mass, a SID a is
 * drawn with probability P(a)/x(a): that is plain constrained sampling, which prefers prefixes that lead to few items.
 * disc.h corrects it (DISC-PPV, Algorithm 1); P(a) is exp(score), x(a) exp(log_mass).
 * With the other normalizations the same codes are drawn, and scores and log_mass are other ones: with VALID those of a
 * P that is restricted to the valid codes already, so that log_mass is 0; with NONE exp of the row stands for P, which
 * makes x a probability only if the row is one of log-probabilities. Where a row is truncated both do what FULL does.
 *
 *   top-k  keeps the k largest x of the row, top-p the fewest largest of these whose mass is at least p of theirs.
 *          Among equal x the lower column is kept (with LEVEL the lower code, and the end last). Elements of -inf are
 *          no part of the row.
 *          A row that is truncated is normalized over what is kept, and a caller's lse for it is not read. Its
 *          columns, and the codes of its level, are at most 2^21; more are INVALID_ARGUMENT, or on CUDA put the slot in
 *          error (SIDBEAM_SLOT_BAD_MAP) and make a stateless call's row bad. Without truncation a row is read once;
 *          top-k and top-p each read it about a dozen times more, on CUDA somewhat fewer, mostly from cache.
 *   dead   A draw is dead (state -1) once no valid code is left: truncation removed them all, or they are -inf. It
 *          stays in its row, counts as a rejected draw, and is no error. Draws from a bad row (session.h) die too, and
 *          every bad row puts its slot in error.
 *   draws  Row m of a slot is one draw for good: beams.parents is m, or 0 for the first codes of a slot, which are all
 *          drawn from the logits row of beam 0. Dead draws lie between live ones; beams.live counts the latter.
 *
 * Random numbers are Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"), keyed by the seed
 * and counted by request, draw and level. A draw is therefore the same on any device and instruction set, in any batch,
 * row, slot or number of threads, and by the stateless form. With weights w of the valid codes in code order, w = 2^42
 * exp(x - largest valid x), rounded to an integer, or 2^38 instead of 2^42 at a level of more than 2^20 codes (the end
 * counted), and u the 64 random bits, the code is the first whose cumulative weight exceeds u * sum / 2^64, rounded
 * down. exp is within 4e-7 relative.
 *
 * Stochastic beams (Kool et al., "Stochastic beams and where to find them") are a search for the M largest
 * G(a) = log-prob(a) + Gumbel noise, which draws M SIDs without replacement by P(a)/x(a). The noise depends on seed,
 * request and the codes alone, not on rows or order. Scores are log-probabilities over the valid codes, as with
 * NORMALIZE_VALID; beams are ordered by perturbed score, which also decides whether a bad row matters. The normalizer
 * of scores, unless lse is that of VALID, is the sum of the weights w above, whose log is within 1e-6 of that of the
 * sum of exp (4e-5 at a level of more than 2^20 codes); a code more than 29.8 (27.0) below the largest valid x adds
 * nothing to it, but stays a candidate. So beams, scores and thresholds have the same bits on any device. The session's
 * normalization is that of P, for log_mass (with VALID itself log_mass is 0), which alone may differ between devices,
 * by the rounding of a normalizer of FULL or LEVEL that is not given.
 * With kappa = thresholds[b], the perturbed score of the best SID that was left out, a SID is in the result with
 * probability q(a) = 1 - exp(-exp(score - kappa)), and sum over the result of exp(score + log_mass) f(a) / q(a) is an
 * unbiased estimate of sum P(a) f(a) over the catalogue. Divided by the same sum with f = 1 it is only consistent.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_SAMPLING_H
#define SIDBEAM_SAMPLING_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a session's beams are. */
enum {
  SIDBEAM_MODE_SEARCH = 0,    /* the best SIDs: session.h */
  SIDBEAM_MODE_SAMPLE = 1,    /* independent draws */
  SIDBEAM_MODE_STOCHASTIC = 2 /* draws without replacement: stochastic beams */
};

/* How the slots of a start, or the logits rows of a stateless call, are sampled. `count` is the number of these. Arrays
 * are borrowed for the call. */
typedef struct sidbeam_sampling {
  uint32_t struct_size; /* sizeof(sidbeam_sampling) */
  /* [count] keys of the random numbers. Needed, both: equal pairs of them draw alike. */
  const int64_t* seeds;
  const int64_t* requests;
  /* [count, draw_stride] number of the draw that each row of a slot makes, 0 .. 2^52 - 1; NULL: 0 .. M-1. Of a
   * stateless call [count], NULL: 0. Not in mode STOCHASTIC. */
  const int64_t* draws;
  int64_t draw_stride; /* elements, at least M, or 0 for M (1 in a stateless call) */
  /* [count] top-k, at least 1, or 0 for none; NULL: none. Not in mode STOCHASTIC. */
  const int32_t* top_ks;
  /* [count] top-p, above 0 and at most 1, which is none; NULL: none. Not in mode STOCHASTIC. */
  const float* top_ps;
  /* [count] what the noise is multiplied by, finite and at least 0; NULL: 1. 0 is the search under NORMALIZE_VALID, bit
   * for bit, with its normalizer: a sum of floats, so that the CPU and CUDA have the same bits only with VALID and its
   * lse given. kappa and q mean something only with 1. Only in mode STOCHASTIC. */
  const float* noise_scales;
} sidbeam_sampling;
#define SIDBEAM_SAMPLING_INIT \
  { (uint32_t)sizeof(sidbeam_sampling), NULL, NULL, NULL, 0, NULL, NULL, NULL }

#ifdef __cplusplus
}
#endif
#endif
