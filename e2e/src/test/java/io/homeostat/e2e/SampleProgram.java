package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** A sample program: as the build packs it, and prepared for tests that start it many times. */
enum SampleProgram {
    /** The plugin of e2e/sample-plugin. */
    GREETER("greeter", "GREETER_CLASSES"),

    /** The driver of e2e/sample-driver. */
    RUNNER("runner", "RUNNER_CLASSES");

    private final String name;
    private final String classesVariable;

    SampleProgram(String name, String classesVariable) {
        this.name = name;
        this.classesVariable = classesVariable;
    }

    /** The archive that the build leaves. */
    Path archive() {
        return Path.of(Distribution.property("homeostat." + name))
                .toAbsolutePath()
                .normalize();
    }

    /** The class archive of the JVM that runs the tests. It halves the time of each start. */
    Path classes() {
        return archive().resolveSibling(name + ".jsa");
    }

    /**
     * An archive with nothing but a start script, which runs the unpacked program beside {@link #archive}. Downloading, hashing and
     * unpacking all of it in each test would take longer than the rest of most tests.
     */
    Path light() {
        Path light = archive().resolveSibling(name + "-light.tar.gz");
        synchronized (this) {
            if (Files.notExists(light)) {
                byte[] content = new TarGz().file("bin/" + name, 0755, script()).bytes();
                try {
                    Files.write(light, content);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        }
        return light;
    }

    /** The script in {@link #light}. */
    synchronized String script() {
        try {
            if (Files.notExists(unpacked())) {
                unpack();
            }
            return Files.readString(unpacked().resolve("bin").resolve(name))
                    .replaceFirst(
                            "(?m)^here=.*$",
                            "here=" + unpacked() + "\nJAVA_HOME=" + System.getProperty("java.home")
                                    + "\n%1$s=\\${%1$s-%2$s}".formatted(classesVariable, classes()));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot prepare " + archive() + "; was it built with mvn package?", e);
        }
    }

    private void unpack() throws IOException {
        Path partial = Files.createTempDirectory(archive().getParent(), name);
        Process tar = new ProcessBuilder("tar", "xzf", archive().toString(), "-C", partial.toString())
                .inheritIO()
                .start();
        eventually().until(() -> !tar.isAlive());
        if (tar.exitValue() != 0) {
            throw new IOException("cannot unpack " + archive());
        }
        Files.move(partial, unpacked(), StandardCopyOption.ATOMIC_MOVE);
    }

    private Path unpacked() {
        return archive().resolveSibling(name + "-unpacked");
    }
}
