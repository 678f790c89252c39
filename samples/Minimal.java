// The smallest complete use of sidbeam from Java; the same as minimal.c. SPDX-License-Identifier: Apache-2.0
//   bash bindings/java/build.sh && java -cp build/java/sidbeam.jar samples/Minimal.java
import io.sidbeam.*;
import java.nio.FloatBuffer;

public class Minimal {
  public static void main(String[] args) {
    int[] catalogue = {0, 1, 0, 3, 2, 2}; // three items, each a SID of two codes
    float[][] logits = {{3, 9, 2, 1}, {1, 1, 4, 2}}; // the model's, per level, here for every beam

    try (Builder builder = new Builder(new BuilderConfig(4, 4))) {
      builder.add(catalogue);
      try (Index index = builder.finish();
          Session session = new Session(new SessionConfig(index).beams(2))) { // one request at a time, two beams
        FloatBuffer row = Buffers.floats(4);
        Step step = new Step(Rows.strided(row, 1, 2, 4, 0, Rows.BROADCAST)); // both beams read the same
        session.start();
        for (float[] level : logits) {
          row.put(0, level);
          session.step(step);
        }
        Beams beams = session.beams();
        Items items = session.items();
        for (int m = 0; m < beams.live(0); m++) {
          System.out.printf("item %d  score %.3f%n", items.ordinal(0, m), beams.score(0, m));
        }
      }
    }
  }
}
