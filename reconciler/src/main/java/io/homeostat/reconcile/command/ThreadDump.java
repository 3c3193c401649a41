package io.homeostat.reconcile.command;

import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.HotSpotDiagnosticMXBean.ThreadDumpFormat;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;

/** What each thread of this process is doing, virtual ones included: passes are among them, by their workload's name. */
public final class ThreadDump {
    private ThreadDump() {}

    /**
     * Takes one.
     *
     * @param directory for a file in between, because the JVM writes to nothing else; it is gone afterwards
     */
    public static String take(Path directory) throws IOException {
        Path between = Files.createTempDirectory(
                directory, ".dump", PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Path file = between.resolve("threads");
        try {
            ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
                    .dumpThreads(file.toAbsolutePath().toString(), ThreadDumpFormat.TEXT_PLAIN);
            return Files.readString(file);
        } finally {
            Files.deleteIfExists(file);
            Files.deleteIfExists(between);
        }
    }
}
