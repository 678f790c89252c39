// SPDX-License-Identifier: Apache-2.0
package service;

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
import service.Service.Refusal;

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
  static Additions read(Shape shape, String body) throws Refusal {
    Additions additions = new Additions(shape);
    List<?> items = Fields.array(Fields.get(Fields.body(body, List.of("items")), "items"), "items", "items");
    if (items.isEmpty()) {
      throw new Refusal(400, "items has 0 elements, expected 1 or more");
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

  private void add(Object value, String path) throws Refusal {
    Map<?, ?> item = Fields.object(value, path, MEMBERS);
    Object priority = Fields.get(item, "priority");
    Object some = Fields.get(item, "attributes");
    Map<?, ?> attributes = Fields.isNull(some) ? Map.of()
        : Fields.object(some, path + ".attributes", List.copyOf(shape.attributes.keySet()));
    checkGiven(priority, attributes, path);
    addId(Fields.get(item, "id"), path + ".id");
    addSid(Fields.get(item, "sid"), path + ".sid");
    if (!Fields.isNull(priority)) {
      priorities.add(Fields.integer(priority, path + ".priority", "an integer"));
    }
    for (Map.Entry<String, AttributeType> each : shape.attributes.entrySet()) {
      if (attributes.containsKey(each.getKey())) {
        values.computeIfAbsent(each.getKey(), name -> new ArrayList<>()).add(
            attribute(each.getValue(), attributes.get(each.getKey()), path + ".attributes." + each.getKey()));
      }
    }
  }

  /** Expects each item to give what the first one does. */
  private void checkGiven(Object priority, Map<?, ?> attributes, String path) throws Refusal {
    Set<String> these = new TreeSet<>();
    attributes.keySet().forEach(name -> these.add("attributes." + name));
    if (!Fields.isNull(priority)) {
      these.add("priority");
    }
    if (given == null) {
      given = these;
    }
    if (!these.equals(given)) {
      throw new Refusal(400, path + " gives " + these + ", expected " + given
          + " as items[0] does; an attribute may be null");
    }
  }

  private void addId(Object value, String path) throws Refusal {
    Object id = Ids.read(value, shape.info.idType());
    if (id == null) {
      throw Fields.mistake(value, path, Ids.expected(shape.info.idType()));
    }
    ids.add(id);
  }

  private void addSid(Object value, String path) throws Refusal {
    int levels = shape.info.levels();
    List<?> sid = Fields.array(value, path, "codes");
    int least = shape.info.variableLength() ? 1 : levels;
    if (sid.size() < least || sid.size() > levels) {
      throw new Refusal(400, path + " has " + sid.size() + " codes, expected "
          + (least == levels ? levels : least + " .. " + levels));
    }
    for (int l = 0; l < levels; l++) {
      int code = 0; // past the end nobody reads it
      if (l < sid.size()) {
        int limit = shape.info.codes()[l];
        if (!(sid.get(l) instanceof Long number) || number < 0 || number >= limit) {
          throw Fields.mistake(sid.get(l), path + "[" + l + "]", "0 .. " + (limit - 1));
        }
        code = number.intValue();
      }
      codes.add(code);
    }
    lengths.add(sid.size());
  }

  /** Gives a Long, Float, Boolean, String, list of strings, or null. */
  private static Object attribute(AttributeType type, Object value, String path) throws Refusal {
    if (value == null) {
      return null;
    }
    return switch (type) {
      case I64 -> Fields.integer(value, path, "an integer");
      case F32 -> number(value, path);
      case BOOL -> {
        if (value instanceof Boolean) {
          yield value;
        }
        throw Fields.mistake(value, path, "true or false");
      }
      case STRING -> Fields.text(value, path);
      case STRING_LIST -> {
        List<String> texts = new ArrayList<>();
        for (Object text : Fields.array(value, path, "strings")) {
          texts.add(Fields.text(text, path + "[" + texts.size() + "]"));
        }
        yield texts;
      }
    };
  }

  private static Float number(Object value, String path) throws Refusal {
    if (value instanceof Number number && Float.isFinite(number.floatValue())) {
      return number.floatValue();
    }
    throw Fields.mistake(value, path, "a number of 32 bits");
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
