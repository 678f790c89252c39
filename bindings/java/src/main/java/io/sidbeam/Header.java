// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What stands in the header of an index, read through its handle, which the caller keeps. */
final class Header {
  private Header() {}

  static IndexInfo info(long index) {
    long[] numbers = new long[Native.FLAT_INFO_COUNT];
    byte[] fingerprint = new byte[IndexInfo.FINGERPRINT_BYTES];
    Native.flat_index_get_info(index, numbers, fingerprint);
    return IndexInfo.of(numbers, fingerprint);
  }

  static IndexInfo peek(Path path) {
    long[] numbers = new long[Native.FLAT_INFO_COUNT];
    byte[] fingerprint = new byte[IndexInfo.FINGERPRINT_BYTES];
    Native.flat_index_peek(Text.in(path), numbers, fingerprint);
    return IndexInfo.of(numbers, fingerprint);
  }

  static List<Section> sections(long index) {
    return sections(info(index).sectionCount(),
        (i, numbers, kind, encoding) -> Native.flat_index_get_section(index, i, numbers, kind, encoding));
  }

  /** Fills numbers and the bytes of two names with section i. */
  interface SectionReader {
    void read(long i, long[] numbers, byte[] kind, byte[] encoding);
  }

  static List<Section> sections(long count, SectionReader reader) {
    List<Section> sections = new ArrayList<>();
    for (long i = 0; i < count; i++) {
      long[] numbers = new long[4];
      byte[] kind = new byte[64];
      byte[] encoding = new byte[64];
      reader.read(i, numbers, kind, encoding);
      sections.add(new Section(Text.ofBuffer(kind), Text.ofBuffer(encoding), (int) numbers[0], numbers[1], numbers[2],
          numbers[3]));
    }
    return sections;
  }

  static Map<String, String> metadata(long index) {
    int count = info(index).metadataCount();
    Map<String, String> metadata = new LinkedHashMap<>();
    for (int i = 0; i < count; i++) {
      long[] bytes = new long[2];
      Native.flat_index_get_metadata(index, i, bytes, null, null);
      byte[] key = new byte[(int) bytes[0]];
      byte[] value = new byte[(int) bytes[1]];
      Native.flat_index_get_metadata(index, i, bytes, key, value);
      metadata.put(Text.out(key), Text.out(value));
    }
    return metadata;
  }

  static String codebook(long index) {
    byte[] text = new byte[(int) Native.flat_index_codebook(index, null)];
    Native.flat_index_codebook(index, text);
    return Text.out(text);
  }
}
