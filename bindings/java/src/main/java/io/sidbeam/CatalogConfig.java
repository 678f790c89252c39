// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.time.Duration;

/** How a live {@link Catalog} is kept; every setter returns this object. */
public final class CatalogConfig {
  Runtime runtime;
  Sync sync = Sync.PUBLISH;
  long syncIntervalMillis;
  long keepVersions;
  long keepMillis;
  Residency residency = Residency.MAP;
  Verify verify = Verify.HEADER;
  boolean acceptLoss;

  /** All defaults: each version is forced to the disk, and 16 are kept, whatever their age. */
  public CatalogConfig() {}

  /**
   * The runtime that the catalogue belongs to, where it is opened; a new one belongs to that of its base.
   *
   * @param runtime null: the default
   * @return this
   */
  public CatalogConfig runtime(Runtime runtime) {
    this.runtime = runtime;
    return this;
  }

  /**
   * When what was published is forced to the disk.
   *
   * @param sync default {@link Sync#PUBLISH}
   * @return this
   */
  public CatalogConfig sync(Sync sync) {
    this.sync = Buffers.given(sync, "sync");
    return this;
  }

  /**
   * How often at most, with {@link Sync#INTERVAL}.
   *
   * @param interval since the last time
   * @return this
   */
  public CatalogConfig syncInterval(Duration interval) {
    syncIntervalMillis = millis(interval, "syncInterval");
    return this;
  }

  /**
   * How many versions can be had and gone back to; the newest always.
   *
   * @param versions 0 (the default): 16
   * @return this
   */
  public CatalogConfig keepVersions(long versions) {
    keepVersions = versions;
    return this;
  }

  /**
   * How old these may be; the newest may always. The age is the time from the publish that replaced a version to the
   * newest publish: while none comes, old versions stay.
   *
   * @param age null (the default): whatever their age
   * @return this
   */
  public CatalogConfig keepAge(Duration age) {
    keepMillis = age == null ? 0 : millis(age, "keepAge");
    return this;
  }

  /**
   * Where the file of the base lives.
   *
   * @param residency default {@link Residency#MAP}
   * @return this
   */
  public CatalogConfig residency(Residency residency) {
    this.residency = Buffers.given(residency, "residency");
    return this;
  }

  /**
   * How much of the base is checked.
   *
   * @param verify default {@link Verify#HEADER}
   * @return this
   */
  public CatalogConfig verify(Verify verify) {
    this.verify = Buffers.given(verify, "verify");
    return this;
  }

  /**
   * Where a log is damaged, opens what was published before the damage and gives up what came after it; otherwise that
   * is {@link Status#CORRUPT}. (The end of a record that was never written whole is no damage: it is cut off.)
   *
   * @param accept default false
   * @return this
   */
  public CatalogConfig acceptLoss(boolean accept) {
    acceptLoss = accept;
    return this;
  }

  /** Rounded up, since 0 often means something else. */
  static long millis(Duration duration, String name) {
    Duration given = Buffers.given(duration, name);
    if (given.isNegative() || given.getSeconds() >= 1L << 30) {
      throw SidbeamException.invalid(name + " is " + given + ", expected from 0 to 2^30 seconds");
    }
    return given.plusNanos(999_999).toMillis();
  }
}
