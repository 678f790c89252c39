// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** Levels of messages; they go to the {@link System.Logger} named "io.sidbeam". */
public enum LogLevel {
  /** What failed. */
  ERROR(Native.SIDBEAM_LOG_ERROR),
  /** What works, but not as requested. */
  WARNING(Native.SIDBEAM_LOG_WARNING),
  /** Everything. */
  INFO(Native.SIDBEAM_LOG_INFO);

  final int code;

  LogLevel(int code) {
    this.code = code;
  }

  static LogLevel of(long code) {
    for (LogLevel value : values()) {
      if (value.code == code) {
        return value;
      }
    }
    throw new SidbeamException(Status.UNSUPPORTED, "log level " + code + " came with a newer library");
  }
}
