// SPDX-License-Identifier: Apache-2.0
package service;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;

/**
 * The body of POST /recommend. The rules are those of all its histories; null: not asked for.
 *
 * @param histories each of ids and SIDs
 */
record Question(List<JsonArray> histories, int k, JsonArray exclude, JsonArray allow, String where, String filter) {
  private static final int DEFAULT_K = 10;
  private static final List<String> MEMBERS = List.of("histories", "k", "exclude", "allow", "where", "filter");

  static Question read(String body, Options limits) {
    JsonObject given = Fields.body(body, MEMBERS);
    JsonElement k = given.get("k");
    String where = text(given, "where");
    int bytes = where == null ? 0 : where.getBytes(UTF_8).length;
    if (bytes > limits.whereBytes) {
      throw Refusal.wrong("where", "has " + bytes + " bytes, expected at most " + limits.whereBytes);
    }
    return new Question(histories(given.get("histories"), limits.histories),
        k == null ? Math.min(DEFAULT_K, limits.beams) : Fields.within(k, "k", 1, limits.beams),
        list(given, "exclude", limits.listed), list(given, "allow", limits.listed), where, text(given, "filter"));
  }

  private static List<JsonArray> histories(JsonElement value, int most) {
    JsonArray all = Fields.array(value, "histories", "histories");
    if (all.isEmpty() || all.size() > most) {
      throw Refusal.wrong("histories", "has " + all.size() + " elements, expected 1 .. " + most);
    }
    List<JsonArray> histories = new ArrayList<>();
    for (JsonElement one : all) {
      histories.add(Fields.array(one, "histories[" + histories.size() + "]", "ids and SIDs"));
    }
    return histories;
  }

  private static JsonArray list(JsonObject given, String name, int most) {
    if (!given.has(name)) {
      return null;
    }
    JsonArray ids = Fields.array(given.get(name), name, "ids");
    if (ids.size() > most) {
      throw Refusal.wrong(name, "has " + ids.size() + " ids, expected at most " + most);
    }
    return ids;
  }

  private static String text(JsonObject given, String name) {
    return given.has(name) ? Fields.text(given.get(name), name) : null;
  }

  /** Whether it has no rules. */
  boolean isPlain() {
    return exclude == null && allow == null && where == null && filter == null;
  }

  /**
   * The SIDs of those items of the histories that a version of the index has. Others are passed over: they may have
   * been in an earlier one, or be in a later one.
   */
  List<List<int[]>> known(Serving serving) {
    List<List<int[]>> known = new ArrayList<>();
    for (JsonArray history : histories) {
      List<int[]> sids = new ArrayList<>();
      for (int i = 0; i < history.size(); i++) {
        JsonElement item = history.get(i);
        String path = "histories[" + known.size() + "][" + i + "]";
        int[] sid = item instanceof JsonArray ? Fields.sid(item, path, serving.info)
            : serving.sid(Ids.read(item, path, serving.idType));
        if (sid != null) {
          sids.add(sid);
        }
      }
      known.add(sids);
    }
    return known;
  }
}
