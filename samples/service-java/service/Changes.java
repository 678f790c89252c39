// SPDX-License-Identifier: Apache-2.0
package service;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.sidbeam.CompactConfig;
import io.sidbeam.IdType;
import io.sidbeam.SidbeamException;
import io.sidbeam.Status;
import io.sidbeam.VersionInfo;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/** The requests that change a live catalogue, from their JSON to their answers. */
final class Changes {
  private final Options options;
  private final Versions versions;
  private final BooleanSupplier ending;
  private final Additions.Shape shape; // null: the index is a file

  /** The end of the service is also that of compactions, which take longer than anybody waits at the end. */
  Changes(Options options, Versions versions, Serving first, BooleanSupplier ending) {
    this.options = options;
    this.versions = versions;
    this.ending = ending;
    shape = versions.live == null ? null : Additions.Shape.of(first);
  }

  void checkLive() {
    if (versions.live == null) {
      throw Refusal.conflict(options.index + " is an index file, expected the folder of a live catalogue");
    }
  }

  void checkWrites() {
    checkLive();
    if (options.follow) {
      throw Refusal.conflict(options.index + " is followed: expected changes by the process that writes it");
    }
  }

  /** What the catalogue does not take is the client's mistake, at a place. */
  private static RuntimeException refused(SidbeamException e, String path) {
    return e.status() == Status.INVALID_ARGUMENT ? Refusal.mistake(path, e.getMessage())
        : e.status() == Status.BAD_STATE ? Refusal.conflict(e.getMessage()) : e;
  }

  Answer add(Exchange x) {
    Additions additions = Additions.read(shape, x.body());
    try {
      versions.live.add(additions.pairs());
    } catch (SidbeamException e) {
      throw refused(e, "items");
    }
    return Answer.json(Json.of("added", additions.size()));
  }

  Answer remove(Exchange x) {
    x.none();
    IdType type = shape.info().idType();
    String text = Exchange.text(x.target.after(Route.ITEM_PREFIX.length()), "id");
    Object id = Ids.read(text, type);
    if (id == null) {
      throw Refusal.wrong("id", "is " + Json.quote(Json.cut(text)) + ", expected " + Ids.expected(type));
    }
    String shown = Ids.json(id, type);
    try {
      if (versions.live.remove(Ids.list(List.of(id), type)) > 0) {
        throw new Refusal(404, "not_found", "there is no item " + shown);
      }
    } catch (SidbeamException e) {
      throw refused(e, "id");
    }
    return Answer.json("{\"removed\":" + shown + "}");
  }

  Answer publish(Exchange x) {
    x.none();
    return serves(versions.live::publish, Refusal.BODY);
  }

  Answer rollBack(Exchange x) {
    JsonObject given = Fields.body(x.body(), List.of("version"));
    long to = Fields.integer(given.get("version"), "version", "the number of a version");
    return serves(() -> versions.live.rollback(to), "version");
  }

  Answer compact(Exchange x) {
    x.none();
    checkWanted(x);
    return serves(() -> versions.live.compact(new CompactConfig().progress((phase, done, total) -> checkWanted(x))),
        Refusal.BODY);
  }

  private void checkWanted(Exchange x) {
    if (ending.getAsBoolean()) {
      throw Refusal.DRAINING;
    }
    if (x.gone.isDone()) {
      throw Refusal.HUNG_UP;
    }
  }

  /** Gives later requests the version that a change makes. */
  private Answer serves(LongSupplier change, String path) {
    long version;
    try {
      version = change.getAsLong();
    } catch (SidbeamException e) {
      throw refused(e, path);
    }
    try {
      versions.advance();
    } catch (RuntimeException e) {
      throw new Refusal(500, "internal", "version " + version + " is published, but cannot be served: "
          + e.getMessage());
    }
    return Answer.json(Json.of("version", version));
  }

  /** The version that is served, and those that can be gone back to. */
  Answer list() {
    JsonArray kept = new JsonArray();
    for (VersionInfo v : versions.live.versions()) {
      kept.add(Json.of("version", v.version(), "generation", v.generation(), "published", v.published().toString(),
          "items", v.items(), "changed", v.changed(), "bytes", v.bytes(), "back_to", v.backTo(), "in_use", v.inUse()));
    }
    return Answer.json(Json.of("version", versions.version(), "versions", kept));
  }
}
