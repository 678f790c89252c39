// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Loads the native part and tells where it was mapped from, or what went wrong; run by ProcessTest. */
final class LoadProgram {
  private LoadProgram() {}

  public static void main(String[] arguments) throws IOException {
    try {
      System.out.println("version " + Runtime.version());
    } catch (UnsatisfiedLinkError e) {
      System.out.println(e.getMessage());
      System.exit(1);
    }
    Files.readAllLines(Path.of("/proc/self/maps")).stream().filter(line -> line.contains("libsidbeam"))
        .forEach(System.out::println);
  }
}
