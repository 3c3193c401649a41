package io.homeostat.reconcile.cli;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which events are shown, and how they are followed. */
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class EventsTest {
    private static final Duration PATIENCE = Background.PATIENCE;
    private static final WorkloadId A = WorkloadId.process("a");
    private static final WorkloadId LONG = WorkloadId.process("long");
    private static final Instant NOON = Instant.parse("2026-11-20T12:00:00Z");

    @TempDir
    Path directory;

    private @Nullable TestAgent agent;
    private @Nullable Background following;
    private Shell shell;

    @BeforeEach
    void openShell() {
        shell = new Shell(directory);
    }

    @AfterEach
    void leaveNothingBehind() {
        if (following != null) {
            following.end();
        }
        if (agent != null) {
            agent.close();
        }
        shell.close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void eventsGoOnWithWhatHappens(boolean agent) throws Exception {
        if (agent) {
            this.agent = TestAgent.start(shell);
        }
        Background events = follow();
        apply(1);
        events.awaitOutput("PLUGIN_STARTED");
        String all = shell.run("events", "-o", "json").out();
        await().atMost(PATIENCE).until(() -> events.text().length() >= all.length());
        assertEquals(130, events.interrupt().status());
        assertEquals(all, events.text(), "each once, in order");
    }

    @Test
    void whoFollowsThroughAnAgentThatEndsIsToldAndGoesOn() throws Exception {
        agent = TestAgent.start(shell);
        apply(1);
        Background events = follow();
        events.awaitOutput("PLUGIN_STARTED");
        agent.close();
        // What happens before the follower notices that the agent is gone may not be seen.
        Pattern another = Pattern.compile("(?s)PLUGIN_STARTED.*PLUGIN_STARTED");
        AtomicInteger revision = new AtomicInteger(1);
        await().atMost(PATIENCE).until(() -> {
            apply(revision.incrementAndGet());
            return another.matcher(events.text()).find();
        });
        Result followed = events.interrupt();
        assertEquals(130, followed.status(), followed.err());
        assertTrue(followed.err().contains("; going on without it"), followed.err());
    }

    private Background follow() {
        Background events = new Background(shell, shell.withDirectories("events", "--follow", "-o", "json"));
        following = events;
        return events;
    }

    private void apply(int revision) throws IOException {
        shell.write("talker.yaml", Shell.sleeper("talker", 600 + revision));
        Result result = shell.run("apply", "-f", directory + "/talker.yaml");
        assertEquals(0, result.status(), result.err());
    }

    @Test
    void eventsAreChosenByWorkloadTimeAndNumber() {
        try (StateStore store =
                StateStores.openForWriting(shell.layout(), Clock.systemUTC()).store()) {
            event(store, 0, null, "begin");
            event(store, 10, A, "first");
            event(store, 20, LONG, "second");
            event(store, 30, A, "third");
        }
        shell.at(Clock.fixed(NOON.plusSeconds(40), ZoneOffset.UTC));

        assertEquals(List.of("begin", "first", "second", "third"), events());
        assertEquals(List.of("first", "third"), events("--for", "process/a"));
        assertEquals(List.of("first", "second", "third"), events("--for", "process/a", "--for", "process/long"));
        assertEquals(List.of("second", "third"), events("--limit", "2"));
        assertEquals(List.of(), events("--limit", "0"));
        assertEquals(List.of("third"), events("--for", "process/a", "--limit", "1"));
        assertEquals(List.of("second", "third"), events("--since", "20s"));
        assertEquals(List.of("third"), events("--since", "2026-11-20T13:00:21+01:00"));
    }

    private static void event(StateStore store, int seconds, @Nullable WorkloadId workload, String message) {
        store.record(new Event(NOON.plusSeconds(seconds), workload, "", EventType.AGENT_STARTED, message));
    }

    private ImmutableList<String> events(String... options) {
        Result result = shell.run(ImmutableList.<String>builder()
                .add("events")
                .add(options)
                .build()
                .toArray(String[]::new));
        assertEquals(0, result.status(), result.err());
        return result.out().lines().map(line -> line.replaceFirst(".* ", "")).collect(ImmutableList.toImmutableList());
    }
}
