// SPDX-License-Identifier: Apache-2.0
package service;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;

/** A command line of options: {@code --name value}, {@code --name=value}, or of a flag {@code --name} alone. */
final class Arguments {
  private final Map<String, String> given = new LinkedHashMap<>(); // null: alone
  private final StringBuilder usage = new StringBuilder("options:");
  private String wrong; // the first mistake

  Arguments(String[] arguments) {
    for (int i = 0; i < arguments.length; i++) {
      String[] parts = arguments[i].split("=", 2);
      if (!parts[0].startsWith("--")) {
        wrong("expected an option, got " + arguments[i]);
      } else if (parts.length == 2) {
        given.put(parts[0], parts[1]);
      } else {
        boolean alone = i + 1 == arguments.length || arguments[i + 1].startsWith("--");
        given.put(parts[0], alone ? null : arguments[++i]);
      }
    }
  }

  private void wrong(String what) {
    wrong = wrong == null ? what : wrong;
  }

  /**
   * Takes an option, so that those remain that there are not.
   *
   * @param otherwise its value where it is left out; null: it then is null
   */
  <T> T take(String name, String otherwise, Function<String, T> read, String help) {
    usage.append("\n  --").append(name).append("  ").append(help);
    if (otherwise != null) {
      usage.append(" (").append(otherwise).append(')');
    }
    boolean there = given.containsKey("--" + name);
    String value = given.remove("--" + name);
    try {
      if (there) {
        return read.apply(value);
      }
    } catch (RuntimeException e) {
      wrong("cannot use --" + name + " " + (value == null ? "without a value" : value));
    }
    return otherwise == null ? null : read.apply(otherwise);
  }

  /** Takes an option that must be there. */
  <T> T need(String name, Function<String, T> read, String help) {
    if (!given.containsKey("--" + name)) {
      wrong("--" + name + " is missing");
    }
    return take(name, null, read, help);
  }

  /** Fails with what is wrong, and with the usage, once all options have been taken. */
  void end() {
    if (!given.isEmpty()) {
      wrong("there is no " + String.join(", ", given.keySet()));
    }
    if (wrong != null) {
      throw new IllegalArgumentException(wrong + "\n" + usage);
    }
  }
}
