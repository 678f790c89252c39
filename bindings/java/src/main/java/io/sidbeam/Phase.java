// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** What a build, the reading of a catalogue file before it, or a compaction is doing: see {@link Builder.Progress}. */
public enum Phase {
  /** Sorting the pairs. */
  SORT(Native.SIDBEAM_PHASE_SORT),
  /** Counting what the index will hold. */
  SCAN(Native.SIDBEAM_PHASE_SCAN),
  /** Writing sections. */
  EMIT(Native.SIDBEAM_PHASE_EMIT),
  /** Computing checksums. */
  CHECKSUM(Native.SIDBEAM_PHASE_CHECKSUM),
  /** Syncing the file to the disk. */
  SYNC(Native.SIDBEAM_PHASE_SYNC),
  /** Reading a catalogue file to learn what is in it. */
  SURVEY(Native.SIDBEAM_PHASE_SURVEY),
  /** Reading a catalogue file into a builder. */
  READ(Native.SIDBEAM_PHASE_READ),
  /** Gathering the pairs of a live catalogue, before they are built. */
  GATHER(Native.SIDBEAM_PHASE_GATHER),
  /** Writing the base of a live catalogue, after it was built. */
  WRITE(Native.SIDBEAM_PHASE_WRITE);

  final int code;

  Phase(int code) {
    this.code = code;
  }

  static Phase of(long code) {
    for (Phase value : values()) {
      if (value.code == code) {
        return value;
      }
    }
    throw new SidbeamException(Status.UNSUPPORTED, "phase " + code + " came with a newer library");
  }
}
