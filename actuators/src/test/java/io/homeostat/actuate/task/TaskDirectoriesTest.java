package io.homeostat.actuate.task;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.FailingDisk;
import io.homeostat.actuate.ForeignMount;
import io.homeostat.actuate.HostileTree;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.Mounts;
import io.homeostat.actuate.QuickDisk;
import io.homeostat.actuate.task.TaskDirectories.Contents;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.UserMounts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TaskDirectoriesTest {
    private static final int NOBODY = 65_534;
    private static final int DAEMON = 1;

    @TempDir
    Path temp;

    private Path state = Path.of("");
    private TaskPlace place = new TaskPlace(Path.of("/unused"), "web");
    private TaskDirectories directories = new TaskDirectories(Path.of(""), new LocalDisk(), new Mounts(), Path.of("/"));
    private boolean root;

    @BeforeEach
    void makeState() throws IOException {
        root = Account.ourUid() == 0;
        Files.setPosixFilePermissions(temp, PosixFilePermissions.fromString("rwxr-xr-x"));
        state = Files.createDirectory(temp.resolve("state"));
        Files.setPosixFilePermissions(state, PosixFilePermissions.fromString("rwx------"));
        place = new TaskPlace(state.resolve("alloc").resolve(UUID.randomUUID().toString()), "web");
        directories = directories(new LocalDisk(), new Mounts());
    }

    @AfterEach
    void leaveNothing() throws Exception {
        directories(new LocalDisk(), new Mounts()).remove(place.root());
    }

    @Test
    void everyDirectoryIsThereAndOpenToWhoMayUseIt() throws Exception {
        assertEquals(List.of(), prepare(Isolation.NONE, null));
        assertEquals(List.of(), prepare(Isolation.NONE, null));

        List<Path> all = List.of(
                place.shared(),
                place.shared().resolve("logs"),
                place.shared().resolve("tmp"),
                place.shared().resolve("data"),
                place.directory(),
                place.local(),
                place.secrets(),
                place.directory().resolve("private"));
        int expected = root ? 0777 : 0700;
        for (Path each : all) {
            assertEquals(Integer.toOctalString(expected), mode(each), each.toString());
            assertEquals(root ? NOBODY : Account.ourUid(), Files.getAttribute(each, "unix:uid"), each.toString());
        }
        assertEquals(root ? "1777" : "700", mode(place.directory().resolve("tmp")));
        assertFalse(Files.exists(place.staging()));
    }

    @Test
    void whatATaskHasChangedOfThemIsSetRight() throws Exception {
        prepare(Isolation.NONE, null);
        Files.setPosixFilePermissions(place.local(), PosixFilePermissions.fromString("---------"));
        Files.delete(place.directory().resolve("tmp"));
        Files.writeString(place.directory().resolve("tmp"), "no directory");

        prepare(Isolation.NONE, null);

        assertEquals(root ? "777" : "700", mode(place.local()));
        assertTrue(Files.isDirectory(place.directory().resolve("tmp")));
    }

    @Test
    void theUserReachesTheTaskButCannotListWhatIsAbove() throws Exception {
        assumeTrue(root, "only root runs tasks as others");
        assertEquals(List.of(), prepareFor(nobody()));
        assertEquals(
                0,
                asNobody("echo x > '" + place.directory() + "/executor.out' && echo x > '" + place.local()
                        + "/mine' && echo x > '" + place.secrets() + "/mine'"));
        assertNotEquals(0, asNobody("ls '" + place.root() + "' || ls '" + state + "'"));
        assertNotEquals(0, asNobody("mv '" + place.directory() + "' '" + place.root() + "/other'"));
    }

    @Test
    void nobodyElseReachesTheTask() throws Exception {
        assumeTrue(root, "only root runs tasks as others");
        prepareFor(nobody());
        Files.writeString(place.local().resolve("app"), "ours");
        assertEquals("710", mode(place.root()));

        List<String> attacks = List.of(
                "cat '" + place.local() + "/app'",
                "ls '" + place.secrets() + "'",
                "mv '" + place.local() + "/app' '" + place.local() + "/old'",
                "echo theirs > '" + place.shared() + "/tmp/file'");
        for (String attack : attacks) {
            assertNotEquals(0, as(DAEMON, attack), attack);
        }

        Files.setPosixFilePermissions(place.root(), PosixFilePermissions.fromString("rwx--x--x"));
        for (String attack : attacks) {
            assertEquals(0, as(DAEMON, attack), "nothing else is in the way of " + attack);
        }
    }

    @Test
    void aTaskThatRootAloneGetsToIsClosedToAllOthersAlsoWhenItWasOpen() throws Exception {
        assumeTrue(root, "only root runs tasks as others");
        prepareFor(nobody());
        // As an older version has left it.
        Files.setPosixFilePermissions(place.root(), PosixFilePermissions.fromString("rwx--x--x"));
        assertTrue(TaskDirectories.isOpenToAll(place));

        prepare(Isolation.NONE, null);

        assertFalse(TaskDirectories.isOpenToAll(place));
        assertEquals("700", mode(place.root()));
        assertEquals(0, Files.getAttribute(place.root(), "unix:gid"));
        assertNotEquals(0, asNobody("ls '" + place.local() + "'"));
    }

    @Test
    void aDirectoryAboveThatIsClosedIsTold() throws Exception {
        assumeTrue(root, "only root runs tasks as others");
        Files.setPosixFilePermissions(temp, PosixFilePermissions.fromString("rwx------"));
        assertEquals(List.of(), prepare(Isolation.NONE, null), "nobody else has to get there");
        ImmutableList<String> remarks = prepareFor(nobody());
        assertEquals(1, remarks.size(), remarks.toString());
        assertTrue(remarks.getFirst().contains(temp + " is closed"), remarks.getFirst());
    }

    @Test
    void secretsAreInMemoryFewAndNotExecutable() throws Exception {
        assumeTrue(canMount(), "nothing can be mounted here");
        prepare(Isolation.NONE, null);
        Files.writeString(place.secrets().resolve("token"), "s3cret");
        prepare(Isolation.NONE, null);

        assertEquals(
                ImmutableList.of(place.secrets(), place.directory().resolve("private")),
                new Mounts().below(place.root()));
        assertEquals("s3cret", Files.readString(place.secrets().resolve("token")));
        IOException full = assertThrows(
                IOException.class, () -> Files.write(place.secrets().resolve("large"), new byte[2 << 20]));
        assertTrue(Disk.isFull(full), full.toString());
        Path program = Files.writeString(place.directory().resolve("private/run"), "#!/bin/sh\n");
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxrwxrwx"));
        assertThrows(IOException.class, () -> new ProcessBuilder(program.toString()).start());
    }

    @Test
    void whereNothingCanBeMountedSecretsAreOnTheDiskForTheirOwner() throws Exception {
        TaskDirectories without = directories(new LocalDisk(), new Mounts(Path.of("/dev/null"), new Forbidden()));
        List<String> remarks = without.prepare(place, Isolation.NONE, null, null);
        assertEquals(root ? 2 : 0, remarks.size(), remarks.toString());
        assertTrue(
                remarks.stream().allMatch(remark -> remark.contains("on the disk") && remark.contains("not permitted")),
                remarks.toString());
        assertEquals("700", mode(place.secrets()));
    }

    @Test
    void whatIsInstalledIsCopiedOnceAndReplacedAsAWhole() throws Exception {
        Contents first = installed("first", "one");
        prepare(Isolation.NONE, first);

        assertEquals("one", Files.readString(place.local().resolve("bin/run")));
        assertEquals("755", mode(place.local().resolve("bin/run")));
        assertEquals("644", mode(place.local().resolve("data")));
        assertEquals("one", Files.readString(place.local().resolve("link")));
        assertEquals(Path.of("bin/run"), Files.readSymbolicLink(place.local().resolve("link")));
        assertEquals(1, Files.getAttribute(place.local().resolve("hard"), "unix:nlink"));
        assertEquals(root ? "777" : "700", mode(place.local()));

        Files.writeString(place.local().resolve("mine"), "kept");
        prepare(Isolation.NONE, first);
        assertEquals("kept", Files.readString(place.local().resolve("mine")));

        prepare(Isolation.NONE, installed("second", "two"));
        assertEquals("two", Files.readString(place.local().resolve("bin/run")));
        assertFalse(Files.exists(place.local().resolve("mine")));

        prepare(Isolation.NONE, null);
        assertEquals(List.of(), names(place.local()));
        Files.writeString(place.local().resolve("mine"), "kept");
        prepare(Isolation.NONE, null);
        assertEquals(List.of("mine"), names(place.local()));
        assertEquals(root ? "777" : "700", mode(place.local()));
    }

    @Test
    void whatIsInstalledHasNoPrivilegesOfItsOwn() throws Exception {
        Contents contents = installed("first", "one");
        Files.setAttribute(contents.directory().resolve("bin/run"), "unix:mode", 06755);
        Files.setAttribute(contents.directory().resolve("bin"), "unix:mode", 02755);
        prepare(Isolation.NONE, contents);
        assertEquals("755", mode(place.local().resolve("bin/run")));
        assertEquals("755", mode(place.local().resolve("bin")));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void anInterruptedChangeOfContentsIsDoneAgain(boolean after) throws Exception {
        Contents first = installed("first", "one");
        Contents second = installed("second", "two");
        boolean failed = true;
        directories = directories(new QuickDisk(), new Mounts());
        for (int step = 1; failed; step++) {
            prepare(Isolation.NONE, first);
            Files.writeString(place.local().resolve("mine"), "old");
            FailingDisk failing = new FailingDisk(step, after, new QuickDisk());
            try {
                directories(failing, new Mounts()).prepare(place, Isolation.NONE, second, null);
            } catch (FailingDisk.Crash e) {
                assertTrue(failing.hasFailed());
            }
            failed = failing.hasFailed();

            prepare(Isolation.NONE, second);
            assertEquals("two", Files.readString(place.local().resolve("bin/run")), "step " + step);
            assertEquals(List.of("bin", "data", "hard", "link"), names(place.local()), "step " + step);

            FailingDisk emptying = new FailingDisk(step, after, new QuickDisk());
            try {
                directories(emptying, new Mounts()).prepare(place, Isolation.NONE, null, null);
            } catch (FailingDisk.Crash e) {
                assertTrue(emptying.hasFailed());
            }
            prepare(Isolation.NONE, null);
            assertEquals(List.of(), names(place.local()), "step " + step);
            failed |= emptying.hasFailed();
        }
    }

    @Test
    void aHalfCopiedInstallationIsReplaced() throws Exception {
        prepare(Isolation.NONE, installed("first", "one"));
        // As kill -9 leaves it: the note is gone, the copy is half done.
        Files.write(place.root().resolve(".installed-web"), new byte[0]);
        Files.createDirectories(place.staging().resolve("local/bin"));
        Files.writeString(place.local().resolve("half"), "x");

        prepare(Isolation.NONE, installed("second", "two"));

        assertEquals(List.of("bin", "data", "hard", "link"), names(place.local()));
        assertFalse(Files.exists(place.staging()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "local", "secrets", "private", "tmp", "../alloc", "../alloc/logs"})
    void whatTheUserHasMountedThereIsUnmountedAndNotAsked(String where) throws Exception {
        assumeTrue(root, "only root runs tasks as others");
        prepareFor(nobody());
        Path point = place.directory().resolve(where).normalize();

        try (ForeignMount _ = ForeignMount.silent(point)) {
            assertTimeoutPreemptively(Duration.ofMinutes(1), () -> prepareFor(nobody()));
            assertEquals(List.of(), UserMounts.now().below(temp.toRealPath()));
        }
        assertEquals("710", mode(place.root()));
    }

    @Test
    void whatIsMountedThereMeanwhileIsAnErrorThatNamesIt() throws Exception {
        assumeTrue(root, "only root runs tasks as others");
        List<ForeignMount> meanwhile = new ArrayList<>();
        Disk mounting = new QuickDisk() {
            @Override
            public void write(Path file, byte[] content) throws IOException {
                super.write(file, content);
                if (content.length > 0) {
                    meanwhile.add(ForeignMount.silent(place.local()));
                }
            }
        };
        try {
            ActuationFailure failure = assertTimeoutPreemptively(
                    Duration.ofMinutes(1),
                    () -> assertThrows(
                            ActuationFailure.class,
                            () -> directories(mounting, new Mounts())
                                    .prepare(place, Isolation.NONE, installed("first", "one"), null)));
            String words = String.valueOf(failure.getMessage());
            assertTrue(words.contains("user 65534 has mounted a file system over it"), words);
            assertTrue(
                    words.contains("umount -l ") && words.contains(place.local().toString()), words);
        } finally {
            meanwhile.forEach(ForeignMount::close);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"local", "secrets", "private", "tmp", "alloc", "../alloc/logs", "../alloc/tmp", "../alloc/data"})
    void aLinkThatATaskHasPlantedLeadsNowhere(String planted) throws Exception {
        Path victim = Files.createDirectory(temp.resolve("victim"));
        Files.setPosixFilePermissions(victim, PosixFilePermissions.fromString("rwxr-x---"));
        Files.writeString(victim.resolve("precious"), "mine");
        prepare(Isolation.NONE, installed("first", "one"));
        new Mounts().clear(place.root());
        Path name = place.directory().resolve(planted).normalize();
        HostileTree.delete(name);
        Files.createSymbolicLink(name, victim);

        prepare(canMount() ? Isolation.CHROOT : Isolation.NONE, installed("second", "two"));
        assertTrue(
                canMount() || planted.equals("alloc") || Files.isDirectory(name, LinkOption.NOFOLLOW_LINKS), planted);
        directories.remove(place.root());

        assertEquals(List.of("precious"), names(victim));
        assertEquals("750", mode(victim));
        assertEquals(Account.ourUid(), Files.getAttribute(victim, "unix:uid"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"/etc/passwd", "../outside", "bin/../../outside", "chain/../../../outside"})
    void anInstalledLinkThatLeadsOutIsRefused(String target) throws Exception {
        Contents contents = installed("first", "one");
        Files.createDirectories(contents.directory().resolve("a/b"));
        Files.createSymbolicLink(contents.directory().resolve("chain"), Path.of("a/b"));
        Files.createSymbolicLink(contents.directory().resolve("out"), Path.of(target));
        assertRefused(contents, "out is a symlink to " + target);
    }

    @Test
    void anInstalledFifoOrAMissingDirectoryIsRefused() throws Exception {
        Contents contents = installed("first", "one");
        assertEquals(0, run("mkfifo", contents.directory().resolve("pipe").toString()));
        assertRefused(contents, "pipe");
        assertRefused(
                new Contents("gone", temp.resolve("gone")), temp.resolve("gone").toString());
        assertThrows(IllegalArgumentException.class, () -> new Contents(" ", temp));
    }

    private void assertRefused(Contents contents, String words) throws Exception {
        ActuationFailure failure = assertThrows(ActuationFailure.class, () -> prepare(Isolation.NONE, contents));
        assertTrue(
                String.valueOf(failure.getMessage()).replace(": ", " ").contains(words.replace(": ", " ")),
                failure.getMessage());
        // What was refused is not taken for what is there.
        prepare(Isolation.NONE, installed("other", "two"));
        assertEquals("two", Files.readString(place.local().resolve("bin/run")));
    }

    @Test
    void aRemovedAllocationIsGoneAndOthersAreNot() throws Exception {
        prepare(Isolation.NONE, installed("first", "one"));
        Path other = Files.createDirectories(place.root().resolveSibling("other"));
        directories.remove(place.root());
        directories.remove(place.root());
        assertFalse(Files.exists(place.root()));
        assertTrue(Files.exists(other));
    }

    @Test
    void whateverATaskHasMadeIsRemoved() throws Exception {
        prepare(Isolation.NONE, null);
        assertEquals(
                0,
                run(
                        "sh",
                        "-c",
                        "cd \"$1\" && mkfifo fifo && mkdir -p 'a b/c' && ln -s / 'a b/root' && ln -s . 'a b/self'"
                                + " && echo x > 'a b/c/file' && chmod 0 'a b/c'; i=0; while [ $i -lt 400 ]; do mkdir d && cd d;"
                                + " i=$((i+1)); done",
                        "sh",
                        place.local().toString()));
        directories.remove(place.root());
        assertFalse(Files.exists(place.root()));
    }

    @Test
    void anAllocationInUseIsUnmountedAndRemovedAllTheSame() throws Exception {
        assumeTrue(canMount(), "nothing can be mounted here");
        prepare(Isolation.CHROOT, null);
        Files.writeString(place.shared().resolve("data/mine"), "x");
        Process inside = new ProcessBuilder("sleep", "300")
                .directory(place.secrets().toFile())
                .start();
        try {
            directories.remove(place.root());
            assertFalse(Files.exists(place.root()));
            assertTrue(inside.isAlive());
        } finally {
            inside.destroyForcibly().waitFor();
        }
    }

    @Test
    void whatIsMountedAndStaysIsNeverDeleted() throws Exception {
        assumeTrue(canMount(), "nothing can be mounted here");
        prepare(Isolation.NONE, null);
        Path precious = Files.createDirectory(temp.resolve("precious"));
        Files.writeString(precious.resolve("file"), "x");
        Path point = Files.createDirectories(place.local().resolve("with space/point"));
        assertEquals(Optional.empty(), new Mounts().bind(precious, point));

        TaskDirectories helpless =
                directories(new LocalDisk(), new Mounts(Path.of("/proc/self/mountinfo"), new Forbidden()));
        ActuationFailure failure = assertThrows(ActuationFailure.class, () -> helpless.remove(place.root()));

        assertTrue(String.valueOf(failure.getMessage()).contains(point.toString()), failure.getMessage());
        assertTrue(Files.exists(precious.resolve("file")));
        directories.remove(place.root());
        assertFalse(Files.exists(place.root()));
        assertTrue(Files.exists(precious.resolve("file")));
    }

    @Test
    void whatCouldNotBeRemovedIsNamed() throws Exception {
        prepare(Isolation.NONE, null);
        Path stubborn = Files.writeString(place.local().resolve("stubborn"), "x");
        assumeTrue(run("chattr", "+i", stubborn.toString()) == 0, "no file can be made immutable here");
        try {
            ActuationFailure failure = assertThrows(ActuationFailure.class, () -> directories.remove(place.root()));
            assertTrue(String.valueOf(failure.getMessage()).contains(stubborn.toString()), failure.getMessage());
            assertFalse(Files.exists(place.directory().resolve("tmp")));
        } finally {
            assertEquals(0, run("chattr", "-i", stubborn.toString()));
        }
        directories.remove(place.root());
        assertFalse(Files.exists(place.root()));
    }

    @Test
    void anAllocationThatIsALinkIsLeftAlone() throws Exception {
        Path victim = Files.createDirectories(temp.resolve("victim/inner"));
        Path link = Files.createSymbolicLink(temp.resolve("link"), temp.resolve("victim"));
        assertThrows(ActuationFailure.class, () -> directories.remove(link));
        assertTrue(Files.exists(victim));
    }

    @Test
    void aFileInThePlaceOfTheAllocationIsAnError() throws Exception {
        Files.createDirectories(place.root().getParent());
        Files.writeString(place.root(), "x");
        ActuationFailure failure = assertThrows(ActuationFailure.class, () -> prepare(Isolation.NONE, null));
        assertTrue(String.valueOf(failure.getMessage()).contains(place.root().toString()), failure.getMessage());
        failure = assertThrows(ActuationFailure.class, () -> directories.remove(place.root()));
        assertTrue(String.valueOf(failure.getMessage()).contains("no directory"), failure.getMessage());
        Files.delete(place.root());
    }

    @Test
    void withoutRootThereIsNoIsolation() throws Exception {
        assumeTrue(!root, "we are root");
        for (Isolation isolation : new Isolation[] {Isolation.CHROOT, Isolation.UNVEIL}) {
            ActuationFailure failure = assertThrows(ActuationFailure.class, () -> prepare(isolation, null));
            assertTrue(String.valueOf(failure.getMessage()).contains("only root"), failure.getMessage());
        }
    }

    private ImmutableList<String> prepare(Isolation isolation, @Nullable Contents contents) throws Exception {
        return directories.prepare(place, isolation, contents, null);
    }

    private ImmutableList<String> prepareFor(Account user) throws Exception {
        return directories.prepare(place, Isolation.NONE, null, user);
    }

    private static Account nobody() {
        return new Account("nobody", NOBODY, NOBODY, "/", "/bin/sh");
    }

    private TaskDirectories directories(Disk disk, Mounts mounts) throws IOException {
        Path system = Files.createDirectories(temp.resolve("system"));
        Files.createDirectories(system.resolve("usr/bin"));
        return new TaskDirectories(state, disk, mounts, system);
    }

    private boolean canMount() throws Exception {
        Path probe = Files.createDirectories(temp.resolve("probe"));
        boolean can = root && new Mounts().memory(probe).isEmpty();
        new Mounts().clear(probe);
        return can;
    }

    private Contents installed(String identity, String content) throws IOException {
        Path directory = temp.resolve("installed-" + identity);
        if (!Files.exists(directory)) {
            Files.createDirectories(directory.resolve("bin"));
            Path run = Files.writeString(directory.resolve("bin/run"), content);
            Files.setPosixFilePermissions(run, PosixFilePermissions.fromString("rwxr-xr-x"));
            Path data = Files.writeString(directory.resolve("data"), content);
            Files.setPosixFilePermissions(data, PosixFilePermissions.fromString("rw-r--r--"));
            Files.createLink(directory.resolve("hard"), data);
            Files.createSymbolicLink(directory.resolve("link"), Path.of("bin/run"));
        }
        return new Contents(identity, directory);
    }

    private static List<String> names(Path directory) throws IOException {
        try (Stream<Path> entries = Files.list(directory)) {
            return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
        }
    }

    private static String mode(Path path) throws IOException {
        return Integer.toOctalString((int) Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS) & 07777);
    }

    private static int asNobody(String script) throws Exception {
        return as(NOBODY, script);
    }

    private static int as(int user, String script) throws Exception {
        return run("setpriv", "--reuid=" + user, "--regid=" + user, "--clear-groups", "sh", "-c", script);
    }

    private static int run(String... command) throws Exception {
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start()
                .waitFor();
    }
}
