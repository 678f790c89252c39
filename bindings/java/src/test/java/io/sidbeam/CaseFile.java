// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.io.IOException;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Reads the cases that all languages share; tests/bindings/README.md has the format. */
final class CaseFile {
  /** A line: its type, and its values as they stand there. */
  private record Field(String type, String[] values) {}

  /** A record; absent fields are null, which is also how calls are given none. */
  static final class Record {
    final String kind;
    final int line;
    private final Map<String, Field> fields = new HashMap<>();

    private Record(String kind, int line) {
      this.kind = kind;
      this.line = line;
    }

    boolean has(String name) {
      return fields.containsKey(name);
    }

    long[] longs(String name) {
      Field field = fields.get(name);
      return field == null ? null : Arrays.stream(field.values).mapToLong(Long::parseLong).toArray();
    }

    int[] ints(String name) {
      Field field = fields.get(name);
      return field == null ? null : Arrays.stream(field.values).mapToInt(Integer::parseInt).toArray();
    }

    /** Floats are written as their bits. */
    int[] bits(String name) {
      Field field = fields.get(name);
      return field == null ? null : Arrays.stream(field.values).mapToInt(Integer::parseUnsignedInt).toArray();
    }

    long number(String name) {
      return Long.parseLong(fields.get(name).values[0]);
    }

    int integer(String name) {
      return Math.toIntExact(number(name));
    }

    float real(String name) {
      return Float.intBitsToFloat(bits(name)[0]);
    }

    List<String> texts(String name) {
      Field field = fields.get(name);
      return field == null ? null
          : Arrays.stream(field.values).map(text -> URLDecoder.decode(text, StandardCharsets.UTF_8)).toList();
    }

    IntBuffer intBuffer(String name) {
      return has(name) ? Buffers.ints(ints(name)) : null;
    }

    LongBuffer longBuffer(String name) {
      return has(name) ? Buffers.longs(longs(name)) : null;
    }

    FloatBuffer floatBuffer(String name) {
      if (!has(name)) {
        return null;
      }
      FloatBuffer buffer = Buffers.floats(bits(name).length);
      int at = 0;
      for (int bits : bits(name)) {
        buffer.put(at++, Float.intBitsToFloat(bits));
      }
      return buffer;
    }

    float[] floats(String name) {
      FloatBuffer buffer = floatBuffer(name);
      float[] values = new float[buffer.remaining()];
      buffer.get(0, values);
      return values;
    }

    DType dtype(String name) {
      return DType.valueOf(fields.get(name).type.toUpperCase(java.util.Locale.ROOT));
    }

    ByteBuffer logits(String name) {
      DType dtype = dtype(name);
      int[] bits = bits(name);
      ByteBuffer buffer = Buffers.bytes(bits.length * dtype.bytes);
      for (int i = 0; i < bits.length; i++) {
        if (dtype == DType.F32) {
          buffer.putInt(4 * i, bits[i]);
        } else {
          buffer.putShort(2 * i, (short) bits[i]);
        }
      }
      return buffer;
    }
  }

  private CaseFile() {}

  static List<Record> read(Path path) throws IOException {
    List<Record> records = new ArrayList<>();
    int number = 0;
    for (String line : Files.readAllLines(path)) {
      number++;
      if (line.startsWith("#")) {
        continue;
      }
      String[] words = line.split(" ");
      String[] values = Arrays.copyOfRange(words, 3, words.length);
      if (values.length != Integer.parseInt(words[2])) {
        throw new IOException(path + ":" + number + ": " + values.length + " values, expected " + words[2]);
      }
      if (words[0].equals("record")) {
        records.add(new Record(values[0], number));
      } else {
        records.get(records.size() - 1).fields.put(words[0], new Field(words[1], values));
      }
    }
    return records;
  }
}
