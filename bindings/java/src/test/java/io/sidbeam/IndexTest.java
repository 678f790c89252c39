// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class IndexTest {
  @TempDir
  Path folder;

  @Test
  void looksUpOneAtATime() {
    try (Index index = Fixtures.index()) {
      assertArrayEquals(new int[] {1, 1}, index.sid(3));
      assertEquals(3, index.findSid(1, 1));
      assertEquals(-1, index.findSid(1, 2));
      assertEquals(new Range(0, 2), index.ordinals(0));
      assertEquals(new Range(0, 7), index.ordinals());
      assertEquals(0, index.ordinals(3, 1).count());
      assertArrayEquals(new int[] {0, 1, 2, 3}, index.children().codes());
      assertArrayEquals(new int[] {1, 3}, index.children(0).codes());
      assertFalse(index.children(0).end());
      assertEquals(new Range(6, 8), index.itemRows(6));
      assertArrayEquals(new long[] {60, 70}, index.itemIds(6, 7));
      assertArrayEquals(new long[] {6, 6}, index.itemOrdinals(6, 7));
      assertEquals(7, index.findItem(70, 0));
      refused(Status.INVALID_ARGUMENT, "the ids of this index are integers", () -> index.findItem("70", 0));
      refused(Status.INVALID_ARGUMENT, "ordinal is 7, expected 0..6", () -> index.sid(7));
      refused(Status.INVALID_ARGUMENT, "item_row is 8, expected 0..7", () -> index.itemIds(8));
      refused(Status.INVALID_ARGUMENT, "length is 2, expected 0..1", () -> index.children(0, 1));
    }
  }

  @Test
  void savesAndGivesTheBytesOfItsFile() throws Exception {
    Path first = folder.resolve("first.sidx");
    Path second = folder.resolve("second.sidx");
    try (Index index = Fixtures.index()) {
      index.save(first);
      byte[] bytes = index.toBytes();
      assertArrayEquals(Files.readAllBytes(first), bytes);
      try (Index mapped = Index.open(first, new OpenConfig().verify(Verify.FULL))) {
        assertEquals(index.info().fingerprint(), mapped.info().fingerprint());
        mapped.save(second);
        mapped.save(first); // over the file that it maps
        assertArrayEquals(new int[] {1, 1}, mapped.sid(3));
      }
      assertArrayEquals(bytes, Files.readAllBytes(first));
      assertArrayEquals(bytes, Files.readAllBytes(second));
      refused(Status.IO_ERROR, "No such file or directory", () -> index.save(folder.resolve("none/a.sidx")));
      index.close();
      refused(Status.BAD_STATE, "index is closed", index::toBytes);
      refused(Status.BAD_STATE, "index is closed", () -> index.save(second));
    }
  }

  @Test
  void looksUpManyIntoBuffers() {
    try (Index index = Fixtures.index()) {
      IntBuffer codes = Buffers.ints(4);
      IntBuffer lengths = Buffers.ints(2);
      index.sids(Buffers.longs(new long[] {3, 6}), codes, lengths);
      assertEquals(Buffers.ints(new int[] {1, 1, 3, 3}), codes);
      assertEquals(Buffers.ints(new int[] {2, 2}), lengths);
      LongBuffer ordinals = Buffers.longs(2);
      index.findSids(codes, lengths, ordinals);
      assertEquals(Buffers.longs(new long[] {3, 6}), ordinals);
      refused(Status.INVALID_ARGUMENT, "codes has 3 elements, expected at least 4",
          () -> index.sids(ordinals, codes.duplicate().limit(3), lengths));
      refused(Status.INVALID_ARGUMENT, "codes is read-only", () -> index.sids(ordinals, codes.asReadOnlyBuffer(),
          lengths));
      refused(Status.INVALID_ARGUMENT, "codes is a heap buffer", () -> index.sids(ordinals, IntBuffer.allocate(4),
          lengths));
    }
  }

  @Test
  void saysWhatTheFileHolds() {
    Path file = Fixtures.write(folder.resolve("ä file.sidx"));
    IndexInfo peeked = Index.peek(file);
    try (Index index = Index.open(file, new OpenConfig().residency(Residency.PREFAULT).verify(Verify.FULL))) {
      IndexInfo info = index.info();
      assertEquals(peeked.fingerprint(), info.fingerprint());
      assertEquals(32, info.fingerprint().length());
      assertEquals(7, info.sids());
      assertEquals(8, info.items());
      assertEquals(1, info.collisions());
      assertArrayEquals(new int[] {4, 4}, info.codes());
      assertEquals(info.sectionCount(), index.sections().size());
      assertTrue(index.sections().stream().anyMatch(section -> section.kind().equals("tokens")),
          index.sections().toString());
      index.verify(Verify.FULL);
      assertEquals(0, index.uploaded(0).bytes());
    }
  }

  @Test
  void saysHowFarItWasVerified() {
    Path file = Fixtures.write(folder.resolve("x.sidx"));
    assertEquals(Verify.HEADER, Index.peek(file).verified());
    for (Verify opened : Verify.values()) {
      try (Index index = Index.open(file, new OpenConfig().verify(opened))) {
        assertEquals(opened, index.info().verified());
        for (Verify depth : Verify.values()) {
          index.verify(depth);
          assertEquals(depth.code < opened.code ? opened : depth, index.info().verified());
        }
        index.verify(Verify.HEADER);
        assertEquals(Verify.FULL, index.info().verified());
      }
    }
    try (Index built = Fixtures.index()) {
      assertEquals(Verify.FULL, built.info().verified());
    }
  }

  @Test
  void refusesFilesThatAreNone() throws Exception {
    refused(Status.IO_ERROR, "missing.sidx': No such file", () -> Index.open(folder.resolve("missing.sidx")));
    Path file = folder.resolve("short.sidx");
    Files.writeString(file, "not an index");
    refused(Status.CORRUPT, "short.sidx': file too short", () -> Index.open(file));
    refused(Status.CORRUPT, "short.sidx': file too short", () -> Index.peek(file));
  }

  @Test
  void aReplacedFileIsSeenByWhoOpensItNext() throws Exception {
    Path file = Fixtures.write(folder.resolve("a.sidx"));
    try (Index old = Index.open(file)) {
      try (Builder builder = new Builder(new BuilderConfig(4, 4))) {
        builder.add(new int[] {3, 0});
        builder.write(folder.resolve("b.sidx"));
      }
      Files.move(folder.resolve("b.sidx"), file, StandardCopyOption.ATOMIC_MOVE);
      assertEquals(3, old.findSid(1, 1));
      old.verify(Verify.FULL);
      try (Index fresh = Index.open(file)) {
        assertEquals(1, fresh.info().sids());
      }
    }
  }

  @Test
  void aCopyDoesNotMindThatItsFileIsTruncated() throws Exception {
    Path file = Fixtures.write(folder.resolve("a.sidx"));
    try (Index index = Index.open(file, new OpenConfig().residency(Residency.COPY))) {
      try (RandomAccessFile raw = new RandomAccessFile(file.toFile(), "rw")) {
        raw.setLength(0);
      }
      index.verify(Verify.FULL);
      assertEquals(3, index.findSid(1, 1));
    }
  }

  private ByteBuffer bytes() throws Exception {
    byte[] file = Files.readAllBytes(Fixtures.write(folder.resolve("a.sidx")));
    return Buffers.bytes(file.length).put(0, file);
  }

  @Test
  void opensBytesInPlace() throws Exception {
    ByteBuffer bytes = bytes();
    int lent = Loans.count();
    Session session;
    try (Index index = Index.fromBuffer(bytes, new OpenConfig())) {
      assertEquals(3, index.findSid(1, 1));
      assertEquals(lent + 1, Loans.count());
      session = new Session(new SessionConfig(index));
    }
    assertEquals(lent + 1, Loans.count(), "the session reads them");
    session.close();
    Fixtures.collectUntil(lent); // the cleaner's thread may be about to take it back
    java.lang.ref.Reference.reachabilityFence(session); // it was the close
  }

  @Test
  void opensACopyOfBytesThatMayGo() throws Exception {
    ByteBuffer bytes = bytes();
    ByteBuffer odd = Buffers.bytes(bytes.capacity() + 1).put(1, bytes, 0, bytes.capacity());
    int lent = Loans.count();
    try (Index index = Index.fromBuffer(odd.position(1), new OpenConfig().residency(Residency.COPY))) {
      odd.put(1, new byte[bytes.capacity()]);
      index.verify(Verify.FULL);
      assertEquals(lent, Loans.count());
    }
  }

  @Test
  void refusesBytesThatCannotBeRead() throws Exception {
    ByteBuffer bytes = bytes();
    int lent = Loans.count();
    refused(Status.INVALID_ARGUMENT, "expected a multiple of 64",
        () -> Index.fromBuffer(bytes.slice(1, bytes.capacity() - 1), new OpenConfig()));
    refused(Status.INVALID_ARGUMENT, "heap buffer", () -> Index.fromBuffer(ByteBuffer.allocate(100), new OpenConfig()));
    refused(Status.CORRUPT, "file too short", () -> Index.fromBuffer(bytes.slice(0, 64), new OpenConfig()));
    assertEquals(lent, Loans.count());
  }

  @Test
  void messagesGoToTheSystemsLoggerWhereTheyAreAskedFor() {
    Path file = Fixtures.write(folder.resolve("a.sidx"));
    List<String> messages = Fixtures.logged(() -> {
      try (Runtime runtime = new Runtime(new RuntimeConfig().log(LogLevel.INFO))) {
        Index.open(file).close(); // in the default runtime, which is silent
        Index.open(file, new OpenConfig().runtime(runtime)).close();
      }
    });
    assertEquals(2, messages.size(), messages.toString());
    assertTrue(messages.get(0).startsWith("INFO sidbeam " + Runtime.version()), messages.get(0));
    assertTrue(messages.get(1).startsWith("INFO opened index '" + file), messages.get(1));
  }

  @Test
  void withoutADeviceItSaysSo() {
    try (Index index = Fixtures.index()) {
      SidbeamException e = refused(Status.NO_DEVICE, "the CUDA plugin libsidbeam_cuda.so.1 is missing",
          () -> index.upload(new UploadConfig(0)));
      assertTrue(e.toString().startsWith("io.sidbeam.SidbeamException: no device: "), e.toString());
      index.unload(0);
      refused(Status.NO_DEVICE, "the CUDA plugin libsidbeam_cuda.so.1 is missing",
          () -> new Session(new SessionConfig(index).cuda(0)));
    }
  }
}
