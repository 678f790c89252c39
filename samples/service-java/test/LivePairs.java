// SPDX-License-Identifier: Apache-2.0
package test;

import io.sidbeam.AttributeType;
import io.sidbeam.AttributeValues;
import io.sidbeam.Builder;
import io.sidbeam.BuilderConfig;
import io.sidbeam.Catalog;
import io.sidbeam.Index;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** The pairs that a live catalogue is expected to have: prices by item and SID. */
public final class LivePairs {
  static final int ITEMS = 300;

  private record Pair(long id, List<Integer> sid) implements Comparable<Pair> {
    @Override
    public int compareTo(Pair other) {
      int order = Long.compare(id, other.id);
      return order != 0 ? order : Arrays.compare(codes(), other.codes());
    }

    private int[] codes() {
      return sid.stream().mapToInt(code -> code).toArray();
    }
  }

  private final Map<Pair, Long> prices = new TreeMap<>();

  /** Several items to a SID; every fifth has a second one. Prices are ids modulo 100. */
  public static LivePairs base() {
    Random random = new Random(1);
    LivePairs pairs = new LivePairs();
    for (long id = 0; id < ITEMS; id++) {
      for (int i = 0; i < (id % 5 == 0 ? 2 : 1); i++) {
        pairs.put(id, id % 100, random.nextInt(4), random.nextInt(4), random.nextInt(8));
      }
    }
    return pairs;
  }

  public LivePairs copy() {
    LivePairs copy = new LivePairs();
    copy.prices.putAll(prices);
    return copy;
  }

  public LivePairs put(long id, long price, Integer... sid) {
    prices.put(new Pair(id, List.of(sid)), price);
    return this;
  }

  void put(LivePairs more) {
    prices.putAll(more.prices);
  }

  void remove(long id) {
    prices.keySet().removeIf(pair -> pair.id == id);
  }

  /** The pair of an item whose SID comes first, with another price. */
  LivePairs least(long id, long price) {
    Pair least = prices.keySet().stream().filter(pair -> pair.id == id).findFirst().orElseThrow();
    return new LivePairs().put(id, price, least.sid.toArray(Integer[]::new));
  }

  boolean has(long id, long below) {
    return prices.entrySet().stream().anyMatch(pair -> pair.getKey().id == id && pair.getValue() < below);
  }

  int size() {
    return prices.size();
  }

  /** The body of a POST /items. */
  public String body() {
    return prices.entrySet().stream().map(pair -> "{\"id\": " + pair.getKey().id + ", \"sid\": " + pair.getKey().sid
        + ", \"attributes\": {\"price\": " + pair.getValue() + "}}")
        .collect(Collectors.joining(", ", "{\"items\": [", "]}"));
  }

  private Builder builder() {
    Builder builder = new Builder(new BuilderConfig(16, 16, 16));
    builder.declareAttribute("price", AttributeType.I64);
    builder.add(prices.keySet().stream().map(Pair::sid).flatMap(Collection::stream).mapToInt(code -> code).toArray(),
        null, prices.keySet().stream().mapToLong(Pair::id).toArray(), null);
    builder.setAttribute("price", AttributeValues.of(prices.values().stream().mapToLong(price -> price).toArray()));
    return builder;
  }

  /** Replaces an index file. */
  void write(Path file) {
    try (Builder builder = builder()) {
      builder.write(file);
    }
  }

  /** Makes a live catalogue. */
  public void create(Path folder) {
    try (Builder builder = builder(); Index base = builder.finish()) {
      Catalog.create(base, folder).close();
    }
  }
}
