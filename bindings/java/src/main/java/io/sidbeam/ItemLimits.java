// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * How far a list of items goes, in this order: an item is listed unless {@link #distinct} leaves it out, or else the
 * {@link #cap}, or else a limit.
 */
public final class ItemLimits {
  long perSid;
  long limit;
  boolean distinct;
  long cap;
  byte[] capAttribute;

  /** As many as there are. */
  public ItemLimits() {}

  /**
   * Most item rows of one SID.
   *
   * @param perSid 0 (the default): no limit
   * @return this
   */
  public ItemLimits perSid(long perSid) {
    this.perSid = perSid;
    return this;
  }

  /**
   * Most item rows of all.
   *
   * @param limit 0 (the default): no limit
   * @return this
   */
  public ItemLimits limit(long limit) {
    this.limit = limit;
    return this;
  }

  /**
   * Whether an item that several SIDs have is listed once, with the first of them.
   *
   * @param distinct false (the default): with each of them
   * @return this
   */
  public ItemLimits distinct(boolean distinct) {
    this.distinct = distinct;
    return this;
  }

  /**
   * At most so many item rows per value of an attribute, best first: say 2 of a brand. Null is no value, and of a list
   * each string counts. Rules are inside the search; this is after it, so that a list may come short: {@link
   * ItemRows#cameShort}.
   *
   * @param most 0 (the default): no cap
   * @param attribute of the index, of any type but {@link AttributeType#F32}; null: no cap
   * @return this
   */
  public ItemLimits cap(long most, String attribute) {
    cap = most;
    capAttribute = Text.in(attribute, "attribute");
    return this;
  }
}
