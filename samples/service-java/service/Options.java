// SPDX-License-Identifier: Apache-2.0
package service;

import io.sidbeam.Normalization;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;

/**
 * The command line.
 *
 * @param index a file, or the folder of a live catalogue
 * @param draft folder of a smaller model that writes levels ahead, for the same answers; null: none
 * @param offsets token of code 0 of each level; null: code t is token t
 * @param startTokens before every history; -1 is no token
 * @param beginTokens after every prompt; null: none, or what the model's config says
 * @param endColumn token that ends a SID, where lengths vary; -1: none
 * @param group tokens per position, whose embeddings are summed
 * @param normalization what log-softmax is over
 * @param prompt positions of a history that the model reads, the latest
 * @param lanes histories that run at a time
 * @param queue histories that may wait
 * @param filters file of the filters that requests may name; null: none
 * @param listed ids of a list of excluded or allowed items, at most
 * @param whereBytes of the text of a request's own filter, at most
 * @param whereKept such filters that are kept, the latest; 0: none
 * @param follow whether another process writes the catalogue
 * @param keep versions of it that can be gone back to
 * @param keepAge how old these may be; 0: whatever their age
 * @param tokenFile file of the token that changes and reloads must bear; null: it is in the environment, if any
 */
record Options(Path model, Path index, Path draft, int port, long[] offsets, int[] startTokens, int[] beginTokens,
    long endColumn, int group, Normalization normalization, int beams, int prompt, int lanes, int queue, Path filters,
    int listed, int whereBytes, int whereKept, boolean follow, long keep, Duration keepAge, Path tokenFile) {
  private static final String USAGE = "usage: service.Service MODEL INDEX [--draft MODEL] [--port 8080] "
      + "[--offsets o0,o1,..] [--start-tokens t0,..] [--begin-tokens t0,..] [--end-column t] [--group 1] "
      + "[--normalize full|level|valid] [--beams 50] [--prompt 512] [--lanes PROCESSORS] [--queue 1024] "
      + "[--filters FILE] [--listed 10000] [--where-bytes 4096] [--where-kept 16] "
      + "[--follow true|false] [--keep 16] [--keep-age 0s] [--token-file FILE]";

  static Options parse(String[] arguments) {
    if (arguments.length < 2 || arguments.length % 2 != 0) {
      throw new IllegalArgumentException(USAGE);
    }
    Map<String, String> given = new HashMap<>();
    for (int i = 2; i < arguments.length; i += 2) {
      given.put(arguments[i], arguments[i + 1]);
    }
    Options options = new Options(Path.of(arguments[0]), Path.of(arguments[1]),
        take(given, "--draft", null, Path::of),
        take(given, "--port", 8080, Integer::parseInt),
        take(given, "--offsets", null, Options::list),
        take(given, "--start-tokens", new int[0], Options::tokens),
        take(given, "--begin-tokens", null, Options::tokens),
        take(given, "--end-column", -1L, Long::parseLong),
        take(given, "--group", 1, Options::atLeastOne),
        take(given, "--normalize", Normalization.FULL, name -> Normalization.valueOf(name.toUpperCase(Locale.ROOT))),
        take(given, "--beams", 50, Integer::parseInt),
        take(given, "--prompt", 512, Integer::parseInt),
        take(given, "--lanes", Runtime.getRuntime().availableProcessors(), Integer::parseInt),
        take(given, "--queue", 1024, Integer::parseInt),
        take(given, "--filters", null, Path::of),
        take(given, "--listed", 10000, Integer::parseInt),
        take(given, "--where-bytes", 4096, Integer::parseInt),
        take(given, "--where-kept", 16, Integer::parseInt),
        take(given, "--follow", false, Options::flag),
        take(given, "--keep", 16L, Long::parseLong),
        take(given, "--keep-age", Duration.ZERO, time -> Duration.parse("PT" + time)),
        take(given, "--token-file", null, Path::of));
    if (!given.isEmpty()) {
      throw new IllegalArgumentException("there is no " + String.join(", ", given.keySet()) + "\n" + USAGE);
    }
    return options;
  }

  /** Removes an option, so that those remain that there are not. */
  private static <T> T take(Map<String, String> given, String name, T otherwise, Function<String, T> read) {
    String value = given.remove(name);
    try {
      return value == null ? otherwise : read.apply(value);
    } catch (IllegalArgumentException | ArithmeticException | DateTimeException e) {
      throw new IllegalArgumentException("cannot use " + name + " " + value + "\n" + USAGE);
    }
  }

  private static boolean flag(String value) {
    if (!value.equals("true") && !value.equals("false")) {
      throw new IllegalArgumentException();
    }
    return value.equals("true");
  }

  private static long[] list(String value) {
    return Arrays.stream(value.split(",")).mapToLong(Long::parseLong).toArray();
  }

  private static int[] tokens(String value) {
    return Arrays.stream(list(value)).mapToInt(Math::toIntExact).toArray();
  }

  private static int atLeastOne(String value) {
    int number = Integer.parseInt(value);
    if (number < 1) {
      throw new IllegalArgumentException();
    }
    return number;
  }
}
