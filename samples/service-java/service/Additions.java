// SPDX-License-Identifier: Apache-2.0
package service;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import io.sidbeam.Attribute;
import io.sidbeam.AttributeType;
import io.sidbeam.AttributeValues;
import io.sidbeam.IndexInfo;
import io.sidbeam.Pairs;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The items of a POST /items, of which all give the same attributes, or none of them: in a live item, what is not given
 * stays.
 */
final class Additions {
  private static final List<String> MEMBERS = List.of("id", "sid", "priority", "attributes");

  /** What the items of a live catalogue are like, in all its versions. */
  record Shape(IndexInfo info, Map<String, AttributeType> attributes) {
    static Shape of(Serving serving) {
      Map<String, AttributeType> attributes = new TreeMap<>();
      for (Attribute attribute : serving.index.attributes()) {
        attributes.put(attribute.name(), attribute.type());
      }
      return new Shape(serving.info, attributes);
    }
  }

  private final Shape shape;
  private final List<Integer> codes = new ArrayList<>();
  private final List<Integer> lengths = new ArrayList<>();
  private final List<Object> ids = new ArrayList<>();
  private final List<Long> priorities = new ArrayList<>();
  private final Map<String, List<Object>> values = new TreeMap<>(); // of attributes; null: no value
  private Set<String> given; // by each item, besides its id and SID

  private Additions(Shape shape) {
    this.shape = shape;
  }

  /** The items of a body; refuses its first mistake. */
  static Additions read(Shape shape, String body) {
    Additions additions = new Additions(shape);
    JsonArray items = Fields.array(Fields.body(body, List.of("items")).get("items"), "items", "items");
    if (items.isEmpty()) {
      throw Refusal.wrong("items", "has 0 elements, expected 1 or more");
    }
    for (int i = 0; i < items.size(); i++) {
      additions.add(items.get(i), "items[" + i + "]");
    }
    return additions;
  }

  int size() {
    return ids.size();
  }

  Pairs pairs() {
    Pairs pairs = new Pairs(ints(codes));
    if (shape.info.variableLength()) {
      pairs.lengths(ints(lengths));
    }
    switch (shape.info.idType()) {
      case STRING -> pairs.names(ids.stream().map(String.class::cast).toList());
      default -> pairs.ids(ids.stream().mapToLong(Long.class::cast).toArray());
    }
    if (!priorities.isEmpty()) {
      pairs.priorities(priorities.stream().mapToLong(priority -> priority).toArray());
    }
    values.forEach((name, column) -> pairs.attribute(name, column(shape.attributes.get(name), column)));
    return pairs;
  }

  private static int[] ints(List<Integer> list) {
    return list.stream().mapToInt(number -> number).toArray();
  }

  private void add(JsonElement value, String path) {
    JsonObject item = Fields.object(value, path, MEMBERS);
    JsonObject attributes = !item.has("attributes") ? new JsonObject()
        : Fields.object(item.get("attributes"), path + ".attributes", List.copyOf(shape.attributes.keySet()));
    checkGiven(item, attributes, path);
    ids.add(Ids.read(item.get("id"), path + ".id", shape.info.idType()));
    addSid(Fields.sid(item.get("sid"), path + ".sid", shape.info));
    if (item.has("priority")) {
      priorities.add(Fields.integer(item.get("priority"), path + ".priority", "an integer"));
    }
    for (Map.Entry<String, AttributeType> each : shape.attributes.entrySet()) {
      if (attributes.has(each.getKey())) {
        values.computeIfAbsent(each.getKey(), name -> new ArrayList<>()).add(
            attribute(each.getValue(), attributes.get(each.getKey()), path + ".attributes." + each.getKey()));
      }
    }
  }

  /** Expects each item to give what the first one does. */
  private void checkGiven(JsonObject item, JsonObject attributes, String path) {
    Set<String> these = new TreeSet<>();
    attributes.keySet().forEach(name -> these.add("attributes." + name));
    if (item.has("priority")) {
      these.add("priority");
    }
    if (given == null) {
      given = these;
    }
    if (!these.equals(given)) {
      throw Refusal.wrong(path, "gives " + these + ", expected " + given
          + " as items[0] does; an attribute may be null");
    }
  }

  /** Past the end nobody reads it. */
  private void addSid(int[] sid) {
    for (int l = 0; l < shape.info.levels(); l++) {
      codes.add(l < sid.length ? sid[l] : 0);
    }
    lengths.add(sid.length);
  }

  /** Gives a Long, Float, Boolean, String, list of strings, or null. */
  private static Object attribute(AttributeType type, JsonElement value, String path) {
    if (value.isJsonNull()) {
      return null;
    }
    return switch (type) {
      case I64 -> Fields.integer(value, path, "an integer");
      case F32 -> number(value, path);
      case BOOL -> bool(value, path);
      case STRING -> Fields.text(value, path);
      case STRING_LIST -> {
        List<String> texts = new ArrayList<>();
        for (JsonElement text : Fields.array(value, path, "strings")) {
          texts.add(Fields.text(text, path + "[" + texts.size() + "]"));
        }
        yield texts;
      }
    };
  }

  private static Float number(JsonElement value, String path) {
    if (value instanceof JsonPrimitive number && number.isNumber() && Float.isFinite(number.getAsFloat())) {
      return number.getAsFloat();
    }
    throw Fields.mistake(value, path, "a number of 32 bits");
  }

  private static Boolean bool(JsonElement value, String path) {
    if (value instanceof JsonPrimitive bool && bool.isBoolean()) {
      return bool.getAsBoolean();
    }
    throw Fields.mistake(value, path, "true or false");
  }

  @SuppressWarnings("unchecked") // they are what attribute() gave
  private static AttributeValues column(AttributeType type, List<?> values) {
    boolean[] valid = new boolean[values.size()];
    long[] integers = new long[values.size()];
    float[] numbers = new float[values.size()];
    boolean[] bools = new boolean[values.size()];
    for (int i = 0; i < values.size(); i++) {
      Object value = values.get(i);
      valid[i] = value != null;
      integers[i] = value instanceof Long integer ? integer : 0;
      numbers[i] = value instanceof Float number ? number : 0;
      bools[i] = Boolean.TRUE.equals(value);
    }
    return switch (type) {
      case I64 -> AttributeValues.of(integers).valid(valid);
      case F32 -> AttributeValues.of(numbers).valid(valid);
      case BOOL -> AttributeValues.of(bools).valid(valid);
      case STRING -> AttributeValues.ofStrings((List<String>) values);
      case STRING_LIST -> AttributeValues.ofLists((List<List<String>>) values);
    };
  }
}
