// SPDX-License-Identifier: Apache-2.0
package service;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * What changes and reloads must bear; a file has it, or the environment: an argument would show it to all users of the
 * machine.
 *
 * @param text null: none is configured, so that nobody may change anything
 */
record Token(String text) {
  static final String VARIABLE = "SIDBEAM_TOKEN";

  /** From a file, or where that is null from the variable's value, which may be null. */
  static Token read(Path file, String variable) {
    String token;
    try {
      token = file != null ? Files.readString(file).strip() : variable == null ? "" : variable.strip();
    } catch (IOException e) {
      throw new IllegalArgumentException("cannot read the token: " + e, e);
    }
    if (token.isEmpty() && file == null) {
      return new Token(null);
    }
    if (!token.matches("[\\x21-\\x7e]+")) { // what a header can carry as it is
      throw new IllegalArgumentException("the token in " + (file == null ? VARIABLE : file)
          + " is empty, or has other characters than printable ASCII");
    }
    return new Token(token);
  }

  /** Lets a request pass that bears the token in its header, which may be null. */
  void check(String header) {
    if (text == null) {
      throw new Refusal(403, "forbidden", "no token is configured, so that nobody may change anything");
    }
    String[] given = header == null ? new String[0] : header.strip().split(" +", 2);
    boolean right = MessageDigest.isEqual(hash(text), hash(given.length < 2 ? "" : given[1]));
    if (!right || !given[0].equalsIgnoreCase("Bearer")) {
      throw new Refusal(401, "unauthorized",
          "expected the header Authorization: Bearer TOKEN, with the token of the service");
    }
  }

  /** Of one length, so that all tokens of requests are compared in the same time. */
  private static byte[] hash(String token) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(token.getBytes(UTF_8));
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e); // every Java has it
    }
  }

  @Override
  public String toString() {
    return "Token";
  }
}
