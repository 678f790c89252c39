// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.util.concurrent.CountDownLatch;

/** Leaves the VM with objects alive and a thread in the middle of steps; run by ProcessTest. */
final class ExitProgram {
  private static final CountDownLatch RUNNING = new CountDownLatch(1);

  private ExitProgram() {}

  public static void main(String[] arguments) throws InterruptedException {
    Runtime runtime = new Runtime(new RuntimeConfig().stepThreads(2).stepGrain(1));
    Index index = Fixtures.index();
    Session session = new Session(new SessionConfig(index).runtime(runtime).slots(64).beams(2));
    Step step = new Step(Rows.strided(Buffers.floats(4), 64, 2, 4, Rows.BROADCAST, Rows.BROADCAST));
    Thread thread = new Thread(() -> {
      try {
        while (true) {
          session.start();
          session.step(step);
          RUNNING.countDown();
        }
      } catch (RuntimeException e) { // the test would wait for ever
        e.printStackTrace();
        System.exit(3);
      }
    });
    thread.setDaemon(true);
    thread.start();
    RUNNING.await();
    System.out.println("leaving with " + session.beams().width() + " beams");
    if (arguments.length > 0) {
      System.exit(Integer.parseInt(arguments[0]));
    }
  }
}
