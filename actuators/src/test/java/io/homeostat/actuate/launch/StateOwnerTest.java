package io.homeostat.actuate.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.homeostat.actuate.ForeignMount;
import io.homeostat.actuate.HostileTree;
import io.homeostat.desired.platform.MappedNumbers;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.PinnedFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A directory of user 1001 becomes that of user 1002, neither of whom need exist. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class StateOwnerTest {
    private static final int FORMER = 1001;
    private static final int USER = 1002;
    private static final int GROUP = 1003;
    private static final String FEW = "0 100000 2000";
    private static final int LAST = 1999;
    private static final StateOwner.Limits LIMITS = new StateOwner.Limits(1000, 100);

    @TempDir
    Path temp;

    private Path note = Path.of("");
    private Path state = Path.of("");
    private Path inner = Path.of("");
    private Path file = Path.of("");

    @BeforeEach
    void makeState() throws IOException {
        assumeTrue(Account.ourUid() == 0, "only root gives something away");
        Files.setPosixFilePermissions(temp, PosixFilePermissions.fromString("rwx--x--x"));
        note = temp.resolve("notes/state");
        state = Files.createDirectory(temp.resolve("state"));
        inner = Files.createDirectory(state.resolve("inner"));
        file = Files.createFile(inner.resolve("file"));
        for (Path each : List.of(state, inner, file)) {
            Files.setAttribute(each, "unix:uid", FORMER);
            Files.setPosixFilePermissions(each, PosixFilePermissions.fromString("rwxrwxrwx"));
        }
    }

    private static StateOwner owner() {
        return owner(() -> {});
    }

    private static StateOwner owner(Runnable between) {
        return new StateOwner(USER, GROUP, LIMITS, between, Files::setAttribute, many());
    }

    private static StateOwner owner(int mostEntries) {
        return new StateOwner(
                USER,
                GROUP,
                new StateOwner.Limits(mostEntries, LIMITS.remembered()),
                () -> {},
                Files::setAttribute,
                many());
    }

    private static Object uid(Path path) throws IOException {
        return Files.getAttribute(path, "unix:uid", LinkOption.NOFOLLOW_LINKS);
    }

    private void assertGiven() throws IOException {
        for (Path each : List.of(state, inner, file)) {
            assertEquals(USER, uid(each), each.toString());
            assertEquals(GROUP, Files.getAttribute(each, "unix:gid"), each.toString());
        }
        assertEquals(0700, mode(state));
        assertEquals(0700, mode(inner));
        assertEquals(0755, mode(file));
    }

    private static int mode(Path path) throws IOException {
        return (int) Files.getAttribute(path, "unix:mode") & 07777;
    }

    @Test
    void theNewUserGetsAllOfItAndNobodyElseAnyMore() throws Exception {
        assertEquals(Optional.empty(), owner().own(state, note));

        assertGiven();
    }

    /** Latin-1, as old archives have it. */
    @Test
    void soIsWhatHasANameThatIsNoText() throws Exception {
        Path strange = Files.createDirectory(Path.of(URI.create(inner.toUri() + "dir%E9")));
        Path below = Files.createFile(Path.of(URI.create(strange.toUri() + "caf%E9")));
        for (Path each : List.of(strange, below)) {
            Files.setAttribute(each, "unix:uid", FORMER);
        }

        assertEquals(Optional.empty(), owner().own(state, note));

        assertEquals(List.of(USER, USER), List.of(uid(strange), uid(below)));
    }

    @Test
    void whatItsUserGrantsToOthersStaysSo() throws Exception {
        assertEquals(
                Optional.empty(),
                new StateOwner(FORMER, GROUP, LIMITS, () -> {}, Files::setAttribute, many()).own(state, note));

        assertEquals("rwxrwxrwx", PosixFilePermissions.toString(Files.getPosixFilePermissions(state)));
    }

    /** The states that kill -9 leaves, from the first step to the last. */
    @ParameterizedTest
    @CsvSource({"1001, 0", "1001, 1001", "0, 1001", "1002, 1001", "1002, 1003"})
    void whatWasInterruptedIsDone(int uid, int gid) throws Exception {
        Files.setAttribute(state, "unix:mode", 01700);
        Files.setAttribute(state, "unix:uid", uid);
        Files.setAttribute(state, "unix:gid", gid);
        if (uid == USER) {
            for (Path each : List.of(inner, file)) {
                Files.setAttribute(each, "unix:uid", USER);
                Files.setAttribute(each, "unix:gid", GROUP);
                Files.setAttribute(each, "unix:mode", each.equals(inner) ? 0700 : 0755);
            }
        }

        assertEquals(Optional.empty(), owner().own(state, note));

        assertGiven();
    }

    /** The same of a directory in it. */
    @ParameterizedTest
    @CsvSource({"1001, 1001, 65535", "0, 1001, 1001", "0, 1001, 65535", "1002, 1001, 1002", "1002, 1003, 1002"})
    void whatWasInterruptedBelowItIsDone(int uid, int gid, int uidOfFile) throws Exception {
        Files.setAttribute(inner, "unix:mode", 01700);
        Files.setAttribute(inner, "unix:uid", uid);
        Files.setAttribute(inner, "unix:gid", gid);
        Files.setAttribute(file, "unix:uid", uidOfFile);
        if (uidOfFile == USER) {
            Files.setAttribute(file, "unix:gid", GROUP);
            Files.setAttribute(file, "unix:mode", 0755);
        }

        assertEquals(Optional.empty(), owner().own(state, note));

        assertGiven();
    }

    /** Else it could go to where whoever finds it there takes it for the new user's work. */
    @Test
    void aDirectoryIsClosedToTheFormerUserBeforeAFileInItIsTheNewOnes() throws Exception {
        List<String> seen = new ArrayList<>();

        assertEquals(
                Optional.empty(),
                owner(() -> seen.addAll(List.of(facts(state), facts(inner), facts(file))))
                        .own(state, note));

        assertEquals(List.of("0 1700", "0 1700", FORMER + " 777"), seen);
        assertGiven();
    }

    private static String facts(Path path) {
        try {
            return uid(path) + " " + Integer.toOctalString(mode(path));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whoever lets a group in later would let the former user in as well. */
    @Test
    void whatTheFormerUserHasGrantedByListsIsTakenBack() throws Exception {
        assumeTrue("amd64".equals(System.getProperty("os.arch")), "the numbers of system calls are others");
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/perl")), "there is no perl");
        for (Path each : List.of(state, inner, file)) {
            assumeTrue(
                    perl(
                            "my $list = pack('V(vvV)5', 2, 1, 7, -1, 2, 7, " + FORMER
                                    + ", 4, 0, -1, 16, 7, -1, 32, 0, -1);",
                            "syscall(188, $ARGV[0], $name, $list, length($list), 0)",
                            each),
                    "the file system has no access control lists");
        }

        assertEquals(Optional.empty(), owner().own(state, note));

        for (Path each : List.of(state, inner, file)) {
            assertFalse(perl("", "syscall(191, $ARGV[0], $name, 0, 0) < 0", each), each.toString());
        }
    }

    /** Whether an expression is 0. */
    private static boolean perl(String before, String expression, Path file) throws Exception {
        String program = "my $name = 'system.posix_acl_access';" + before + "exit(" + expression + " ? 1 : 0)";
        return new ProcessBuilder("perl", "-e", program, file.toString())
                        .inheritIO()
                        .start()
                        .waitFor()
                == 0;
    }

    /** As by linkat(2) of what the former user has open. */
    @Test
    void aFileThatGetsAnotherNameAfterItWasLookedAtStaysTheFormerUsers() throws Exception {
        Path name = temp.resolve("name");

        String left = owner(() -> {
                    try {
                        Files.createLink(name, file);
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                })
                .own(state, note)
                .orElseThrow();

        assertTrue(left.contains(file.toString()), left);
        assertEquals(FORMER + " 777", facts(name));
    }

    /** As under podman --userns=auto, from whichever step a kill makes it begin again. */
    @Test
    void whereFewNumbersAreMappedAllOfItChangesHandsToo() throws Exception {
        List<Path> all = makeMore();
        for (int step = 0; !attempt(amongFew(USER, killedAt(step))); step++) {
            assertTrue(attempt(amongFew(FORMER, Files::setAttribute)), "back from step " + step);
            for (Path each : all) {
                assertEquals(FORMER, uid(each), each.toString());
            }
        }
        for (Path each : all) {
            assertEquals(USER, uid(each), each.toString());
        }
    }

    @Test
    void whereFewNumbersAreMappedAFileWithAnotherNameGoesBackAfterAKill() throws Exception {
        int step = 0;
        while (!uid(file).equals(LAST)) {
            assertFalse(attempt(amongFew(USER, killedAt(step))));
            step++;
        }
        Path name = Files.createLink(temp.resolve("name"), file);

        String left = amongFew(USER, Files::setAttribute).own(state, note).orElseThrow();

        assertTrue(left.contains(file + " (has other names)"), left);
        assertEquals(FORMER, uid(name));
    }

    @Test
    void whereEachNumberIsSomebodysNothingIsTaken() throws Exception {
        StateOwner owner = new StateOwner(
                USER,
                GROUP,
                LIMITS,
                () -> {},
                refusing(LAST),
                new UnusedUser(MappedNumbers.parse(FEW), MappedNumbers.parse(FEW), number -> true));

        IOException failure = assertThrows(IOException.class, () -> owner.own(state, note));

        assertTrue(String.valueOf(failure.getMessage()).contains("map more"), failure.getMessage());
        assertEquals(FORMER + " 777", facts(state));
        assertTrue(Files.notExists(note));
    }

    @ParameterizedTest
    @CsvSource({"2000, 1003, user 2000", "1002, 2000, group 2000"})
    void nothingIsTakenForAUserWithoutANumberHere(int uid, int gid, String named) throws Exception {
        StateOwner owner = new StateOwner(uid, gid, LIMITS, () -> {}, refusing(LAST), few());

        IOException failure = assertThrows(IOException.class, () -> owner.own(state, note));

        assertTrue(String.valueOf(failure.getMessage()).contains(named + " is not mapped"), failure.getMessage());
        assertEquals(FORMER + " 777", facts(state));
    }

    @Test
    void whyAFileStaysIsTold() throws Exception {
        StateOwner.Attributes full = quota(USER, 0);

        String left = owner(USER, (path, attribute, value) -> {
                    if (Files.isDirectory(path)) {
                        Files.setAttribute(path, attribute, value);
                    } else {
                        full.set(path, attribute, value);
                    }
                })
                .own(state, note)
                .orElseThrow();

        assertTrue(left.contains(file + " (Disk quota exceeded)"), left);
    }

    private static StateOwner amongFew(int user, StateOwner.Attributes attributes) {
        return new StateOwner(
                user,
                user,
                LIMITS,
                () -> {},
                (path, attribute, value) -> {
                    refusing(LAST).set(path, attribute, value);
                    attributes.set(path, attribute, value);
                },
                few());
    }

    private static UnusedUser many() {
        MappedNumbers all = MappedNumbers.parse("0 0 4294967295");
        return new UnusedUser(all, all, number -> true);
    }

    private static UnusedUser few() {
        return new UnusedUser(MappedNumbers.parse(FEW), MappedNumbers.parse(FEW), number -> number != LAST);
    }

    /** The kernel in a namespace with this last number. */
    private static StateOwner.Attributes refusing(int last) {
        return (path, attribute, value) -> {
            if (!attribute.equals("unix:mode") && value > last) {
                throw new FileSystemException(path.toString(), null, "Invalid argument");
            }
        };
    }

    /** It was nobody's when we were killed. */
    @Test
    void aFileOfNobodyThatHasAnotherNameGoesBack() throws Exception {
        Files.createLink(temp.resolve("name"), file);
        Files.setAttribute(file, "unix:uid", 65_535);

        assertTrue(owner().own(state, note).isPresent());

        assertEquals(FORMER + " 777", facts(file));
    }

    @Test
    void aLinkOfTheUserByWhichRootHasMovedItIsLeft() throws Exception {
        owner().own(state, note);
        Path link = Files.createSymbolicLink(temp.resolve("link"), state);
        Files.setAttribute(link, "unix:uid", USER, LinkOption.NOFOLLOW_LINKS);

        assertEquals(Optional.empty(), owner().own(link, note));
        assertTrue(owner().keepTheirs(link.resolve("inner")).isPresent());

        assertTrue(Files.notExists(inner));
        assertEquals(USER + " 700", facts(state));
    }

    @Test
    void whatIsNoDirectoryIsNotGiven() throws Exception {
        assertThrows(IOException.class, () -> owner().own(file, note));
        assertThrows(IOException.class, () -> owner().ownDirectory(file));

        assertEquals(FORMER + " 777", facts(file));
    }

    @Test
    void aDirectoryOfRootIsNoneOfAGroupThatMayReadIt() throws Exception {
        Files.setAttribute(state, "unix:uid", 0);
        Files.setAttribute(state, "unix:gid", FORMER);
        Files.setPosixFilePermissions(state, PosixFilePermissions.fromString("rwxr-x---"));

        assertEquals(
                Optional.empty(), new StateOwner(0, 0, LIMITS, () -> {}, Files::setAttribute, many()).own(state, note));

        assertEquals("rwxr-x---", PosixFilePermissions.toString(Files.getPosixFilePermissions(state)));
        assertEquals(FORMER, Files.getAttribute(state, "unix:gid"));
        assertEquals(FORMER, uid(inner));
    }

    @Test
    void linksAndFilesWithOtherNamesAreLeftAndTold() throws Exception {
        Path link = Files.createSymbolicLink(state.resolve("link\u001b"), temp);
        Files.setAttribute(link, "unix:uid", FORMER, LinkOption.NOFOLLOW_LINKS);
        Path foreign = Files.createFile(temp.resolve("foreign"));
        Files.setAttribute(foreign, "unix:uid", FORMER);
        Files.createLink(inner.resolve("name"), foreign);

        String left = owner().own(state, note).orElseThrow();

        assertGiven();
        assertEquals(FORMER, uid(foreign));
        assertEquals(0, uid(temp));
        assertTrue(left.contains(state + "/link?"), left);
        assertTrue(left.contains(inner + "/name"), left);
    }

    @Test
    void whatCanNotBeLookedAtIsLeftAndTold() throws Exception {
        Path point = Files.createDirectory(inner.resolve("point"));
        // It would not answer, either.
        try (ForeignMount _ = ForeignMount.silent(point)) {
            String left = assertTimeoutPreemptively(
                    Duration.ofMinutes(1), () -> owner().own(state, note).orElseThrow());

            assertGiven();
            assertTrue(left.contains(point.toString()), left);
        }
    }

    @Test
    void ofMoreThanCanBeGivenNothingElseIsGivenAndItStaysClosed() throws Exception {
        IOException failure = assertThrows(IOException.class, () -> owner(1).own(state, note));

        assertTrue(String.valueOf(failure.getMessage()).contains("more than 1 files"), failure.getMessage());
        assertEquals(0, uid(state));
        assertEquals(01700, mode(state));
        assertEquals(Optional.empty(), owner().own(state, note));
        assertGiven();
    }

    @Test
    void eachAttemptAtMoreThanCanBeGivenGetsFurtherAndSoDoesTheWayBack() throws Exception {
        List<Path> all = makeMore();
        int attempts = 0;
        while (attempts < all.size() && !isComplete(() -> owner(5).own(state, note))) {
            attempts++;
        }
        assertTrue(attempts > 0 && attempts < 3, "attempts: " + attempts);

        Files.setAttribute(state, "unix:uid", FORMER);
        for (Path each : all) {
            theirs(each);
        }
        assertThrows(IOException.class, () -> owner(5).own(state, note));
        StateOwner back =
                new StateOwner(FORMER, FORMER, new StateOwner.Limits(5, 5), () -> {}, Files::setAttribute, many());
        assertEquals(Optional.empty(), back.own(state, note));
        assertGivenBack(all, "more than can be given");
    }

    @Test
    void anyNumberOfLinksIsLeft() throws Exception {
        for (int number = 0; number < 10; number++) {
            Path link = Files.createSymbolicLink(inner.resolve("link-" + number), temp);
            Files.setAttribute(link, "unix:uid", FORMER, LinkOption.NOFOLLOW_LINKS);
        }

        assertTrue(owner(3).own(state, note).orElseThrow().contains(" and 7 more"));

        assertGiven();
    }

    /** Who has come in by then, and stays, may make entries without end. */
    @Test
    void theFormerUserMakesNothingInItWhileItChangesHands() throws Exception {
        assertThrows(IOException.class, () -> owner(0).own(state, note));

        assertEquals(
                2,
                new ProcessBuilder(
                                "setpriv",
                                "--reuid=" + FORMER,
                                "--regid=" + FORMER,
                                "--clear-groups",
                                "sh",
                                "-c",
                                "echo > '" + state + "/more' || exit 2")
                        .start()
                        .waitFor());
    }

    /** As many as a thread of ours with its small stack could not go down by recursion, nor keep open. */
    @ParameterizedTest
    @ValueSource(ints = {19, 20, 21, 300})
    void directoriesMayBeNestedDeeply(int levels) throws Exception {
        List<Path> all = new ArrayList<>();
        Path directory = inner;
        for (int level = 0; level < levels; level++) {
            all.add(theirs(Files.createFile(directory.resolve("file-" + level))));
            for (String sibling : List.of("a", "z")) {
                Path beside = theirs(Files.createDirectory(directory.resolve(sibling)));
                all.add(beside);
                all.add(theirs(Files.createFile(beside.resolve("file"))));
            }
            directory = theirs(Files.createDirectory(directory.resolve("d")));
            all.add(directory);
        }

        StateOwner owner = new StateOwner(
                USER, GROUP, new StateOwner.Limits(10_000, levels + 10), () -> {}, Files::setAttribute, many());
        assertEquals(Optional.empty(), onSmallStack(() -> owner.own(state, note)));

        assertGiven();
        for (Path each : all) {
            assertEquals(USER, uid(each), each.toString());
        }
        // JUnit takes half a minute for it.
        HostileTree.delete(state);
    }

    /** Its depth is what the former user likes. */
    @Test
    void whatIsNestedFarTooDeeplyIsClosedAndLeft() throws Exception {
        int levels = 500;
        try {
            PinnedFile directory = PinnedFile.of(inner);
            for (int level = 0; level < levels; level++) {
                Path below = theirs(Files.createDirectory(directory.path().resolve("d")));
                PinnedFile opened = PinnedFile.of(below);
                directory.close();
                directory = opened;
            }
            directory.close();

            String left = onSmallStack(() -> owner(4000).own(state, note)).orElseThrow();

            assertTrue(left.contains(inner + "/d/d/d") && left.length() < 10_000, left);
            assertGiven();
            directory = PinnedFile.of(inner);
            int given = 0;
            while (directory.facts().uid() == USER) {
                PinnedFile below = PinnedFile.of(directory.path().resolve("d"));
                directory.close();
                directory = below;
                given++;
            }
            assertEquals("0 1700", facts(directory.path()));
            assertTrue(given > 90, "given: " + given);
            directory.close();
        } finally {
            HostileTree.delete(state);
        }
    }

    @Test
    void ofAFarTooLargeNumberOfThemDeepBelowSomeAreClosedAndLeft() throws Exception {
        Path directory = inner;
        for (int level = 0; level < 30; level++) {
            directory = theirs(Files.createDirectory(directory.resolve("d")));
        }
        for (int number = 0; number < 200; number++) {
            theirs(Files.createDirectory(directory.resolve("d" + number)));
        }

        String left = owner(4000).own(state, note).orElseThrow();

        assertTrue(left.contains(directory + "/d"), left);
        int given = 0;
        try (Stream<Path> all = Files.list(directory)) {
            for (Path each : all.toList()) {
                assertTrue(List.of(USER + " 700", "0 1700").contains(facts(each)), facts(each));
                given += facts(each).startsWith("0") ? 0 : 1;
            }
        }
        assertTrue(given > 50, "given: " + given);
    }

    private static Path theirs(Path path) throws IOException {
        Files.setAttribute(path, "unix:uid", FORMER);
        return path;
    }

    /** As of the agent's threads. */
    private static <T> T onSmallStack(Callable<T> task) throws Exception {
        FutureTask<T> result = new FutureTask<>(task);
        Thread thread = new Thread(null, result, "small", 256 << 10);
        thread.start();
        thread.join();
        return result.get();
    }

    /** Whatever is done to an attribute by a process that is killed before one of these steps. */
    private static StateOwner.Attributes killedAt(int step) {
        AtomicInteger steps = new AtomicInteger();
        return (path, attribute, value) -> {
            if (steps.getAndIncrement() >= step) {
                throw new IllegalStateException("killed");
            }
            Files.setAttribute(path, attribute, value);
        };
    }

    private static StateOwner.Attributes failingAt(int step) {
        AtomicInteger steps = new AtomicInteger();
        return (path, attribute, value) -> {
            if (steps.getAndIncrement() == step) {
                throw new FileSystemException(path.toString(), null, "Input/output error");
            }
            Files.setAttribute(path, attribute, value);
        };
    }

    /** The quota of a user, who may have so many files and directories more. */
    private static StateOwner.Attributes quota(int user, int most) {
        AtomicInteger given = new AtomicInteger();
        return (path, attribute, value) -> {
            if (attribute.equals("unix:uid") && value == user && given.getAndIncrement() >= most) {
                throw new FileSystemException(path.toString(), null, "Disk quota exceeded");
            }
            Files.setAttribute(path, attribute, value);
        };
    }

    private static StateOwner owner(int user, StateOwner.Attributes attributes) {
        return new StateOwner(user, user, LIMITS, () -> {}, attributes, many());
    }

    private boolean attempt(int user, StateOwner.Attributes attributes) {
        return attempt(owner(user, attributes));
    }

    private boolean attempt(StateOwner owner) {
        return isComplete(() -> owner.own(state, note));
    }

    private static boolean isComplete(Callable<Optional<String>> own) {
        try {
            return own.call().isEmpty();
        } catch (Exception e) {
            return false;
        }
    }

    @Test
    void whatWasGivenBeforeAKillIsGivenBackFromAnyStep() throws Exception {
        List<Path> all = makeMore();
        for (int step = 0; !attempt(USER, killedAt(step)); step++) {
            assertGivenBack(all, "killed at step " + step);
        }
        assertGivenBack(all, "complete");
    }

    @Test
    void whatWasGivenBeforeAFailureIsGivenBackFromAnyStep() throws Exception {
        List<Path> all = makeMore();
        for (int step = 0; !attempt(USER, failingAt(step)); step++) {
            assertGivenBack(all, "failed at step " + step);
        }
    }

    @Test
    void whatWasGivenAsFarAsTheQuotaGoesIsGivenBack() throws Exception {
        List<Path> all = makeMore();
        for (int most = 0; !attempt(USER, quota(USER, most)); most++) {
            assertGivenBack(all, "quota of " + most);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1005})
    void itIsGivenBackThroughUsersInBetween(int another) throws Exception {
        List<Path> all = makeMore();
        for (int step = 0; !attempt(USER, killedAt(step)); step++) {
            attempt(another, killedAt(step));
            attempt(USER, quota(USER, step / 3));
            attempt(another, quota(another, step / 4));
            attempt(FORMER, killedAt(step / 2));
            assertGivenBack(all, "by way of " + another + ", step " + step);
        }
    }

    /** Nobody goes back: the next one gets all. */
    @Test
    void theNextUserGetsWhatIsOfAnyoneBefore() throws Exception {
        List<Path> all = makeMore();
        int next = USER + 5;
        for (int step = 0; !attempt(USER, killedAt(step)); step++) {
            attempt(next, killedAt(step / 2));
            assertEquals(Optional.empty(), owner(USER + 9, Files::setAttribute).own(state, note), "step " + step);
            for (Path each : all) {
                assertEquals(USER + 9, uid(each), each.toString());
            }
            assertGivenBack(all, "step " + step);
        }
    }

    private List<Path> makeMore() throws IOException {
        Path other = Files.createDirectory(state.resolve("other"));
        Path deep = Files.createDirectory(other.resolve("deep"));
        List<Path> made = List.of(
                other,
                deep,
                Files.createFile(deep.resolve("one")),
                Files.createFile(other.resolve("two")),
                Files.createFile(state.resolve("three")));
        for (Path each : made) {
            theirs(each);
        }
        return Stream.concat(Stream.of(state, inner, file), made.stream()).toList();
    }

    private void assertGivenBack(List<Path> all, String after) throws Exception {
        assertEquals(Optional.empty(), owner(FORMER, Files::setAttribute).own(state, note), after);
        for (Path each : all) {
            assertEquals(FORMER, uid(each), () -> each + " " + after);
            if (Files.isDirectory(each)) {
                assertTrue(mode(each) == 0700 || mode(each) == 0755 || mode(each) == 0777, () -> facts(each) + after);
            } else {
                assertEquals(
                        Optional.empty(), owner(FORMER, Files::setAttribute).keepTheirs(each), after);
            }
        }
        assertTrue(Files.notExists(note), after);
    }

    /** A note on who else there was counts only as long as the directory is taken, which only root can do. */
    @Test
    void whoeverWasNotedBeforeHasNoPartInTheNextChange() throws Exception {
        Path foreign = Files.createFile(state.resolve("foreign"));
        Files.setAttribute(foreign, "unix:uid", GROUP);
        Files.createDirectories(note.getParent());
        Files.writeString(note, FORMER + "\n" + GROUP);
        Files.setAttribute(state, "unix:mode", 01700);

        assertEquals(Optional.empty(), owner().own(state, note));

        assertGiven();
        assertEquals(GROUP, uid(foreign));
    }

    @Test
    void aDamagedNoteIsNamed() throws Exception {
        assertFalse(attempt(USER, killedAt(7)));
        Files.writeString(note, "x");

        IOException failure = assertThrows(IOException.class, () -> owner().own(state, note));
        assertTrue(String.valueOf(failure.getMessage()).contains(note + ", which"), failure.getMessage());

        Files.delete(note);
        assertEquals(Optional.empty(), owner().own(state, note));
        assertGiven();
    }

    @Test
    void aFileOfTheUserIsKeptAndAnythingElseInItsPlaceIsRemoved() throws Exception {
        owner().own(state, note);
        assertEquals(Optional.empty(), owner().keepTheirs(file));
        assertEquals(Optional.empty(), owner().keepTheirs(state.resolve("missing")));
        assertTrue(Files.exists(file));

        Path precious = Files.createFile(temp.resolve("precious"));
        Path link = Files.createSymbolicLink(state.resolve("link"), precious);
        Path name = Files.createLink(state.resolve("name"), file);
        Path other = Files.createFile(state.resolve("other"));
        for (Path each : List.of(link, name, other, inner)) {
            assertTrue(owner().keepTheirs(each).isPresent(), each.toString());
            assertTrue(Files.notExists(each, LinkOption.NOFOLLOW_LINKS), each.toString());
        }
        assertTrue(Files.exists(precious));
    }

    /** Its user could exchange it for another name of a file of somebody else. */
    @Test
    void whatIsRemovedIsInADirectoryOfRootMeanwhile() throws Exception {
        owner().own(state, note);
        Files.setPosixFilePermissions(state, PosixFilePermissions.fromString("rwxrwxr-x"));
        List<String> seen = new ArrayList<>();

        assertTrue(owner(() -> seen.add(facts(state))).keepTheirs(inner).isPresent());

        assertEquals(List.of("0 1700"), seen);
        assertEquals(USER + " 775", facts(state));
        assertEquals(GROUP, Files.getAttribute(state, "unix:gid"));
        assertTrue(Files.notExists(inner));
    }
}
