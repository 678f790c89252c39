// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static io.sidbeam.Fixtures.row;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SessionTest {
  private Index index;
  private Session session;

  @BeforeEach
  void open() {
    index = Fixtures.index();
    session = new Session(new SessionConfig(index).beams(2));
  }

  @AfterEach
  void close() {
    session.close();
    index.close();
  }

  @Test
  void findsItemsWithTheirRows() {
    session.start();
    session.step(row(0, 0, 0, 5));
    session.step(row(0, 0, 0, 5));
    Items items = new Items(session, 1, 4);
    session.items(items);
    Beams beams = session.beams();
    assertEquals(2, beams.live(0));
    assertEquals(0, beams.active(0));
    assertEquals(Set.of(), beams.errors(0));
    assertEquals(3, beams.code(0, 0));
    assertEquals(0, beams.parent(0, 0));
    assertEquals(6, items.ordinal(0, 0));
    assertArrayEquals(new int[] {3, 3}, items.sid(0, 0));
    assertArrayEquals(new long[] {6, 7}, items.itemRowsOf(0, 0));
    assertFalse(items.truncated(0));
    session.items(new Items(session, 1, 1));
    assertEquals(2, session.stats().steps());
    assertEquals(2L, session.counters().get("slot_steps"));
    refused(Status.INVALID_ARGUMENT, "slot 0, beam 2 of 1 slots of 2 beams", () -> items.ordinal(0, 2));
    refused(Status.INVALID_ARGUMENT, "slot 1, beam 0", () -> beams.score(1, 0));
  }

  @Test
  void aLimitSaysThatItLeftSomethingOut() {
    session.start();
    session.step(row(0, 0, 0, 5));
    session.step(row(0, 0, 0, 5));
    Items items = new Items(session, 1, 4).limitPerSid(1);
    session.items(items);
    assertArrayEquals(new long[] {6}, items.itemRowsOf(0, 0));
    assertTrue(items.truncated(0));
    refused(Status.BAD_STATE, "itemRows was not asked for", () -> session.items().itemRowsOf(0, 0));
  }

  @Test
  void startsAtPrefixesWidthsAndOtherConstraints() {
    try (Builder builder = new Builder(new BuilderConfig(4, 4))) {
      builder.add(new int[] {1, 2});
      try (Index other = builder.finish(); Constraint constraint = new Constraint(other);
          Session two = new Session(new SessionConfig(index).slots(2).beams(2))) {
        two.start(new Start().constraints(null, constraint).widths(Buffers.ints(new int[] {1, 0}))
            .prefixes(Buffers.ints(new int[] {0, 1}), Buffers.ints(new int[] {1, 1}), 1));
        two.step(Rows.strided(Buffers.floats(4), 2, 2, 4, Rows.BROADCAST, Rows.BROADCAST));
        Items items = two.items();
        assertArrayEquals(new int[] {0, 1}, items.sid(0, 0));
        assertArrayEquals(new int[] {1, 2}, items.sid(1, 0));
        assertEquals(1, two.beams().live(0));
        refused(Status.INVALID_ARGUMENT, "constraints has 1 elements, expected at least 2",
            () -> two.start(new Start().constraints(other)));
      }
    }
  }

  @Test
  void anEndColumnAloneIsAVocabulary() {
    try (Builder builder = new Builder(new BuilderConfig(4, 4).variableLength(true))) {
      builder.add(new int[] {1, 0, 2, 3}, new int[] {1, 2}, null, null);
      try (Index varied = builder.finish();
          Session ending = new Session(new SessionConfig(varied).beams(2).vocabulary(new Vocabulary().endColumn(4)))) {
        ending.start();
        ending.step(row(0, 9, 0, 0, 0));
        ending.step(row(0, 0, 0, 0, 9));
        assertArrayEquals(new int[] {1}, ending.items().sid(0, 0));
        assertEquals(4, ending.beams().code(0, 0));
      }
    }
  }

  @Test
  void logitsOfHalfPrecisionAreReadAsTheyAre() {
    ByteBuffer half = Buffers.bytes(10).position(2);
    for (int c = 0; c < 4; c++) {
      half.putShort(2 + 2 * c, (short) (c == 2 ? 0x4500 : 0)); // 5.0
    }
    session.start();
    session.step(Rows.strided(half, DType.F16, 1, 2, 4, 0, Rows.BROADCAST));
    assertEquals(2, session.beams().code(0, 0));
    refused(Status.INVALID_ARGUMENT, "logits lies at an address that is no multiple of 2, the bytes of BF16",
        () -> Rows.dense(half.position(1), DType.BF16, 1, 1, 4));
  }

  @Test
  void logitsAreReadFromPositionToLimit() {
    session.start();
    FloatBuffer all = Buffers.floats(new float[] {9, 0, 0, 5, 0, 0});
    session.step(Rows.strided(all.position(1).limit(5), 1, 2, 4, 0, Rows.BROADCAST));
    assertEquals(2, session.beams().code(0, 0));
    refused(Status.INVALID_ARGUMENT, "logits has 4 elements, too few for 1 x 2 rows of 4 columns with strides",
        () -> session.step(Rows.dense(all.position(1).limit(5), 1, 2, 4)));
  }

  @Test
  void refusesBuffersThatItCannotReadInPlace() {
    refused(Status.INVALID_ARGUMENT, "logits is a heap buffer, expected a direct one",
        () -> Rows.dense(FloatBuffer.allocate(8), 1, 2, 4));
    refused(Status.INVALID_ARGUMENT, "logits is in BIG_ENDIAN order, expected LITTLE_ENDIAN",
        () -> Rows.dense(ByteBuffer.allocateDirect(32).asFloatBuffer(), 1, 2, 4));
    refused(Status.INVALID_ARGUMENT, "logits is in BIG_ENDIAN order",
        () -> Rows.dense(ByteBuffer.allocateDirect(32), DType.F32, 1, 2, 4));
    refused(Status.INVALID_ARGUMENT, "logits is null", () -> Rows.dense(null, 1, 2, 4));
    refused(Status.INVALID_ARGUMENT, "slots is a heap buffer", () -> new Start().slots(IntBuffer.allocate(1)));
    refused(Status.INVALID_ARGUMENT, "lse is in BIG_ENDIAN order",
        () -> new Step(row(0)).lse(ByteBuffer.allocateDirect(4).asFloatBuffer()));
    ByteBuffer odd = Buffers.bytes(9).position(1).slice().order(ByteOrder.nativeOrder());
    refused(Status.INVALID_ARGUMENT, "slots lies at an address that is no multiple of 4, the bytes of an element",
        () -> new Start().slots(odd.asIntBuffer()));
    ByteBuffer half = Buffers.bytes(12).position(4).slice().order(ByteOrder.nativeOrder());
    refused(Status.INVALID_ARGUMENT, "ordinals lies at an address that is no multiple of 8, the bytes of an element",
        () -> new Items(session, 1, 0, half.asLongBuffer(), null, null, null, null, null));
    refused(Status.INVALID_ARGUMENT, "logits has no address", () -> Rows.dense(
        ((ByteBuffer) Native.java_view(0, 0)).order(ByteOrder.nativeOrder()), DType.F32, 1, 2, 4));
    refused(Status.INVALID_ARGUMENT, "ordinals is read-only",
        () -> new Items(session, 1, 0, Buffers.longs(2).asReadOnlyBuffer(), null, null, null, null, null));
  }

  @Test
  void refusesAddressesOfADeviceOnTheCpu() {
    DevicePointer device = new DevicePointer(4096, 100);
    session.start();
    Step step = new Step(row(0, 0, 0, 0));
    refused(Status.INVALID_ARGUMENT, "lse is in a device's memory, expected a buffer",
        () -> session.step(step.lse(device)));
    step.lse((DevicePointer) null);
    refused(Status.INVALID_ARGUMENT, "slots is in a device's memory", () -> session.step(step.slots(device)));
    refused(Status.INVALID_ARGUMENT, "an array of items is in a device's memory",
        () -> session.items(new Items(session, 1, 1, null, device, null, null, null, null)));
    refused(Status.NO_DEVICE, "the device of logits is 1, expected CPU (0)",
        () -> session.step(Rows.device(device, 0, DType.F32, 1, 2, 4, 0, Rows.BROADCAST)));
    refused(Status.INVALID_ARGUMENT, "address other than 0", () -> new DevicePointer(0, 1));
    try (ConstraintSet set = new ConstraintSet(new ConstraintSetConfig(index))) {
      refused(Status.INVALID_ARGUMENT, "the constraint set is on the CPU",
          () -> set.bitmask(null, device, 1, device, 0));
      refused(Status.INVALID_ARGUMENT, "the constraint set is on the CPU",
          () -> set.topK(null, device, row(0), Normalization.FULL, 1, device, device, null, 0));
    }
  }

  @Test
  void refusesShapesThatOverflow() {
    refused(Status.INVALID_ARGUMENT, "are more than any memory holds",
        () -> Rows.dense(Buffers.floats(4), 1, 1L << 40, 1L << 40));
    session.start();
    refused(Status.INVALID_ARGUMENT, "too few for",
        () -> session.step(Rows.strided(Buffers.floats(4), 1, 1L << 40, 4, 0, 1L << 40)));
    refused(Status.INVALID_ARGUMENT, "the number of columns of logits is -4, expected 0..",
        () -> session.step(Rows.strided(Buffers.floats(4), 1, 2, -4, 0, 0)));
  }

  @Test
  void refusesBuffersThatAreTooShort() {
    session.start();
    refused(Status.INVALID_ARGUMENT, "row_map has 1 elements, expected at least 2",
        () -> session.step(new Step(Rows.dense(Buffers.floats(8), 0, 2, 4)).rowMap(Buffers.ints(1))));
    refused(Status.INVALID_ARGUMENT, "lse has 1 elements, expected at least 2",
        () -> session.step(new Step(Rows.dense(Buffers.floats(8), 1, 2, 4)).lse(Buffers.floats(1))));
    refused(Status.INVALID_ARGUMENT, "widths has 0 elements, expected at least 1",
        () -> session.start(new Start().slots(Buffers.ints(1)).widths(Buffers.ints(0))));
    refused(Status.INVALID_ARGUMENT, "ordinals has 1 elements, expected at least 2",
        () -> session.items(new Items(session, 1, 0, Buffers.longs(1), null, null, null, null, null)));
    refused(Status.INVALID_ARGUMENT, "items are for sessions of 2 beams", () -> {
      try (Session other = new Session(new SessionConfig(index).beams(3))) {
        other.items(new Items(session, 1, 0));
      }
    });
  }

  @Test
  void refusesStepsAtTheWrongTime() {
    IntBuffer slot = Buffers.ints(1);
    refused(Status.BAD_STATE, "which is not started", () -> session.step(new Step(row(0, 0, 0, 0)).slots(slot)));
    refused(Status.BAD_STATE, "no slot is started, expected one to step", () -> session.step(row(0, 0, 0, 0)));
    session.start();
    session.step(row(0, 0, 0, 0));
    session.stop(0);
    assertEquals(-1, session.beams().level().get(0));
    refused(Status.INVALID_ARGUMENT, "slots[0] is 1, expected 0..0", () -> session.stop(1));
    refused(Status.INVALID_ARGUMENT, "count is 2, expected 0..1",
        () -> session.start(new Start().slots(Buffers.ints(2))));
    refused(Status.INVALID_ARGUMENT, "beams is 0, expected 1..4096",
        () -> new Session(new SessionConfig(index).beams(0)));
    refused(Status.MISSING_SECTION, "expected an index built with kinds sorted",
        () -> new Session(new SessionConfig(index).strategy(Strategy.SORTED)));
    refused(Status.BAD_STATE, "the session is on the CPU", session::deviceBeams);
  }

  @Test
  void aStepThatIsMadeOnceAllocatesNothing() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    Step step = new Step(row(0, 0, 0, 5)).lse(Buffers.floats(2));
    Start start = new Start();
    long most = 0;
    for (int i = 0; i < 1000; i++) {
      session.start(start);
      long before = threads.getCurrentThreadAllocatedBytes();
      session.step(step);
      session.step(step);
      most = Math.max(most, i < 10 ? 0 : threads.getCurrentThreadAllocatedBytes() - before);
    }
    assertEquals(0, most, "bytes allocated by two steps");
  }

  @Test
  void notANumberFlagsItsSlot() {
    session.start();
    session.step(row(0, Float.NaN, 0, 0));
    assertEquals(Set.of(SlotError.BAD_ROW), session.beams().errors(0));
    session.start();
    assertEquals(Set.of(), session.beams().errors(0));
  }

  @Test
  void viewsAreMadeOnceAndFollowTheSession() {
    Beams beams = session.beams();
    assertSame(beams, session.beams());
    assertSame(beams, session.fetch(0));
    FloatBuffer scores = beams.scores();
    assertEquals(Float.NEGATIVE_INFINITY, scores.get(0));
    session.start();
    assertEquals(0, scores.get(0));
    assertTrue(scores.isDirect());
    assertThrows(ReadOnlyBufferException.class, () -> scores.put(0, 1));
  }

  @Test
  void aRuntimeOfItsOwnGivesTheSame() {
    try (Runtime runtime = new Runtime(new RuntimeConfig().threads(1).stepThreads(2).cpuTarget("baseline"));
        Session other = new Session(new SessionConfig(index).runtime(runtime).beams(2))) {
      Rows rows = row(1, 2, 3, 4);
      for (Session s : new Session[] {session, other}) {
        s.start();
        s.step(rows);
        s.step(rows);
      }
      assertEquals(session.beams().scores(), other.beams().scores());
      refused(Status.UNSUPPORTED, "cpu_target is \"neon\", expected baseline",
          () -> new Runtime(new RuntimeConfig().cpuTarget("neon")));
      refused(Status.UNSUPPORTED, "cpu_target is \"no-such\"",
          () -> new Runtime(new RuntimeConfig().cpuTarget("no-such")));
    }
  }

  @Test
  void versionsAndNamesAreThoseOfTheLibrary() {
    assertEquals(1, Runtime.abiVersion());
    assertTrue(Runtime.version().matches("\\d+\\.\\d+\\.\\d+"), Runtime.version());
    assertFalse(Runtime.cpuTarget().isEmpty());
    for (Status status : Status.values()) {
      assertEquals(Text.out(Native.sidbeam_status_name(status.code)), status.toString());
    }
    assertEquals(Status.UNKNOWN, SidbeamException.of(99, new byte[0]).status());
    assertEquals(99, SidbeamException.of(99, new byte[0]).code());
  }

  /** The score of slot 1 after a step. */
  private static float stepped(Session session, Start start, Step step) {
    session.start(start);
    session.step(step);
    return session.beams().score(1, 0);
  }

  @Test
  void aSlotsTemperatureIsThatOfItsSteps() {
    try (Session two = new Session(new SessionConfig(index).slots(2))) {
      Rows rows = Rows.strided(Buffers.floats(new float[] {3, 9, 2, 1}), 2, 1, 4, Rows.BROADCAST, 0);
      float plain = stepped(two, new Start(), new Step(rows));
      float half = stepped(two, new Start(), new Step(rows).inverseTemperature(0.5f));
      Start slots = new Start().inverseTemperatures(Buffers.floats(new float[] {1, 0.5f}));
      assertEquals(half, stepped(two, slots, new Step(rows)));
      assertTrue(half < plain, half + " and " + plain);
      Step own = new Step(rows).inverseTemperatures(Buffers.floats(new float[] {0, 1}));
      assertEquals(plain, stepped(two, slots, own));
    }
  }

  @Test
  void aConstraintTellsWhatAHostNeeds() {
    try (Constraint constraint = new Constraint(index)) {
      ConstraintInfo info = constraint.info();
      assertEquals(2, info.levels());
      assertArrayEquals(new int[] {4, 4}, info.codes());
      assertEquals(index.info().fingerprint(), info.fingerprint());
    }
  }
}
