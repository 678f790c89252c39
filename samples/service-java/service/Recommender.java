// SPDX-License-Identifier: Apache-2.0
package service;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import service.Service.Refusal;

/** From a request's JSON to its answer's. */
final class Recommender {
  private static final int DEFAULT_K = 10;
  private static final int MAX_HISTORIES = 256;

  private final int beams;
  private final Metrics metrics;

  Recommender(int beams, Metrics metrics) {
    this.beams = beams;
    this.metrics = metrics;
  }

  String answer(Serving serving, String body) throws Refusal, InterruptedException {
    Map<?, ?> request = request(body);
    int k = k(request.get("k"));
    List<List<int[]>> histories = histories(serving, request.get("histories"));
    List<List<Decoder.Found>> found = serving.withDecoder(decoder -> {
      List<List<Decoder.Found>> all = new ArrayList<>();
      for (int begin = 0; begin < histories.size(); begin += decoder.slots()) {
        all.addAll(decoder.decode(histories.subList(begin, Math.min(histories.size(), begin + decoder.slots()))));
      }
      return all;
    });
    found.forEach(list -> metrics.beams(list.size(), list.stream().filter(Decoder.Found::legal).count()));
    return json(serving, found, k);
  }

  private static Map<?, ?> request(String body) throws Refusal {
    try {
      if (Json.parse(body) instanceof Map<?, ?> map) {
        return map;
      }
    } catch (IllegalArgumentException e) {
      throw new Refusal(400, e.getMessage());
    }
    throw new Refusal(400, "expected an object {\"histories\": [[item or SID, ...], ...], \"k\": number}");
  }

  private int k(Object k) throws Refusal {
    if (k == null) {
      return Math.min(DEFAULT_K, beams);
    }
    if (k instanceof Long number && number >= 1 && number <= beams) {
      return number.intValue();
    }
    throw new Refusal(400, "k is " + k + ", expected 1 .. " + beams);
  }

  private static List<List<int[]>> histories(Serving serving, Object histories) throws Refusal {
    if (!(histories instanceof List<?> lists) || lists.isEmpty() || lists.size() > MAX_HISTORIES) {
      throw new Refusal(400, "histories is missing, no array, or has not 1 .. " + MAX_HISTORIES + " entries");
    }
    List<List<int[]>> all = new ArrayList<>();
    for (Object entry : lists) {
      if (!(entry instanceof List<?> list)) {
        throw new Refusal(400, "histories[" + all.size() + "] is no array of items");
      }
      List<int[]> history = new ArrayList<>();
      for (Object item : list) {
        int[] sid = item instanceof List<?> codes ? codes(serving, codes) : byId(serving, item);
        if (sid != null) {
          history.add(sid);
        }
      }
      all.add(history);
    }
    return all;
  }

  /** An item that this version of the catalogue lacks says nothing about those that it has. */
  private static int[] byId(Serving serving, Object id) throws Refusal {
    if (serving.named ? id instanceof String : id instanceof Long) {
      return serving.sid(id);
    }
    throw new Refusal(400, "item " + id + " is neither a SID nor " + (serving.named ? "a string" : "a number")
        + ", as the ids of this index are");
  }

  private static int[] codes(Serving serving, List<?> codes) throws Refusal {
    int[] limits = serving.index.info().codes();
    int[] sid = new int[codes.size()];
    for (int l = 0; l < sid.length; l++) {
      if (l >= limits.length || !(codes.get(l) instanceof Long code) || code < 0 || code >= limits[l]) {
        throw new Refusal(400, "SID " + codes + " is none of at most " + limits.length + " codes, or out of range");
      }
      sid[l] = code.intValue();
    }
    return sid;
  }

  private static String json(Serving serving, List<List<Decoder.Found>> found, int k) {
    StringBuilder out = new StringBuilder("{\"version\": ").append(Json.quote(serving.version))
        .append(", \"results\": [");
    for (int i = 0; i < found.size(); i++) {
      out.append(i == 0 ? "[" : ", [").append(String.join(", ", items(serving, found.get(i), k))).append(']');
    }
    return out.append("]}\n").toString();
  }

  private static List<String> items(Serving serving, List<Decoder.Found> beams, int k) {
    List<String> items = new ArrayList<>();
    for (Decoder.Found beam : beams) {
      List<?> ids = beam.rows().length == 0 ? Collections.emptyList() : serving.ids(beam.rows());
      for (Object id : ids.subList(0, Math.min(ids.size(), k - items.size()))) {
        items.add(String.format(Locale.ROOT, "{\"item\": %s, \"score\": %.5f}",
            id instanceof String name ? Json.quote(name) : id, beam.score()));
      }
    }
    return items;
  }
}
