package io.homeostat.reconcile.agent.hooks;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.Iterables;
import com.sun.net.httpserver.HttpServer;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.reconcile.HeardLog;
import io.homeostat.reconcile.agent.hooks.HookWorker.Retries;
import io.homeostat.reconcile.agent.hooks.Hooks.Delivery;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Who is told of what, by real programs and a real web server. */
@Timeout(180)
class HooksTest {
    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final WorkloadId ID = WorkloadId.process("web");
    private static final Instant AT = Instant.parse("2026-11-20T12:00:00Z");
    private static final Retries RETRIES = new Retries(Backoff.doubling(Duration.ofMillis(1), Duration.ofMillis(5)), 5);

    @TempDir
    Path directory;

    private final List<String> posted = new CopyOnWriteArrayList<>();
    private final List<Delivery> deliveries = new CopyOnWriteArrayList<>();
    private final AtomicInteger refusals = new AtomicInteger();
    private HttpServer server;
    private Layout layout;
    private StateStore store;
    private Hooks hooks;

    @BeforeEach
    void open() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            boolean refused = refusals.getAndUpdate(left -> Math.max(0, left - 1)) > 0;
            posted.add((refused ? "refused " : "") + body);
            exchange.sendResponseHeaders(refused ? 503 : 204, -1);
            exchange.close();
        });
        server.createContext("/endless", exchange -> {
            posted.add(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
            exchange.sendResponseHeaders(200, 0);
            exchange.getResponseBody().write('x');
            exchange.getResponseBody().flush();
        });
        server.start();
        layout = new Layout(directory.resolve("state"), directory.resolve("run"), "machine-1");
        Files.createDirectories(layout.runDir());
        store = StateStores.openForWriting(layout, Clock.systemUTC()).store();
        hooks = new Hooks(store, layout, RETRIES, deliveries::add);
    }

    @AfterEach
    void close() {
        hooks.close();
        store.close();
        server.stop(0);
    }

    @Test
    void aProgramGetsTheCauseAndTheEndOfTheLogOnItsStandardInputAndNothingOfOurEnvironment() throws Exception {
        Path told = directory.resolve("told");
        hooks.use(config(
                "- {on: [CRASHED], exec: [/bin/sh, -c, 'cat > \"$1.new\"; env >> \"$1.new\"; mv \"$1.new\" \"$1\"', sh, %s]}"
                        .formatted(told)));

        happens(EventType.PLUGIN_STARTED, "process 1");
        happens(EventType.PLUGIN_CRASHED, "no luck\nlast line but one\nGET http://x/?token=1");

        await().atMost(PATIENCE).until(() -> Files.exists(told));
        List<String> lines = Files.readAllLines(told);
        JsonNode json = new ObjectMapper().readTree(lines.getFirst());
        assertEquals("1.0", json.path("formatVersion").asText());
        assertEquals("CRASHED", json.path("event").asText());
        assertEquals("process/web", json.path("workload").asText());
        assertEquals("7", json.path("revision").asText());
        assertEquals("machine-1", json.path("machine").asText());
        assertEquals(AT.toString(), json.path("time").asText());
        assertEquals("no luck", json.path("cause").asText());
        assertEquals("last line but one", json.path("log").path(0).asText());
        assertEquals("GET http://x/?...", json.path("log").path(1).asText());
        List<String> environment = lines.subList(1, lines.size());
        assertTrue(environment.contains("HOMEOSTAT_EVENT=CRASHED"), environment::toString);
        assertTrue(environment.contains("HOMEOSTAT_WORKLOAD=process/web"), environment::toString);
        assertEquals(
                List.of(),
                environment.stream()
                        .filter(line -> !line.matches("(HOMEOSTAT_(EVENT|WORKLOAD)|PATH|LANG|PWD|OLDPWD|SHLVL|_)=.*"))
                        .toList());
    }

    @Test
    void aWebServerThatRefusesIsToldAgainAndInOrder() throws Exception {
        refusals.set(2);
        hooks.use(config(webhook()));

        happens(EventType.PLUGIN_CRASHED, "one");
        happens(EventType.AGENT_GIVEN_UP, "two");
        happens(EventType.AGENT_ROLLED_BACK, "three");

        await().atMost(PATIENCE).until(() -> posted.size() == 5);
        assertEquals(List.of("refused one", "refused one", "one", "two", "three"), causes());
        await().atMost(PATIENCE).until(() -> deliveries.size() == 5);
        assertEquals(
                List.of(Delivery.FAILED, Delivery.FAILED, Delivery.TOLD, Delivery.TOLD, Delivery.TOLD), deliveries);
        assertEquals(List.of(), hooks.problems());
    }

    @Test
    void whatAProgramSaysOfItsArgumentsIsMasked() throws Exception {
        hooks.use(config("- {on: [CRASHED], exec: [/bin/sh, -c, 'echo bad token hunter2secret; exit 1', sh,"
                + " --token=hunter2secret]}"));

        happens(EventType.PLUGIN_CRASHED, "one");
        await().atMost(PATIENCE).until(() -> deliveries.contains(Delivery.GIVEN_UP));

        String problem = Iterables.getOnlyElement(hooks.problems());
        assertTrue(problem.contains("status 1: bad token (masked)"), problem);
    }

    @Test
    void ofAProgramThatSaysOneLongWordTheBeginningIsTold() throws Exception {
        hooks.use(config("- {on: [CRASHED], exec: [/bin/sh, -c, 'printf no-such-queue:; head -c 9000 /dev/zero | tr"
                + " \"\\0\" x; exit 7']}"));

        happens(EventType.PLUGIN_CRASHED, "one");
        await().atMost(PATIENCE).until(() -> deliveries.contains(Delivery.GIVEN_UP));

        String problem = Iterables.getOnlyElement(hooks.problems());
        assertTrue(problem.contains("status 7: no-such-queue:xxx"), problem);
    }

    @Test
    void whoCanNotBeToldIsAProblemUntilHeIs() throws Exception {
        Path program = directory.resolve("page");
        hooks.use(config("- {on: [CRASHED], exec: [%s]}".formatted(program)));

        happens(EventType.PLUGIN_CRASHED, "one");
        await().atMost(PATIENCE).until(() -> deliveries.contains(Delivery.GIVEN_UP));

        String problem = Iterables.getOnlyElement(hooks.problems());
        assertTrue(
                problem.startsWith(
                        "notify[0] of the configuration was not told CRASHED of process/web, given up after "),
                problem);
        assertTrue(
                problem.endsWith(program + " is not there, or may not be executed; install it or correct exec"),
                problem);

        Files.createSymbolicLink(program, Path.of("/bin/true"));
        happens(EventType.PLUGIN_CRASHED, "two");
        await().atMost(PATIENCE).until(() -> hooks.problems().isEmpty());
        assertEquals(Delivery.TOLD, Iterables.getLast(deliveries));
    }

    @Test
    void aWebServerWhoseAnswerNeverEndsHasBeenTold() throws Exception {
        hooks.use(config(webhook().replace("/hook", "/endless")));

        happens(EventType.PLUGIN_CRASHED, "one");
        happens(EventType.PLUGIN_CRASHED, "two");

        await().atMost(PATIENCE).until(() -> posted.size() == 2);
        assertEquals(List.of("one", "two"), causes());
    }

    @Test
    void whoNeverTakesItIsGivenUpAndHoldsUpNobodyElse() throws Exception {
        hooks.use(config("- {exec: [/bin/sh, -c, 'exec sleep 1000'], timeout: 1s}\n" + webhook()));

        happens(EventType.PLUGIN_CRASHED, "one");
        happens(EventType.PLUGIN_CRASHED, "two");

        await().atMost(PATIENCE).until(() -> posted.size() == 2);
        // The other one is tried five times with each of them, for a second each.
        await().atMost(PATIENCE)
                .until(() -> store.hooksTold() == store.events(0, 10).getLast().id());
        assertEquals(List.of("one", "two"), causes());
    }

    @Test
    void aProgramThatFloodsAndNeverReadsIsNoTrouble() throws Exception {
        Path done = directory.resolve("done");
        hooks.use(config(
                "- {exec: [/bin/sh, -c, 'exec <&-; head -c 3000000 /dev/zero; touch %s; exit 1']}".formatted(done)));

        happens(EventType.PLUGIN_CRASHED, "x\n" + "line\n".repeat(100_000));

        await().atMost(PATIENCE).until(() -> Files.exists(done));
        await().atMost(PATIENCE)
                .until(() -> store.hooksTold() == store.events(0, 10).getLast().id());
    }

    @Test
    void aChildThatKeepsItsOutputAndItsInputOpenKeepsNothingOfOurs() throws Exception {
        Path child = directory.resolve("child");
        hooks.use(config("- {exec: [/bin/sh, -c, 'exec 3<&0; sleep 1000 & echo $! > %s.new; mv %s.new %s']}"
                .formatted(child, child, child)));
        happens(EventType.PLUGIN_CRASHED, "x\n" + "line\n".repeat(100_000));
        await().atMost(PATIENCE)
                .until(() -> store.hooksTold() == store.events(0, 10).getLast().id());

        ProcessHandle left = ProcessHandle.of(
                        Long.parseLong(Files.readString(child).strip()))
                .orElseThrow();
        try {
            Path descriptors = Path.of("/proc", Long.toString(left.pid()), "fd");
            String output = Files.readSymbolicLink(descriptors.resolve("1")).toString();
            assertTrue(output.startsWith("pipe:"), output);
            assertFalse(ours().contains(output), output);
            String input = Files.readSymbolicLink(descriptors.resolve("3")).toString();
            assertTrue(input.endsWith(" (deleted)"), input);
            assertFalse(ours().contains(input), input);
            assertEquals(
                    List.of(),
                    List.of(Objects.requireNonNull(layout.runDir().toFile().list())));
        } finally {
            left.destroyForcibly();
            left.onExit().join();
        }
    }

    @Test
    void aChildThatPrintsForEverIsLeftAlone() throws Exception {
        Path child = directory.resolve("child");
        hooks.use(config("- {exec: [/bin/sh, -c, 'yes & echo $! > %s.new; mv %s.new %s; exit 1']}\n"
                .formatted(child, child, child)));
        happens(EventType.PLUGIN_CRASHED, "one");

        await().atMost(PATIENCE)
                .until(() -> store.hooksTold() == store.events(0, 10).getLast().id());
        long last = Long.parseLong(Files.readString(child).strip());
        // Nobody reads what it prints, so it has ended.
        await().atMost(PATIENCE)
                .until(() ->
                        ProcessHandle.of(last).filter(ProcessHandle::isAlive).isEmpty());
    }

    @Test
    void aHookThatCannotBeMadeIsSaidWithoutItsUrlAndTheOthersAreTold() throws Exception {
        List<String> lines;
        try (HeardLog log = HeardLog.ofLines(
                line -> line.startsWith("notify[") || line.contains("SECRET"), Hooks.class, HookWorker.class)) {
            hooks.use(with(ImmutableList.of(
                    hook("https://example.com/a|SECRET"),
                    hook("https://my_host/SECRET"),
                    config(webhook()).hooks().getFirst())));

            happens(EventType.PLUGIN_CRASHED, "one");

            await().atMost(PATIENCE)
                    .until(() ->
                            store.hooksTold() == store.events(0, 10).getLast().id());
            lines = log.lines();
        }
        assertEquals(List.of("one"), causes());
        assertEquals(
                List.of("notify[0]: unexpected java.lang.IllegalArgumentException; it is told nothing until the"
                        + " configuration is read again"),
                lines.stream().filter(line -> line.contains("configuration")).toList());
        assertTrue(
                lines.contains("notify[1] was not told CRASHED of process/web, given up after 5 attempts: unexpected"
                        + " java.lang.IllegalArgumentException"),
                lines::toString);
        assertFalse(lines.toString().contains("SECRET"), lines::toString);
    }

    @Test
    void whatWasNotToldWhenTheAgentEndedIsToldByTheNextOneAndNothingTwice() throws Exception {
        hooks.use(config(webhook()));
        happens(EventType.PLUGIN_CRASHED, "one");
        await().atMost(PATIENCE)
                .until(() -> store.hooksTold() == store.events(0, 10).getLast().id());
        hooks.close();
        happens(EventType.PLUGIN_CRASHED, "two");
        store.close();
        store = StateStores.openForWriting(layout, Clock.systemUTC()).store();
        hooks = new Hooks(store, layout, RETRIES, deliveries::add);

        hooks.use(config(webhook()));

        await().atMost(PATIENCE).until(() -> posted.size() == 2);
        assertEquals(List.of("one", "two"), causes());
    }

    @Test
    void whoHasBeenToldIsNotToldAgainBecauseAnotherOneCanNotBeTold() throws Exception {
        String both = webhook() + "\n- {exec: [/bin/sh, -c, 'exec sleep 1000'], timeout: 1m}";
        hooks.use(config(both));
        happens(EventType.PLUGIN_CRASHED, "one");
        await().atMost(PATIENCE).until(() -> !store.hooksAhead().isEmpty());
        hooks.close();
        hooks = new Hooks(store, layout, RETRIES, deliveries::add);
        hooks.use(config(both));
        happens(EventType.PLUGIN_CRASHED, "two");

        // The answer as well: who is closed before it is there tells it again.
        long last = Iterables.getLast(store.events(0, 10)).id();
        await().atMost(PATIENCE).until(() -> store.hooksAhead().containsValue(last));
        assertEquals(List.of("one", "two"), causes());

        hooks.use(config(webhook()));
        hooks.use(config(both));
        assertEquals(0, store.hooksAhead().size(), "who comes anew begins behind nobody");
    }

    @Test
    void ofTwoThatTellTheSameTheSlowerOneMissesNothingWhenTheOtherGoes() throws Exception {
        Path go = directory.resolve("go");
        Path told = directory.resolve("told");
        String exec = "exec: [/bin/sh, -c, 'if grep -q GIVEN_UP; then while [ ! -e " + go
                + " ]; do sleep 0.05; done; touch " + told + "; fi'], timeout: 1m}";
        hooks.use(config("- {on: [CRASHED], " + exec + "\n- {on: [GIVEN_UP], " + exec + "\n" + webhook()));
        happens(EventType.AGENT_GIVEN_UP, "one");
        happens(EventType.PLUGIN_CRASHED, "two");
        // The web server and the first program have heard of both.
        await().atMost(PATIENCE)
                .until(() -> deliveries.stream().filter(Delivery.TOLD::equals).count() == 3);

        hooks.use(config("- {on: [GIVEN_UP], " + exec));
        Files.createFile(go);

        await().atMost(PATIENCE).until(() -> Files.exists(told));
    }

    @Test
    void whatHappenedWhileThereWasNoHookIsToldToNobody() throws Exception {
        happens(EventType.PLUGIN_CRASHED, "before");
        hooks.use(config(webhook()));
        happens(EventType.PLUGIN_CRASHED, "one");
        await().atMost(PATIENCE).until(() -> posted.size() == 1);
        hooks.use(config(""));
        happens(EventType.PLUGIN_CRASHED, "without");

        hooks.use(config(webhook()));
        happens(EventType.PLUGIN_CRASHED, "two");

        await().atMost(PATIENCE).until(() -> posted.size() == 2);
        assertEquals(List.of("one", "two"), causes());
    }

    @Test
    void whoWantsMoreFromNowOnIsNotToldWhatHeDidNotWantThen() throws Exception {
        String crashes = webhook().replace("{", "{on: [CRASHED], ");
        hooks.use(config(crashes));
        happens(EventType.PLUGIN_CRASHED, "one");
        await().atMost(PATIENCE).until(() -> deliveries.contains(Delivery.TOLD));
        happens(EventType.AGENT_GIVEN_UP, "not wanted yet");
        long last = Iterables.getLast(store.events(0, 10)).id();
        // Nobody sees when it has passed over an event, other than by what it has stored at its end.
        await().atMost(PATIENCE).pollInterval(Duration.ofSeconds(1)).until(() -> {
            hooks.close();
            hooks.use(config(crashes));
            return store.hooksTold() == last;
        });

        hooks.use(config(webhook().replace("{", "{on: [CRASHED, GIVEN_UP], ")));
        happens(EventType.AGENT_GIVEN_UP, "two");

        await().atMost(PATIENCE).until(() -> posted.size() == 2);
        assertEquals(List.of("one", "two"), causes());
    }

    @Test
    void aHookIsACommandOrAWebServer() throws IOException {
        for (String wrong :
                List.of("- {on: [CRASHED]}", "- {exec: [x], webhook: 'http://x'}", "- {on: [BORED], exec: [x]}")) {
            Path file = Files.writeString(directory.resolve("agent.yaml"), "notify:\n" + wrong + "\n");
            assertFalse(AgentConfigReader.read(file).errors().isEmpty(), wrong);
        }
    }

    private String webhook() {
        return "- {webhook: 'http://127.0.0.1:" + server.getAddress().getPort() + "/hook'}";
    }

    private AgentConfig config(String hooksYaml) throws IOException {
        Path file = Files.writeString(
                directory.resolve("agent.yaml"), hooksYaml.isEmpty() ? "notify: []\n" : "notify:\n" + hooksYaml + "\n");
        AgentConfigReader.Result result = AgentConfigReader.read(file);
        assertEquals(List.of(), result.errors());
        AgentConfig config = result.config();
        return config == null ? AgentConfigReader.defaults() : config;
    }

    /** What the reader would refuse. */
    private static AgentConfig with(ImmutableList<AgentConfig.Hook> hooks) {
        AgentConfig config = AgentConfigReader.defaults();
        return new AgentConfig(
                config.stateDir(),
                config.runDir(),
                config.instanceId(),
                config.resync(),
                config.labels(),
                config.sources(),
                config.protectedPlugins(),
                config.signatures(),
                config.metrics(),
                config.ui(),
                config.log(),
                config.limits(),
                hooks);
    }

    private static AgentConfig.Hook hook(String url) {
        return new AgentConfig.Hook(ImmutableList.of("CRASHED"), ImmutableList.of(), url, Duration.ofSeconds(5));
    }

    /** What we hold open, as links of /proc name it. */
    private static List<String> ours() throws IOException {
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors
                    .flatMap(descriptor -> {
                        try {
                            return Stream.of(Files.readSymbolicLink(descriptor).toString());
                        } catch (IOException closedMeanwhile) {
                            return Stream.empty();
                        }
                    })
                    .toList();
        }
    }

    private void happens(EventType type, String message) {
        store.record(new Event(AT, ID, "7", type, message));
    }

    private List<String> causes() {
        return posted.stream()
                .flatMap(body -> {
                    boolean refused = body.startsWith("refused ");
                    try {
                        String cause = new ObjectMapper()
                                .readTree(refused ? body.substring("refused ".length()) : body)
                                .path("cause")
                                .asText();
                        return Stream.of(refused ? "refused " + cause : cause);
                    } catch (IOException e) {
                        throw new IllegalStateException(e);
                    }
                })
                .toList();
    }
}
