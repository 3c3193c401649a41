package io.homeostat.reconcile.command.diagnostics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.sqlite.StateLock;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.observe.limits.CgroupHierarchy;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.Controller;
import io.homeostat.reconcile.command.diagnostics.Doctor.Finding;
import io.homeostat.reconcile.command.diagnostics.Doctor.Finding.Level;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DoctorTest {
    private static final String UNSEEN = "could not be looked at";

    private static final Clock NOW = Clock.fixed(Instant.parse("2026-11-20T12:00:00Z"), ZoneOffset.UTC);

    @TempDir
    private Path directory;

    private Layout layout() {
        return new Layout(directory.resolve("s"), directory.resolve("r"), "m");
    }

    private static Finding finding(String check, Layout layout, Path... sources) {
        return new Doctor(layout, List.of(sources), false, NOW)
                .look().stream()
                        .filter(finding -> finding.check().equals(check))
                        .findFirst()
                        .orElseThrow();
    }

    private List<Path> everything() throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            return files.sorted().toList();
        }
    }

    @Test
    void lookingCreatesNothingAndEveryDoubtHasARemedy() throws IOException {
        List<Path> before = everything();
        for (Finding finding : new Doctor(layout(), List.of(directory), false, NOW).look()) {
            assertFalse(finding.message().isEmpty());
            assertEquals(finding.level() != Level.OK, !finding.remedy().isEmpty(), finding.toString());
            assertFalse(finding.message().startsWith(UNSEEN), finding.toString());
        }
        assertEquals(before, everything());
    }

    @Test
    void aDatabaseThatIsWellIsReadAndOneThatIsDamagedIsAFailure() throws IOException {
        StateStores.openForWriting(layout(), NOW).store().close();
        assertEquals(Level.OK, finding("database", layout()).level());
        Files.writeString(layout().database(), "this is no database");
        List<Path> before = everything();

        Finding damaged = finding("database", layout());

        assertEquals(Level.FAIL, damaged.level(), damaged.toString());
        assertEquals(before, everything());
    }

    @Test
    void whoHoldsTheLockIsNamed() {
        try (StateLock _ =
                StateLock.acquire(layout().lock(), "apply", Duration.ofSeconds(5), Clock.systemUTC(), message -> {})) {
            assertTrue(finding("lock", layout()).message().startsWith("held by "));
        }
        assertEquals(
                "nobody is working on the state directory",
                finding("lock", layout()).message());
    }

    @Test
    void aRunDirectoryThatIsTooLongForSocketsIsAFailure() {
        Layout deep = new Layout(directory, directory.resolve("x".repeat(90)), "m");

        assertEquals(Level.FAIL, finding("sockets", deep).level());
        assertEquals(
                Level.OK,
                finding("sockets", new Layout(directory, Path.of("/run/homeostat"), "m"))
                        .level());
    }

    @Test
    void aStateDirectoryThatOthersCanWriteToIsAWarningAndAFileInItsPlaceAFailure() throws IOException {
        Files.createDirectory(layout().stateDir());
        Files.setPosixFilePermissions(layout().stateDir(), PosixFilePermissions.fromString("rwxrwxrwx"));
        assertEquals(Level.WARN, finding("state directory", layout()).level());
        Files.setPosixFilePermissions(layout().stateDir(), PosixFilePermissions.fromString("rwx------"));
        Path link = Files.createSymbolicLink(directory.resolve("link"), layout().stateDir());
        assertEquals(
                Level.OK,
                finding("state directory", new Layout(link, directory.resolve("r"), "m"))
                        .level());
        Files.delete(layout().stateDir());
        Files.writeString(layout().stateDir(), "");
        assertEquals(Level.FAIL, finding("state directory", layout()).level());
    }

    @Test
    void aFileSystemThatIsReadOnlyIsNamedWhetherTheDirectoryIsThereOrNot() throws Exception {
        Path mount = Files.createDirectory(directory.resolve("mount"));
        assumeTrue(run("mount", "-t", "tmpfs", "-o", "ro", "none", mount.toString()), "may not mount a file system");
        try {
            for (Path state : List.of(mount, mount.resolve("s"))) {
                Finding finding = finding("state directory", new Layout(state, directory.resolve("r"), "m"));

                assertEquals(Level.FAIL, finding.level());
                assertEquals(state + " is on a read-only file system", finding.message());
            }
        } finally {
            // Lazily: what a test beside this one has just started may have our descriptors for a moment.
            assertTrue(run("umount", "-l", mount.toString()));
        }
    }

    private static boolean run(String... command) throws Exception {
        return new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                        .start()
                        .waitFor()
                == 0;
    }

    @Test
    void aFileSystemOfMemoryIsAWarning() throws IOException {
        Path memory = Path.of("/dev/shm");
        assumeTrue(
                Files.isDirectory(memory) && Files.getFileStore(memory).type().equals("tmpfs"));
        Finding finding = finding("disk", new Layout(memory.resolve("none"), directory, "m"));

        assertTrue(finding.level() != Level.OK, finding.toString());
    }

    @Test
    void inAChrootWhoseRootIsNoMountPointTheDirectoriesAreLookedAtAllTheSame() throws IOException {
        Path self = Files.createDirectories(directory.resolve("proc/self"));
        Files.writeString(self.resolve("mountinfo"), "22 27 0:21 / /proc rw - proc proc rw\n");
        StateChecks state = new StateChecks(layout(), directory.resolve("proc"));

        assertEquals(
                Finding.ok(
                        "state directory", layout().stateDir() + " is not there yet; the first apply or run makes it"),
                state.stateDirectory());
        assertTrue(
                state.disk()
                        .message()
                        .matches("[0-9]+ MiB left for "
                                + Pattern.quote(layout().stateDir().toString()) + ".*"),
                state.disk().toString());
        Files.writeString(
                self.resolve("mountinfo"), "30 27 8:1 / " + directory.toRealPath() + " rw,noexec - ext4 none rw\n");
        assertTrue(state.disk().message().endsWith(", mounted noexec: no program that is installed there can run"));
    }

    @Test
    void rootIsNotToldToRunItAsRoot() throws IOException {
        Path self = Files.createDirectories(directory.resolve("self"));
        Files.writeString(self.resolve("mountinfo"), "22 27 0:21 / /proc rw - proc proc rw,hidepid=invisible\n");
        for (boolean isRoot : new boolean[] {false, true}) {
            HostChecks host = new HostChecks(directory, isRoot, NOW);
            for (Finding finding : List.of(host.cgroups(CgroupLayout.NONE), host.proc())) {
                assertEquals(!isRoot, finding.remedy().startsWith("run as root, or "), finding.toString());
            }
        }
        Clock broken = Clock.offset(Clock.fixed(Instant.MAX, ZoneOffset.UTC), Duration.ofDays(1));
        for (boolean isRoot : new boolean[] {false, true}) {
            Finding finding = new Doctor(layout(), List.of(), isRoot, broken)
                    .look().stream()
                            .filter(one -> one.message().startsWith(UNSEEN))
                            .findFirst()
                            .orElseThrow();
            assertEquals(!isRoot, finding.remedy().contains("as root"), finding.toString());
        }
    }

    @Test
    void theLineAboutToolsNamesWhatIsMissingOrSaysThatNothingIs() {
        Finding tools = finding("tools", layout());

        assertTrue(
                tools.equals(Finding.ok("tools", "all that launching needs is there"))
                        || tools.message().matches("not in PATH: .*; (without them nothing|what has these can't) .*"),
                tools.toString());
    }

    @Test
    void theLineAboutTheDiskSaysHowMuchRoomThereIsAndForWhat() {
        Finding disk = finding("disk", layout());

        assertTrue(
                disk.message()
                        .matches("[0-9]+ MiB left on \\S+ for "
                                + Pattern.quote(layout().stateDir().toString()) + ".*"),
                disk.toString());
    }

    @Test
    void theLineAboutControlGroupsNamesThemAndWhatTheyDoNotEnforce() {
        HostChecks host = new HostChecks(Path.of("/proc"), false, NOW);
        CgroupHierarchy memory = new CgroupHierarchy(
                CgroupHierarchy.Version.V1,
                ImmutableSet.of(Controller.MEMORY),
                directory,
                ImmutableList.of(),
                ImmutableList.of());

        Finding none = host.cgroups(CgroupLayout.NONE);
        Finding one = host.cgroups(new CgroupLayout(ImmutableList.of(memory)));

        assertEquals(
                "no controllers for memory and processor time; not enforced: memory (" + CgroupLayout.NO_CONTROLLER
                        + ") and cpu (" + CgroupLayout.NO_CONTROLLER
                        + "); workloads that require such limits are not started",
                none.message());
        assertEquals(Level.WARN, none.level());
        assertTrue(one.message().startsWith("v1 memory at " + directory + "; not enforced: "), one.toString());
        assertTrue(one.message().contains("cpu (" + CgroupLayout.NO_CONTROLLER + ")"), one.toString());
    }

    @Test
    void theLineAboutTheCeilingSaysWhatBoundsTheAgent() throws IOException {
        HostChecks host = new HostChecks(directory, false, NOW);
        Path cgroups = Files.createDirectories(directory.resolve("cgroups"));
        Path group = Files.createDirectories(cgroups.resolve("system.slice/homeostat.service/supervisor"));
        Files.createFile(cgroups.resolve("cgroup.controllers"));
        Path cgroup = Files.createDirectories(directory.resolve("4711")).resolve("cgroup");

        Files.writeString(
                cgroup.resolveSibling("stat"),
                "4711 (java) S 1 4711 4711 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 815 2654208 169 18446744073709551615\n");
        Files.writeString(cgroup.resolveSibling("status"), "Uid:\t0\t0\t0\t0\n");

        Files.writeString(cgroup, "0::/user.slice\n");
        Finding heap = Finding.ok("ceiling", "nothing but its heap bounds the agent");
        assertEquals(heap, host.ceiling(cgroups, Optional.of(4711L)));

        Files.writeString(cgroup, "0::/system.slice/homeostat.service/supervisor\n");
        assertEquals(heap, host.ceiling(cgroups, Optional.of(4711L)), "its unit asks for none");
        Files.writeString(cgroup.resolveSibling("environ"), "A=HOMEOSTAT_OWN_GROUP=1\0HOMEOSTAT_OWN_GROUP=\0");
        assertEquals(heap, host.ceiling(cgroups, Optional.of(4711L)), "it asks for none");
        Files.writeString(cgroup.resolveSibling("environ"), "A=1\0HOMEOSTAT_OWN_GROUP=1\0");
        assertEquals(Level.WARN, host.ceiling(cgroups, Optional.of(4711L)).level());

        Files.writeString(group.resolve("memory.max"), "536870912\n");
        Finding half = host.ceiling(cgroups, Optional.of(4711L));
        assertEquals(Level.WARN, half.level());
        assertEquals("the agent itself may take 512 MiB of memory and all processors", half.message());

        Files.writeString(group.resolve("cpu.max"), "100000 100000\n");
        Finding whole = host.ceiling(cgroups, Optional.of(4711L));
        assertEquals(Level.OK, whole.level());
        assertTrue(whole.message().endsWith(" 512 MiB of memory and 100% of a processor"), whole::message);
        assertEquals(Finding.ok("ceiling", "no agent is running"), host.ceiling(cgroups, Optional.empty()));
    }

    @Test
    void aClockOfAnotherCenturyIsAFailure() {
        Clock wrong = Clock.fixed(Instant.EPOCH, ZoneOffset.UTC);
        assertEquals(
                Level.FAIL,
                new HostChecks(Path.of("/proc"), false, wrong).clock().level());
        assertEquals(
                Level.OK, new HostChecks(Path.of("/proc"), false, NOW).clock().level());
    }

    @Test
    void fewWatchesAndFewFilesAreWarnings() throws IOException {
        Path inotify = Files.createDirectories(directory.resolve("sys/fs/inotify"));
        Files.writeString(inotify.resolve("max_user_watches"), "100\n");
        Files.writeString(inotify.resolve("max_user_instances"), "128\n");
        Path self = Files.createDirectories(directory.resolve("self"));
        Files.writeString(
                self.resolve("limits"), "Max open files            256                  4096                 files\n");
        HostChecks host = new HostChecks(directory, false, NOW);

        assertEquals(Level.WARN, host.inotify().level());
        assertEquals(Level.WARN, host.openFiles().level());
    }

    @Test
    void limitsOfTheKernelAreReadInOnePiece() throws IOException {
        String watches = Files.readAllLines(Path.of("/proc/sys/fs/inotify/max_user_watches"))
                .getFirst();
        String said = new HostChecks(Path.of("/proc"), false, NOW).inotify().message();
        assertTrue(said.startsWith(watches + " watches and "), said);
    }

    @Test
    void processesThatAreHiddenAreAWarning() throws IOException {
        Path self = Files.createDirectories(directory.resolve("self"));
        Files.writeString(self.resolve("mountinfo"), "22 27 0:21 / /proc rw - proc proc rw,hidepid=invisible\n");
        assertEquals(Level.WARN, new HostChecks(directory, false, NOW).proc().level());
        Files.writeString(self.resolve("mountinfo"), "22 27 0:21 / /proc rw - proc proc rw,hidepid=0\n");
        assertEquals(Level.OK, new HostChecks(directory, false, NOW).proc().level());
        Files.writeString(self.resolve("mountinfo"), "22 27 0:21 / /tmp rw - tmpfs tmpfs rw\n");
        assertEquals(Level.FAIL, new HostChecks(directory, false, NOW).proc().level());
    }

    @Test
    void aSourceThatIsNotThereIsAWarning() {
        assertEquals(
                Level.WARN,
                finding("source", layout(), directory.resolve("none")).level());
        assertEquals(Level.OK, finding("source", layout(), directory).level());
    }
}
