// SPDX-License-Identifier: Apache-2.0
package service;

import io.sidbeam.Catalogue;
import io.sidbeam.Constraint;
import io.sidbeam.ItemList;
import io.sidbeam.ItemRows;
import io.sidbeam.Rules;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import service.Service.Refusal;

/**
 * What the histories of a request run under: the whole index, or a constraint with the request's rules.
 *
 * @param constraint null: the whole index
 * @param counts of the ids that the index does not have, as JSON, for the answer
 */
record Scope(Serving serving, Constraint constraint, String counts) implements AutoCloseable {
  /** Reads "exclude", "allow", "where" and "filter"; what is null is not asked for. */
  static Scope of(Serving serving, Options options, Map<?, ?> request) throws Refusal {
    ItemList excluded = list(serving, options, "exclude", request.get("exclude"));
    ItemList allowed = list(serving, options, "allow", request.get("allow"));
    String where = text("where", request.get("where"));
    String name = text("filter", request.get("filter"));
    if (excluded == null && allowed == null && where == null && name == null) {
      return new Scope(serving, null, "");
    }
    int bytes = where == null ? 0 : where.getBytes(StandardCharsets.UTF_8).length;
    if (bytes > options.whereBytes()) {
      throw new Refusal(400, "where has " + bytes + " bytes, expected at most " + options.whereBytes());
    }
    try (Filters.Use use = serving.filters.use(name, where)) { // the constraint holds it
      Constraint made = new Constraint(serving.index, new Rules().filter(use.filter).exclude(excluded).allow(allowed));
      String counts = (excluded == null ? "" : ", \"unknown_excluded\": " + made.info().unknownExcluded())
          + (allowed == null ? "" : ", \"unknown_allowed\": " + made.info().unknownAllowed());
      return new Scope(serving, made, counts);
    }
  }

  Catalogue catalogue() {
    return constraint == null ? serving.index : constraint;
  }

  /** The items of the ordinals of a result, as many as are wanted. */
  ItemRows items(long[] ordinals, int limit) {
    return constraint == null ? serving.index.itemRows(ordinals, 0, limit, false)
        : constraint.itemRows(ordinals, 0, limit, false);
  }

  /** Results of histories that run need no constraint of ours: the runner holds it. */
  @Override
  public void close() {
    if (constraint != null) {
      constraint.close();
    }
  }

  private static String text(String what, Object given) throws Refusal {
    if (given == null || given instanceof String) {
      return (String) given;
    }
    throw new Refusal(400, what + " is " + given + ", expected a text");
  }

  private static ItemList list(Serving serving, Options options, String what, Object given) throws Refusal {
    if (given == null) {
      return null;
    }
    if (!(given instanceof List<?> ids)) {
      throw new Refusal(400, what + " is no array of ids");
    }
    if (ids.size() > options.listed()) {
      throw new Refusal(400, what + " has " + ids.size() + " ids, expected at most " + options.listed());
    }
    List<Object> read = new ArrayList<>();
    for (int i = 0; i < ids.size(); i++) {
      Object id = Ids.read(ids.get(i), serving.idType);
      if (id == null) {
        throw Fields.mistake(ids.get(i), what + "[" + i + "]", Ids.expected(serving.idType));
      }
      read.add(id);
    }
    return Ids.list(read, serving.idType);
  }
}
