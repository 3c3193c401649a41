package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;

/**
 * Leaves of a test's workloads what a reboot would leave: no process, an empty run directory, and notes from another boot, in which
 * the numbers of processes are those that others have now, down to the clock tick in which they were started.
 */
final class Reboot {
    private final Homeostat homeostat;
    private final String bootId = UUID.randomUUID().toString();

    /** No agent may be running. */
    Reboot(Homeostat homeostat) throws IOException {
        this.homeostat = homeostat;
        homeostat.everyProcess().forEach(process -> Processes.kill(process.pid()));
        Patience.eventually().until(() -> homeostat.everyProcess().isEmpty());
        Trees.delete(homeostat.runDir());
        Files.createDirectory(homeostat.runDir());
    }

    /** What is remembered of a workload's process is of the boot before, and fits this one. */
    @CanIgnoreReturnValue
    Reboot with(String id, Stranger stranger) throws IOException, SQLException {
        String here =
                Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
        Path launches = homeostat
                .instance()
                .resolve("launches")
                .resolve(id.startsWith("plugin/") ? "plugins" : "processes")
                .resolve(id.substring(id.indexOf('/') + 1));
        for (Path launch : entries(launches)) {
            Files.writeString(launch.resolve("identity"), stranger.stat() + "\n" + bootId + "\n");
            Path note = launch.resolve("launch.json");
            String text = Files.readString(note);
            assertEquals(true, text.contains(here), text);
            Files.writeString(note, text.replace(here, bootId));
            // Whoever waited for the process went with the machine.
            Files.deleteIfExists(launch.resolve("exit"));
        }
        try (Connection database = DriverManager.getConnection(
                        "jdbc:sqlite:" + homeostat.stateDir().resolve("homeostat.db"));
                PreparedStatement update = database.prepareStatement(
                        "UPDATE instance SET document = json_set(document, '$.identity.pid', ?, '$.identity.startTicks', ?,"
                                + " '$.identity.bootId', ?) WHERE workload = ?")) {
            update.setLong(1, stranger.pid());
            update.setLong(2, startTicks(stranger.stat()));
            update.setString(3, bootId);
            update.setString(4, id);
            assertEquals(1, update.executeUpdate(), "instances of " + id);
        }
        return this;
    }

    /** Field 22, the 20th after the name (proc_pid_stat(5)). */
    private static long startTicks(String stat) {
        return Long.parseLong(stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1)[19]);
    }

    private static List<Path> entries(Path directory) throws IOException {
        try (Stream<Path> entries = Files.list(directory)) {
            return entries.toList();
        }
    }
}
