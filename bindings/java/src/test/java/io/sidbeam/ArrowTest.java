// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ArrowTest {
  private static Builder builder() {
    return new Builder(new BuilderConfig(4, 3).idType(IdType.STRING));
  }

  @AfterEach
  void everythingWasReleased() {
    assertEquals(0, ArrowSpecimen.alive());
  }

  @Test
  void readsWhatAnAddressLeadsTo() {
    try (Builder plain = builder(); Builder builder = builder()) {
      plain.addNamed(new int[] {3, 1, 1, 2, 1, 0}, null, List.of("c", "a", "b"), null);
      assertEquals(3, builder.addArrow(ArrowSpecimen.stream(false)));
      assertEquals(3, builder.addArrow(ArrowSpecimen.stream(false),
          new ArrowColumns().sid("sid").item("item").priority("")));
      assertEquals(new ArrowInfo(2, 2, List.of(4, 3), IdType.STRING, true, false, 3),
          new ArrowColumns().inspect(ArrowSpecimen.stream(false)));
      try (Index expected = plain.finish(); Index index = builder.finish()) {
        assertEquals(3, index.info().mergedPairs());
        assertEquals(expected.info().fingerprint(), index.info().fingerprint());
        assertArrayEquals(new int[] {3, 1}, index.sid(2));
        assertEquals(List.of("b", "a", "c"), index.itemNames(0, 1, 2));
      }
    }
  }

  @Test
  void releasesTheStreamWhateverIsWrong() {
    try (Builder builder = builder()) {
      refused(Status.INVALID_ARGUMENT, "column 'sid', row 2, level 1: code 9, expected 0 to 2",
          () -> builder.addArrow(ArrowSpecimen.stream(true)));
      refused(Status.INVALID_ARGUMENT, "sid is 'x', expected one of the columns 'sid', 'item'",
          () -> builder.addArrow(ArrowSpecimen.stream(false), new ArrowColumns().sid("x")));
      refused(Status.INVALID_ARGUMENT, "levels holds a NUL character",
          () -> builder.addArrow(ArrowSpecimen.stream(false), new ArrowColumns().levels("a", "b\0")));
      refused(Status.INVALID_ARGUMENT, "level_prefix is 'c'",
          () -> new ArrowColumns().levelPrefix("c").inspect(ArrowSpecimen.stream(false)));
      refused(Status.INVALID_ARGUMENT, "stream is null or has been released", () -> builder.addArrow(0));
      builder.close();
      refused(Status.BAD_STATE, "builder is closed", () -> builder.addArrow(ArrowSpecimen.stream(false)));
    }
  }
}
