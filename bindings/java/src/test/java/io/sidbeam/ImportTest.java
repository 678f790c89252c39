// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Small catalogues as people have them, which every language imports. */
class ImportTest {
  private static final Path FIELD = Path.of("tests/bindings/field");

  private static ImportConfig options(String text) {
    ImportConfig config = new ImportConfig();
    for (String option : text.equals("-") ? new String[0] : text.split(" ")) {
      String value = option.substring(option.indexOf('=') + 1);
      switch (option.substring(0, option.indexOf('='))) {
        case "quotes" -> config.quotes(Quotes.TEXT);
        case "sid_columns" -> config.sidColumns(value);
        case "item_column" -> config.itemColumn(value);
        case "token_pattern" -> config.tokenPattern(value);
        case "variable_length" -> config.variableLength(true);
        case "token_base" -> config.tokenBase(Long.parseLong(value));
        case "codes" -> config.codes(Integer.parseInt(value));
        default -> throw new AssertionError("an option that this test does not know: " + option);
      }
    }
    return config;
  }

  /** The pairs of an index, as the table of cases has them. */
  private static List<String> pairs(Index index) {
    List<String> found = new ArrayList<>();
    for (long ordinal = 0; ordinal < index.info().sids(); ordinal++) {
      String sid = Arrays.stream(index.sid(ordinal)).mapToObj(Integer::toString).collect(Collectors.joining(" "));
      Range rows = index.itemRows(ordinal);
      for (long row = rows.begin(); row < rows.end(); row++) {
        boolean named = index.info().idType() == IdType.STRING;
        found.add((named ? index.itemNames(row).get(0) : Long.toString(index.itemIds(row)[0])) + ": " + sid);
      }
    }
    found.sort(null);
    return found;
  }

  @Test
  void importsEachCase() throws IOException {
    for (String line : Files.readAllLines(FIELD.resolve("cases.txt"))) {
      if (line.startsWith("#")) {
        continue;
      }
      String[] parts = line.split("\t");
      List<String> rest = Arrays.asList(parts).subList(3, parts.length);
      Path path = FIELD.resolve(parts[0]);
      if (parts[2].equals("error")) {
        SidbeamException thrown = assertThrows(SidbeamException.class,
            () -> Index.fromFile(path, options(parts[1]), new BuilderConfig()), line);
        assertEquals(Status.CORRUPT, thrown.status(), line);
        for (String piece : rest) {
          assertTrue(thrown.getMessage().contains(piece), thrown.getMessage() + " has no " + piece);
        }
        continue;
      }
      try (Index index = Index.fromFile(path, options(parts[1]), new BuilderConfig())) {
        assertEquals(rest.stream().sorted().toList(), pairs(index), line);
      }
    }
  }

  @Test
  void addsAFileToABuilder() {
    try (Builder builder = new Builder(new BuilderConfig(250, 120, 31).idType(IdType.STRING))) {
      ImportInfo info = builder.addFile(FIELD.resolve("tokens_in_a_string.json"), new ImportConfig());
      assertEquals("lcrec", info.format());
      assertEquals(List.of("<s_a_*>", "<s_b_*>", "<s_c_*>"), info.families());
      assertEquals("<|sid_begin|> <|sid_end|>", info.beginTokens() + " " + info.endTokens());
      assertEquals(3, info.rows());
      assertTrue(info.summary().startsWith("3 levels, families <s_a_*> <s_b_*> <s_c_*>, 3 items"), info.summary());
      try (Index index = builder.finish()) {
        assertEquals(List.of("11: 249 119 30", "12: 249 7 30", "13: 0 7 1"), pairs(index));
      }
    }
    try (Builder builder = new Builder(new BuilderConfig(9, 9, 9))) {
      Path path = FIELD.resolve("several_sids.jsonl");
      refused(Status.INVALID_ARGUMENT, "ids of the type string, expected i64",
          () -> builder.addFile(path, new ImportConfig()));
    }
  }

  @Test
  void addsAFileToALiveCatalogue(@TempDir Path folder) throws IOException {
    Path path = folder.resolve("new.jsonl");
    Files.writeString(path, "{\"id\": 7, \"sid\": [1, 2], \"weight\": 2}\n{\"id\": 8, \"sid\": [3]}\n");
    BuilderConfig shape = new BuilderConfig(4, 4).variableLength(true).idType(IdType.STRING);
    try (Builder builder = new Builder(shape)) {
      builder.declareAttribute("weight", AttributeType.F32);
      builder.addNamed(new int[] {0, 0}, null, List.of("a"), null);
      try (Index base = builder.finish(); Catalog catalog = Catalog.create(base)) {
        ImportInfo info = catalog.addFile(path, new ImportConfig().attributes("weight"));
        assertEquals(2, info.rows());
        assertEquals(IdType.STRING, info.idType());
        catalog.publish();
        catalog.compact();
        try (Index index = catalog.snapshot()) {
          assertEquals(List.of("7: 1 2", "8: 3", "a: 0 0"), pairs(index));
        }
        refused(Status.INVALID_ARGUMENT, "attributes: 'weight' is of the type i64, expected f32, as the catalogue has",
            () -> catalog.addFile(path, new ImportConfig().attributes("weight:i64")));
        Files.writeString(path, "{\"id\": 7, \"sid\": [1, 4]}\n");
        refused(Status.CORRUPT, "code 4 at level 1, expected 0..3", () -> catalog.addFile(path, new ImportConfig()));
        refused(Status.INVALID_ARGUMENT, "config is null", () -> catalog.addFile(path, null));
        assertEquals(0, catalog.info().changes());
        catalog.close();
        refused(Status.BAD_STATE, "catalogue is closed", () -> catalog.addFile(path, new ImportConfig()));
      }
    }
  }

  @Test
  void refusesWhatMakesNoSense() {
    Path path = FIELD.resolve("several_sids.jsonl");
    refused(Status.INVALID_ARGUMENT, "token ids need codes",
        () -> Index.fromFile(path, new ImportConfig().tokenBase(5), new BuilderConfig()));
    refused(Status.INVALID_ARGUMENT, "tokenBase is -2",
        () -> Index.fromFile(path, new ImportConfig().tokenBase(-2), new BuilderConfig()));
    refused(Status.INVALID_ARGUMENT, "token_pattern: '<a>'",
        () -> Index.fromFile(path, new ImportConfig().tokenPattern("<a>"), new BuilderConfig()));
    refused(Status.IO_ERROR, "No such file",
        () -> Index.fromFile(FIELD.resolve("absent"), new ImportConfig(), new BuilderConfig()));
  }

  @Test
  void anInterruptCancels() {
    Thread.currentThread().interrupt();
    SidbeamException thrown = assertThrows(SidbeamException.class, () -> {
      while (true) { // the reading may be over before the interrupt is seen, which stays for the next one
        Index.fromFile(FIELD.resolve("list_cells.csv"), new ImportConfig(), new BuilderConfig()).close();
      }
    });
    assertTrue(Thread.interrupted());
    assertEquals(Status.CANCELLED, thrown.status());
  }
}
