// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** What quotes in CSV are. */
public enum Quotes {
  /** As the file tells; one that makes sense in both ways is refused. */
  AUTO(Native.SIDBEAM_QUOTES_AUTO),
  /** Those of RFC 4180. */
  RFC4180(Native.SIDBEAM_QUOTES_RFC4180),
  /** Text like any other. */
  TEXT(Native.SIDBEAM_QUOTES_TEXT);

  final int code;

  Quotes(int code) {
    this.code = code;
  }
}
