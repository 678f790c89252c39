// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The CUDA paths, on the emulator of tests/gpu, which refuses to read the host's memory as a device's.
 * Nothing here has run on a GPU.
 */
class EmulatedDeviceTest {
  private static final Path PLUGIN = Path.of(System.getProperty("sidbeam.test.plugin")).toAbsolutePath();

  private Runtime runtime;
  private Index index;
  private Session session;

  @BeforeEach
  void open() {
    runtime = new Runtime(new RuntimeConfig().cudaLibrary(PLUGIN));
    try (Builder builder = Fixtures.builder(new BuilderConfig(4, 4).runtime(runtime))) {
      index = builder.finish();
    }
    session = new Session(new SessionConfig(index).runtime(runtime).beams(2).cuda(0));
  }

  @AfterEach
  void close() {
    session.close();
    index.close();
    runtime.close();
  }

  private static Rows rows(float... logits) {
    return Rows.device(EmulatedDevice.floats(logits), 0, DType.F32, 1, 2, logits.length, 0, Rows.BROADCAST);
  }

  private static ByteBuffer read(DevicePointer array, int width) {
    return EmulatedDevice.read(array, width);
  }

  @Test
  void aSessionStaysOnItsDevice() {
    assertEquals(Set.of(Kind.TRIE), index.uploaded(0).kinds());
    assertTrue(index.uploaded(0).bytes() > 0);
    session.start(new Start().widths(Buffers.ints(new int[] {2})));
    DevicePointer slots = EmulatedDevice.ints(0);
    session.step(new Step(rows(0, 0, 0, 5)).slots(slots));
    session.step(new Step(rows(0, 0, 0, 5)));
    DeviceBeams beams = session.deviceBeams();
    assertEquals(3, read(beams.codes(), 4).getInt(0));
    assertEquals(2, read(beams.live(), 4).getInt(0));
    assertEquals(0, read(beams.active(), 4).getInt(0));
    assertEquals(2, read(beams.level(), 4).getInt(0));
    assertEquals(0, read(beams.errors(), 4).getInt(0));
    Beams fetched = session.fetch(0);
    float score = read(beams.scores(), 4).getFloat(0); // waits for the device
    assertEquals(score, fetched.score(0, 0));
    assertEquals(3, fetched.code(0, 0));
    assertEquals(read(beams.parents(), 4).getInt(0), fetched.parent(0, 0));
    assertEquals(read(beams.states(), 8).getLong(0), fetched.states().get(0));
    DevicePointer ordinals = EmulatedDevice.longs(-7, -7);
    session.items(new Items(session, 1, 0, ordinals, null, null, null, null, null));
    assertEquals(6, read(ordinals, 8).getLong(0));
    assertEquals(2, session.stats().steps());
    session.stop(Buffers.ints(1), 0);
    session.close();
    assertEquals(3, fetched.code(0, 0), "pinned memory lives as long as its views");
  }

  @Test
  void rowMapsAndLogSumExpsAreTheDevices() {
    session.start();
    Rows rows = Rows.device(EmulatedDevice.floats(3, 9, 2, 1, 1, 1, 4, 2), 0, DType.F32, 0, 2, 4, 0, 4);
    session.step(new Step(rows).rowMap(EmulatedDevice.ints(1, -1)).lse(EmulatedDevice.floats(5, 7)));
    ByteBuffer scores = read(session.deviceBeams().scores(), 4);
    assertEquals(-3, scores.getFloat(0));
    assertEquals(-5, scores.getFloat(4));
  }

  @Test
  void memoryOfTheHostIsRefused() {
    session.start();
    refused(Status.INVALID_ARGUMENT, "lse is memory of the host",
        () -> session.step(new Step(rows(0, 0, 0, 5)).lse(Buffers.floats(2))));
    refused(Status.NO_DEVICE, "the device of logits is 0, expected CUDA (1)",
        () -> session.step(Fixtures.row(0, 0, 0, 5)));
    refused(Status.BAD_STATE, "the session's beams are on a device", session::beams);
  }

  @Test
  void aConstraintSetStaysOnItsDevice() {
    try (ConstraintSet set = new ConstraintSet(new ConstraintSetConfig(index).runtime(runtime).cuda(0))) {
      DevicePointer states = EmulatedDevice.longs(9, 9);
      set.prefixes(null, EmulatedDevice.ints(0, 1), 1, EmulatedDevice.ints(1, 1), states, 0);
      DevicePointer words = EmulatedDevice.ints(-1, -1);
      set.bitmask(null, states, 1, words, 0);
      assertEquals(0b1010, read(words, 4).getInt(0));
      assertEquals(0b0011, read(words, 4).getInt(4));
      DevicePointer logits = EmulatedDevice.floats(9, 1, 9, 2, 1, 2, 3, 4);
      Rows rows = Rows.device(logits, 0, DType.F32, 0, 2, 4, 0, 4);
      DevicePointer codes = EmulatedDevice.ints(-7, -7);
      DevicePointer next = EmulatedDevice.longs(-7, -7);
      set.topK(null, states, rows, Normalization.FULL, 1, codes, EmulatedDevice.floats(0, 0), next, 0);
      assertEquals(3, read(codes, 4).getInt(0));
      assertEquals(1, read(codes, 4).getInt(4));
      set.mask(null, states, rows, 0);
      assertEquals(Float.NEGATIVE_INFINITY, read(logits, 4).getFloat(0));
      DevicePointer after = EmulatedDevice.longs(-7, -7);
      set.advance(null, states, null, codes, after, 0);
      assertEquals(read(next, 8), read(after, 8));
    }
  }
}
