// SPDX-License-Identifier: Apache-2.0
package service;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import io.sidbeam.Filter;
import io.sidbeam.Index;
import io.sidbeam.SidbeamException;
import io.sidbeam.Status;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * The filters of one version of the index, since a filter belongs to its index: the named ones of the settings, and
 * those of texts that requests brought lately. They close with the version.
 */
final class Filters implements AutoCloseable {
  /** What a filter of the settings may be called: metrics have it as a label. */
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_.-]{1,64}");

  /** What a request asks for: a named filter, a text, or both, and then what is in both. */
  private record Key(String name, String text) {}

  /** A filter that a request uses until it closes this. */
  final class Use implements AutoCloseable {
    final Filter filter; // null: all items
    private int users = 1; // requests, and one as long as it is kept

    private Use(Filter filter) {
      this.filter = filter;
    }

    @Override
    public void close() {
      synchronized (kept) {
        if (--users == 0) {
          filter.close();
        }
      }
    }
  }

  private final Index index;
  private final Map<String, Use> named = new TreeMap<>();
  private final int most; // texts that are kept
  private final Map<Key, Use> kept = new LinkedHashMap<>(16, 0.75f, true); // the latest last

  /** Makes the filters of the settings, a JSON object of name to text, and prepares them: no request waits for that. */
  Filters(Index index, Path path, int most) {
    this(index, most);
    try {
      for (Map.Entry<String, JsonElement> filter : read(path).entrySet()) {
        add(filter.getKey(), filter.getValue(), path);
      }
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  private Filters(Index index, int most) {
    this.index = index;
    this.most = most;
  }

  /**
   * The filters of the settings, as they were read, on another version of a live catalogue, prepared too. Those of
   * texts are made when a request brings one again.
   */
  Filters on(Index other) {
    Filters next = new Filters(other, most);
    try {
      for (Map.Entry<String, Use> each : named.entrySet()) {
        Use moved = new Use(each.getValue().filter.on(other));
        next.named.put(each.getKey(), moved);
        moved.filter.prepare();
      }
      return next;
    } catch (RuntimeException e) {
      next.close();
      throw e;
    }
  }

  private static JsonObject read(Path path) {
    if (path == null) {
      return new JsonObject();
    }
    try {
      if (Json.read(Files.readString(path)) instanceof JsonObject filters) {
        return filters;
      }
      throw new IOException("it is no object");
    } catch (IOException | Refusal e) {
      throw new IllegalArgumentException("the filters of " + path + ", expected {\"name\": \"text\"}: "
          + e.getMessage(), e);
    }
  }

  private void add(String name, JsonElement text, Path path) {
    String what = "filter " + Json.quote(name) + " of " + path + ": ";
    if (!NAME.matcher(name).matches()) {
      throw new IllegalArgumentException(what + "expected a name of 1 .. 64 letters, digits, \"_\", \".\" and \"-\"");
    }
    if (text == Json.TWICE) {
      throw new IllegalArgumentException(what + "it is given twice");
    }
    if (!(text instanceof JsonPrimitive written) || !written.isString()) {
      throw new IllegalArgumentException(what + "expected a text");
    }
    try {
      Use use = new Use(Filter.parse(index, written.getAsString()));
      named.put(name, use);
      use.filter.prepare();
    } catch (SidbeamException e) {
      throw new IllegalArgumentException(what + placed(e), e);
    }
  }

  /** The message, which begins with the place: the caller says which filter it is. */
  private static String placed(SidbeamException e) {
    return e.getMessage().replaceFirst("^filter: ", "");
  }

  Set<String> names() {
    return named.keySet();
  }

  /** Those of texts that are kept. */
  int size() {
    synchronized (kept) {
      return kept.size();
    }
  }

  /** The filter that a request asks for; null is what it does not ask for. */
  Use use(String name, String text) {
    Use given = name == null ? null : named.get(name);
    if (name != null && given == null) {
      throw Refusal.wrong("filter", "is " + Json.cut(Json.quote(name)) + ", expected one of " + names());
    }
    if (text == null) {
      return given == null ? entered(new Use(null)) : entered(given);
    }
    Key key = new Key(name, text);
    synchronized (kept) {
      Use use = kept.get(key);
      if (use != null) {
        return entered(use);
      }
    }
    return keep(key, new Use(parse(given, text)));
  }

  private Use entered(Use use) {
    synchronized (kept) {
      use.users++;
      return use;
    }
  }

  private Filter parse(Use given, String text) {
    try {
      Filter filter = Filter.parse(index, text);
      if (given == null) {
        return filter;
      }
      try (filter) {
        return filter.and(given.filter);
      }
    } catch (SidbeamException e) {
      if (e.status() == Status.INVALID_ARGUMENT) {
        throw Refusal.wrong("where", "cannot be read: " + placed(e));
      }
      throw e;
    }
  }

  /** Gives the filter that is kept: this one, or the one that another request has made meanwhile. */
  private Use keep(Key key, Use made) {
    synchronized (kept) {
      Use other = kept.get(key);
      if (other != null) {
        made.close();
        return entered(other);
      }
      if (most > 0) {
        kept.put(key, entered(made));
      }
      if (kept.size() > most) {
        Iterator<Use> oldest = kept.values().iterator();
        if (oldest.hasNext()) {
          Use left = oldest.next();
          oldest.remove();
          left.close();
        }
      }
      return made;
    }
  }

  /** No request is left. */
  @Override
  public void close() {
    named.values().forEach(Use::close);
    kept.values().forEach(Use::close);
  }
}
