// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;

/** The pairs that a live catalogue is expected to have, by SID and id, with prices; and what a search finds of them. */
final class LivePairs extends LinkedHashMap<List<Long>, Long> {
  private static final long serialVersionUID = 1;
  static final LivePairs BASE = draw(50, 1);

  static LivePairs draw(int count, long seed) {
    Random random = new Random(seed);
    LivePairs pairs = new LivePairs();
    for (int i = 0; i < count; i++) {
      pairs.put(List.of((long) random.nextInt(6), (long) random.nextInt(5), (long) random.nextInt(60)),
          (long) random.nextInt(9));
    }
    return pairs;
  }

  LivePairs and(Map<List<Long>, Long> more) {
    LivePairs all = new LivePairs();
    all.putAll(this);
    all.putAll(more);
    return all;
  }

  LivePairs without(Set<Long> ids) {
    LivePairs left = and(Map.of());
    left.keySet().removeIf(pair -> ids.contains(pair.get(2)));
    return left;
  }

  TreeSet<Long> idSet() {
    TreeSet<Long> ids = new TreeSet<>();
    keySet().forEach(pair -> ids.add(pair.get(2)));
    return ids;
  }

  static ItemList listed(Set<Long> ids) {
    return ItemList.ofIds(ids.stream().mapToLong(Long::longValue).toArray());
  }

  private int[] codes() {
    return keySet().stream().flatMap(pair -> pair.subList(0, 2).stream()).mapToInt(Long::intValue).toArray();
  }

  private long[] ids() {
    return keySet().stream().mapToLong(pair -> pair.get(2)).toArray();
  }

  private AttributeValues prices() {
    return AttributeValues.of(values().stream().mapToLong(Long::longValue).toArray());
  }

  Pairs pairs() {
    return new Pairs(codes()).ids(ids()).attribute("price", prices());
  }

  Index index() {
    try (Builder builder = new Builder(new BuilderConfig(6, 5))) {
      builder.declareAttribute("price", AttributeType.I64);
      builder.add(codes(), null, ids(), null);
      builder.setAttribute("price", prices());
      return builder.finish();
    }
  }

  static Catalog catalog(Path folder, CatalogConfig config) {
    try (Index base = BASE.index()) {
      return Catalog.create(base, folder, config);
    }
  }

  /** Scores, SIDs and ids in an order of its own: of a SID the base's items come before those that were added. */
  static TreeSet<String> found(Index index, String where) {
    TreeSet<String> found = new TreeSet<>();
    try (Filter filter = Filter.parse(index, where);
        Constraint constraint = new Constraint(index, new Rules().filter(filter));
        Session session = new Session(new SessionConfig(constraint).beams(16))) {
      session.start();
      Random random = new Random(5);
      for (int level = 0; level < 2; level++) {
        float[] logits = new float[6];
        for (int code = 0; code < 6; code++) {
          logits[code] = random.nextFloat();
        }
        session.step(Rows.strided(Buffers.floats(logits), 1, 16, 6, 0, Rows.BROADCAST));
      }
      Items items = session.items();
      for (int beam = 0; beam < session.beams().live(0); beam++) {
        long ordinal = items.ordinal(0, beam);
        for (long row : constraint.itemRowsOf(new long[] {ordinal}, new ItemLimits()).rows()) {
          found.add(session.beams().score(0, beam) + " " + Arrays.toString(index.sid(ordinal)) + " "
              + index.itemIds(row)[0]);
        }
      }
    }
    return found;
  }

  /** Expects an index to be searched as one of these pairs is. */
  void check(Index index) {
    assertEquals(size(), index.info().liveItems());
    try (Index expected = index()) {
      for (String where : List.of("true", "price<5")) {
        assertEquals(found(expected, where), found(index, where), where);
      }
    }
  }

  /** The same of the newest version. */
  void check(Catalog catalog) {
    try (Index newest = catalog.snapshot()) {
      check(newest);
    }
  }
}
