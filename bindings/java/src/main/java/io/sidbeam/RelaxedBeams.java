// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * What {@link Relaxed#verify} gives.
 *
 * @param extensions [K] the beams' extensions, then -1
 * @param live beams there are
 * @param accepted drafts that were accepted
 * @param goesOn whether there are beams, all accepted drafts, so that the next level may be verified
 */
public record RelaxedBeams(long[] extensions, int live, int accepted, boolean goesOn) {}
