// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.charset.StandardCharsets;

/**
 * A call that failed. Its message is one line: what, what was expected, what came. Outputs have not been written, and
 * the objects of the call have not changed.
 */
public final class SidbeamException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** As in the C ABI. */
  private final int code;

  SidbeamException(Status status, String message) {
    super(message);
    code = status.code;
  }

  private SidbeamException(int code, String message) {
    super(message);
    this.code = code;
  }

  /** Called by the native part; a truncated message may end within a character. */
  static SidbeamException of(int code, byte[] message) {
    return new SidbeamException(code, Messages.inJava(new String(message, StandardCharsets.UTF_8)));
  }

  static SidbeamException invalid(String message) {
    return new SidbeamException(Status.INVALID_ARGUMENT, message);
  }

  /**
   * The kind of failure.
   *
   * @return {@link Status#UNKNOWN} for numbers that this version does not know
   */
  public Status status() {
    return Status.of(code);
  }

  /**
   * The number of the kind of failure, as in the C ABI.
   *
   * @return SIDBEAM_INVALID_ARGUMENT (1) and so on
   */
  public int code() {
    return code;
  }

  /**
   * Class, status and message.
   *
   * @return for instance "io.sidbeam.SidbeamException: bad state: session is closed"
   */
  @Override
  public String toString() {
    return getClass().getName() + ": " + status() + ": " + getMessage();
  }
}
