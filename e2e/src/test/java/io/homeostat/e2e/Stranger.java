package io.homeostat.e2e;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A process that Homeostat did not start and has no business with. */
final class Stranger implements AutoCloseable {
    private final Process process;

    private Stranger(Process process) {
        this.process = process;
    }

    static Stranger sleeping(String seconds) {
        try {
            return new Stranger(new ProcessBuilder("sleep", seconds).start());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    long pid() {
        return process.pid();
    }

    String command() {
        return Processes.command(pid());
    }

    /** Its line of /proc/PID/stat. */
    String stat() {
        try {
            return Files.readString(Path.of("/proc/" + pid() + "/stat")).strip();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Runs, and is not stopped either. */
    boolean isUnharmed() {
        return process.isAlive() && !stat().matches(".*\\) [TtXZ] .*");
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
