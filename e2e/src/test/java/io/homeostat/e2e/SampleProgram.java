package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.regex.Matcher;

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
        return prepared(".jsa");
    }

    /**
     * An archive with nothing but a start script, which runs one unpacked copy of the program. Downloading, hashing and unpacking all
     * of it in each test would take longer than the rest of most tests.
     */
    synchronized Path light() {
        Path light = prepared("-light.tar.gz");
        if (Files.notExists(light)) {
            byte[] content = new TarGz().file("bin/" + name, 0755, script()).bytes();
            try {
                Files.write(light, content);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
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
            String packed = Files.readString(unpacked().resolve("bin").resolve(name));
            String here = "here=%s%nJAVA_HOME=%s%n%3$s=${%3$s-%4$s}"
                    .formatted(unpacked(), System.getProperty("java.home"), classesVariable, classes());
            String script = packed.replaceFirst("(?m)^here=.*$", Matcher.quoteReplacement(here));
            if (script.equals(packed)) {
                throw new IOException("bin/" + name + " has no line that begins with here=");
            }
            return script;
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
        // Some tests start it as other users.
        Files.setPosixFilePermissions(partial, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.move(partial, unpacked(), StandardCopyOption.ATOMIC_MOVE);
    }

    private Path unpacked() {
        return prepared("-unpacked");
    }

    /** A path beside the archive, for what is made of it: another archive or JDK has another one. */
    private Path prepared(String ending) {
        try {
            String made = System.getProperty("java.home") + Files.getLastModifiedTime(archive());
            return archive().resolveSibling(name + "-" + Integer.toHexString(made.hashCode()) + ending);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot find " + archive() + "; was it built with mvn package?", e);
        }
    }
}
