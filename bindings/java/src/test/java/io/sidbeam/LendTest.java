// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** The native part, with buffers that the hand-written classes would have refused. */
class LendTest {
  private static final int MIB = 1 << 20;

  /** Resident memory of this process, in bytes. */
  private static long resident() throws Exception {
    String pages = Files.readString(Path.of("/proc/self/statm")).split(" ")[1];
    return Long.parseLong(pages) * 4096;
  }

  /** Each call copies 8 MiB of handles before it comes to a buffer that it cannot lend. */
  @Test
  void aBufferThatCannotBeLentLosesNoArrayBeforeIt() throws Exception {
    long[] handles = new long[MIB];
    IntBuffer odd = Buffers.bytes(9).position(1).slice().order(ByteOrder.nativeOrder()).asIntBuffer();
    try (Index index = Fixtures.index(); Session session = new Session(new SessionConfig(index))) {
      long before = resident();
      for (int i = 0; i < 64; i++) {
        refused(Status.INVALID_ARGUMENT, "widths lies at an address that is no multiple of an element's bytes",
            () -> Native.flat_session_start(session.handle, null, 1, handles, odd, 0, null, null, 0, null, null, 0,
                null, null, null, 0, null, null, null));
      }
      long grown = (resident() - before) / MIB;
      assertTrue(grown < 128, grown + " MiB more than before 64 calls that copied 8 MiB each");
    }
  }
}
