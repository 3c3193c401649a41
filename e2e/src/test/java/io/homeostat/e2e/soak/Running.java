package io.homeostat.e2e.soak;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A process that runs.
 *
 * @param environment one variable a line
 */
record Running(long pid, String environment) {

    /** Whether it belongs to a workload and is not what waits for it. */
    boolean isWorkload() {
        return environment.contains("HOMEOSTAT_WORKLOAD=") && !environment.contains("HOMEOSTAT_KEEPER=");
    }

    /** kill -9. */
    void kill() {
        ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
    }

    /** As every workload does, and whoever waits for one. */
    static boolean writesInto(Path directory, Path process) {
        try {
            return Files.readSymbolicLink(process.resolve("fd/1")).startsWith(directory);
        } catch (IOException e) {
            return false; // it is gone, closed, or somebody else's
        }
    }

    /** Empty when the process is gone, a zombie, or somebody else's. */
    static String environment(Path process) {
        try {
            return Files.readString(process.resolve("environ"), StandardCharsets.ISO_8859_1)
                    .replace('\0', '\n');
        } catch (IOException e) {
            return "";
        }
    }
}
