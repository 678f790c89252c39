// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * Draft heads, steps from hidden states and speculation on CUDA, on the emulator of tests/gpu, against the CPU. Nothing
 * here has run on a GPU.
 */
class EmulatedModelsTest {
  private static final Path PLUGIN = Path.of(System.getProperty("sidbeam.test.plugin")).toAbsolutePath();

  @TempDir
  Path folder;

  private final Random random = new Random(3);
  private final long stream = EmulatedDevice.stream();
  private Runtime runtime;

  @BeforeEach
  void open() {
    runtime = new Runtime(new RuntimeConfig().cudaLibrary(PLUGIN));
  }

  @AfterEach
  void close() {
    runtime.close();
  }

  /** Multiples of a quarter. */
  private float[] quarters(int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (random.nextInt(13) - 6) / 4f;
    }
    return values;
  }

  private static float[] floats(FloatBuffer buffer) {
    float[] values = new float[buffer.remaining()];
    buffer.get(buffer.position(), values);
    return values;
  }

  private static int[] ints(IntBuffer buffer) {
    int[] values = new int[buffer.remaining()];
    buffer.get(buffer.position(), values);
    return values;
  }

  /** A copy on the device of dense floats. */
  private static Rows there(Rows rows) {
    DevicePointer logits = EmulatedDevice.floats(floats((FloatBuffer) rows.memory));
    return Rows.device(logits, 0, DType.F32, rows.slots, rows.rows, rows.columns, 0, 0);
  }

  private static int[] ints(DevicePointer array) {
    return ints(EmulatedDevice.read(array, Integer.BYTES).asIntBuffer());
  }

  private static float[] floats(DevicePointer array) {
    return floats(EmulatedDevice.read(array, Float.BYTES).asFloatBuffer());
  }

  private static void capture(long stream, Runnable calls) {
    assertTrue(EmulatedDevice.capture(stream, false));
    try {
      calls.run();
    } finally {
      assertTrue(EmulatedDevice.capture(stream, true));
    }
  }

  private Index index(int codes, int count, Kind... kinds) {
    try (Builder builder = new Builder(new BuilderConfig(codes, codes, codes).runtime(runtime).kinds(kinds))) {
      builder.add(new Random(1).ints(3L * count, 0, codes).toArray());
      return builder.finish();
    }
  }

  private static void same(Drafts expected, DeviceDrafts got) {
    assertArrayEquals(expected.live(), ints(got.live()));
    assertArrayEquals(expected.errors(), ints(got.errors()));
    assertArrayEquals(expected.sids(), ints(got.sids()));
    assertArrayEquals(expected.scores(), floats(got.scores()), 1e-4f);
    ByteBuffer ordinals = EmulatedDevice.read(got.ordinals(), Long.BYTES);
    for (int i = 0; i < expected.ordinals().length; i++) {
      assertEquals(expected.ordinals()[i], ordinals.getLong(i * Long.BYTES));
    }
  }

  private DraftHead head() {
    Path file = folder.resolve("head.sdraft");
    DraftHead.write(file, new DraftTest().weights(DType.F32));
    return DraftHead.open(file);
  }

  private DraftConfig drafts(DraftHead head, Index index) {
    return new DraftConfig(head, index).runtime(runtime).requests(3).beams(DraftTest.BEAMS);
  }

  private Rows states(int requests) {
    float[] states = quarters(requests * (DraftTest.LEVELS + 1) * DraftTest.HIDDEN);
    return Rows.dense(Buffers.floats(states), requests, DraftTest.LEVELS + 1, DraftTest.HIDDEN);
  }

  @Test
  @EnabledIfSystemProperty(named = "sidbeam.test.model", matches = ".+")
  void draftsAreThoseOfTheCpu() {
    Rows hidden = states(3);
    Rows onDevice = there(hidden);
    for (DraftVerification verification : new DraftVerification[] {DraftVerification.TRIE, DraftVerification.HASH}) {
      Kind kind = verification == DraftVerification.TRIE ? Kind.TRIE : Kind.HASH;
      try (DraftHead head = head(); Index index = index(DraftTest.CODES, 100, kind);
          Index few = index(DraftTest.CODES, 2, kind);
          DraftDecoder here = new DraftDecoder(drafts(head, index).verification(verification));
          DraftDecoder there = new DraftDecoder(drafts(head, index).verification(verification).cuda(0))) {
        same(here.run(hidden), there.runOn(onDevice, null, null, stream));
        Constrainer[] mixed = {null, few, few};
        int[] widths = {1, 0, 1};
        refused(Status.BAD_STATE, "expected Index.upload() before",
            () -> there.runOn(onDevice, mixed, widths, stream));
        few.upload(new UploadConfig(0).kinds(kind));
        there.startOn(onDevice, mixed, widths, stream);
        same(here.run(hidden, mixed, widths), there.decodeOn(onDevice, stream));
      }
    }
  }

  @Test
  @EnabledIfSystemProperty(named = "sidbeam.test.model", matches = ".+")
  void draftsOfAnotherDeviceAreRefused() {
    Rows hidden = states(1);
    Rows onDevice = there(hidden);
    try (DraftHead head = head(); Index index = index(DraftTest.CODES, 100, Kind.TRIE);
        DraftDecoder here = new DraftDecoder(drafts(head, index));
        DraftDecoder there = new DraftDecoder(drafts(head, index).cuda(0))) {
      refused(Status.BAD_STATE, "drafts are on a device: runOn()", () -> there.run(hidden));
      refused(Status.NO_DEVICE, "the device of hidden is 1", () -> here.run(onDevice));
      refused(Status.NO_DEVICE, "the device of hidden is 0 and device_id 0, expected CUDA",
          () -> there.runOn(hidden, null, null, stream));
      refused(Status.UNSUPPORTED, "draft decoder is on the CPU, expected one on a device",
          () -> here.runOn(onDevice, null, null, stream));
      refused(Status.NO_DEVICE, "device_id is 7", () -> new DraftDecoder(drafts(head, index).cuda(7)));
      there.runOn(onDevice, null, null, stream);
      capture(stream, () -> {
        refused(Status.BAD_STATE, "being captured", () -> there.runOn(onDevice, null, null, stream));
        there.decodeOn(onDevice, stream);
      });
      there.close();
      refused(Status.BAD_STATE, "draft decoder is closed", () -> there.runOn(onDevice, null, null, stream));
    }
  }

  private static final int CODES = 7;
  private static final int WIDTH = 20;
  private static final int SLOTS = 2;
  private static final int BEAMS = 4;

  private Session session(Index index, boolean onDevice) {
    SessionConfig config = new SessionConfig(index).runtime(runtime).slots(SLOTS).beams(BEAMS)
        .normalization(Normalization.VALID);
    Session session = new Session(onDevice ? config.cuda(0) : config);
    session.start(new Start().stream(stream));
    return session;
  }

  private static Rows rows(float[] values) {
    return Rows.dense(Buffers.floats(values), SLOTS, BEAMS, WIDTH);
  }

  private static void same(Session here, Session there) {
    DeviceBeams got = there.deviceBeams();
    assertArrayEquals(ints(here.beams().codes()), ints(got.codes()));
    assertArrayEquals(ints(here.beams().parents()), ints(got.parents()));
    assertArrayEquals(ints(here.beams().level()), ints(got.level()));
    assertArrayEquals(floats(here.beams().scores()), floats(got.scores()), 1e-4f);
  }

  @Test
  @EnabledIfSystemProperty(named = "sidbeam.test.model", matches = ".+")
  void hiddenStepsAreThoseOfTheCpu() {
    float[] bias = quarters(CODES);
    Rows weights = Rows.dense(Buffers.floats(quarters(CODES * WIDTH)), 0, CODES, WIDTH);
    for (HiddenPath path : new HiddenPath[] {HiddenPath.CHILDREN, HiddenPath.PRODUCT}) {
      try (Index index = index(CODES, 60, Kind.TRIE); Session here = session(index, false);
          Session there = session(index, true); OutputLayer layer = new OutputLayer(weights, bias, 0);
          OutputLayer layerThere = OutputLayer.device(there(weights), EmulatedDevice.floats(bias), 0);
          HiddenStep byHand = new HiddenStep(here, layer, path, 0);
          HiddenStep hidden = new HiddenStep(there, layerThere, path, 0)) {
        Rows states = rows(quarters(SLOTS * BEAMS * WIDTH));
        byHand.step(new Step(states).inverseTemperature(0.5f));
        hidden.step(new Step(there(states)).inverseTemperature(0.5f).stream(stream));
        same(here, there);
        int[] rowMap = {6, 5, 4, 3};
        float[] lse = quarters(SLOTS * BEAMS);
        Rows flat = Rows.dense((FloatBuffer) states.memory, 0, SLOTS * BEAMS, WIDTH);
        byHand.step(new Step(flat).slots(Buffers.ints(new int[] {1})).rowMap(Buffers.ints(rowMap))
            .lse(Buffers.floats(lse)));
        Step step = new Step(there(flat)).slots(EmulatedDevice.ints(1)).rowMap(EmulatedDevice.ints(rowMap))
            .lse(EmulatedDevice.floats(lse)).stream(stream);
        hidden.step(step);
        same(here, there);
        assertEquals(path == HiddenPath.PRODUCT, hidden.stats().productSlots() > 0);
        long products = hidden.stats().productSlots();
        capture(stream, () -> hidden.step(step, HiddenPath.PRODUCT));
        same(here, there); // nothing was launched
        assertEquals(3, hidden.stats().steps());
        assertEquals(products + 1, hidden.stats().productSlots());
      }
    }
  }

  @Test
  @EnabledIfSystemProperty(named = "sidbeam.test.model", matches = ".+")
  void hiddenStatesOfAnotherDeviceAreRefused() {
    Status invalid = Status.INVALID_ARGUMENT;
    Rows weights = Rows.dense(Buffers.floats(CODES * WIDTH), 0, CODES, WIDTH);
    Rows weightsThere = there(weights);
    refused(invalid, "bias is memory of the host", () -> new OutputLayer(weightsThere, new float[CODES], 0));
    refused(invalid, "bias has 3 elements, expected 7",
        () -> OutputLayer.device(weightsThere, EmulatedDevice.floats(1, 2, 3), 0));
    Rows states = rows(new float[SLOTS * BEAMS * WIDTH]);
    try (Index index = index(CODES, 60, Kind.TRIE); Session here = session(index, false);
        Session there = session(index, true); OutputLayer layer = new OutputLayer(weights);
        OutputLayer layerThere = new OutputLayer(weightsThere); HiddenStep byHand = new HiddenStep(here, layer);
        HiddenStep hidden = new HiddenStep(there, layerThere)) {
      refused(Status.UNSUPPORTED, "session is on CUDA, expected one on the CPU",
          () -> new HiddenStep(there, layer));
      refused(Status.UNSUPPORTED, "session is elsewhere, expected one on CUDA device 0",
          () -> new HiddenStep(here, layerThere));
      refused(Status.NO_DEVICE, "the device of hidden is 0, expected CUDA (1)", () -> hidden.step(new Step(states)));
      refused(Status.NO_DEVICE, "the device of hidden is 1", () -> byHand.step(new Step(there(states))));
      refused(invalid, "slots is memory of the host",
          () -> hidden.step(new Step(there(states)).slots(Buffers.ints(new int[] {0, 1}))));
      refused(invalid, "slots is in a device's memory, expected a buffer",
          () -> byHand.step(new Step(states).slots(EmulatedDevice.ints(0, 1))));
      same(here, there);
    }
  }

  @Test
  void strictRoundsArePlainSearch() {
    SpeculationTest.Host host = new SpeculationTest.Host(4);
    try (Index index = SpeculationTest.index(runtime, 4, 3)) {
      // Rows that are not normalized give the same bits anywhere.
      SessionConfig config = new SessionConfig(index).runtime(runtime).slots(SpeculationTest.SLOTS).beams(3)
          .normalization(Normalization.NONE);
      try (Session alone = new Session(config); Session target = new Session(config.cuda(0));
          Session draft = new Session(config.beams(5));
          Speculation speculation = new Speculation(runtime, target, draft, 2, stream)) {
        refused(Status.INVALID_ARGUMENT, "draft is on", () -> new Speculation(runtime, alone, draft, 2));
        for (Session session : new Session[] {alone, target, draft}) {
          session.start(new Start().stream(stream));
        }
        host.plain(alone);
        capture(stream, () -> refused(Status.BAD_STATE, "being captured", speculation::begin));
        speculate(speculation, new SpeculationTest.Host(4));
        DeviceBeams got = target.deviceBeams();
        assertArrayEquals(ints(alone.beams().codes()), ints(got.codes()));
        assertArrayEquals(floats(alone.beams().scores()), floats(got.scores()));
      }
    }
  }

  private void speculate(Speculation speculation, SpeculationTest.Host host) {
    while (speculation.begin() > 0) {
      SpeculationTree tree = speculation.tree();
      for (; !tree.isComplete(); tree = speculation.tree()) {
        speculation.draft().step(new Step(there(host.rows(tree, true))).stream(stream)
            .slots(EmulatedDevice.ints(ints(tree.draftSlots()))).rowMap(EmulatedDevice.ints(ints(tree.draftNodes()))));
        speculation.add();
      }
      Rows rows = host.rows(tree, false);
      refused(Status.NO_DEVICE, "the device of logits is 0", () -> speculation.verify(rows));
      speculation.verify(there(rows));
    }
  }

  /** The sums of log-probabilities of level 0 that are given, on the device. */
  @Test
  void sumsOfAVerificationAreTheDevices() {
    try (Index index = SpeculationTest.index(runtime, 4, 3);
        Session target = new Session(new SessionConfig(index).runtime(runtime).beams(3).cuda(0));
        Session draft = new Session(new SessionConfig(index).runtime(runtime).beams(3).cuda(0));
        Speculation speculation = new Speculation(runtime, target, draft, 1)) {
      target.start();
      draft.start();
      assertEquals(1, speculation.begin());
      Rows rows = Rows.dense(Buffers.floats(new float[] {5, 4, 3, 2, 1, 0}), 0, 1, SpeculationTest.CODES);
      refused(Status.INVALID_ARGUMENT, "lse is memory of the host",
          () -> speculation.verify(there(rows), Buffers.floats(1)));
      speculation.verifyOn(there(rows), EmulatedDevice.floats(5));
      assertArrayEquals(new float[] {0, -1, -2}, floats(target.deviceBeams().scores()));
      refused(Status.INVALID_ARGUMENT, "lse is in a device's memory, expected a buffer", () -> onTheCpu(index));
    }
  }

  private static void onTheCpu(Index index) {
    try (Session target = new Session(new SessionConfig(index)); Session draft = new Session(new SessionConfig(index));
        Speculation speculation = new Speculation(target, draft, 1)) {
      speculation.verifyOn(Rows.dense(Buffers.floats(6), 0, 1, 6), new DevicePointer(64, 1));
    }
  }
}
