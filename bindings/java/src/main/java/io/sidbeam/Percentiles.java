// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.time.Duration;

/**
 * Percentiles of a time, to 4 %.
 *
 * @param p50 the median
 * @param p90 of a hundred, 10 took longer
 * @param p99 of a hundred, one took longer
 * @param p999 of a thousand, one took longer
 */
public record Percentiles(Duration p50, Duration p90, Duration p99, Duration p999) {
  static Percentiles of(long[] n, int place) {
    return new Percentiles(Result.ofMicros(n[place]), Result.ofMicros(n[place + 1]), Result.ofMicros(n[place + 2]),
        Result.ofMicros(n[place + 3]));
  }
}
