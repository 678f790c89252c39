// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * Numbers from begin up to, not including, end.
 *
 * @param begin the first
 * @param end one after the last; equal to begin where there are none
 */
public record Range(long begin, long end) {
  /**
   * How many there are.
   *
   * @return end - begin
   */
  public long count() {
    return end - begin;
  }
}
