// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** Buffers that indexes borrow, held by number until the library says that it is done with them. */
final class Loans {
  private static final Map<Long, ByteBuffer> LENT = new ConcurrentHashMap<>();
  private static final AtomicLong LAST = new AtomicLong();

  private Loans() {}

  static long lend(ByteBuffer buffer) {
    collect();
    long number = LAST.incrementAndGet();
    LENT.put(number, buffer);
    return number;
  }

  static void takeBack(long number) {
    LENT.remove(number);
  }

  /** Releases buffers that have come back: at each loan, each close and each end of a view. */
  static void collect() {
    if (LENT.isEmpty()) {
      return;
    }
    long[] numbers = new long[16];
    long count;
    do {
      count = Native.flat_returned_loans(numbers);
      for (int i = 0; i < count; i++) {
        takeBack(numbers[i]);
      }
    } while (count == numbers.length);
  }

  /** How many are still lent, for tests. */
  static int count() {
    collect();
    return LENT.size();
  }
}
