// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * Arrays of a session on a CUDA device, at fixed addresses of the device as long as the session is open. Shapes and
 * meaning are those of {@link Beams}.
 */
public final class DeviceBeams {
  private final Session session;
  private final long[] layout;

  DeviceBeams(Session session, long[] layout) {
    this.session = session;
    this.layout = layout;
  }

  private DevicePointer array(int where, long count) {
    return layout[where] == 0 ? null : new DevicePointer(layout[where], count);
  }

  private long all() {
    return (long) session.slots() * session.width();
  }

  /**
   * As {@link Beams#parents}.
   *
   * @return int32 [S, M]
   */
  public DevicePointer parents() {
    return array(Native.FLAT_BEAMS_PARENTS, all());
  }

  /**
   * As {@link Beams#codes}.
   *
   * @return int32 [S, M]
   */
  public DevicePointer codes() {
    return array(Native.FLAT_BEAMS_CODES, all());
  }

  /**
   * As {@link Beams#scores}.
   *
   * @return float [S, M]
   */
  public DevicePointer scores() {
    return array(Native.FLAT_BEAMS_SCORES, all());
  }

  /**
   * As {@link Beams#states}.
   *
   * @return int64 [S, M]
   */
  public DevicePointer states() {
    return array(Native.FLAT_BEAMS_STATES, all());
  }

  /**
   * As {@link Beams#live}.
   *
   * @return int32 [S]
   */
  public DevicePointer live() {
    return array(Native.FLAT_BEAMS_LIVE, session.slots());
  }

  /**
   * As {@link Beams#active}.
   *
   * @return int32 [S]
   */
  public DevicePointer active() {
    return array(Native.FLAT_BEAMS_ACTIVE, session.slots());
  }

  /**
   * As {@link Beams#level}.
   *
   * @return int32 [S]
   */
  public DevicePointer level() {
    return array(Native.FLAT_BEAMS_LEVEL, session.slots());
  }

  /**
   * As {@link Beams#errors}.
   *
   * @return int32 [S]
   */
  public DevicePointer errors() {
    return array(Native.FLAT_BEAMS_ERRORS, session.slots());
  }

  /**
   * As {@link Beams#logMasses}.
   *
   * @return float [S, M]; null where the mode has none
   */
  public DevicePointer logMasses() {
    return array(Native.FLAT_BEAMS_LOG_MASSES, all());
  }

  /**
   * As {@link Beams#perturbed}.
   *
   * @return float [S, M]; null where the mode has none
   */
  public DevicePointer perturbed() {
    return array(Native.FLAT_BEAMS_PERTURBED, all());
  }

  /**
   * As {@link Beams#logInclusions}.
   *
   * @return float [S, M]; null where the mode has none
   */
  public DevicePointer logInclusions() {
    return array(Native.FLAT_BEAMS_LOG_INCLUSIONS, all());
  }

  /**
   * As {@link Beams#thresholds}.
   *
   * @return float [S]; null where the mode has none
   */
  public DevicePointer thresholds() {
    return array(Native.FLAT_BEAMS_THRESHOLDS, session.slots());
  }
}
