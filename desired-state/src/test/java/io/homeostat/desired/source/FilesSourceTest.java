package io.homeostat.desired.source;

import static io.homeostat.desired.source.SourceFixture.NOW;
import static io.homeostat.desired.source.SourceFixture.messages;
import static io.homeostat.desired.source.SourceFixture.names;
import static io.homeostat.desired.source.SourceFixture.places;
import static io.homeostat.desired.source.SourceFixture.process;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.yaml.Choice;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FilesSourceTest {
    @TempDir
    Path directory;

    private SourceFixture files;
    private FilesSource source;
    private Instant now = NOW;

    @BeforeEach
    void source() {
        files = new SourceFixture(directory);
        source = new FilesSource(ImmutableList.of(directory), TrustedPath.ANY, Choice.ALL, () -> now);
    }

    @Test
    void aWorkloadComesFromTheAbsolutePathOfItsFile() throws IOException {
        Path file = files.write("b/one.yaml", process("one", "two"));
        files.write("a.yaml", process("three"));
        SourceSnapshot reading = source.read(files.stored());
        assertEquals(List.of("three", "one", "two"), names(reading));
        assertEquals(file.toString(), reading.content().documents().getLast().origin());
        assertEquals(ImmutableList.of(), reading.content().problems());
        assertEquals(Optional.empty(), reading.lookAgain());
    }

    @Test
    void whatOthersCanChangeIsNotReadAndWhatWasDeclaredThereStays() throws IOException {
        Path file = files.write("a.yaml", process("one"));
        Path link = directory.resolve("b.yaml");
        Files.createSymbolicLink(link, files.write("others/two.txt", process("two")));
        source = new FilesSource(
                ImmutableList.of(directory), TrustedPath.ofThisProcess(List.of()), Choice.ALL, () -> now);
        assertEquals(List.of("one", "two"), names(read()));

        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-rw-"));
        Files.setPosixFilePermissions(directory.resolve("others"), PosixFilePermissions.fromString("rwxrwxrwx"));
        files.write("c.yaml", process("three"));
        SourceSnapshot reading = read();

        assertEquals(List.of("three"), names(reading));
        assertEquals(
                ImmutableSet.of(file.toString(), link.toString()),
                reading.content().retainedOrigins());
        assertEquals(List.of("a.yaml UNTRUSTED 0:0", "b.yaml UNTRUSTED 0:0", "others UNTRUSTED 0:0"), places(reading));
    }

    @Test
    void whatIsWrittenAsBeforeIsNotParsedAgain() throws IOException {
        files.write("a.yaml", process("one"));
        ToApply first = read().content().documents().getFirst();
        assertSame(first, read().content().documents().getFirst());

        files.write("a.yaml", process("two"));
        assertEquals(List.of("two"), names(read()));
    }

    @Test
    void norIsItWhenAnotherFileIsWrittenAnew() throws IOException {
        files.write("a.yaml", process("one"));
        files.write("b.yaml", process("two"));
        ToApply first = read().content().documents().getFirst();

        files.write("b.yaml", process("three"));
        SourceSnapshot reading = read();
        assertEquals(List.of("one", "three"), names(reading));
        assertSame(first, reading.content().documents().getFirst());
    }

    @Test
    void whatIsMovedComesFromItsNewPlaceThoughNothingElseIsNew() throws IOException {
        Path file = files.write("a.yaml", process("one"));
        read();
        Path moved = Files.move(file, directory.resolve("b.yaml"));
        assertEquals(moved.toString(), read().content().documents().getFirst().origin());
    }

    @Test
    void whatAFileThatIsNotParsedAgainHasWrongIsSaidAgain() throws IOException {
        files.write("a.yaml", "a: [\n");
        Path second = files.write("b.yaml", process("one"));
        ImmutableList<String> before = messages(read());
        assertEquals(1, before.size());

        files.write("c.yaml", process("one"));
        SourceSnapshot again = read();
        assertEquals(List.of("a.yaml SYNTAX 2:1", "c.yaml DUPLICATE 4:18 metadata.name"), places(again));
        assertEquals(before.getFirst(), messages(again).getFirst());
        assertTrue(
                messages(again).getLast().contains(second + ":4:18"),
                () -> messages(again).toString());
    }

    @Test
    void aBrokenFileKeepsAllOfItsLastGoodContentAndTheOthersAreNotAffected() throws IOException {
        Path bad = files.write("bad.yaml", process("a", "b"));
        Path good = files.write("good.yaml", process("c"));
        read();
        files.write("bad.yaml", process("a", "b").replace("name: b", "nam: b"));
        files.write("good.yaml", process("c", "d"));
        SourceSnapshot reading = read();
        assertEquals(ImmutableSet.of(bad.toString()), reading.content().retainedOrigins());
        assertEquals(List.of("c", "d"), names(reading));
        assertEquals(List.of("bad.yaml UNKNOWN_KEY 9:12 metadata"), places(reading));
        assertEquals(List.of("a", "b", "c", "d"), files.inForce());
        assertEquals(bad.toString(), reading.content().problems().getFirst().origin());
        assertEquals(good.toString(), reading.content().documents().getFirst().origin());
    }

    @Test
    void aFileThatIsBrokenWhenItIsFirstReadDeclaresNothing() throws IOException {
        files.write("bad.yaml", process("a") + process("-"));
        SourceSnapshot reading = read();
        assertEquals(List.of(), names(reading));
        assertEquals(ImmutableSet.of(), reading.content().retainedOrigins());
        assertEquals(1, reading.content().problems().size());
    }

    @Test
    void aRepairedFileIsInForceAgain() throws IOException {
        files.write("a.yaml", process("a"));
        read();
        files.write("a.yaml", "a: [");
        read();
        files.write("a.yaml", process("a", "b"));
        assertEquals(List.of("a", "b"), names(read()));
    }

    @Test
    void aWorkloadDeclaredInTwoFilesIsAnErrorAtTheLaterOne() throws IOException {
        Path first = files.write("1.yaml", process("a"));
        Path second = files.write("2.yaml", process("b"));
        read();
        files.write("2.yaml", process("a", "b"));
        SourceSnapshot reading = read();
        assertEquals(List.of("2.yaml DUPLICATE 4:18 metadata.name"), places(reading));
        assertTrue(
                messages(reading).getFirst().contains(first + ":4:18"),
                () -> messages(reading).toString());
        assertEquals(List.of("a"), names(reading));
        assertEquals(ImmutableSet.of(second.toString()), reading.content().retainedOrigins());
        assertEquals(List.of("a", "b"), files.inForce());
    }

    @Test
    void whereTheLaterOneIsInForceTheErrorIsAtTheEarlierOne() throws IOException {
        Path earlier = files.write("1.yaml", process("b"));
        Path later = files.write("2.yaml", process("a", "c"));
        read();
        files.write("1.yaml", process("a", "b"));
        SourceSnapshot reading = read();
        assertEquals(List.of("1.yaml DUPLICATE 4:18 metadata.name"), places(reading));
        assertTrue(
                messages(reading).getFirst().contains(later + ":4:18"),
                () -> messages(reading).toString());
        assertEquals(ImmutableSet.of(earlier.toString()), reading.content().retainedOrigins());
        assertEquals(List.of("a", "b", "c"), files.inForce());
        assertTrue(reading.content().documents().stream()
                .allMatch(document -> document.origin().equals(later.toString())));

        Files.delete(later);
        assertEquals(ImmutableList.of(), messages(read()));
        assertEquals(List.of("a", "b"), files.inForce());
    }

    @Test
    void aWorkloadThatMovesToAnotherFileIsDeclaredThroughout() throws IOException {
        files.write("1.yaml", process("a"));
        read();
        Files.move(files.path("1.yaml"), files.path("2.yaml"));
        SourceSnapshot reading = read();
        assertEquals(List.of("a"), names(reading));
        assertEquals(ImmutableSet.of(), reading.content().retainedOrigins());
    }

    @Test
    void aDeletedFileIsWithdrawn() throws IOException {
        Path file = files.write("a.yaml", process("a"));
        read();
        Files.delete(file);
        files.age(Duration.ofSeconds(2));
        SourceSnapshot reading = files.store(source.read(files.stored()));
        assertEquals(ImmutableList.of(), reading.content().problems());
        assertEquals(List.of(), files.inForce());
    }

    @Test
    void aFileThatIsAwayForAnInstantWhileAnEditorReplacesItIsNotWithdrawn() throws IOException {
        Path file = files.write("a.yaml", process("a"));
        read();
        Files.move(file, files.path("a.yaml~"), StandardCopyOption.ATOMIC_MOVE);
        files.age(Duration.ofMillis(1500));
        SourceSnapshot reading = files.store(source.read(files.stored()));
        assertEquals(ImmutableList.of(), reading.content().problems());
        assertEquals(Optional.of(Duration.ofMillis(500)), reading.lookAgain());
        assertEquals(List.of("a"), files.inForce());
    }

    @Test
    void aFileThatIsMissingForLongIsWithdrawnThoughItsDirectoryChangesAllTheTime() throws IOException {
        Path file = files.write("a.yaml", process("a"));
        files.write("b.yaml", process("b"));
        read();
        Files.delete(file);
        for (int seconds = 0; seconds < 20; seconds++) {
            assertEquals(Optional.of(Duration.ofSeconds(2)), readAfter(Duration.ofSeconds(seconds)));
        }
        assertEquals(List.of("a", "b"), files.inForce());
        assertEquals(Optional.empty(), readAfter(Duration.ofSeconds(20)));
        assertEquals(List.of("b"), files.inForce());
    }

    @Test
    void aFileThatWasBackMeanwhileIsMissingAnew() throws IOException {
        Path file = files.write("a.yaml", process("a"));
        read();
        Path away = files.path("a.yaml~");
        Files.move(file, away);
        assertTrue(readAfter(Duration.ZERO).isPresent());
        Files.move(away, file);
        assertEquals(Optional.empty(), readAfter(Duration.ofSeconds(15)));
        Files.move(file, away);
        assertTrue(readAfter(Duration.ofSeconds(25)).isPresent());
        assertEquals(List.of("a"), files.inForce());
    }

    @Test
    void aClockThatIsSetBackMakesNobodyMissingLonger() throws IOException {
        Path file = files.write("a.yaml", process("a"));
        read();
        Files.delete(file);
        assertTrue(readAfter(Duration.ofHours(1)).isPresent());
        assertTrue(readAfter(Duration.ZERO).isPresent());
        assertTrue(readAfter(Duration.ofSeconds(19)).isPresent());
        assertEquals(Optional.empty(), readAfter(Duration.ofSeconds(20)));
        assertEquals(List.of(), files.inForce());
    }

    /** At this time, at which something else in the directory has just changed, too. */
    private Optional<Duration> readAfter(Duration later) throws IOException {
        now = NOW.plus(later);
        SourceFixture.changed(directory, now);
        return files.store(source.read(files.stored())).lookAgain();
    }

    @Test
    void anEmptyFileThatIsBeingWrittenIsLookedAtAgain() throws IOException {
        Path file = files.write("a.yaml", process("a"));
        read();
        files.write("a.yaml", "");
        SourceFixture.changed(file, NOW.minusMillis(1));
        SourceSnapshot reading = files.store(source.read(files.stored()));
        assertEquals(ImmutableList.of(), reading.content().problems());
        assertEquals(Optional.of(Duration.ofMillis(1999)), reading.lookAgain());
        assertEquals(ImmutableSet.of(file.toString()), reading.content().retainedOrigins());
        SourceFixture.changed(file, NOW.minusSeconds(2));
        files.store(source.read(files.stored()));
        assertEquals(List.of(), files.inForce());
    }

    @Test
    void aFileThatIsWrittenOnlyInPartKeepsWhatItHadUntilItIsLeftAlone() throws IOException {
        Path file = files.write("a.yaml", process("a", "b"));
        read();
        files.write("a.yaml", process("a"));
        SourceFixture.changed(file, NOW.minusMillis(1));
        assertTrue(files.store(source.read(files.stored())).lookAgain().isPresent());
        assertEquals(List.of("a", "b"), files.inForce());
        read();
        assertEquals(List.of("a"), files.inForce());
    }

    @Test
    void aClockThatIsALittleAheadIsWaitedFor() throws IOException {
        Path file = files.write("a.yaml", process("a"));
        read();
        files.write("a.yaml", "");
        SourceFixture.changed(file, NOW.plusSeconds(1));
        assertEquals(
                Optional.of(Duration.ofSeconds(3)),
                files.store(source.read(files.stored())).lookAgain());
        assertEquals(List.of("a"), files.inForce());
    }

    @Test
    void aFileFromTheFutureIsBelieved() throws IOException {
        Path file = files.write("a.yaml", process("a"));
        read();
        files.write("a.yaml", "");
        SourceFixture.changed(file, NOW.plusSeconds(3600));
        SourceSnapshot reading = files.store(source.read(files.stored()));
        assertEquals(Optional.empty(), reading.lookAgain());
        assertEquals(List.of(), files.inForce());
    }

    /** With everything an hour old. */
    @Test
    void aConfiguredPathThatIsNotThereWithdrawsNothingThatWasDeclaredElsewhere() throws IOException {
        Path was = files.write("was/a.yaml", process("a", "b"));
        source = new FilesSource(ImmutableList.of(directory.resolve("was")), TrustedPath.ANY, Choice.ALL, () -> now);
        read();
        Path mistyped = directory.resolve("wsa");
        source = new FilesSource(ImmutableList.of(mistyped), TrustedPath.ANY, Choice.ALL, () -> now);

        SourceSnapshot reading = read();

        assertEquals(List.of("a", "b"), files.inForce());
        assertEquals(ImmutableSet.of(was.toString()), reading.content().retainedOrigins());
        assertEquals(
                ImmutableList.of(mistyped + ": no such file or directory. Create it, or correct sources.files"),
                messages(reading));

        Files.createDirectory(mistyped);
        files.write("wsa/c.yaml", process("c"));
        assertEquals(ImmutableList.of(), messages(read()));
        assertEquals(List.of("c"), files.inForce());
    }

    @Test
    void norDoesOneInWhichNothingIsDeclaredYet() throws IOException {
        Path was = files.write("was/a.yaml", process("a", "b"));
        source = new FilesSource(ImmutableList.of(directory.resolve("was")), TrustedPath.ANY, Choice.ALL, () -> now);
        read();
        Path other = Files.createDirectory(directory.resolve("other"));
        source = new FilesSource(ImmutableList.of(other), TrustedPath.ANY, Choice.ALL, () -> now);

        for (int again = 0; again < 2; again++) {
            assertEquals(
                    ImmutableList.of(other + ": nothing is declared there. Put files there, correct sources.files, or"
                            + " remove the files where it pointed before"),
                    messages(read()));
            assertEquals(List.of("a", "b"), files.inForce());
        }

        Path bad = files.write("other/c.yaml", process("-"));
        assertEquals(2, messages(read()).size());
        assertEquals(List.of("a", "b"), files.inForce());

        Files.delete(bad);
        Files.delete(was);
        assertEquals(ImmutableList.of(), messages(read()));
        assertEquals(List.of(), files.inForce());
    }

    @Test
    void withoutAnyConfiguredPathNothingIsDeclared() throws IOException {
        files.write("a.yaml", process("a"));
        read();
        source = new FilesSource(ImmutableList.of(), TrustedPath.ANY, Choice.ALL, () -> now);
        assertEquals(ImmutableList.of(), messages(read()));
        assertEquals(List.of(), files.inForce());
    }

    @Test
    void norOfAFileOfWhichOneWorkloadHasMovedToAPathThatIsThere() throws IOException {
        Path was = files.write("was/a.yaml", process("a", "b"));
        source = new FilesSource(ImmutableList.of(directory.resolve("was")), TrustedPath.ANY, Choice.ALL, () -> now);
        read();
        files.write("now/a.yaml", process("a"));
        source = new FilesSource(
                ImmutableList.of(directory.resolve("now"), directory.resolve("mistyped")),
                TrustedPath.ANY,
                Choice.ALL,
                () -> now);

        read();
        assertEquals(List.of("a", "b"), files.inForce());
        read();
        assertEquals(List.of("a", "b"), files.inForce());
        assertTrue(Files.exists(was));

        Files.createDirectory(directory.resolve("mistyped"));
        read();
        assertEquals(List.of("a"), files.inForce());
    }

    private SourceSnapshot read() throws IOException {
        files.age(Duration.ofHours(1));
        return files.store(source.read(files.stored()));
    }
}
