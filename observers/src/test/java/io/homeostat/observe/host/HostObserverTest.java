package io.homeostat.observe.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Lifecycle.Rule.Scope;
import io.homeostat.observe.Observation;
import io.homeostat.observe.host.HostFacts.HostFact;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostObserverTest {
    private static final HostFact ID = new HostFact(Scope.OS, "ID");
    private static final HostFact NAME = new HostFact(Scope.OS, "PRETTY_NAME");
    private static final HostFact INSTANCE = new HostFact(Scope.INSTANCE, "id");
    private static final HostFact ZONE = new HostFact(Scope.INSTANCE, "zone");

    @TempDir
    Path directory;

    private final List<HostFact> questions = new ArrayList<>();
    private Path release;
    private HostObserver observer;

    @BeforeEach
    void release() throws IOException {
        release = directory.resolve("os-release");
        Files.writeString(release, """
                # a comment
                PRETTY_NAME="A \\"quoted\\" \\$name"
                ID=other
                ID=debian
                VERSION_CODENAME='book worm'
                no assignment
                """);
        observer = new HostObserver(
                new ProcFs(), new OsRelease(ImmutableList.of(directory.resolve("absent"), release)), "i-1", fact -> {
                    questions.add(fact);
                    return Observation.seen(Optional.of("z"));
                });
    }

    @Test
    void theBootAndTheInstanceAreKnownWithoutAskingAnybody() throws IOException {
        HostFacts host = observer.look(ImmutableSet.of());

        assertEquals(Observation.seen(new ProcFs().bootId()), host.bootId());
        assertEquals("i-1", host.instanceId());
        assertEquals(List.of(), questions);
    }

    @Test
    void theOperatingSystemIsReadAsAShellWouldReadIt() {
        HostFacts host = observer.look(ImmutableSet.of(ID, NAME, new HostFact(Scope.OS, "VERSION_CODENAME")));

        assertEquals(Observation.seen(Optional.of("debian")), host.get(ID));
        assertEquals(Observation.seen(Optional.of("A \"quoted\" $name")), host.get(NAME));
        assertEquals(Observation.seen(Optional.of("book worm")), host.get(new HostFact(Scope.OS, "VERSION_CODENAME")));
        assertEquals(List.of(), questions);
    }

    @Test
    void whatTheFileDoesNotSayIsAbsentAndNotUnknown() throws IOException {
        assertEquals(
                Observation.seen(Optional.empty()),
                observer.look(ImmutableSet.of(new HostFact(Scope.OS, "VARIANT")))
                        .get(new HostFact(Scope.OS, "VARIANT")));

        Files.delete(release);

        assertEquals(
                Observation.seen(Optional.empty()),
                observer.look(ImmutableSet.of(ID)).get(ID));
    }

    @Test
    void aFileThatCanNotBeReadIsUnknown() throws IOException {
        Files.delete(release);
        Files.createDirectory(release);

        Observation<Optional<String>> id = observer.look(ImmutableSet.of(ID)).get(ID);

        assertTrue(assertInstanceOf(Observation.Unseen.class, id).why().startsWith(release + " can't be read: "));
    }

    @Test
    void onlyWhatIsAskedForIsAskedOfOthers() {
        assertEquals(
                Observation.seen(Optional.of("z")),
                observer.look(ImmutableSet.of(ID, ZONE)).get(ZONE));
        assertEquals(List.of(ZONE), questions);
    }

    @Test
    void theInstancesIdIsKnownWithoutAMetadataServerToo() {
        assertEquals(known("i-1"), idWhere(Observation.unseen("no connection")));
        assertEquals(known("i-1"), idWhere(Observation.seen(Optional.empty())));
        assertEquals(known("4711"), idWhere(known("4711")));
    }

    @Test
    void theInstancesIdIsNotAnotherWhileTheMetadataServerIsAway() {
        AtomicReference<Observation<Optional<String>>> answer = new AtomicReference<>(known("4711"));
        observer = new HostObserver(new ProcFs(), new OsRelease(), "i-1", fact -> answer.get());
        assertEquals(known("4711"), observer.look(ImmutableSet.of(INSTANCE)).get(INSTANCE));

        answer.set(Observation.unseen("no connection"));

        assertEquals(known("4711"), observer.look(ImmutableSet.of(INSTANCE)).get(INSTANCE));
    }

    private static Observation<Optional<String>> idWhere(Observation<Optional<String>> answer) {
        return new HostObserver(new ProcFs(), new OsRelease(), "i-1", fact -> answer)
                .look(ImmutableSet.of(INSTANCE))
                .get(INSTANCE);
    }

    private static Observation<Optional<String>> known(String value) {
        return Observation.seen(Optional.of(value));
    }

    @Test
    void whatNobodyAskedForIsUnknown() {
        assertInstanceOf(
                Observation.Unseen.class, observer.look(ImmutableSet.of(ID)).get(ZONE));
    }
}
