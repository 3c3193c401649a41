package io.homeostat.reconcile.agent;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.launch.LogRotation;
import io.homeostat.controlplane.FakeNotifySocket;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Workload;
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
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What workloads write, received where journald would listen. */
@Timeout(60)
class JournalForwardingTest {
    private static final Duration ROUND = Duration.ofMillis(20);
    private static final Duration NEVER = Duration.ofDays(1);
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
        declare(WEB);
    }

    private void declare(WorkloadId id) throws IOException {
        declare(id, id);
    }

    /** @param named what a document may call it */
    private void declare(WorkloadId named, WorkloadId id) throws IOException {
        Path file = Files.writeString(directory.resolve("one.yaml"), """
                apiVersion: homeostat.io/v1
                kind: %s
                metadata: {name: %s}
                spec: {install: local, entryPoint: /bin/true, revision: "1"}
                """.formatted(
                        named.kind().equals(Kind.PLUGIN) ? "Plugin" : "Process", named.name()));
        Workload read =
                DocumentReader.read(List.of(file)).workloads().getFirst().workload();
        String source = "/" + named.name() + ".yaml";
        store.apply(
                ImmutableList.of(new ToApply(new Workload(id, read.labels(), read.spec()), source)),
                ImmutableSet.of(source),
                false);
        Files.createDirectories(layout.log(id).getParent());
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
    void whatAPluginLogsHasItsPriority() throws IOException {
        use("{target: journal}");
        try (FakeNotifySocket journal = new FakeNotifySocket(socket);
                JournalForwarding forwarding = begin()) {
            write("{\"@level\":\"error\",\"@message\":\"no kvm\",\"@module\":\"qemu\"}\n");
            assertEquals(entry("qemu: no kvm").replace("PRIORITY=6", "PRIORITY=3"), receive(journal));
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
    void aJournalThatTakesNothingIsAProblemForAsLongAsThatLastsAndIsWanted() throws IOException {
        use("{target: journal}");
        try (JournalForwarding forwarding = begin()) {
            assertEquals(ImmutableList.of(), forwarding.problems());
            write("nobody hears of this\n");
            await().atMost(DEADLINE).until(() -> !forwarding.problems().isEmpty());
            String problem = forwarding.problems().getFirst();
            assertTrue(
                    problem.startsWith("the journal does not take the output of workloads, which is in their logs: "),
                    problem);

            use("{target: files}");
            assertEquals(ImmutableList.of(), forwarding.problems());
            use("{target: journal}");
            assertEquals(ImmutableList.of(problem), forwarding.problems());

            try (FakeNotifySocket journal = new FakeNotifySocket(socket)) {
                forwarding.use();
                await().atMost(DEADLINE).until(() -> {
                    write("again\n");
                    return forwarding.problems().isEmpty();
                });
            }
        }
    }

    @Test
    void whatIsGivenUpBeforeTheJournalHasTakenItIsAProblemUntilItHasCaughtUp() throws Exception {
        use("{target: journal}");
        try (FakeNotifySocket journal = new FakeNotifySocket(socket);
                JournalForwarding forwarding = new JournalForwarding(layout, store, config::get, socket, NEVER)) {
            forwarding.use();
            write("one\n");
            forwarding.use();
            assertEquals(entry("one"), receive(journal));
            write("two ".repeat(250) + "\nthree\n");
            assertTrue(new LogRotation().rotate(layout.log(WEB), 600, 4).getAsLong() > 0);
            String line = "x".repeat(2000) + "\n";
            write(line.repeat((int) (4 * JournalForwarding.BYTES_A_ROUND / line.length())) + "the last\n");
            CompletableFuture<Void> copying = CompletableFuture.runAsync(forwarding::use);
            assertEquals(entry("three"), receive(journal));
            while (forwarding.problems().isEmpty()) {
                receive(journal);
            }
            String problem = forwarding.problems().getFirst();
            assertTrue(
                    problem.startsWith("the journal is slower than process/web writes; 1001 B were given up"), problem);

            while (!receive(journal).equals(entry("the last"))) {
                // The others are on their way.
            }
            copying.join();
            await().atMost(DEADLINE).until(() -> forwarding.problems().isEmpty());
        }
    }

    @Test
    void whatIsGivenUpStaysAProblemWhileTheRestOfTheLogCanNotBeRead() throws Exception {
        use("{target: journal}");
        try (FakeNotifySocket journal = new FakeNotifySocket(socket);
                JournalForwarding forwarding = new JournalForwarding(layout, store, config::get, socket, NEVER)) {
            forwarding.use();
            write("one\n");
            forwarding.use();
            write("two ".repeat(250) + "\nthree\n");
            assertTrue(new LogRotation().rotate(layout.log(WEB), 600, 4).getAsLong() > 0);
            String line = "x".repeat(2000) + "\n";
            write(line.repeat((int) (4 * JournalForwarding.BYTES_A_ROUND / line.length())));
            CompletableFuture<Void> copying = CompletableFuture.runAsync(forwarding::use);
            while (forwarding.problems().isEmpty()) {
                receive(journal);
            }
            List<String> problems = forwarding.problems();

            Path aside = Files.move(layout.log(WEB), directory.resolve("aside"));
            Files.createDirectory(layout.log(WEB));
            CompletableFuture<Void> unread = CompletableFuture.runAsync(forwarding::use);
            while (journal.receive(ROUND).isPresent() || !unread.isDone() || !copying.isDone()) {
                // What had been read is on its way.
            }
            assertEquals(problems, forwarding.problems());

            Files.delete(layout.log(WEB));
            Files.move(aside, layout.log(WEB));
            CompletableFuture<Void> read = CompletableFuture.runAsync(forwarding::use);
            while (!forwarding.problems().isEmpty()) {
                Optional<String> _ = journal.receive(ROUND);
            }
            read.join();
        }
    }

    @Test
    void itIsTurnedOnAndOffByTheConfiguration() throws IOException {
        try (FakeNotifySocket journal = new FakeNotifySocket(socket);
                JournalForwarding forwarding = begin()) {
            write("in the file only\n");
            assertEquals(Optional.empty(), journal.receive(ROUND.multipliedBy(10)));
            use("{target: journal}");
            forwarding.use();
            write("at once\n");
            assertEquals(entry("at once"), receive(journal));
            use("{target: files}");
            forwarding.use();
            write("in the file only, too\n");
            use("{target: journal}");
            forwarding.use();
            write("again\n");
            assertEquals(entry("again"), receive(journal));
        }
    }

    @Test
    void aLogThatIsLongDoesNotHoldUpTheOthers() throws IOException {
        WorkloadId all = WorkloadId.process("all-the-time");
        declare(all);
        use("{target: journal}");
        try (FakeNotifySocket journal = new FakeNotifySocket(socket);
                JournalForwarding forwarding = new JournalForwarding(layout, store, config::get, socket, NEVER)) {
            forwarding.use();
            String line = "x".repeat(2000) + "\n";
            Files.writeString(
                    layout.log(all),
                    line.repeat((int) (4 * JournalForwarding.BYTES_A_ROUND / line.length())) + "the last\n");
            write("web\n");
            CompletableFuture<Void> copying = CompletableFuture.runAsync(forwarding::use);
            List<String> order = new ArrayList<>();
            while (order.size() < 2) {
                String received = receive(journal);
                if (received.contains("=web\n") || received.contains("=the last\n")) {
                    order.add(received.substring(received.lastIndexOf('=') + 1).strip());
                }
            }
            assertEquals(List.of("web", "the last"), order);
            copying.join();
        }
    }

    @Test
    void whatIsOldInALogThatCouldNotBeReadAtFirstIsNotCopied() throws IOException {
        use("{target: journal}");
        Files.createDirectory(layout.log(WEB));
        try (FakeNotifySocket journal = new FakeNotifySocket(socket);
                JournalForwarding forwarding = new JournalForwarding(layout, store, config::get, socket, NEVER)) {
            forwarding.use();
            Files.delete(layout.log(WEB));
            write("written before\n");
            forwarding.use();
            write("one\n");
            forwarding.use();
            assertEquals(entry("one"), receive(journal));
        }
    }

    @Test
    void theLogOfOneThatIsGoneIsCopiedToItsEndAndClosed() throws IOException {
        use("{target: journal}");
        write("written before\n");
        try (FakeNotifySocket journal = new FakeNotifySocket(socket);
                JournalForwarding forwarding = new JournalForwarding(layout, store, config::get, socket, NEVER)) {
            forwarding.use();
            assertTrue(isOpen(layout.log(WEB)));
            write("the last");
            store.delete(ImmutableSet.of(WEB));
            forwarding.use();
            assertEquals(entry("the last"), receive(journal));
            assertFalse(isOpen(layout.log(WEB)));
        }
    }

    @Test
    void whatAPluginWritesToItsLogOfErrorsIsCopiedAsWell() throws IOException {
        WorkloadId plugin = WorkloadId.plugin("ops");
        declare(plugin);
        use("{target: journal}");
        try (FakeNotifySocket journal = new FakeNotifySocket(socket);
                JournalForwarding forwarding = begin()) {
            Files.writeString(layout.log(plugin).resolveSibling("errors.log"), "no such table\n");
            assertEquals(
                    "PRIORITY=6\nSYSLOG_IDENTIFIER=ops\nHOMEOSTAT_WORKLOAD=plugin/ops\nMESSAGE=no such table\n",
                    receive(journal));
        }
    }

    @Test
    void aNameWithALineBreakBeginsNoFieldOfItsOwn() throws IOException {
        WorkloadId sent = WorkloadId.plugin("a\nPRIORITY=0");
        declare(WorkloadId.plugin("a"), sent);
        use("{target: journal}");
        try (FakeNotifySocket journal = new FakeNotifySocket(socket);
                JournalForwarding forwarding = begin()) {
            Files.writeString(layout.log(sent), "one\n");
            assertEquals(
                    "PRIORITY=6\nSYSLOG_IDENTIFIER=a%0APRIORITY=0\n"
                            + "HOMEOSTAT_WORKLOAD=plugin/a%0APRIORITY=0\nMESSAGE=one\n",
                    receive(journal));
        }
    }

    @Test
    void aNameThatIsLongerThanAFieldShouldBeIsBrief() throws IOException {
        WorkloadId sent = WorkloadId.plugin("n".repeat(1_000_000));
        declare(WorkloadId.plugin("a"), sent);
        use("{target: journal}");
        try (FakeNotifySocket journal = new FakeNotifySocket(socket);
                JournalForwarding forwarding = begin()) {
            Files.writeString(layout.log(sent), "one\n");
            String brief = sent.brief();
            assertEquals(
                    "PRIORITY=6\nSYSLOG_IDENTIFIER=" + brief.substring("plugin/".length()) + "\nHOMEOSTAT_WORKLOAD="
                            + brief + "\nMESSAGE=one\n",
                    receive(journal));
        }
    }

    private static boolean isOpen(Path file) throws IOException {
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors.anyMatch(descriptor -> {
                try {
                    return Files.readSymbolicLink(descriptor).equals(file.toRealPath());
                } catch (IOException closedMeanwhile) {
                    return false;
                }
            });
        }
    }

    private JournalForwarding begin() {
        JournalForwarding forwarding = new JournalForwarding(layout, store, config::get, socket, ROUND);
        forwarding.use();
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
