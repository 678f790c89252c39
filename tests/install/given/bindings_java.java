// What the Java README's block takes for granted. SPDX-License-Identifier: Apache-2.0
import io.sidbeam.*;
import java.nio.file.Path;

public class Readme {
  static int drafted;

  static Rows targetModel(SpeculationTree tree) {
    return Rows.dense(Buffers.floats(tree.nodes() * 256), 0, tree.nodes(), 256);
  }

  static Rows draftModel(SpeculationTree tree) {
    drafted++;
    return targetModel(tree);
  }

  public static void main(String[] arguments) {
    try (Index index = Index.open(Path.of(arguments[0]));
        Session plain = new Session(new SessionConfig(index).beams(10))) {
THE_BLOCK
      plain.start();
      Beams beams = plain.beams();
      while (beams.active(0) > 0) {
        plain.step(new Step(Rows.dense(Buffers.floats(10 * 256), 1, 10, 256)));
      }
      Items expected = plain.items();
      for (int beam = 0; beam < 10; beam++) {
        if (drafted == 0 || items.ordinal(0, beam) != expected.ordinal(0, beam)) {
          throw new AssertionError("expected the items of a plain search, found by a draft");
        }
      }
      speculation.close();
      target.close();
      draft.close();
    }
  }
}
