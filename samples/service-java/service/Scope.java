// SPDX-License-Identifier: Apache-2.0
package service;

import com.google.gson.JsonArray;
import io.sidbeam.Constrainer;
import io.sidbeam.Constraint;
import io.sidbeam.ConstraintInfo;
import io.sidbeam.ItemList;
import io.sidbeam.ItemRows;
import io.sidbeam.Rules;
import java.util.ArrayList;
import java.util.List;

/**
 * What the histories of a request run under: the whole index, or a constraint with the request's rules.
 *
 * @param constraint null: the whole index
 * @param unknownExcluded ids of the list that the index does not have; null, here and below: there is no such list
 */
record Scope(Serving serving, Constraint constraint, Long unknownExcluded, Long unknownAllowed)
    implements AutoCloseable {
  static Scope of(Serving serving, Question asked) {
    if (asked.isPlain()) {
      return new Scope(serving, null, null, null);
    }
    ItemList excluded = list(serving, "exclude", asked.exclude());
    ItemList allowed = list(serving, "allow", asked.allow());
    try (Filters.Use use = serving.filters.use(asked.filter(), asked.where())) { // the constraint holds it
      Constraint made = new Constraint(serving.index, new Rules().filter(use.filter).exclude(excluded).allow(allowed));
      ConstraintInfo info = made.info();
      return new Scope(serving, made, excluded == null ? null : info.unknownExcluded(),
          allowed == null ? null : info.unknownAllowed());
    }
  }

  Constrainer constrainer() {
    return constraint == null ? serving.index : constraint;
  }

  /** The items of the ordinals of a result, as many as are wanted. */
  ItemRows items(long[] ordinals, int limit) {
    return constraint == null ? serving.index.itemRowsOf(ordinals, 0, limit, false)
        : constraint.itemRowsOf(ordinals, 0, limit, false);
  }

  /** Results of histories that run need no constraint of ours: the runner holds it. */
  @Override
  public void close() {
    if (constraint != null) {
      constraint.close();
    }
  }

  private static ItemList list(Serving serving, String what, JsonArray ids) {
    if (ids == null) {
      return null;
    }
    List<Object> read = new ArrayList<>(ids.size());
    for (int i = 0; i < ids.size(); i++) {
      read.add(Ids.read(ids.get(i), what + "[" + i + "]", serving.idType));
    }
    return Ids.list(read, serving.idType);
  }
}
