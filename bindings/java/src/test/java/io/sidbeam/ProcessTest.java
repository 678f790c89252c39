// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sidbeam.Fixtures.Finished;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.jar.JarFile;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that need a process of their own: loading, and leaving. */
class ProcessTest {
  private static final Path TESTS = Path.of(System.getProperty("sidbeam.test.classes")).toAbsolutePath();
  private static final Path NATIVE = Path.of(System.getProperty("sidbeam.test.native")).toAbsolutePath();
  private static final Path STUB = Path.of(System.getProperty("sidbeam.test.stub")).toAbsolutePath();
  private static final Path ROOT = Path.of("").toAbsolutePath();

  @TempDir
  Path folder;
  private Path temporary;

  @BeforeEach
  void makeTemporary() throws Exception {
    temporary = Files.createDirectory(folder.resolve("tmp"));
  }

  private Finished load(Path jar, String... properties) throws Exception {
    String[] arguments = new String[properties.length + 4];
    arguments[0] = "-Djava.io.tmpdir=" + temporary;
    System.arraycopy(properties, 0, arguments, 1, properties.length);
    arguments[properties.length + 1] = "-cp";
    arguments[properties.length + 2] = jar + ":" + TESTS;
    arguments[properties.length + 3] = "io.sidbeam.LoadProgram";
    return Fixtures.java(folder, arguments);
  }

  private static void contains(Finished run, String text) {
    assertTrue(run.output().contains(text), "no '" + text + "' in\n" + run.output());
  }

  private static void loaded(Finished run, String from) {
    assertEquals(0, run.status(), run.output());
    contains(run, "version ");
    contains(run, from);
    assertTrue(run.output().contains("libsidbeam.so.1") && run.output().contains("libsidbeam_java.so"), run.output());
  }

  private static void leftNothing(Path folder) throws Exception {
    try (var files = Files.list(folder)) {
      assertEquals(List.of(), files.filter(file -> !file.getFileName().toString().startsWith("hsperfdata")).toList());
    }
  }

  @Test
  void theJarAloneRunsTheSmallestProgramInAnEmptyFolder() throws Exception {
    Path source = ROOT.resolve("samples/Minimal.java");
    Path empty = Files.createDirectory(folder.resolve("empty"));
    Path jar = Files.copy(Fixtures.JAR, folder.resolve("elsewhere.jar"));
    Finished run = Fixtures.java(empty, "-cp", jar.toString(), source.toString());
    assertEquals(new Finished(0, "item 2  score -7.215\nitem 1  score -8.215\n"), run);
  }

  @Test
  void theJarSaysWhatItIs() throws Exception {
    try (JarFile jar = new JarFile(Fixtures.JAR.toFile())) {
      var attributes = jar.getManifest().getMainAttributes();
      assertEquals(Runtime.version(), attributes.getValue("Implementation-Version"));
    }
    Finished run = Fixtures.java(folder, "-p", Fixtures.JAR.toString(), "--describe-module", "io.sidbeam");
    assertTrue(run.output().matches("io.sidbeam file:.*\nexports io.sidbeam\nrequires java.base mandated\n"),
        run.output());
  }

  @Test
  void theModuleRunsTheSmallestProgram() throws Exception {
    Finished run = Fixtures.java(folder, "-p", Fixtures.JAR.toString(), "--add-modules", "io.sidbeam",
        ROOT.resolve("samples/Minimal.java").toString());
    assertEquals(new Finished(0, "item 2  score -7.215\nitem 1  score -8.215\n"), run);
  }

  /** Pom, sources and documentation of the same version, each with its checksum. */
  @Test
  void mavensRepositoryHoldsWhatItsPomNames() throws Exception {
    String version = Runtime.version();
    Path artifacts = Fixtures.JAR.resolveSibling("maven/io/sidbeam/sidbeam").resolve(version);
    String name = "sidbeam-" + version;
    assertTrue(Files.readString(artifacts.resolve(name + ".pom")).contains("<version>" + version + "</version>"));
    for (String file : List.of(".pom", ".jar", "-sources.jar", "-javadoc.jar")) {
      byte[] digest = MessageDigest.getInstance("SHA-1").digest(Files.readAllBytes(artifacts.resolve(name + file)));
      assertEquals(HexFormat.of().formatHex(digest) + "\n",
          Files.readString(artifacts.resolve(name + file + ".sha1")), file);
    }
    assertEquals(-1, Files.mismatch(Fixtures.JAR, artifacts.resolve(name + ".jar")));
    try (JarFile sources = new JarFile(artifacts.resolve(name + "-sources.jar").toFile());
        JarFile documentation = new JarFile(artifacts.resolve(name + "-javadoc.jar").toFile());
        JarFile classes = new JarFile(Fixtures.JAR.toFile())) {
      for (var entry : java.util.Collections.list(classes.entries())) {
        if (entry.getName().matches("[^$]*\\.class")) {
          String source = entry.getName().replace(".class", ".java");
          assertTrue(sources.getEntry(source) != null, "no " + source);
        }
      }
      assertTrue(documentation.getEntry("io.sidbeam/io/sidbeam/Session.html") != null);
    }
  }

  @Test
  void whatIsCollectedUnclosedIsToldOf() throws Exception {
    String classes = Fixtures.JAR + ":" + TESTS;
    String told = " was not closed before it was collected";
    String where = "; -Dsidbeam.leaks=trace tells where it was made";
    Finished run = Fixtures.java(folder, "-cp", classes, "io.sidbeam.LeakProgram", "2");
    assertEquals(new Finished(0, "WARNING Index" + told + where + "\nWARNING Session" + told + where + "\n"), run);
    run = Fixtures.java(folder, "-Dsidbeam.leaks=trace", "-cp", classes, "io.sidbeam.LeakProgram", "2");
    assertEquals(new Finished(0, "WARNING Index" + told + ": made here: forget\nWARNING Session" + told
        + ": made here: forget\n"), run);
    run = Fixtures.java(folder, "-Dsidbeam.leaks=off", "-cp", classes, "io.sidbeam.LeakProgram", "0");
    assertEquals(new Finished(0, ""), run);
  }

  @Test
  void extractsToTheTemporaryFolderAndLeavesNothing() throws Exception {
    loaded(load(Fixtures.JAR), temporary.toString());
    leftNothing(temporary);
  }

  @Test
  void theJarNamesAPlatformThatItHasNoLibraryFor() throws Exception {
    Finished run = load(Fixtures.JAR, "-Dos.arch=riscv64", "-Djava.library.path=/nowhere");
    assertEquals(1, run.status());
    contains(run, "the class path: there is no io/sidbeam/linux-riscv64/libsidbeam_java.so: "
        + "this jar is not for linux-riscv64; the system's library path: ");
  }

  @Test
  void extractsToTheFolderOfTheProperty() throws Exception {
    Path other = folder.resolve("made/on/the/way");
    loaded(load(Fixtures.JAR, "-Dsidbeam.native.extract=" + other), other.toString());
    leftNothing(other);
  }

  @Test
  void extractsToTheFolderOfTheEnvironment() throws Exception {
    Path other = Files.createDirectory(folder.resolve("of the environment"));
    ProcessBuilder builder = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-cp",
        Fixtures.JAR + ":" + TESTS, "io.sidbeam.LoadProgram").redirectErrorStream(true);
    builder.environment().put("SIDBEAM_NATIVE_DIR", other.toString());
    Process process = builder.start();
    String output = new String(process.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
    loaded(new Finished(process.waitFor(), output), other.toString());
    leftNothing(other);
  }

  @Test
  void aFolderThatCannotBeUsedIsNamed() throws Exception {
    Path file = Files.writeString(folder.resolve("a file"), "");
    Finished run = load(Fixtures.JAR, "-Dsidbeam.native.extract=" + file);
    assertEquals(1, run.status());
    contains(run, "the class path: extracting into " + file);
    contains(run, "the system's library path: no sidbeam_java in java.library.path");
  }

  @Test
  void aPathIsTheOnlyPlaceWhereItIsNamed() throws Exception {
    loaded(load(Fixtures.JAR, "-Dsidbeam.native.path=" + NATIVE), NATIVE.toString());
    Finished run = load(Fixtures.JAR, "-Dsidbeam.native.path=/nowhere");
    assertEquals(1, run.status());
    contains(run, "the native part of sidbeam was not found. Tried: property sidbeam.native.path: "
        + "there is no /nowhere/libsidbeam_java.so. Set -Dsidbeam.native.path to the folder of");
  }

  @Test
  void theSystemsPathIsUsedAloneWhereThatIsAsked() throws Exception {
    Finished run = load(Fixtures.JAR, "-Dsidbeam.native.system=true", "-Djava.library.path=/nowhere");
    assertEquals(1, run.status());
    contains(run, "Tried: the system's library path: no sidbeam_java in java.library.path");
    loaded(load(Fixtures.JAR, "-Dsidbeam.native.system=true", "-Djava.library.path=" + NATIVE), NATIVE.toString());
  }

  @Test
  void classesWithoutLibrariesFallBackToTheSystem() throws Exception {
    Path bare = folder.resolve("bare");
    try (JarFile jar = new JarFile(Fixtures.JAR.toFile())) {
      for (var entry : java.util.Collections.list(jar.entries())) {
        if (entry.getName().endsWith(".class")) {
          Path target = bare.resolve(entry.getName());
          Files.createDirectories(target.getParent());
          Files.copy(jar.getInputStream(entry), target);
        }
      }
    }
    loaded(load(bare, "-Djava.library.path=" + NATIVE), NATIVE.toString());
    contains(load(bare, "-Djava.library.path=/nowhere"), "the class path: there is no io/sidbeam/linux-");
  }

  @Test
  void aLibraryOfAnotherAbiIsRefused() throws Exception {
    Finished run = load(Fixtures.JAR, "-Dsidbeam.native.path=" + STUB);
    assertEquals(1, run.status(), run.output());
    contains(run, "libsidbeam 9.9.9 has ABI 99, this binding was made for 1");
  }

  @Test
  void leavingWithLiveObjectsIsQuiet() throws Exception {
    String classes = Fixtures.JAR + ":" + TESTS;
    String jar = "-Dsidbeam.test.jar=" + Fixtures.JAR;
    for (int i = 0; i < 5; i++) {
      Finished run = Fixtures.java(folder, jar, "-cp", classes, "io.sidbeam.ExitProgram");
      assertEquals(new Finished(0, "leaving with 2 beams\n"), run);
      run = Fixtures.java(folder, jar, "-cp", classes, "io.sidbeam.ExitProgram", "7");
      assertEquals(new Finished(7, "leaving with 2 beams\n"), run);
    }
  }
}
