// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.util.Arrays;
import java.util.Set;

/**
 * What the header of an index says, and how far the rest was checked. Arrays are by level.
 *
 * @param formatMajor of the file
 * @param formatMinor of the file
 * @param levels codes of the longest SID that it may hold
 * @param variableLength whether SIDs may be shorter than that
 * @param shortest codes of the shortest SID that is in it
 * @param longest codes of the longest SID that is in it
 * @param idType type of the ids
 * @param kinds what it holds
 * @param sectionCount sections of the file
 * @param metadataCount entries of metadata
 * @param codes codes of a level, the end not counted
 * @param maxChildren most continuations of a prefix of l codes, the end counted
 * @param nodes distinct prefixes of l + 1 codes
 * @param sids distinct SIDs
 * @param items item rows
 * @param mergedPairs identical (SID, item) pairs that were merged when it was built
 * @param collisions SIDs with more than one item
 * @param maxItemsPerSid most items of one SID
 * @param fileBytes bytes of the file
 * @param fingerprint XXH3-128 of levels, codes, SIDs and items, 32 hexadecimal digits; not of kinds or metadata
 * @param verified depth to which the index was found sound; FULL after a builder's finish, HEADER after a peek
 * @param version of a live {@link Catalog}, whose sids and items count those that have gone too; otherwise 0
 * @param generation of that version; otherwise 0
 * @param liveItems of a version, item rows that have not gone; otherwise items
 */
public record IndexInfo(int formatMajor, int formatMinor, int levels, boolean variableLength, int shortest, int longest,
    IdType idType, Set<Kind> kinds, int sectionCount, int metadataCount, int[] codes, int[] maxChildren, long[] nodes,
    long sids, long items, long mergedPairs, long collisions, long maxItemsPerSid, long fileBytes, String fingerprint,
    Verify verified, long version, long generation, long liveItems) {
  static final int FINGERPRINT_BYTES = 32;

  static IndexInfo of(long[] n, byte[] fingerprint) {
    int levels = (int) n[Native.FLAT_INFO_LEVELS];
    return new IndexInfo((int) n[Native.FLAT_INFO_FORMAT_MAJOR], (int) n[Native.FLAT_INFO_FORMAT_MINOR], levels,
        n[Native.FLAT_INFO_VARIABLE_LENGTH] != 0, (int) n[Native.FLAT_INFO_SHORTEST], (int) n[Native.FLAT_INFO_LONGEST],
        IdType.of(n[Native.FLAT_INFO_ID_TYPE]), BuilderConfig.kinds(n[Native.FLAT_INFO_KINDS]),
        (int) n[Native.FLAT_INFO_SECTION_COUNT], (int) n[Native.FLAT_INFO_METADATA_COUNT],
        ints(n, Native.FLAT_INFO_CODES, levels), ints(n, Native.FLAT_INFO_MAX_CHILDREN, levels),
        Arrays.copyOfRange(n, Native.FLAT_INFO_NODES, Native.FLAT_INFO_NODES + levels), n[Native.FLAT_INFO_SIDS],
        n[Native.FLAT_INFO_ITEMS],
        n[Native.FLAT_INFO_MERGED_PAIRS], n[Native.FLAT_INFO_COLLISIONS], n[Native.FLAT_INFO_MAX_ITEMS_PER_SID],
        n[Native.FLAT_INFO_FILE_BYTES], Text.out(fingerprint), Verify.of(n[Native.FLAT_INFO_VERIFIED]),
        n[Native.FLAT_INFO_VERSION], n[Native.FLAT_INFO_GENERATION], n[Native.FLAT_INFO_LIVE_ITEMS]);
  }

  private static int[] ints(long[] numbers, int begin, int count) {
    return Arrays.stream(numbers, begin, begin + count).mapToInt(number -> (int) number).toArray();
  }

  /** By content, arrays too. */
  @Override
  public boolean equals(Object other) {
    return Records.equal(this, other);
  }

  @Override
  public int hashCode() {
    return Records.hash(this);
  }

  @Override
  public String toString() {
    return Records.text(this);
  }
}
