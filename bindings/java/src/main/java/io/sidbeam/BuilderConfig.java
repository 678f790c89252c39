// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** What a {@link Builder} makes; every setter returns this object. */
public final class BuilderConfig {
  final int[] codes;
  Runtime runtime;
  boolean variableLength;
  IdType idType = IdType.I64;
  Set<Kind> kinds = EnumSet.of(Kind.TRIE);
  Collisions collisions = Collisions.KEEP;
  int threads;
  long memoryLimitBytes;
  String codebook;
  long hashSeed;
  boolean allowAttributeLoss;
  boolean keepPriorities;

  /**
   * SIDs of as many codes as are given here: code l is 0 .. codes[l] - 1.
   *
   * @param codes one number per level, 1 .. 255 levels, each 1 .. 2^24; copied
   */
  public BuilderConfig(int... codes) {
    this.codes = Buffers.given(codes, "codes").clone();
  }

  /** The same for the pairs of a file. */
  BuilderConfig fitted(int[] ofFile, boolean lengthsVary, IdType ids) {
    BuilderConfig copy = new BuilderConfig(ofFile);
    copy.runtime = runtime;
    copy.variableLength = lengthsVary;
    copy.idType = ids;
    copy.kinds = kinds;
    copy.collisions = collisions;
    copy.threads = threads;
    copy.memoryLimitBytes = memoryLimitBytes;
    copy.codebook = codebook;
    copy.hashSeed = hashSeed;
    copy.allowAttributeLoss = allowAttributeLoss;
    copy.keepPriorities = keepPriorities;
    return copy;
  }

  /**
   * The runtime that builds.
   *
   * @param runtime null: the default
   * @return this
   */
  public BuilderConfig runtime(Runtime runtime) {
    this.runtime = runtime;
    return this;
  }

  /**
   * Whether SIDs may be shorter than the number of levels.
   *
   * @param variableLength true: SIDs have 1 code or more
   * @return this
   */
  public BuilderConfig variableLength(boolean variableLength) {
    this.variableLength = variableLength;
    return this;
  }

  /**
   * The type of ids.
   *
   * @param idType default {@link IdType#I64}
   * @return this
   */
  public BuilderConfig idType(IdType idType) {
    this.idType = Buffers.given(idType, "idType");
    return this;
  }

  /**
   * What the index holds.
   *
   * @param kinds default {@link Kind#TRIE}
   * @return this
   */
  public BuilderConfig kinds(Kind... kinds) {
    this.kinds = Set.copyOf(List.of(kinds));
    return this;
  }

  /**
   * What to do where items share a SID.
   *
   * @param collisions default {@link Collisions#KEEP}
   * @return this
   */
  public BuilderConfig collisions(Collisions collisions) {
    this.collisions = Buffers.given(collisions, "collisions");
    return this;
  }

  /**
   * Threads of the build.
   *
   * @param threads 1 .. 1024; 0 (the default): the runtime's
   * @return this
   */
  public BuilderConfig threads(int threads) {
    this.threads = threads;
    return this;
  }

  /**
   * Memory that the build may take.
   *
   * @param bytes a build that needs more fails with {@link Status#OUT_OF_MEMORY}; 0 (the default): no limit
   * @return this
   */
  public BuilderConfig memoryLimitBytes(long bytes) {
    memoryLimitBytes = bytes;
    return this;
  }

  /**
   * The name of the codebook (tokenizer) that made the SIDs, kept in the index.
   *
   * @param codebook any text; may be null
   * @return this
   */
  public BuilderConfig codebook(String codebook) {
    this.codebook = codebook;
    return this;
  }

  /**
   * With {@link Kind#HASH}, where strangers choose SIDs: a secret number for the hash set, which the index holds. SIDs
   * chosen to crowd the set make the build fail with {@link Status#INVALID_ARGUMENT}.
   *
   * @param hashSeed 0 (the default): the first of a public list that serves
   * @return this
   */
  public BuilderConfig hashSeed(long hashSeed) {
    this.hashSeed = hashSeed;
    return this;
  }

  /**
   * Whether {@link Builder#write} replaces a file whose owner, mode, access list (ACL) or extended attributes it cannot
   * keep; the attributes that are left grant nobody more than the old file did.
   *
   * @param allow false (the default): it fails with {@link Status#IO_ERROR}
   * @return this
   */
  public BuilderConfig allowAttributeLoss(boolean allow) {
    allowAttributeLoss = allow;
    return this;
  }

  /**
   * Whether the index keeps the priorities, for {@link Index#itemPriorities}. They take nothing where all are equal,
   * and otherwise 2, 4 or 8 bytes an item row, as few as their range allows.
   *
   * @param keep false (the default): it keeps the order alone
   * @return this
   */
  public BuilderConfig keepPriorities(boolean keep) {
    keepPriorities = keep;
    return this;
  }

  int kindBits() {
    return bits(kinds);
  }

  static int bits(Iterable<Kind> kinds) {
    int bits = 0;
    for (Kind kind : kinds) {
      bits |= kind.code;
    }
    return bits;
  }

  static Set<Kind> kinds(long bits) {
    EnumSet<Kind> kinds = EnumSet.noneOf(Kind.class);
    for (Kind kind : Kind.values()) {
      if ((bits & kind.code) != 0) {
        kinds.add(kind);
      }
    }
    return kinds;
  }
}
