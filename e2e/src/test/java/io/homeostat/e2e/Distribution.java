package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.TimeUnit;

/** The program as the build leaves it. */
final class Distribution {
    private static final int TRAINING_SECONDS = 600;

    private Distribution() {}

    /** The program's start script. */
    static Path program() {
        return home().resolve("bin").resolve("homeostat");
    }

    /** Where the distribution is. */
    static Path home() {
        return Path.of(property("homeostat.dist")).toAbsolutePath().normalize();
    }

    /** The root of the sources it was built from. */
    static Path checkout() {
        return home().resolve("../../..").normalize();
    }

    /** What the build tells its tests. */
    static String property(String name) {
        String value = System.getProperty(name);
        if (value == null) {
            throw new IllegalStateException("run the tests with Maven; -D" + name + " is not set");
        }
        return value;
    }

    /**
     * Makes the cache of loaded classes that the first use from a checkout makes, and one each for the sample plugin and the sample
     * driver: it halves the time of each start.
     */
    static void train() {
        Path cache = home().resolve("homeostat.aot");
        Path partial = cache.resolveSibling("homeostat.aot.new");
        try {
            // Side by side: both have phases that keep one processor busy.
            Process training = isTrained(cache) ? null : startTraining(partial);
            trainGreeter();
            SampleDriver.train();
            if (training != null) {
                awaitEnd(training);
                if (Files.exists(partial)) {
                    Files.move(partial, cache, StandardCopyOption.ATOMIC_MOVE);
                }
            }
            // The first start moves what is mapped, which must not happen while a test copies the program.
            awaitEnd(new ProcessBuilder(program().toString(), "version")
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start());
        } catch (IOException e) {
            throw new UncheckedIOException("cannot prepare " + home() + "; was it built with mvn package?", e);
        }
    }

    /** The first start moves the cache. */
    private static boolean isTrained(Path cache) throws IOException {
        try (DirectoryStream<Path> moved = Files.newDirectoryStream(home(), "mapped")) {
            for (Path directory : moved) {
                try (DirectoryStream<Path> caches = Files.newDirectoryStream(directory, "*.aot")) {
                    if (caches.iterator().hasNext()) {
                        return true;
                    }
                }
            }
        }
        return Files.exists(cache);
    }

    private static Process startTraining(Path cache) throws IOException {
        ProcessBuilder training = new ProcessBuilder(program().toString(), "self-train")
                .redirectInput(Path.of("/dev/null").toFile())
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD);
        training.environment().put("HOMEOSTAT_TRAIN_CACHE", cache.toString());
        return training.start();
    }

    private static void trainGreeter() throws IOException {
        Path classes = SampleProgram.GREETER.classes();
        Path partial = classes.resolveSibling("greeter.jsa.new");
        Path directory = Files.createTempDirectory("hs");
        Path program = Files.writeString(directory.resolve("greeter"), SampleProgram.GREETER.script());
        Path socket = directory.resolve("s");
        ProcessBuilder training = new ProcessBuilder(
                        "/bin/sh",
                        program.toString(),
                        "--protocol=unix",
                        "--address=" + socket,
                        "--errorlogfile=" + directory.resolve("errors"))
                .redirectInput(Path.of("/dev/null").toFile())
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD);
        training.environment().put("GREETER_CLASSES", "");
        training.environment().put("JAVA_TOOL_OPTIONS", "-XX:ArchiveClassesAtExit=" + partial);
        Process greeter = training.start();
        eventually().until(() -> Files.exists(socket) || !greeter.isAlive());
        greeter.destroy();
        awaitEnd(greeter);
        if (Files.exists(partial)) {
            Files.move(partial, classes, StandardCopyOption.ATOMIC_MOVE);
        }
        Trees.delete(directory);
    }

    private static void awaitEnd(Process process) {
        try {
            if (!process.waitFor(TRAINING_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
