// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * Arrays of a {@link DraftDecoder} on its CUDA device, at fixed addresses as long as the decoder is open; the next run
 * gives them new contents. Shapes and meaning are those of {@link Drafts}, for as many requests as the run had.
 *
 * @param decoder whose arrays they are; held
 * @param live int32 [n] SIDs found
 * @param errors int32 [n] flags of {@link SlotError}
 * @param sids int32 [n, M, L] codes; -1 where there is no SID
 * @param scores float [n, M] log-probabilities, falling; -inf where there is no SID
 * @param ordinals int64 [n, M] in the request's index; -1: no SID, or none that exists
 */
public record DeviceDrafts(DraftDecoder decoder, DevicePointer live, DevicePointer errors, DevicePointer sids,
    DevicePointer scores, DevicePointer ordinals) {
  static DeviceDrafts of(DraftDecoder decoder, long[] at, long requests, int beams, int levels) {
    long all = requests * beams;
    return new DeviceDrafts(decoder, new DevicePointer(at[Native.FLAT_DRAFTS_LIVE], requests),
        new DevicePointer(at[Native.FLAT_DRAFTS_ERRORS], requests),
        new DevicePointer(at[Native.FLAT_DRAFTS_SIDS], all * levels),
        new DevicePointer(at[Native.FLAT_DRAFTS_SCORES], all), new DevicePointer(at[Native.FLAT_DRAFTS_ORDINALS], all));
  }
}
