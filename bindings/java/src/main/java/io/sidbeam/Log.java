// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** Hands the native part's messages to the System.Logger "io.sidbeam"; called after calls that may have made some. */
final class Log {
  private static final System.Logger LOGGER = System.getLogger("io.sidbeam");

  private Log() {}

  static void drain() {
    byte[] text = new byte[Native.FLAT_LOG_BYTES];
    for (int level = Native.flat_log_take(text); level >= 0; level = Native.flat_log_take(text)) {
      LOGGER.log(severity(level), Text.ofBuffer(text));
    }
  }

  /** Tells of something that the binding has seen itself; cause may be null. */
  static void warn(String text, Throwable cause) {
    LOGGER.log(System.Logger.Level.WARNING, text, cause);
  }

  private static System.Logger.Level severity(int level) {
    return level == LogLevel.ERROR.code ? System.Logger.Level.ERROR
        : level == LogLevel.WARNING.code ? System.Logger.Level.WARNING
        : System.Logger.Level.INFO;
  }
}
