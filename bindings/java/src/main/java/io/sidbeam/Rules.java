// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * Which items of an index a request may find: those that are in the filter, are not excluded and, where there is a list
 * of allowed ones, are in that. Setters return this.
 */
public final class Rules {
  Filter filter;
  ItemList excluded;
  ItemList allowed;

  /** No rules: all items. */
  public Rules() {}

  /**
   * The items that may be shown.
   *
   * @param filter of the index; null: all items
   * @return this
   */
  public Rules filter(Filter filter) {
    this.filter = filter;
    return this;
  }

  /**
   * Items that are left out, such as those that a user has seen.
   *
   * @param excluded null: none
   * @return this
   */
  public Rules exclude(ItemList excluded) {
    this.excluded = excluded;
    return this;
  }

  /**
   * The items that alone may come.
   *
   * @param allowed null: no such list; an empty one allows nothing
   * @return this
   */
  public Rules allow(ItemList allowed) {
    this.allowed = allowed;
    return this;
  }
}
