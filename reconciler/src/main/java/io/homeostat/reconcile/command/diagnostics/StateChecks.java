package io.homeostat.reconcile.command.diagnostics;

import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MountTable;
import io.homeostat.desired.platform.MountTable.Mount;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.sqlite.StateLock;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.command.diagnostics.Doctor.Finding;
import io.homeostat.reconcile.command.environment.AgentFile;
import io.homeostat.reconcile.command.environment.AgentService;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import java.util.Set;

/** What the directories are like that we keep state and sockets in. */
final class StateChecks {
    private static final long LEAST_ROOM = 256L << 20;

    /** The database alone takes that. */
    private static final long NO_ROOM = 1L << 20;

    private static final int EVENTS_AT_ONCE = 1000;

    /** The name of the longest socket of ours below the run directory: a directory, a hash, a suffix. */
    private static final int LONGEST_NAME = "/plugin-connections/0123456789abcdef.sock".length();

    private final Layout layout;
    private final Path proc;

    StateChecks(Layout layout, Path proc) {
        this.proc = proc;
        this.layout = layout;
    }

    Finding stateDirectory() throws IOException {
        return directory("state directory", layout.stateDir(), "--state-dir");
    }

    Finding runDirectory() throws IOException {
        return directory("run directory", layout.runDir(), "--run-dir");
    }

    private Finding directory(String check, Path directory, String option) throws IOException {
        Path there = existing(directory);
        if (mount(there).filter(Mount::isReadOnly).isPresent()) {
            return Finding.fail(
                    check,
                    directory + " is on a read-only file system",
                    "mount it read-write, or choose another directory with " + option);
        }
        if (!Files.exists(directory)) {
            return Files.isWritable(there)
                    ? Finding.ok(check, directory + " is not there yet; the first apply or run makes it")
                    : Finding.fail(
                            check,
                            directory + " is not there, and this user can't make it in " + there,
                            "run as another user, or choose another directory with " + option);
        }
        if (!Files.isDirectory(directory)) {
            return Finding.fail(check, directory + " is no directory", "choose another with " + option);
        }
        if (!Files.isWritable(directory)) {
            return Finding.fail(
                    check,
                    directory + " belongs to " + Files.getOwner(directory) + ", and this user can't write there",
                    "run as that user, or choose another directory with " + option);
        }
        Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(directory);
        String words = directory + " belongs to " + Files.getOwner(directory) + ", "
                + PosixFilePermissions.toString(permissions);
        boolean shared = permissions.contains(PosixFilePermission.OTHERS_WRITE)
                || permissions.contains(PosixFilePermission.GROUP_WRITE);
        return shared
                ? Finding.warn(check, words + ": others can write there", "chmod go-w " + directory)
                : Finding.ok(check, words);
    }

    Finding disk() throws IOException {
        Path there = existing(layout.stateDir());
        Optional<Mount> mount = mount(there);
        long room = there.toFile().getUsableSpace();
        String words = (room >> 20) + " MiB left"
                + mount.map(seen -> " on " + seen.type()).orElse("") + " for " + layout.stateDir();
        if (mount.filter(Mount::isNoExec).isPresent()) {
            return Finding.fail(
                    "disk",
                    words + ", mounted noexec: no program that is installed there can run",
                    "mount it with exec, or choose another directory with --state-dir");
        }
        if (room < NO_ROOM) {
            return Finding.fail("disk", words, "make room: nothing can be stored or installed");
        }
        if (mount.filter(Mount::isInMemory).isPresent()) {
            return Finding.warn(
                    "disk", words + ": a reboot empties it", "choose a directory on a disk with --state-dir");
        }
        return room < LEAST_ROOM
                ? Finding.warn("disk", words, "make room: archives and databases need some")
                : Finding.ok("disk", words);
    }

    private Optional<Mount> mount(Path file) throws IOException {
        return MountTable.read(proc.resolve("self/mountinfo")).of(file.toRealPath());
    }

    Finding sockets() {
        int longest = layout.runDir().toString().getBytes(StandardCharsets.UTF_8).length + LONGEST_NAME;
        return longest > Layout.MAX_SOCKET_PATH
                ? Finding.fail(
                        "sockets",
                        "paths of sockets below " + layout.runDir() + " would have " + longest + " bytes, at most "
                                + Layout.MAX_SOCKET_PATH + " are possible",
                        "choose a shorter --run-dir")
                : Finding.ok(
                        "sockets",
                        "paths of sockets have at most " + longest + " of " + Layout.MAX_SOCKET_PATH + " bytes");
    }

    Finding lock() {
        return StateLock.holder(layout.lock())
                .map(holder -> Finding.ok("lock", "held by " + holder))
                .orElseGet(() -> Finding.ok("lock", "nobody is working on the state directory"));
    }

    Finding agent() throws IOException {
        Optional<AgentFile> agent = AgentFile.running(layout, new ProcFs());
        return agent.map(running ->
                        Finding.ok("agent", "pid " + running.identity().pid() + ", version " + running.version()))
                .orElseGet(() -> Finding.warn(
                        "agent",
                        "none is running: what drifts stays so until the next apply",
                        "start one: " + AgentService.start(layout)));
    }

    /** Reads all of it, which finds what is damaged, and needs SQLite's native library. */
    Finding database() {
        try {
            Optional<StateReader> opened = StateStores.openForReading(layout);
            if (opened.isEmpty()) {
                return Finding.ok("database", "none yet");
            }
            try (StateReader reader = opened.get()) {
                int declarations = reader.declarations().size();
                int histories = reader.histories().size();
                int instances = reader.instances().size();
                int events = 0;
                long last = 0;
                for (var page = reader.events(last, EVENTS_AT_ONCE);
                        !page.isEmpty();
                        page = reader.events(last, EVENTS_AT_ONCE)) {
                    events += page.size();
                    last = page.getLast().id();
                }
                return Finding.ok(
                        "database",
                        declarations + " declarations, " + histories + " histories, " + instances + " processes, "
                                + events + " events, all readable");
            }
        } catch (StoreException e) {
            return Finding.fail(
                    "database",
                    String.valueOf(e.getMessage()),
                    "restore it from a backup, or let the next apply begin a new one; workloads go on running");
        }
    }

    static Finding source(Path directory) throws IOException {
        if (!Files.exists(directory)) {
            return Finding.warn(
                    "source", directory + " is not there; nothing is declared in it", "create it when it is wanted");
        }
        if (!Files.isReadable(directory) || (Files.isDirectory(directory) && !Files.isExecutable(directory))) {
            return Finding.fail(
                    "source",
                    directory + " belongs to " + Files.getOwner(directory) + ", and this user can't read it",
                    "let this user read it");
        }
        return Finding.ok("source", directory + " can be read");
    }

    private static Path existing(Path directory) {
        Path there = directory.toAbsolutePath();
        while (!Files.exists(there) && there.getParent() != null) {
            there = there.getParent();
        }
        return there;
    }
}
