// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Finds and loads the native part, once per process: libsidbeam_java.so, and libsidbeam.so.1 beside it, to which it is
 * linked. Package-info describes the order of the search.
 */
final class NativeLibrary {
  private static final String BINDING = "libsidbeam_java.so";
  private static final String RUNTIME = "libsidbeam.so.1";
  private static final String RUNNER = "libsidbeam_runner.so.1";
  private static final String IMPORT = "libsidbeam_import.so.1";
  private static final String SIMDJSON = "libsimdjson.so.14";
  private static boolean fromClassPath;
  private static boolean hasRunner;
  private static boolean hasImport;

  private final List<String> tried = new ArrayList<>();

  private NativeLibrary() {}

  /** Called by the static initialiser of NativeJNI, so before any native call. */
  static void load() {
    new NativeLibrary().find();
    try {
      NativeJNI.flat_check_abi();
    } catch (SidbeamException e) {
      throw new UnsatisfiedLinkError(e.getMessage());
    }
  }

  private void find() {
    String folder = System.getProperty("sidbeam.native.path");
    if (folder != null) {
      if (!loadFrom(Path.of(folder), "property sidbeam.native.path")) {
        throw failure();
      }
    } else if (Boolean.getBoolean("sidbeam.native.system")) {
      if (!loadFromSystem()) {
        throw failure();
      }
    } else if (!loadFromClassPath() && !loadFromSystem()) {
      throw failure();
    }
  }

  private UnsatisfiedLinkError failure() {
    return new UnsatisfiedLinkError("the native part of sidbeam was not found. Tried: " + String.join("; ", tried)
        + ". Set -Dsidbeam.native.path to the folder of " + BINDING + " and " + RUNTIME);
  }

  private boolean loadFrom(Path folder, String what) {
    Path file = folder.resolve(BINDING).toAbsolutePath();
    try {
      System.load(file.toString());
      return true;
    } catch (UnsatisfiedLinkError e) {
      tried.add(what + ": " + (Files.exists(file) ? e.getMessage() : "there is no " + file));
      return false;
    }
  }

  private boolean loadFromSystem() {
    try {
      System.loadLibrary("sidbeam_java");
      return true;
    } catch (UnsatisfiedLinkError e) {
      tried.add("the system's library path: " + e.getMessage());
      return false;
    }
  }

  /** "linux-x86_64", as folders in the jar are named. */
  private static String platform() {
    String arch = System.getProperty("os.arch");
    String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
    return system + "-" + (arch.equals("amd64") ? "x86_64" : arch);
  }

  private boolean loadFromClassPath() {
    String resource = platform() + "/";
    if (NativeLibrary.class.getResource(resource + BINDING) == null) {
      tried.add("the class path: there is no io/sidbeam/" + resource + BINDING + ": this jar is not for "
          + platform());
      return false;
    }
    try {
      fromClassPath = loadExtracted(resource);
      return fromClassPath;
    } catch (IOException e) {
      tried.add("the class path: extracting into " + extractionFolder() + ": " + e);
      return false;
    }
  }

  /**
   * The files are removed as soon as they are loaded, since a mapped file needs no name. Nothing is left behind even if
   * the process is killed, which deleteOnExit could not promise.
   */
  private boolean loadExtracted(String resource) throws IOException {
    Path parent = extractionFolder();
    Files.createDirectories(parent);
    Path folder = Files.createTempDirectory(parent, "sidbeam-");
    try {
      extract(resource + RUNTIME, folder.resolve(RUNTIME));
      extract(resource + BINDING, folder.resolve(BINDING));
      return loadFrom(folder, "the class path, extracted (where " + parent
          + " may not hold programs, set -Dsidbeam.native.extract or SIDBEAM_NATIVE_DIR)");
    } finally {
      Files.deleteIfExists(folder.resolve(RUNTIME));
      Files.deleteIfExists(folder.resolve(BINDING));
      Files.deleteIfExists(folder);
    }
  }

  /** Before the first model: as {@link #loadBeside}. */
  static synchronized void loadRunner() {
    hasRunner = hasRunner || loadBeside(RUNNER);
  }

  /** Before the first catalogue file: simdjson, where this jar holds it, and the importers' library, which needs it. */
  static synchronized void loadImport() {
    hasImport = hasImport || (loadBeside(SIMDJSON) | loadBeside(IMPORT));
  }

  /**
   * Loads a library, where this jar holds it. Elsewhere it lies beside the others, or where the system looks, and the
   * native part loads it by its name, as it then finds the one that is loaded here.
   */
  private static boolean loadBeside(String library) {
    Native.sidbeam_abi_version(); // loads the others first
    String resource = platform() + "/";
    if (!fromClassPath || NativeLibrary.class.getResource(resource + library) == null) {
      return false;
    }
    Path parent = extractionFolder();
    try {
      Path folder = Files.createTempDirectory(parent, "sidbeam-");
      Path file = folder.resolve(library);
      try {
        extract(resource + library, file);
        System.load(file.toAbsolutePath().toString());
        return true;
      } finally {
        Files.deleteIfExists(file);
        Files.deleteIfExists(folder);
      }
    } catch (IOException | UnsatisfiedLinkError e) {
      throw new SidbeamException(Status.IO_ERROR, library + " cannot be extracted to " + parent + ": "
          + e.getMessage());
    }
  }

  private static Path extractionFolder() {
    String folder = System.getProperty("sidbeam.native.extract", System.getenv("SIDBEAM_NATIVE_DIR"));
    return Path.of(folder != null ? folder : System.getProperty("java.io.tmpdir"));
  }

  private static void extract(String resource, Path file) throws IOException {
    try (InputStream in = NativeLibrary.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new IOException("there is no io/sidbeam/" + resource);
      }
      Files.copy(in, file);
    }
  }
}
