// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

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

  static byte[] in(Path path, String name) {
    return in(Buffers.given(path, name).toString(), name);
  }

  static byte[] in(Path path) {
    return in(path, "path");
  }

  /** Texts one after the other: text i is bytes[offsets[i] .. offsets[i + 1]). */
  record Joined(byte[] bytes, long[] offsets) {
    /** The names of so many pairs. */
    Joined ofPairs(int count) {
      if (offsets != null && offsets.length != count + 1) {
        throw SidbeamException.invalid("names has " + (offsets.length - 1) + " elements, expected " + count);
      }
      return this;
    }
  }

  static Joined join(List<String> texts, String name) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    long[] offsets = new long[texts.size() + 1];
    for (int i = 0; i < texts.size(); i++) {
      bytes.writeBytes(Buffers.given(texts.get(i), name + "[" + i + "]").getBytes(StandardCharsets.UTF_8));
      offsets[i + 1] = bytes.size();
    }
    return new Joined(bytes.toByteArray(), offsets);
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
