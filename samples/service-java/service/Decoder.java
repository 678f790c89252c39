// SPDX-License-Identifier: Apache-2.0
package service;

import io.sidbeam.Beams;
import io.sidbeam.Buffers;
import io.sidbeam.Index;
import io.sidbeam.IndexInfo;
import io.sidbeam.Items;
import io.sidbeam.Rows;
import io.sidbeam.Session;
import io.sidbeam.SessionConfig;
import io.sidbeam.Start;
import io.sidbeam.Step;
import io.sidbeam.Strategy;
import io.sidbeam.Vocabulary;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/** A session and everything else that a request needs, made once: one thread at a time takes it out of the pool. */
final class Decoder implements AutoCloseable {
  /** One beam's answer: whether its SID exists, and its item rows, best first, at most as many as a request may want.
   * */
  record Found(float score, boolean legal, long[] rows) {}

  private final Session session;
  private final Beams beams;
  private final Items items;
  private final Step step;
  private final FloatBuffer logits; // [slots, beams, columns]
  private final int columns;
  private final Model model;
  private int[][] prefixes; // [slots * beams] codes so far, as a model's KV cache would hold them
  private int[][] reordered;

  Decoder(Index index, Strategy strategy, int slots, int width) {
    IndexInfo info = index.info();
    int codes = Arrays.stream(info.codes()).max().getAsInt();
    columns = codes + 1; // the last one ends a SID
    session = new Session(new SessionConfig(index).slots(slots).beams(width).strategy(strategy)
        .vocabulary(new Vocabulary().endColumn(codes)));
    beams = session.beams();
    items = new Items(session, slots, width); // nobody gets more items than there are beams
    logits = Buffers.floats(slots * width * columns);
    step = new Step(Rows.dense(logits, slots, width, columns));
    model = new Model(columns);
    prefixes = new int[slots * width][info.levels()];
    reordered = new int[slots * width][info.levels()];
  }

  int slots() {
    return session.slots();
  }

  /** The beams of each of at most `slots` histories, best first. */
  List<List<Found>> decode(List<List<int[]>> histories) {
    int[] slots = IntStream.range(0, histories.size()).toArray();
    session.start(new Start().slots(Buffers.ints(slots)));
    try {
      for (int level = 0; anyActive(slots.length); level++) {
        for (int slot : slots) {
          feed(slot, level, histories.get(slot));
        }
        session.step(step);
        for (int slot : slots) {
          follow(slot, level);
        }
        int[][] before = prefixes;
        prefixes = reordered;
        reordered = before;
      }
      session.items(items);
      return Arrays.stream(slots).mapToObj(this::found).toList();
    } finally {
      session.stop(slots);
    }
  }

  private boolean anyActive(int slots) {
    for (int slot = 0; slot < slots; slot++) {
      if (beams.active(slot) > 0) {
        return true;
      }
    }
    return false;
  }

  private void feed(int slot, int level, List<int[]> history) {
    for (int m = 0; m < beams.live(slot); m++) {
      int beam = slot * session.width() + m;
      model.logits(history, prefixes[beam], level, logits, beam * columns);
    }
  }

  /** Each beam continues its parent's prefix by its code. What the end, and ended beams, append is never read. */
  private void follow(int slot, int level) {
    for (int m = 0; m < beams.live(slot); m++) {
      int[] to = reordered[slot * session.width() + m];
      System.arraycopy(prefixes[slot * session.width() + beams.parent(slot, m)], 0, to, 0, to.length);
      if (level < to.length) {
        to[level] = beams.code(slot, m);
      }
    }
  }

  private List<Found> found(int slot) {
    if (!beams.errors(slot).isEmpty()) {
      throw new IllegalStateException("the model gave logits that are no numbers: " + beams.errors(slot));
    }
    List<Found> found = new ArrayList<>();
    for (int m = 0; m < beams.live(slot); m++) {
      found.add(new Found(beams.score(slot, m), items.ordinal(slot, m) >= 0, items.itemRows(slot, m)));
    }
    return found;
  }

  @Override
  public void close() {
    session.close();
  }
}
