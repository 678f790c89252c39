// SPDX-License-Identifier: Apache-2.0
package service;

import io.sidbeam.Strategy;
import java.nio.file.Path;
import java.util.Locale;

/** The command line. */
record Options(Path index, int port, int pool, int slots, int beams, Strategy strategy) {
  private static final String USAGE = "usage: service.Service INDEX [--port 8080] [--pool 2] [--slots 8] [--beams 50] "
      + "[--strategy trie]";

  static Options parse(String[] arguments) {
    if (arguments.length % 2 == 0) {
      throw new IllegalArgumentException(USAGE);
    }
    Options options = new Options(Path.of(arguments[0]), 8080, 2, 8, 50, Strategy.TRIE);
    for (int i = 1; i < arguments.length; i += 2) {
      options = options.with(arguments[i], arguments[i + 1]);
    }
    return options;
  }

  private Options with(String name, String value) {
    try {
      return switch (name) {
        case "--port" -> new Options(index, Integer.parseInt(value), pool, slots, beams, strategy);
        case "--pool" -> new Options(index, port, Integer.parseInt(value), slots, beams, strategy);
        case "--slots" -> new Options(index, port, pool, Integer.parseInt(value), beams, strategy);
        case "--beams" -> new Options(index, port, pool, slots, Integer.parseInt(value), strategy);
        case "--strategy" -> new Options(index, port, pool, slots, beams,
            Strategy.valueOf(value.toUpperCase(Locale.ROOT)));
        default -> throw new IllegalArgumentException();
      };
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("cannot use " + name + " " + value + "\n" + USAGE);
    }
  }
}
