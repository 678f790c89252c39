// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.sidbeam.CaseFile.Record;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** The same beams as C, on the cases that the oracle decided. */
class CasesTest {
  private final List<Index> indexes = new ArrayList<>();
  private Session session;
  private ConstraintSet set;
  private Disc disc;
  private Record now;

  @Test
  void givesWhatCGave() throws Exception {
    List<Record> records = CaseFile.read(Path.of(System.getProperty("sidbeam.test.cases")));
    String name = "";
    for (Record record : records) {
      now = record;
      name = record.kind.equals("case") ? String.join(" ", record.texts("line")) : name;
      try {
        replay(record.kind);
      } catch (Throwable e) {
        throw new AssertionError("case " + name + ", line " + record.line + " (" + record.kind + "): " + e, e);
      }
    }
    end();
    assertTrue(records.size() > 100, "few cases: " + records.size());
  }

  private void replay(String kind) {
    switch (kind) {
      case "case" -> end();
      case "index" -> index();
      case "session" -> session();
      case "start", "step", "stop" -> {
        call(kind);
        checkBeams();
      }
      case "items" -> call(kind);
      case "refused" -> {
        SidbeamException e = assertThrows(SidbeamException.class, () -> call(now.texts("call").get(0)));
        assertEquals(now.integer("want_code"), e.code());
        assertEquals(Messages.inJava(now.texts("want_message").get(0)), e.getMessage());
        checkBeams();
      }
      case "set" -> set = new ConstraintSet(new ConstraintSetConfig(constraints()).vocabulary(vocabulary()));
      case "prefixes" -> prefixes();
      case "advance" -> advance();
      case "mask" -> mask();
      case "bitmask" -> bitmask();
      case "topk" -> topK();
      case "sample" -> sample();
      case "disc" -> disc();
      case "disc_next" -> assertArrayEquals(now.longs("want_draws"), disc.next(now.integer("capacity")));
      case "disc_add" -> disc.add(now.longs("draws"), now.longs("ordinals"), now.floats("log_probs"),
          now.floats("log_masses"));
      case "disc_get" -> discGet();
      default -> fail("unknown kind of record: " + kind);
    }
  }

  private void call(String call) {
    switch (call) {
      case "start" -> start();
      case "step" -> step();
      case "stop" -> stop();
      default -> items();
    }
  }

  /** Closed in an order that a collector might choose: a used object before its users. */
  private void end() {
    indexes.forEach(Index::close);
    indexes.clear();
    if (session != null) {
      session.close();
      session = null;
    }
    if (set != null) {
      set.close();
      set = null;
    }
    if (disc != null) {
      disc.close();
      disc = null;
    }
  }

  private static <E> E at(E[] values, int i) {
    return values[i];
  }

  private void index() {
    BuilderConfig config = new BuilderConfig(now.ints("codes")).variableLength(now.integer("variable_length") != 0)
        .idType(at(IdType.values(), now.integer("id_type"))).collisions(at(Collisions.values(),
            now.integer("collisions")))
        .kinds(BuilderConfig.kinds(now.number("kinds")).toArray(new Kind[0]));
    try (Builder builder = new Builder(config)) {
      if (now.has("names")) {
        builder.addNamed(now.ints("sids"), now.ints("lengths"), now.texts("names"), now.longs("priorities"));
      } else {
        builder.add(now.intBuffer("sids"), now.intBuffer("lengths"), now.longBuffer("ids"),
            now.longBuffer("priorities"));
      }
      indexes.add(builder.finish());
    }
    checkIndex(indexes.get(indexes.size() - 1));
  }

  private void checkIndex(Index index) {
    IndexInfo info = index.info();
    assertEquals(now.integer("want_levels"), info.levels());
    assertEquals(now.integer("want_shortest"), info.shortest());
    assertEquals(now.integer("want_longest"), info.longest());
    assertEquals(now.integer("want_kinds"), BuilderConfig.bits(info.kinds()));
    assertEquals(now.number("want_sids"), info.sids());
    assertEquals(now.number("want_items"), info.items());
    assertEquals(now.number("want_merged_pairs"), info.mergedPairs());
    assertEquals(now.number("want_collisions"), info.collisions());
    assertEquals(now.number("want_max_items_per_sid"), info.maxItemsPerSid());
    long[] rows = LongStream.range(0, info.items()).toArray();
    assertArrayEquals(now.longs("want_ordinals"), index.itemOrdinals(rows));
    if (now.has("want_names")) {
      assertEquals(now.texts("want_names"), index.itemNames(rows));
    } else {
      assertArrayEquals(now.longs("want_ids"), index.itemIds(rows));
    }
  }

  private Vocabulary vocabulary() {
    Vocabulary vocabulary = new Vocabulary();
    if (now.has("offsets")) {
      vocabulary.offsets(now.longs("offsets"));
    }
    if (now.has("map_codes")) {
      int[] counts = Arrays.stream(now.longs("map_codes")).mapToInt(Math::toIntExact).toArray();
      int[] all = now.has("maps") ? now.ints("maps") : new int[0];
      int[][] maps = new int[counts.length][];
      int used = 0;
      for (int l = 0; l < counts.length; used += counts[l], l++) {
        maps[l] = counts[l] == 0 ? null : Arrays.copyOfRange(all, used, used + counts[l]);
      }
      vocabulary.maps(maps);
    }
    return now.has("end_column") ? vocabulary.endColumn(now.number("end_column")) : vocabulary;
  }

  private void session() {
    session = new Session(new SessionConfig(indexes.get(0)).slots(now.integer("slots")).beams(now.integer("beams"))
        .strategy(at(Strategy.values(), now.integer("strategy")))
        .normalization(at(Normalization.values(), now.integer("normalization"))).topK(now.integer("top_k"))
        .logProbsPromised(now.integer("log_probs_promised") != 0).vocabulary(vocabulary())
        .mode(at(Mode.values(), now.integer("mode"))));
    checkBeams();
  }

  private Constrainer[] constraints() {
    int[] asked = now.ints("indexes");
    return asked == null ? null
        : Arrays.stream(asked).mapToObj(i -> i < 0 ? null : indexes.get(i)).toArray(Constrainer[]::new);
  }

  private void stop() {
    if (now.has("slots")) {
      session.stop(now.ints("slots"));
    } else {
      session.stopAll();
    }
  }

  private void start() {
    Start start = new Start().slots(now.intBuffer("slots")).constraints(constraints())
        .widths(now.intBuffer("widths"), now.integer("width_levels"))
        .inverseTemperatures(now.floatBuffer("inverse_temperatures")).softCaps(now.floatBuffer("soft_caps"));
    if (now.has("prefixes")) {
      start.prefixes(now.intBuffer("prefixes"), now.intBuffer("prefix_lengths"), now.number("prefix_stride"));
    }
    session.start(start.sampling(sampling()));
  }

  private Sampling sampling() {
    return new Sampling().seeds(now.longBuffer("seeds")).requests(now.longBuffer("requests"))
        .draws(now.longBuffer("draws"), now.has("draw_stride") ? now.number("draw_stride") : 0)
        .topKs(now.intBuffer("top_ks")).topPs(now.floatBuffer("top_ps"))
        .noiseScales(now.floatBuffer("noise_scales"));
  }

  private Rows rows(ByteBuffer logits, long slots, long slotStride) {
    return Rows.strided(logits, now.dtype("logits"), slots, now.number("rows"), now.number("columns"), slotStride,
        now.number("row_stride"));
  }

  private void step() {
    Rows rows = rows(now.logits("logits"), now.number("rows_slots"), now.number("slot_stride"));
    session.step(new Step(rows).slots(now.intBuffer("slots")).rowMap(now.intBuffer("row_map"))
        .lse(now.floatBuffer("lse")).inverseTemperature(now.real("inverse_temperature")).softCap(now.real("soft_cap"))
        .inverseTemperatures(now.floatBuffer("inverse_temperatures")).softCaps(now.floatBuffer("soft_caps")));
  }

  private void items() {
    int count = now.has("slots") ? now.ints("slots").length : session.slots();
    int limit = now.integer("limit");
    int all = count * session.width();
    LongBuffer ordinals = Buffers.longs(all);
    IntBuffer sids = Buffers.ints(all * session.levels());
    IntBuffer lengths = Buffers.ints(all);
    LongBuffer rows = now.integer("with_item_rows") != 0 ? Buffers.longs(count * limit) : null;
    LongBuffer offsets = Buffers.longs(all + count);
    IntBuffer truncated = Buffers.ints(count);
    Items items = new Items(session, count, limit, ordinals, sids, lengths, rows, offsets, truncated)
        .slots(now.intBuffer("slots")).limitPerSid(now.integer("limit_per_sid"))
        .distinct(now.integer("distinct") != 0);
    session.items(items);
    same("want_ordinals", ordinals);
    same("want_sids", sids);
    same("want_lengths", lengths);
    same("want_offsets", offsets);
    same("want_truncated", truncated);
    if (rows != null) {
      List<Long> found = new ArrayList<>();
      for (int i = 0; i < all; i++) {
        Arrays.stream(items.itemRowsOf(i / session.width(), i % session.width())).forEach(found::add);
      }
      long[] want = now.has("want_item_rows") ? now.longs("want_item_rows") : new long[0];
      assertArrayEquals(want, found.stream().mapToLong(row -> row).toArray(), "item rows");
    }
  }

  private void checkBeams() {
    Beams beams = session.beams();
    same("want_parents", beams.parents());
    same("want_codes", beams.codes());
    same("want_scores", beams.scores());
    same("want_states", beams.states());
    same("want_live", beams.live());
    same("want_active", beams.active());
    same("want_level", beams.level());
    sameIfAny("want_log_masses", beams.logMasses());
    sameIfAny("want_perturbed", beams.perturbed());
    sameIfAny("want_log_inclusions", beams.logInclusions());
    sameIfAny("want_thresholds", beams.thresholds());
    for (int s = 0; s < session.slots(); s++) {
      assertEquals(SlotError.of(now.ints("want_errors")[s]), beams.errors(s), "errors of slot " + s);
    }
  }

  /** An array that only some modes have. */
  private void sameIfAny(String name, FloatBuffer got) {
    assertEquals(now.has(name), got != null, name);
    if (got != null) {
      same(name, got);
    }
  }

  private void same(String name, IntBuffer got) {
    int[] values = new int[got.remaining()];
    got.get(got.position(), values);
    assertArrayEquals(now.ints(name), values, name);
  }

  private void same(String name, LongBuffer got) {
    long[] values = new long[got.remaining()];
    got.get(got.position(), values);
    assertArrayEquals(now.longs(name), values, name);
  }

  /** The same bits; floatToIntBits maps every NaN to one. */
  private void same(String name, FloatBuffer got) {
    float[] want = new float[got.remaining()];
    float[] values = new float[got.remaining()];
    got.get(got.position(), values);
    int[] bits = now.bits(name);
    for (int i = 0; i < want.length; i++) {
      want[i] = Float.intBitsToFloat(bits[i]);
    }
    assertEquals(bits.length, values.length, name);
    for (int i = 0; i < want.length; i++) {
      assertEquals(Float.floatToIntBits(want[i]), Float.floatToIntBits(values[i]), name + " at " + i);
    }
  }

  private void prefixes() {
    LongBuffer out = Buffers.longs(now.ints("lengths").length);
    set.prefixes(now.intBuffer("which"), now.intBuffer("codes"), now.number("stride"), now.intBuffer("lengths"), out);
    same("want_states", out);
  }

  private void advance() {
    LongBuffer out = Buffers.longs(now.ints("codes").length);
    set.advance(now.intBuffer("which"), now.longBuffer("states"), now.intBuffer("parents"),
        now.intBuffer("codes"), out);
    same("want_states", out);
  }

  private void mask() {
    ByteBuffer logits = now.logits("logits");
    set.mask(now.intBuffer("which"), now.longBuffer("states"), rows(logits, 0, 0));
    assertEquals(now.logits("want_logits"), logits);
  }

  private void bitmask() {
    IntBuffer words = Buffers.ints(now.ints("want_words").length);
    set.bitmask(now.intBuffer("which"), now.longBuffer("states"), now.number("words_per_row"), words);
    same("want_words", words);
  }

  private void topK() {
    int all = now.ints("want_codes").length;
    IntBuffer codes = Buffers.ints(all);
    FloatBuffer logProbs = Buffers.floats(all);
    LongBuffer next = Buffers.longs(all);
    set.topK(now.intBuffer("which"), now.longBuffer("states"), rows(now.logits("logits"), 0, 0),
        at(Normalization.values(), now.integer("normalization")), now.integer("k"), codes, logProbs, next);
    same("want_codes", codes);
    same("want_log_probs", logProbs);
    same("want_next", next);
  }

  private void sample() {
    int rows = now.integer("rows");
    IntBuffer codes = Buffers.ints(rows);
    FloatBuffer logProbs = Buffers.floats(rows);
    FloatBuffer logMasses = Buffers.floats(rows);
    LongBuffer next = Buffers.longs(rows);
    set.sample(now.intBuffer("which"), now.longBuffer("states"), rows(now.logits("logits"), 0, 0),
        at(Normalization.values(), now.integer("normalization")), now.floatBuffer("inverse_temperatures"), sampling(),
        new Sampled(codes, logProbs, logMasses, next));
    same("want_codes", codes);
    same("want_log_probs", logProbs);
    same("want_log_masses", logMasses);
    same("want_next", next);
  }

  private void disc() {
    DiscConfig config = new DiscConfig(now.integer("rounds"), now.number("seed"), now.number("request"))
        .results(now.integer("results")).sideBySide(now.integer("side_by_side"));
    if (now.integer("without_replacement") != 0) {
      config.withoutReplacement(now.integer("attempts"));
    }
    disc = new Disc(config);
  }

  private void discGet() {
    DiscResults results = disc.results();
    assertArrayEquals(now.longs("want_ordinals"), results.ordinals());
    assertArrayEquals(now.longs("want_draws"), results.draws());
    assertArrayEquals(now.ints("want_accepted"), results.accepted());
    assertArrayEquals(now.longs("want_draws_used"), results.drawsUsed());
    assertArrayEquals(now.longs("want_rows_run"), results.rowsRun());
    same("want_log_probs", Buffers.floats(results.logProbs()));
    same("want_log_masses", Buffers.floats(results.logMasses()));
  }
}
