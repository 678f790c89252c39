// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * The object from which every other is made: threads, instruction set, log, devices. Immutable; any threads may use it.
 * Objects made from it hold it, so it may be closed before them. Most programs never name one: the default is
 * {@link #getDefault}.
 */
public final class Runtime extends NativeObject {
  private static final class Default {
    static final Runtime RUNTIME = new Runtime(new RuntimeConfig());
  }

  /**
   * Makes a runtime.
   *
   * @param config read, not kept
   */
  public Runtime(RuntimeConfig config) {
    super(create(Buffers.given(config, "config")));
  }

  private static long create(RuntimeConfig config) {
    long handle = Native.flat_runtime_create(config.threads, config.stepThreads, config.stepGrain,
        config.logLevel == null ? -1 : config.logLevel.code, Text.in(config.cpuTarget, "cpuTarget"),
        config.cudaLibrary == null ? null : Text.in(config.cudaLibrary), config.deviceAllocate, config.deviceRelease,
        config.deviceContext);
    Log.drain();
    return handle;
  }

  /**
   * The runtime of the process, with all defaults; made when it is first asked for.
   *
   * @return always the same; it should not be closed
   */
  public static Runtime getDefault() {
    return Default.RUNTIME;
  }

  static Runtime orDefault(Runtime runtime) {
    return runtime != null ? runtime : getDefault();
  }

  /**
   * Version of the native library that is loaded.
   *
   * @return for instance "0.1.0"
   */
  public static String version() {
    return Text.out(Native.sidbeam_version());
  }

  /**
   * Version of the C ABI of the native library that is loaded.
   *
   * @return a number; this jar refuses to load another than its own
   */
  public static int abiVersion() {
    return (int) Native.sidbeam_abi_version();
  }

  /**
   * The instruction set that CPU kernels use by default on this machine.
   *
   * @return "baseline", "avx2", "avx512" or "neon"
   */
  public static String cpuTarget() {
    return Text.out(Native.sidbeam_cpu_target());
  }
}
