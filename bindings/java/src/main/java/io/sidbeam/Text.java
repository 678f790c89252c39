// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;

/** Strings on their way through C: UTF-8, with a NUL at the end where they go in. */
final class Text {
  private Text() {}

  static byte[] in(String text, String name) {
    if (text == null) {
      return null;
    }
    if (text.indexOf('\0') >= 0) {
      throw SidbeamException.invalid(name + " holds a NUL character");
    }
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return Arrays.copyOf(bytes, bytes.length + 1);
  }

  static byte[] in(Path path) {
    return in(Buffers.given(path, "path").toString(), "path");
  }

  static String out(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** Up to the first NUL. */
  static String ofBuffer(byte[] bytes) {
    int end = 0;
    while (end < bytes.length && bytes[end] != 0) {
      end++;
    }
    return new String(bytes, 0, end, StandardCharsets.UTF_8);
  }
}
