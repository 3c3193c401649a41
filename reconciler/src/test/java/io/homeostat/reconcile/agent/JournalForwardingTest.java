package io.homeostat.reconcile.agent;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.controlplane.FakeNotifySocket;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.desired.yaml.DocumentReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What workloads write, received where journald would listen. */
@Timeout(60)
class JournalForwardingTest {
    private static final Duration ROUND = Duration.ofMillis(20);
    private static final Duration DEADLINE = Duration.ofSeconds(20);
    private static final WorkloadId WEB = WorkloadId.process("web");

    private final AtomicReference<AgentConfig> config = new AtomicReference<>(AgentConfigReader.defaults());
    private final Path directory;
    private final Layout layout;
    private final StateStore store;
    private final String socket;

    JournalForwardingTest(@TempDir Path directory) {
        this.directory = directory;
        this.layout = new Layout(directory.resolve("s"), directory.resolve("r"), "test");
        this.store = StateStores.openForWriting(layout, Clock.systemUTC()).store();
        this.socket = "@" + directory;
    }

    @BeforeEach
    void declare() throws IOException {
        Path file = Files.writeString(directory.resolve("web.yaml"), """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: web}
                spec: {install: local, entryPoint: /bin/true}
                """);
        store.apply(
                ImmutableList.of(new ToApply(
                        DocumentReader.read(List.of(file))
                                .workloads()
                                .getFirst()
                                .workload(),
                        "/web.yaml")),
                ImmutableSet.of("/web.yaml"),
                false);
        Files.createDirectories(layout.log(WEB).getParent());
    }

    @AfterEach
    void close() {
        store.close();
    }

    @Test
    void eachLineGoesToTheJournalWithItsWorkload() throws IOException {
        write("written before\n");
        use("{target: journal}");
        try (FakeNotifySocket journal = new FakeNotifySocket(socket);
                JournalForwarding forwarding = begin()) {
            write("one\ntw");
            assertEquals(entry("one"), receive(journal));
            write("o\n");
            assertEquals(entry("two"), receive(journal));
        }
    }

    @Test
    void aJournalThatComesLaterGetsWhatIsWrittenFromThenOn() throws IOException {
        use("{target: journal}");
        try (JournalForwarding forwarding = begin()) {
            write("nobody hears of this\n");
            try (FakeNotifySocket journal = new FakeNotifySocket(socket)) {
                await().atMost(DEADLINE).until(() -> {
                    write("again\n");
                    return journal.receive(ROUND).isPresent();
                });
            }
        }
    }

    @Test
    void itIsTurnedOnAndOffByTheConfiguration() throws IOException {
        try (FakeNotifySocket journal = new FakeNotifySocket(socket);
                JournalForwarding forwarding = begin()) {
            write("in the file only\n");
            assertEquals(Optional.empty(), journal.receive(ROUND.multipliedBy(10)));
        }
    }

    private JournalForwarding begin() {
        JournalForwarding forwarding = new JournalForwarding(layout, store, config::get, socket, ROUND);
        forwarding.begin();
        return forwarding;
    }

    private void use(String log) throws IOException {
        Path file = Files.writeString(directory.resolve("agent.yaml"), "log: " + log + "\n");
        config.set(Objects.requireNonNull(AgentConfigReader.read(file).config()));
    }

    private void write(String text) throws IOException {
        Files.writeString(layout.log(WEB), text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    private static String receive(FakeNotifySocket journal) throws IOException {
        return journal.receive(DEADLINE).orElseThrow();
    }

    private static String entry(String line) {
        return "PRIORITY=6\nSYSLOG_IDENTIFIER=web\nHOMEOSTAT_WORKLOAD=process/web\nMESSAGE=" + line + "\n";
    }
}
