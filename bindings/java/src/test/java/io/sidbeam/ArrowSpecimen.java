// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.file.Path;

/** The table of tests/bindings/arrow_specimen.c. */
final class ArrowSpecimen {
  static {
    System.load(Path.of(System.getProperty("sidbeam.test.arrow")).toAbsolutePath().toString());
  }

  private ArrowSpecimen() {}

  /** The address of a new stream; bad: with the code 9 in row 2. */
  static long stream(boolean bad) {
    return stream(bad ? 1 : 0);
  }

  private static native long stream(int bad);

  /** Streams, schemas and arrays that have not been released. */
  static native long alive();
}
