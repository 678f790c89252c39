// SPDX-License-Identifier: Apache-2.0
package service;

import io.sidbeam.IdType;
import io.sidbeam.SidbeamException;
import io.sidbeam.Status;
import io.sidbeam.VersionInfo;
import java.math.BigInteger;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import service.Service.Refusal;

/** The requests that change a live catalogue, from their JSON to their answers'. */
final class Changes {
  private final Options options;
  private final Versions versions;
  private final Additions.Shape shape; // null: the index is a file

  Changes(Options options, Versions versions, Serving first) {
    this.options = options;
    this.versions = versions;
    shape = versions.live == null ? null : Additions.Shape.of(first);
  }

  private void checkLive() throws Refusal {
    if (versions.live == null) {
      throw new Refusal(409, options.index() + " is an index file, expected the folder of a live catalogue");
    }
  }

  /** To be called before a body is read. */
  void checkWrites() throws Refusal {
    checkLive();
    if (options.follow()) {
      throw new Refusal(409, options.index() + " is followed: expected changes by the process that writes it");
    }
  }

  /** What the catalogue does not take is the client's mistake. */
  private static Refusal refused(SidbeamException e) {
    return new Refusal(e.status() == Status.INVALID_ARGUMENT ? 400 : e.status() == Status.BAD_STATE ? 409
        : e.status() == Status.CANCELLED ? 503 : 500, e.getMessage());
  }

  String add(String body) throws Refusal {
    Additions additions = Additions.read(shape, body);
    try {
      versions.live.add(additions.pairs());
      return "{\"added\": " + additions.size() + "}\n";
    } catch (SidbeamException e) {
      throw refused(e);
    }
  }

  String remove(String item) throws Refusal {
    IdType type = shape.info().idType();
    Object id = Ids.read(type == IdType.STRING ? item : integer(item, type), type);
    if (id == null) {
      throw new Refusal(400, "the item is " + Json.quote(Json.cut(item))
          + ", expected " + Ids.expected(type));
    }
    String shown = Ids.json(id, type);
    try {
      if (versions.live.remove(Ids.list(List.of(id), type)) > 0) {
        throw new Refusal(404, "there is no item " + shown);
      }
      return "{\"removed\": " + shown + "}\n";
    } catch (SidbeamException e) {
      throw refused(e);
    }
  }

  /** As JSON has it; anything else where it is none. */
  private static Object integer(String text, IdType type) {
    if (!text.matches((type == IdType.U64 ? "" : "-?") + "(0|[1-9]\\d{0,39})")) {
      return text;
    }
    BigInteger number = new BigInteger(text);
    return number.bitLength() < Long.SIZE ? (Object) number.longValue() : number;
  }

  String publish() throws Refusal {
    return serves(versions.live::publish);
  }

  String rollBack(String body) throws Refusal {
    long to = Fields.integer(Fields.get(Fields.body(body, List.of("version")), "version"), "version",
        "the number of a version");
    return serves(() -> versions.live.rollback(to));
  }

  String compact() throws Refusal {
    return serves(versions.live::compact);
  }

  /** Gives later requests the version that a change makes. */
  private String serves(LongSupplier change) throws Refusal {
    long version;
    try {
      version = change.getAsLong();
    } catch (SidbeamException e) {
      throw refused(e);
    }
    try {
      versions.advance();
    } catch (RuntimeException e) {
      throw new Refusal(500, "version " + version + " is published, but cannot be served: " + e.getMessage());
    }
    return "{\"version\": " + version + "}\n";
  }

  /** The version that is served, and those that can be gone back to. */
  String list() throws Refusal {
    checkLive();
    Serving serving = versions.enter();
    try {
      return "{\"version\": " + serving.versionJson() + ", \"versions\": ["
          + versions.live.versions().stream().map(Changes::shown).collect(Collectors.joining(", ")) + "]}\n";
    } finally {
      serving.leave();
    }
  }

  private static String shown(VersionInfo v) {
    return "{\"version\": " + v.version() + ", \"generation\": " + v.generation() + ", \"published\": \""
        + v.published() + "\", \"items\": " + v.items() + ", \"changed\": " + v.changed() + ", \"bytes\": " + v.bytes()
        + ", \"back_to\": " + v.backTo() + ", \"in_use\": " + v.inUse() + "}";
  }
}
