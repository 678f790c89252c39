// SPDX-License-Identifier: Apache-2.0
package service;

import io.sidbeam.Normalization;
import io.sidbeam.Residency;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The options of the service, by the names of the contract (x-options). */
final class Options {
  private static final Pattern TIME = Pattern.compile("(\\d{1,9})(ms|s|m|h)");
  private static final Map<String, Long> UNITS = Map.of("ms", 1L, "s", 1000L, "m", 60_000L, "h", 3_600_000L);

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
  final InetSocketAddress listen;
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
    model = a.need("model", Path::of, "folder of a checkpoint");
    draft = a.take("draft", null, Path::of, "folder of a smaller model that writes levels ahead, for the same answers");
    index = a.need("index", Path::of, "index file, or folder of a live catalogue");
    residency = a.take("residency", "map", Options::residency,
        "the file, or the catalogue's base, in memory: map, prefault, lock or copy");
    offsets = a.take("offsets", null, value -> Arrays.stream(ints(0).apply(value)).asLongStream().toArray(),
        "o0,o1,..: code t of level l is token o_l + t");
    startTokens = a.take("start-tokens", null, ints(-1), "t0,t1,..: before every history; -1 fills a position up");
    beginTokens = a.take("begin-tokens", null, ints(0), "t0,t1,..: after every prompt; of a T5 the first");
    Integer end = a.take("end-column", null, count(0), "token that ends a SID, where lengths vary");
    endColumn = end == null ? -1 : end;
    group = a.take("group", "1", count(1), "tokens per position, whose embeddings are summed; a SID is one");
    normalization = a.take("normalize", "full", Options::normalization,
        "log-softmax over all tokens, the level's codes or the valid codes: full, level, valid");
    beams = a.take("beams", "50", count(1), "beams of a history, and items of it, at most");
    histories = a.take("histories", "16", count(1), "histories of a request, at most");
    prompt = a.take("prompt", "512", count(1), "positions of a history that the model reads, the latest");
    lanes = a.take("lanes", "" + Runtime.getRuntime().availableProcessors(), count(1), "histories that run at a time");
    queue = a.take("queue", "1024", count(1), "histories that may wait");
    filters = a.take("filters", null, Path::of, "file of the filters that requests may name, {\"name\": \"text\"}");
    listed = a.take("listed", "10000", count(0), "ids of a request's list of excluded or allowed items, at most");
    whereBytes = a.take("where-bytes", "4096", count(0), "bytes of the text of a request's own filter, at most");
    whereKept = a.take("where-kept", "16", count(0), "filters of such texts that are kept, the latest; 0: none");
    follow = a.take("follow", "false", Options::flag, "another process writes the catalogue");
    keep = a.take("keep", "16", count(1), "versions of the catalogue that can be gone back to");
    keepAge = a.take("keep-age", "0s", time(0),
        "how long before the newest came these may have been replaced; 0s: whatever their age");
    tokenFile = a.take("token-file", null, Path::of,
        "file of the token of changes and reloads; without it " + Token.VARIABLE + ", of the environment, has it");
    listen = a.take("listen", "127.0.0.1:8080", Options::address, "address and port");
    jsonLog = a.take("log", "text", Options::json, "text or json, to standard error");
    requests = a.take("requests", "256", count(1), "requests that run at a time, at most");
    connections = a.take("connections", "4096", count(1), "connections that are open, at most");
    timeout = a.take("timeout", "10s", time(1), "time of a request for recommendations, at most");
    headerTime = a.take("header-time", "10s", time(1), "time in which a request's headers come, at most");
    bodyTime = a.take("body-time", "30s", time(1), "time in which headers and body come, at most");
    idleTime = a.take("idle-time", "75s", time(1), "time for which a connection may be open without a request");
    drain = a.take("drain", "30s", time(0), "time between SIGTERM and the end, at most");
    quiet = a.take("quiet", "1s", time(0), "time without connections before the end");
    a.end();
  }

  private static Function<String, Integer> count(int least) {
    return value -> {
      int number = Integer.parseInt(value);
      if (number < least) {
        throw new IllegalArgumentException();
      }
      return number;
    };
  }

  private static boolean choice(String value, String yes, String no) {
    if (!value.equals(yes) && !value.equals(no)) {
      throw new IllegalArgumentException();
    }
    return value.equals(yes);
  }

  private static boolean flag(String value) {
    return choice(value, "true", "false");
  }

  private static boolean json(String value) {
    return choice(value, "json", "text");
  }

  private static Normalization normalization(String name) {
    return Normalization.valueOf(name.toUpperCase(Locale.ROOT));
  }

  private static Residency residency(String name) {
    return Residency.valueOf(name.toUpperCase(Locale.ROOT));
  }

  private static Function<String, int[]> ints(int least) {
    return value -> Arrays.stream(value.split(",", -1)).mapToInt(part -> count(least).apply(part)).toArray();
  }

  /** Of at least so many milliseconds. */
  private static Function<String, Duration> time(long least) {
    return value -> {
      Matcher parts = TIME.matcher(value);
      long given = parts.matches() ? Long.parseLong(parts.group(1)) * UNITS.get(parts.group(2)) : -1;
      if (given < least) {
        throw new IllegalArgumentException();
      }
      return Duration.ofMillis(given);
    };
  }

  /** Of "host:port"; an address of IPv6 is in brackets. */
  private static InetSocketAddress address(String value) {
    int colon = value.lastIndexOf(':');
    String host = value.substring(0, colon).replaceFirst("^\\[(.*)]$", "$1");
    InetSocketAddress address = new InetSocketAddress(host, Integer.parseInt(value.substring(colon + 1)));
    if (host.isEmpty() || address.isUnresolved()) {
      throw new IllegalArgumentException();
    }
    return address;
  }
}
