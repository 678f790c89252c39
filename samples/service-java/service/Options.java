// SPDX-License-Identifier: Apache-2.0
package service;

import io.sidbeam.Normalization;
import io.sidbeam.Residency;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The options of the service, by the names of the contract (x-options). */
final class Options {
  private static final int MOST = Integer.MAX_VALUE; // of a number that nothing else bounds
  private static final Pattern NUMBER = Pattern.compile("0|-?[1-9][0-9]{0,9}");
  private static final Pattern TIME = Pattern.compile("(0|[1-9][0-9]{0,9})(ms|s|m|h)");
  private static final Map<String, Long> UNITS = Map.of("ms", 1L, "s", 1000L, "m", 60_000L, "h", 3_600_000L);
  private static final Duration MOST_TIME = Duration.ofHours(87_600); // ten years
  private static final Map<String, Residency> RESIDENCIES = Map.of("map", Residency.MAP, "prefault",
      Residency.PREFAULT, "lock", Residency.LOCK, "copy", Residency.COPY);
  private static final Map<String, Normalization> NORMALIZATIONS =
      Map.of("full", Normalization.FULL, "level", Normalization.LEVEL, "valid", Normalization.VALID);
  private static final Pattern ADDRESS =
      Pattern.compile("(?:([0-9A-Za-z._-]+)|\\[([0-9A-Fa-f:.]+(?:%[0-9A-Za-z._-]+)?)]):(.*)", Pattern.DOTALL);

  final Path model;
  final Path draft; // null: none
  final Path index; // a file, or the folder of a live catalogue
  final Residency residency; // of that file, or of the catalogue's base
  final long[] offsets; // token of code 0 of each level; null: code t is token t
  final int[] startTokens; // before every history; -1 is no token
  final int[] beginTokens; // after every prompt; null: none, or what the model's config says
  final long endColumn; // -1: none
  final int group; // tokens per position
  final Normalization normalization;
  final int beams;
  final int histories;
  final int prompt; // positions
  final int lanes;
  final int queue;
  final Path filters; // null: none
  final int listed;
  final int whereBytes;
  final int whereKept;
  final boolean follow;
  final long keep;
  final Duration keepAge;
  final Path tokenFile; // null: the token is in the environment, if any
  final String host; // a name, or an address without brackets
  final int port;
  final boolean jsonLog;
  final int requests;
  final int connections;
  final Duration timeout;
  final Duration headerTime;
  final Duration bodyTime;
  final Duration idleTime;
  final Duration drain;
  final Duration quiet;

  /** Fails with an IllegalArgumentException that has the usage. */
  Options(String... arguments) {
    Arguments a = new Arguments(arguments);
    model = a.need("model", Options::path, "folder of a checkpoint");
    draft = a.take("draft", null, Options::path,
        "folder of a smaller model that writes levels ahead, for the same answers");
    index = a.need("index", Options::path, "index file, or folder of a live catalogue");
    residency = a.take("residency", "map", word(RESIDENCIES),
        "the file, or the catalogue's base, in memory: map, prefault, lock or copy");
    offsets = a.take("offsets", null, value -> Arrays.stream(ints(0).apply(value)).asLongStream().toArray(),
        "o0,o1,..: code t of level l is token o_l + t");
    startTokens = a.take("start-tokens", null, ints(-1), "t0,t1,..: before every history; -1 fills a position up");
    beginTokens = a.take("begin-tokens", null, ints(0), "t0,t1,..: after every prompt; of a T5 the first");
    Integer end = a.take("end-column", null, count(0, MOST), "token that ends a SID, where lengths vary");
    endColumn = end == null ? -1 : end;
    group = a.take("group", "1", count(1, 64), "tokens per position, whose embeddings are summed; a SID is one");
    normalization = a.take("normalize", "full", word(NORMALIZATIONS),
        "log-softmax over all tokens, the level's codes or the valid codes: full, level, valid");
    beams = a.take("beams", "50", count(1, 4096), "beams of a history, and items of it, at most");
    histories = a.take("histories", "16", count(1, MOST), "histories of a request, at most");
    prompt = a.take("prompt", "512", count(1, 1 << 20), "positions of a history that the model reads, the latest");
    lanes = a.take("lanes", "" + Runtime.getRuntime().availableProcessors(), count(1, 1024),
        "histories that run at a time");
    queue = a.take("queue", "1024", count(1, 1 << 20), "histories that may wait");
    filters = a.take("filters", null, Options::path,
        "file of the filters that requests may name, {\"name\": \"text\"}");
    listed = a.take("listed", "10000", count(0, MOST), "ids of a request's list of excluded or allowed items, at most");
    whereBytes = a.take("where-bytes", "4096", count(0, MOST), "bytes of the text of a request's own filter, at most");
    whereKept = a.take("where-kept", "16", count(0, MOST), "filters of such texts that are kept, the latest; 0: none");
    follow = a.take("follow", "false", Options::flag, "another process writes the catalogue");
    keep = a.take("keep", "16", count(1, MOST), "versions of the catalogue that can be gone back to");
    keepAge = a.take("keep-age", "0s", time(0),
        "how long before the newest came these may have been replaced; 0s: whatever their age");
    tokenFile = a.take("token-file", null, Options::path,
        "file of the token of changes and reloads; without it " + Token.VARIABLE + ", of the environment, has it");
    Matcher listen = a.take("listen", "127.0.0.1:8080", Options::address, "address and port");
    host = listen.group(1) != null ? listen.group(1) : listen.group(2);
    port = Integer.parseInt(listen.group(3));
    jsonLog = a.take("log", "text", word(Map.of("text", false, "json", true)), "text or json, to standard error");
    requests = a.take("requests", "256", count(1, MOST), "requests that run at a time, at most");
    connections = a.take("connections", "4096", count(1, MOST), "connections that are open, at most");
    timeout = a.take("timeout", "10s", time(1), "time of a request for recommendations, at most");
    headerTime = a.take("header-time", "10s", time(1), "time in which a request's headers come, at most");
    bodyTime = a.take("body-time", "30s", time(1), "time in which headers and body come, at most");
    idleTime = a.take("idle-time", "75s", time(1), "time for which a connection may be open without a request");
    drain = a.take("drain", "30s", time(0), "time between SIGTERM and the end, at most");
    quiet = a.take("quiet", "1s", time(0), "time without connections before the end");
    a.end();
  }

  private static IllegalArgumentException wrong() {
    return new IllegalArgumentException(); // which option it is, and what it was given, the caller knows
  }

  /** A number within bounds, without what parseInt takes besides: signs, zeros before it, other digits. */
  private static Function<String, Integer> count(int least, int most) {
    return value -> {
      long number = NUMBER.matcher(value).matches() ? Long.parseLong(value) : Long.MIN_VALUE;
      if (number < least || number > most) {
        throw wrong();
      }
      return (int) number;
    };
  }

  private static Path path(String value) {
    if (value.isEmpty()) {
      throw wrong();
    }
    return Path.of(value);
  }

  private static <T> Function<String, T> word(Map<String, T> words) {
    return value -> {
      if (!words.containsKey(value)) {
        throw wrong();
      }
      return words.get(value);
    };
  }

  /** Alone it is true. */
  private static boolean flag(String value) {
    return value == null || word(Map.of("true", true, "false", false)).apply(value);
  }

  private static Function<String, int[]> ints(int least) {
    return value -> Arrays.stream(value.split(",", -1)).mapToInt(part -> count(least, MOST).apply(part)).toArray();
  }

  /** Of at least so many milliseconds. */
  private static Function<String, Duration> time(long least) {
    return value -> {
      Matcher parts = TIME.matcher(value);
      long given = parts.matches() ? Long.parseLong(parts.group(1)) * UNITS.get(parts.group(2)) : -1;
      if (given < least || given > MOST_TIME.toMillis()) {
        throw wrong();
      }
      return Duration.ofMillis(given);
    };
  }

  /** Of "host:port"; an address of IPv6 is in brackets. */
  private static Matcher address(String value) {
    Matcher parts = ADDRESS.matcher(value);
    if (!parts.matches()) {
      throw wrong();
    }
    count(0, 65535).apply(parts.group(3));
    return parts;
  }
}
