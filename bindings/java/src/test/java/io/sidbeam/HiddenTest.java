// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** Steps from hidden states, against the product and the ordinary step. */
@EnabledIfSystemProperty(named = "sidbeam.test.model", matches = ".+",
    disabledReason = "the library was built without the runner")
class HiddenTest {
  private static final int LEVELS = 3;
  private static final int CODES = 7;
  private static final int WIDTH = 20;
  private static final int SLOTS = 2;
  private static final int BEAMS = 4;

  private final Random random = new Random(5);
  private final float[] weights = quarters(CODES * WIDTH);
  private final float[] bias = quarters(CODES);
  private Index index;

  @BeforeEach
  void build() {
    try (Builder builder = new Builder(new BuilderConfig(CODES, CODES, CODES))) {
      builder.add(new Random(1).ints(LEVELS * 60, 0, CODES).toArray());
      index = builder.finish();
    }
  }

  @AfterEach
  void close() {
    index.close();
  }

  /** Multiples of a quarter: sums of their products are exact. */
  private float[] quarters(int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (random.nextInt(13) - 6) / 4f;
    }
    return values;
  }

  private float[] product(float[] states) {
    float[] logits = new float[states.length / WIDTH * CODES];
    for (int i = 0; i < logits.length; i++) {
      logits[i] = bias[i % CODES];
      for (int j = 0; j < WIDTH; j++) {
        logits[i] += states[i / CODES * WIDTH + j] * weights[i % CODES * WIDTH + j];
      }
    }
    return logits;
  }

  private Session session(Normalization normalization) {
    Session session = new Session(new SessionConfig(index).slots(SLOTS).beams(BEAMS).normalization(normalization));
    session.start();
    return session;
  }

  private OutputLayer layer() {
    return new OutputLayer(Rows.dense(Buffers.floats(weights), 0, CODES, WIDTH), bias, 0);
  }

  private static Rows rows(float[] values, int columns) {
    return Rows.dense(Buffers.floats(values), SLOTS, BEAMS, columns);
  }

  private static void same(Session expected, Session got) {
    assertEquals(expected.beams().codes(), got.beams().codes());
    assertEquals(expected.beams().parents(), got.beams().parents());
    assertEquals(expected.beams().scores(), got.beams().scores());
    assertEquals(expected.beams().level(), got.beams().level());
  }

  @Test
  void stepsAsProductAndStepDo() {
    ByteBuffer halves = Buffers.bytes(2 * CODES * WIDTH); // bfloat16 in rows that are apart
    ByteBuffer apart = Buffers.bytes(4 * CODES * WIDTH);
    for (int i = 0; i < weights.length; i++) {
      short bits = (short) (Float.floatToIntBits(weights[i]) >>> 16);
      halves.putShort(2 * i, bits);
      apart.putShort(2 * (i / WIDTH * 2 * WIDTH + i % WIDTH), bits);
    }
    Rows[] forms = {Rows.dense(Buffers.floats(weights), 0, CODES, WIDTH),
        Rows.dense(halves, DType.BF16, 0, CODES, WIDTH),
        Rows.strided(apart, DType.BF16, 0, CODES, WIDTH, 0, 2 * WIDTH)};
    for (HiddenPath path : HiddenPath.values()) {
      for (Rows form : forms) {
        try (Session byHidden = session(Normalization.VALID); Session byHand = session(Normalization.VALID);
            OutputLayer layer = new OutputLayer(form, bias, 0);
            HiddenStep hidden = new HiddenStep(byHidden, layer, path, 0)) {
          for (int level = 0; level < LEVELS; level++) {
            float[] states = quarters(SLOTS * BEAMS * WIDTH);
            byHand.step(new Step(rows(product(states), CODES)).inverseTemperature(0.5f));
            hidden.step(new Step(rows(states, WIDTH)).inverseTemperature(0.5f));
            same(byHand, byHidden);
          }
          HiddenStats stats = hidden.stats();
          assertEquals(LEVELS, stats.steps());
          assertEquals((long) LEVELS * SLOTS, stats.childSlots() + stats.unionSlots() + stats.productSlots());
          assertEquals(path == HiddenPath.CHILDREN, path != HiddenPath.FASTEST && stats.productSlots() == 0);
          assertTrue(stats.memoryBytes() > 0 && stats.breakEven() > 0);
          assertEquals(CODES, layer.columns());
          assertEquals(WIDTH, layer.width());
          assertSame(byHidden, hidden.session());
        }
      }
    }
  }

  @Test
  void mapsAndSlotsMeanWhatTheyDoInAStep() {
    float[] states = quarters(SLOTS * BEAMS * WIDTH);
    Rows hiddenRows = Rows.dense(Buffers.floats(states), 0, SLOTS * BEAMS, WIDTH);
    Rows logits = Rows.dense(Buffers.floats(product(states)), 0, SLOTS * BEAMS, CODES);
    try (Session byHidden = session(Normalization.FULL); Session byHand = session(Normalization.FULL);
        HiddenStep hidden = new HiddenStep(byHidden, layer())) {
      int[][] maps = {{7, 3, 1, 5, 0, 2, 4, 6}, {6, 5, 4, 3}};
      for (int i = 0; i < 2; i++) {
        Step step = new Step(hiddenRows).rowMap(Buffers.ints(maps[i]))
            .slots(i == 0 ? null : Buffers.ints(new int[] {1}));
        hidden.step(step);
        byHand.step(step.rows(logits));
        same(byHand, byHidden);
      }
      assertEquals(3, hidden.stats().productSlots());
    }
  }

  @Test
  void childrenAreThoseOfTheIndex() {
    try (Session session = session(Normalization.VALID); Session full = session(Normalization.FULL)) {
      session.step(rows(new float[SLOTS * BEAMS * CODES], CODES));
      ChildColumns found = session.children(new int[] {1}, false);
      for (int m = 0; m < BEAMS; m++) {
        int[] columns = Arrays.copyOfRange(found.columns(), (int) found.offsets()[m],
            (int) found.offsets()[m + 1]);
        assertArrayEquals(index.children(session.beams().code(1, m)).codes(), columns);
      }
      assertEquals(2 * found.columns().length, session.children(null, false).columns().length);
      refused(Status.UNSUPPORTED, "reads more than children", () -> full.children(null, false));
      assertEquals(SLOTS * CODES, full.children(null, true).columns().length);
      refused(Status.INVALID_ARGUMENT, "slots[0] is 2", () -> session.children(new int[] {2}, false));
    }
  }

  @Test
  void whatIsRefusedMovesNothing() {
    Status invalid = Status.INVALID_ARGUMENT;
    float[] states = quarters(SLOTS * BEAMS * WIDTH);
    Session session = session(Normalization.VALID);
    OutputLayer layer = layer();
    HiddenStep hidden = new HiddenStep(session, layer);
    layer.close(); // it is held
    refused(invalid, "the number of columns of hidden is 19, expected 20, the width of the output layer",
        () -> hidden.step(new Step(Rows.strided(Buffers.floats(states), SLOTS, BEAMS, 19, 0, 20))));
    refused(invalid, "the dtype of hidden is 2", () -> hidden.step(
        new Step(Rows.dense(Buffers.bytes(2 * states.length), DType.BF16, SLOTS, BEAMS, WIDTH))));
    refused(invalid, "hidden has 100 elements, too few",
        () -> hidden.step(new Step(Rows.dense(Buffers.floats(100), SLOTS, BEAMS, WIDTH))));
    refused(invalid, "the number of slots of hidden is 1, expected",
        () -> hidden.step(new Step(Rows.dense(Buffers.floats(states), 1, BEAMS, WIDTH))));
    refused(invalid, "softCap is given", () -> hidden.step(new Step(rows(states, WIDTH)).softCap(2)));
    refused(invalid, "row_map has 3 elements, expected at least 8", () -> hidden.step(
        new Step(Rows.dense(Buffers.floats(states), 0, 8, WIDTH)).rowMap(Buffers.ints(3))));
    refused(invalid, "lse has 7 elements, expected at least 8",
        () -> hidden.step(new Step(rows(states, WIDTH)).lse(Buffers.floats(7))));
    refused(invalid, "lse is in a device's memory",
        () -> hidden.step(new Step(rows(states, WIDTH)).lse(new DevicePointer(64, 8))));
    assertEquals(0, session.beams().level().get(0));
    hidden.step(new Step(rows(states, WIDTH)));
    refused(invalid, "expected one of the layer's, 0..1", () -> new HiddenStep(session(Normalization.VALID),
        new OutputLayer(Rows.dense(Buffers.floats(weights), 0, 2, WIDTH)), HiddenPath.CHILDREN, 0)
        .step(new Step(rows(states, WIDTH))));
    refused(Status.UNSUPPORTED, "normalization is 0", () -> new HiddenStep(session(Normalization.FULL), layer(),
        HiddenPath.CHILDREN, 0).step(new Step(rows(states, WIDTH))));
    session.close();
    refused(Status.BAD_STATE, "session is closed", () -> hidden.step(new Step(rows(states, WIDTH))));
    refused(Status.BAD_STATE, "session is closed", () -> new HiddenStep(session, layer()));
    refused(Status.BAD_STATE, "output layer is closed", () -> new HiddenStep(session(Normalization.VALID), layer));
    hidden.close();
    refused(Status.BAD_STATE, "hidden step is closed", () -> hidden.step(new Step(rows(states, WIDTH))));
    refused(Status.BAD_STATE, "hidden step is closed", hidden::stats);
  }

  @Test
  void weightsThatAreNoLayerAreRefused() {
    Status invalid = Status.INVALID_ARGUMENT;
    FloatBuffer some = Buffers.floats(weights);
    refused(invalid, "weights is null", () -> new OutputLayer(null));
    refused(invalid, "weights has 1 slots, expected 0", () -> new OutputLayer(Rows.dense(some, 1, CODES, WIDTH)));
    refused(invalid, "bias has 3 elements, expected 7",
        () -> new OutputLayer(Rows.dense(some, 0, CODES, WIDTH), new float[3], 0));
    refused(invalid, "weights has 140 elements, too few", () -> new OutputLayer(Rows.dense(some, 0, 8, WIDTH)));
    refused(invalid, "width is 0", () -> new OutputLayer(Rows.dense(some, 0, CODES, 0)));
    refused(invalid, "soft_cap is -1", () -> new OutputLayer(Rows.dense(some, 0, CODES, WIDTH), bias, -1));
    refused(invalid, "bias is in a device's memory, expected a buffer",
        () -> OutputLayer.device(Rows.dense(some, 0, CODES, WIDTH), new DevicePointer(64, CODES), 0));
  }
}
