// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.file.Path;

/** What a {@link Runtime} is made with; every setter returns this object. */
public final class RuntimeConfig {
  int threads;
  int stepThreads;
  long stepGrain;
  LogLevel logLevel;
  String cpuTarget;
  Path cudaLibrary;
  long deviceAllocate;
  long deviceRelease;
  long deviceContext;

  /** All defaults. */
  public RuntimeConfig() {}

  /**
   * Threads of a build or a verification.
   *
   * @param threads the caller's included, 1 .. 1024; 0 (the default): one per core
   * @return this
   */
  public RuntimeConfig threads(int threads) {
    this.threads = threads;
    return this;
  }

  /**
   * Threads of a step. Results have the same bits whatever their number.
   *
   * @param stepThreads the caller's included, 1 .. 1024; 0 (the default): the caller's alone
   * @return this
   */
  public RuntimeConfig stepThreads(int stepThreads) {
    this.stepThreads = stepThreads;
    return this;
  }

  /**
   * How many logits elements justify one thread of a step.
   *
   * @param stepGrain elements; 0: 32768
   * @return this
   */
  public RuntimeConfig stepGrain(long stepGrain) {
    this.stepGrain = stepGrain;
    return this;
  }

  /**
   * Sends messages up to a level to the {@link System.Logger} "io.sidbeam", after opens, builds, verifications and
   * uploads. Without it there are none.
   *
   * @param level the least important that is wanted; null: none
   * @return this
   */
  public RuntimeConfig log(LogLevel level) {
    logLevel = level;
    return this;
  }

  /**
   * Instruction set of the CPU kernels.
   *
   * @param cpuTarget "baseline", "avx2", "avx512" or "neon"; null: the best there is
   * @return this
   */
  public RuntimeConfig cpuTarget(String cpuTarget) {
    this.cpuTarget = cpuTarget;
    return this;
  }

  /**
   * Where libsidbeam_cuda.so.1 is; it is then looked for nowhere else.
   *
   * @param cudaLibrary a file; null: SIDBEAM_CUDA_LIBRARY, else beside libsidbeam.so.1, else the system's
   * @return this
   */
  public RuntimeConfig cudaLibrary(Path cudaLibrary) {
    this.cudaLibrary = cudaLibrary;
    return this;
  }

  /**
   * Memory on devices from functions of another native library, as in sidbeam_device_allocator of sidbeam/runtime.h.
   *
   * @param allocate address of a C function; 0: cudaMallocAsync
   * @param release address of a C function
   * @param context passed to both
   * @return this
   */
  public RuntimeConfig deviceAllocator(long allocate, long release, long context) {
    deviceAllocate = allocate;
    deviceRelease = release;
    deviceContext = context;
    return this;
  }
}
