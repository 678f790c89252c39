// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sidbeam.Term.Op;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Filters, on the catalogue of tests/bindings/make_attributed.c, and what slots find under rules. */
class RulesTest {
  private static Index attributed() {
    return Index.open(Path.of(System.getProperty("sidbeam.test.cases")).resolveSibling("attributed.sidx"));
  }

  private static boolean cheap(int i) {
    return i % 11 != 0 && i % 40 < 20;
  }

  private static void holds(Index index, Filter filter, IntPredicate test) {
    long[] rows = filter.rows().stream().asLongStream().toArray();
    TreeSet<Integer> found = Arrays.stream(index.itemIds(rows)).mapToObj(id -> (int) (id - 1000))
        .collect(Collectors.toCollection(TreeSet::new));
    assertEquals(IntStream.range(0, 120).filter(test).boxed().collect(Collectors.toCollection(TreeSet::new)), found,
        filter.toString());
    assertEquals(rows.length, filter.info().items());
  }

  private record Case(String text, Term term, IntPredicate test) {}

  @Test
  void textsAndTermsGiveTheSameFilters() {
    try (Index index = attributed()) {
      for (Case c : List.of(
          new Case("price<20", Term.integers("price", Op.LESS, 20), RulesTest::cheap),
          new Case("price in (3, 5)", Term.integers("price", Op.ANY_OF, 3, 5),
              i -> i % 11 != 0 && (i % 40 == 3 || i % 40 == 5)),
          new Case("price in ()", Term.integers("price", Op.ANY_OF), i -> false),
          new Case("weight between 0.5 and 7.25", Term.numbers("weight", Op.BETWEEN, 0.5, 7.25),
              i -> i % 13 != 5 && i >= 4 && i <= 58),
          new Case("not in_stock", Term.bool("in_stock", false), i -> i % 3 == 0),
          new Case("region in (us, ca)", Term.strings("region", Op.ANY_OF, "us", "ca"), i -> i % 9 != 4 && i % 4 < 2),
          new Case("region=us", Term.strings("region", Op.EQUAL, "us"), i -> i % 9 != 4 && i % 4 == 0),
          new Case("region is null", Term.isNull("region"), i -> i % 9 == 4),
          new Case("tags contains (new, gift)", Term.strings("tags", Op.ANY_OF, "new", "gift"),
              i -> i % 10 != 9 && (i % 8 & 5) != 0))) {
        Filter parsed = Filter.parse(index, c.text);
        Filter made = Filter.of(index, c.term);
        holds(index, parsed, c.test);
        holds(index, made, c.test);
        holds(index, Filter.parse(index, made.text().orElseThrow()), c.test);
      }
    }
  }

  @Test
  void rowsAndItemsAreFilters() {
    try (Index index = attributed()) {
      BitSet rows = new BitSet();
      IntStream.iterate(0, row -> row < 120, row -> row + 7).forEach(rows::set);
      // Roaring's cookie, one container with key 0 of so many rows, where they are, and they.
      byte[] bitmap = new byte[16 + 2 * rows.cardinality()];
      bitmap[0] = 0x3a;
      bitmap[1] = 0x30;
      bitmap[4] = 1;
      bitmap[10] = (byte) (rows.cardinality() - 1);
      bitmap[12] = 16;
      int[] each = rows.stream().toArray();
      for (int i = 0; i < each.length; i++) {
        bitmap[16 + 2 * i] = (byte) each[i];
      }
      long[] listed = IntStream.concat(IntStream.of(-1, 120), rows.stream()).asLongStream().toArray();
      Filter byRow = Filter.of(index, ItemList.ofRows(listed));
      assertEquals(2, byRow.unknown());
      for (Filter filter : List.of(Filter.of(index, rows), Filter.ofRoaring(index, bitmap), byRow)) {
        assertEquals(rows, filter.rows());
        assertEquals(Optional.empty(), filter.text());
        assertEquals("a filter of 18 items", filter.toString());
      }
      Filter byId = Filter.of(index, ItemList.ofIds(1003, 5, 1003));
      holds(index, byId, i -> i == 3);
      assertEquals(1, byId.unknown());
      assertEquals(0, Filter.of(index, ItemList.ofIds()).info().items());
      refused(Status.INVALID_ARGUMENT, "Roaring bitmap: at byte 0",
          () -> Filter.ofRoaring(index, Arrays.copyOfRange(bitmap, 1, 16)));
      rows.set(120);
      refused(Status.INVALID_ARGUMENT, "rows has row 120, expected less than 120", () -> Filter.of(index, rows));
    }
  }

  @Test
  void filtersAreJoinedAndUpdated() {
    Index index = attributed();
    Filter cheap = Filter.parse(index, "price<20");
    Filter stocked = Filter.of(index, Term.bool("in_stock", true));
    holds(index, cheap.and(stocked), i -> cheap(i) && i % 3 != 0);
    holds(index, cheap.or(stocked), i -> cheap(i) || i % 3 != 0);
    holds(index, cheap.not(), i -> !cheap(i));
    assertEquals(-1, cheap.info().sids());
    cheap.prepare();
    Filter changed = cheap.update(ItemList.ofIds(1000, 1001, 3), true, false, true);
    holds(index, changed, i -> i == 0 || cheap(i) && i != 1);
    holds(index, cheap, RulesTest::cheap);
    assertEquals(1, changed.unknown());
    assertTrue(changed.info().prepared() && changed.info().sids() > 0 && changed.info().bytes() > 0);
    refused(Status.INVALID_ARGUMENT, "allowed has 1 entries, expected 2, one per item",
        () -> cheap.update(ItemList.ofRows(1, 2), true));
    try (Index other = attributed()) {
      refused(Status.INVALID_ARGUMENT, "is of another index", () -> cheap.or(Filter.parse(other, "true")));
    }
    index.close();
    assertEquals(120 - 54, cheap.not().info().items()); // it holds its index
    cheap.close();
    cheap.close();
    assertEquals("a closed filter", cheap.toString());
    refused(Status.BAD_STATE, "filter is closed", cheap::rows);
    refused(Status.BAD_STATE, "filter is closed", () -> stocked.and(cheap));
    refused(Status.BAD_STATE, "index is closed", () -> Filter.parse(index, "true"));
  }

  @Test
  void whatIsWrongIsNamed() {
    try (Index index = attributed()) {
      refused(Status.INVALID_ARGUMENT, "max_listed is -1, expected 0..16777216",
          () -> new Session(new SessionConfig(index).maxListed(-1)));
      refused(Status.INVALID_ARGUMENT, "filter: at byte 6", () -> Filter.parse(index, "price<"));
      refused(Status.INVALID_ARGUMENT, "column 'colour' is not there, expected one of 'in_stock', 'price'",
          () -> Filter.parse(index, "colour=1"));
      refused(Status.INVALID_ARGUMENT, "column 'price' holds integers",
          () -> Filter.of(index, Term.strings("price", Op.EQUAL, "dear")));
      refused(Status.INVALID_ARGUMENT, "a value of < is NaN",
          () -> Filter.of(index, Term.numbers("weight", Op.LESS, Double.NaN)));
      refused(Status.INVALID_ARGUMENT, "attribute holds a NUL character", () -> Term.isNull("a\0b"));
      refused(Status.INVALID_ARGUMENT, "values[1] holds a NUL", () -> Term.strings("region", Op.IN, "a", "\0"));
      refused(Status.INVALID_ARGUMENT, "items gives names, expected numbers",
          () -> Filter.of(index, ItemList.ofNames("a")));
      refused(Status.INVALID_ARGUMENT, "names[0] is null", () -> ItemList.ofNames((String) null));
      refused(Status.INVALID_ARGUMENT, "text is null", () -> Filter.parse(index, null));
      refused(Status.INVALID_ARGUMENT, "index is null", () -> Filter.parse(null, "true"));
      refused(Status.INVALID_ARGUMENT, "other is null", () -> Filter.parse(index, "true").and(null));
      try (Index other = attributed()) {
        refused(Status.INVALID_ARGUMENT, "filter is of another index, expected one of",
            () -> new Constraint(index, new Rules().filter(Filter.parse(other, "true"))));
      }
      refused(Status.INVALID_ARGUMENT, "excluded gives names, expected numbers",
          () -> new Constraint(index, new Rules().exclude(ItemList.ofNames("a"))));
      refused(Status.INVALID_ARGUMENT, "rules is null", () -> new Constraint(index, null));
      Constraint constraint = new Constraint(index, new Rules().allow(ItemList.ofIds()));
      constraint.close();
      refused(Status.BAD_STATE, "constraint is closed", () -> constraint.exclude(ItemList.ofIds()));
    }
    try (Index sorted = Fixtures.index(Kind.SORTED)) {
      refused(Status.MISSING_SECTION, "which rules need",
          () -> new Constraint(sorted, new Rules().exclude(ItemList.ofIds(10))));
    }
  }

  /** What each slot finds, every beam fed with the same logits. */
  private static List<List<Long>> found(Index index, Session session, int slots) {
    Rows rows = Rows.strided(Buffers.floats(4), slots, 8, 4, Rows.BROADCAST, Rows.BROADCAST);
    for (int level = 0; level < 2; level++) {
      session.step(new Step(rows));
    }
    Items items = new Items(session, slots, 8);
    session.items(items);
    List<List<Long>> found = new ArrayList<>();
    for (int slot = 0; slot < slots; slot++) {
      List<Long> ids = new ArrayList<>();
      for (int beam = 0; beam < session.beams().live(slot); beam++) {
        Arrays.stream(index.itemIds(items.itemRowsOf(slot, beam))).forEach(ids::add);
      }
      found.add(ids);
    }
    return found;
  }

  @Test
  void slotsOfOneBatchHaveRulesOfTheirOwn() {
    try (Index index = Fixtures.index();
        Session session = new Session(new SessionConfig(index).slots(6).beams(8))) {
      Filter filter = Filter.of(index, ItemList.ofIds(0, 20, 70));
      ItemList seen = ItemList.ofIds(0, 99);
      Constraint under = new Constraint(index, new Rules().filter(filter).exclude(seen));
      Constraint more = under.exclude(ItemList.ofIds(20, 98));
      session.start(new Start().constraints(null,
          new Constraint(index, new Rules().exclude(seen)),
          new Constraint(index, new Rules().allow(ItemList.ofIds(10, 60))),
          new Constraint(index, new Rules().allow(ItemList.ofIds())),
          under, more));
      filter.close();
      assertEquals(List.of(List.of(0L, 10L, 30L, 40L, 20L, 50L, 60L, 70L), List.of(10L, 30L, 40L, 20L, 50L, 60L, 70L),
          List.of(10L, 60L), List.of(), List.of(20L, 70L), List.of(70L)), found(index, session, 6));
      ConstraintInfo info = more.info();
      assertTrue(info.rules());
      assertEquals(List.of(1L, 1L, 2L, 0L), List.of(info.allowedSids(), info.allowedItems(), info.unknownExcluded(),
          info.unknownAllowed()));
      assertFalse(new Constraint(index).info().rules());
      ItemRows rows = under.itemRowsOf(new long[] {6, -1, 0}, 0, 0, false);
      assertArrayEquals(new long[] {7}, rows.rows());
      assertArrayEquals(new long[] {0, 1, 1, 1}, rows.offsets());
      assertFalse(rows.truncated());
      assertTrue(new Constraint(index).itemRowsOf(new long[] {6}, 0, 1, false).truncated());
    }
  }

  /** The items of which a region has no more than cap before them; some have none. */
  private static long[] cappedByRegion(long[] ids, int cap) {
    int[] counts = new int[4];
    return Arrays.stream(ids).filter(id -> (id - 1000) % 9 == 4 || counts[(int) (id % 4)]++ < cap).toArray();
  }

  private static long[] idsOf(Index index, Items items, int slot, int beams) {
    return IntStream.range(0, beams).boxed()
        .flatMapToLong(beam -> Arrays.stream(index.itemIds(items.itemRowsOf(slot, beam)))).toArray();
  }

  @Test
  void beamsAreListedUnderACap() {
    int beams = 30;
    try (Index index = attributed();
        Session session = new Session(new SessionConfig(index).slots(2).beams(beams))) {
      session.start(new Start());
      Rows rows = Rows.strided(Buffers.floats(8), 2, beams, 8, Rows.BROADCAST, Rows.BROADCAST);
      for (int level = 0; level < 3; level++) {
        session.step(new Step(rows));
      }
      Items items = new Items(session, 2, 120);
      session.items(items);
      long[] every = idsOf(index, items, 1, beams);
      assertFalse(items.cameShort(1));
      for (int cap : new int[] {1, 2, 1000}) {
        session.items(items.cap(cap, "region"));
        assertArrayEquals(cappedByRegion(every, cap), idsOf(index, items, 1, beams));
        assertEquals(cap < 1000, items.cameShort(1));
      }
      java.nio.IntBuffer own = Buffers.ints(2);
      session.items(items.cap(1, "region").cameShort(own));
      assertEquals(List.of(1, 1), List.of(own.get(0), own.get(1)));
      refused(Status.INVALID_ARGUMENT, "slot 0: cap_attribute 'colour' is not there, expected one of 'in_stock'",
          () -> session.items(items.cap(1, "colour")));
      refused(Status.INVALID_ARGUMENT, "cap is 0 and cap_attribute 'region'",
          () -> session.items(items.cap(0, "region")));
      session.items(items.cap(0, null).cameShort(null));
      refused(Status.BAD_STATE, "cameShort was not asked for", () -> items.cameShort(0));
    }
  }

  @Test
  void ordinalsAreListedUnderACap() {
    try (Index index = attributed()) {
      long[] ordinals = java.util.stream.LongStream.range(0, index.info().sids()).toArray();
      Constraint under = new Constraint(index, new Rules().exclude(ItemList.ofIds(1000, 1001, 1119)));
      long[] every = index.itemIds(index.itemRowsOf(ordinals, new ItemLimits()).rows());
      long[] left = index.itemIds(under.itemRowsOf(ordinals, 0, 0, false).rows());
      assertEquals(3, every.length - left.length);
      ItemLimits three = new ItemLimits().cap(3, "region");
      ItemRows rows = index.itemRowsOf(ordinals, three);
      assertArrayEquals(cappedByRegion(every, 3), index.itemIds(rows.rows()));
      assertTrue(rows.cameShort() && !rows.truncated());
      assertArrayEquals(cappedByRegion(left, 3), index.itemIds(under.itemRowsOf(ordinals, three).rows()));
      ItemRows five = under.itemRowsOf(ordinals, three.limit(5));
      assertTrue(five.rows().length == 5 && five.truncated() && !five.cameShort());
      assertFalse(index.itemRowsOf(ordinals, 0, 0, false).cameShort());
      refused(Status.INVALID_ARGUMENT, "cap is 3 and cap_attribute is null, expected the attribute that it is for",
          () -> index.itemRowsOf(ordinals, new ItemLimits().cap(3, null)));
      refused(Status.INVALID_ARGUMENT, "cap_attribute 'weight' holds numbers (f32)",
          () -> index.itemRowsOf(ordinals, new ItemLimits().cap(3, "weight")));
      refused(Status.INVALID_ARGUMENT, "attribute holds a NUL character", () -> new ItemLimits().cap(1, "a\0"));
    }
  }

  @Test
  void idsMayBeNames() {
    try (Builder builder = new Builder(new BuilderConfig(4).idType(IdType.STRING))) {
      builder.addNamed(new int[] {0, 1, 1}, null, List.of("ärmel", "b", "c"), null);
      try (Index index = builder.finish()) {
        Filter filter = Filter.of(index, ItemList.ofNames("c", "ärmel", "no such"));
        assertEquals(List.of("ärmel", "c"),
            index.itemNames(filter.rows().stream().asLongStream().toArray()));
        assertEquals(1, filter.unknown());
      }
    }
  }
}
