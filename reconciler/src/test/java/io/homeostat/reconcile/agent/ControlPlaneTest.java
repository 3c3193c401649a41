package io.homeostat.reconcile.agent;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import com.google.rpc.Code;
import com.google.rpc.Status;
import io.homeostat.controlplane.AnswerPolicy;
import io.homeostat.controlplane.AnswerPolicy.Answer;
import io.homeostat.controlplane.Bodies;
import io.homeostat.controlplane.FakeControlPlane;
import io.homeostat.desired.channel.ControlPlaneChannel;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.MetadataClient;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.proto.acp.AgentInfo;
import io.homeostat.proto.acp.ConfigurePluginStates.Action;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import io.homeostat.proto.acp.CurrentPluginStates;
import io.homeostat.proto.acp.CurrentPluginStates.StatusValue;
import io.homeostat.proto.acp.OSInfo;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.reconcile.controlplane.ControlPlane;
import io.homeostat.reconcile.controlplane.ControlPlane.ControlPlaneStatus;
import io.homeostat.reconcile.controlplane.SampledStates;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An agent and its control plane, over a real stream. The plugins' archives can't be fetched, so that nothing has to run. */
@Timeout(180)
class ControlPlaneTest {
    private static final Duration PATIENCE = AgentBench.PATIENCE;

    private final AgentBench bench = new AgentBench();
    private FakeControlPlane fake;
    private Path directory;
    private ControlPlane controlPlane;

    @BeforeEach
    void connect() throws Exception {
        directory = Files.createTempDirectory("hc");
        fake = FakeControlPlane.onUnixSocket(directory.resolve("s"));
        Agent agent = bench.start("1h", true);
        Clock clock = Clock.systemUTC();
        controlPlane = new ControlPlane(
                agent,
                (endpoint, inbox) ->
                        ControlPlaneChannel.open(endpoint, new MetadataClient("127.0.0.1:1"), "", inbox, clock),
                new SampledStates(agent.usage()),
                bench.store(),
                agent.modules(),
                "1.2.3",
                clock,
                ControlPlane.REPORT_INTERVAL);
        controlPlane.use(config("[GuestAgentCorePlugin]"));
    }

    @AfterEach
    void close() throws Exception {
        controlPlane.close();
        bench.close();
        fake.close();
        Files.deleteIfExists(directory.resolve("s"));
        Files.delete(directory);
    }

    @Test
    void whatItAsksIsAnswered() throws Exception {
        AgentInfo agent = Bodies.read(fake.ask(Bodies.getAgentInfo()).awaitReply(PATIENCE), AgentInfo.parser());
        assertEquals("1.2.3", agent.getVersion());
        OSInfo os = Bodies.read(fake.ask(Bodies.getOsInfo()).awaitReply(PATIENCE), OSInfo.parser());
        assertEquals("linux", os.getType());
        assertEquals(Files.readString(Path.of("/proc/sys/kernel/osrelease")).strip(), os.getKernelRelease());
        assertEquals(List.of(), states().getDaemonPluginStatesList());
    }

    @Test
    void whatItAsksIsAnsweredWhileItAcknowledgesNoEvent() throws Exception {
        AnswerPolicy acknowledge = AnswerPolicy.acknowledge();
        fake.script()
                .messages((message, delivery) -> isEvent(message.getMessageBody())
                        ? new Answer.Ignore()
                        : acknowledge.answer(message, delivery));
        for (int plugin = 0; plugin < 40; plugin++) {
            WorkloadId id = WorkloadId.plugin("p" + plugin);
            bench.store().record(new Event(Instant.now(), id, "1", EventType.PLUGIN_REMOVED, "not heard"));
        }
        await().atMost(PATIENCE).until(() -> status().channel().unacknowledged() == 24);

        AgentInfo agent = Bodies.read(fake.ask(Bodies.getAgentInfo()).awaitReply(PATIENCE), AgentInfo.parser());

        assertEquals("1.2.3", agent.getVersion());
        assertEquals(40, status().queuedEvents());
    }

    private static boolean isEvent(MessageBody body) {
        return Bodies.type(body).equals("PluginEventMessage");
    }

    @Test
    void whatItDeclaresIsStoredBeforeItIsAcknowledgedThenEnforcedAndTold() throws Exception {
        assertEquals(Status.getDefaultInstance(), acknowledgement(Bodies.configure(install("a", "1"))));

        assertEquals(List.of("plugin/a 1"), declared());
        fake.transcript()
                .awaitThat(
                        "the failure to install",
                        PATIENCE,
                        transcript -> transcript.story("a").equals(List.of("CONFIG_INSTALL 1", "INSTALL_FAILED 1")));
        var state = states().getDaemonPluginStates(0);
        assertEquals("a", state.getName());
        assertEquals("1", state.getCurrentRevisionId());
        assertEquals(StatusValue.INSTALL_FAILED, state.getCurrentPluginStatus().getStatus());

        acknowledgement(Bodies.configure(named(Action.REMOVE, "a").build()));

        assertEquals(List.of(), declared());
        fake.transcript()
                .awaitThat(
                        "the removal",
                        PATIENCE,
                        transcript ->
                                transcript.story("a").stream().anyMatch(event -> event.startsWith("CONFIG_REMOVE")));
    }

    @Test
    void requestsUnderOneIdAreEachTaken() throws Exception {
        for (MessageBody body : List.of(
                Bodies.configure(install("a", "1"), install("b", "1")),
                Bodies.configure(install("a", "2")),
                Bodies.configure(named(Action.REMOVE, "b").build()))) {
            assertEquals(
                    Status.getDefaultInstance(), fake.sendAs("the same", body).awaitAcknowledgement(PATIENCE));
        }

        assertEquals(List.of("plugin/a 2"), declared());
    }

    @Test
    void refusedItemsAreToldOneByOneAndTheOthersTakeEffect() throws Exception {
        acknowledgement(Bodies.configure(
                install("GuestAgentCorePlugin", "1"),
                install("a", "1"),
                named(Action.REMOVE, "nobody").build(),
                named(Action.APPLY, "nobody").build()));

        assertEquals(List.of("plugin/a 1"), declared());
        fake.transcript()
                .awaitThat(
                        "the refusals",
                        PATIENCE,
                        transcript -> transcript
                                        .story("GuestAgentCorePlugin")
                                        .equals(List.of("CONFIG_INSTALL 1", "INSTALL_FAILED 1"))
                                && transcript
                                        .story("nobody")
                                        .equals(List.of("REMOVE_FAILED ", "CONFIG_APPLY_FAILED ")));
    }

    @Test
    void garbageIsRefusedUnknownTypesAreNotAndTheTypeUrlDoesNotMatter() throws Exception {
        ByteString garbage = ByteString.copyFrom(new byte[] {(byte) 0xff, (byte) 0xff, (byte) 0xff});
        String type = Bodies.type(Bodies.configure());
        assertEquals(
                Code.INVALID_ARGUMENT_VALUE,
                acknowledgement(Bodies.garbage(type, garbage)).getCode());
        assertEquals(
                Code.OK_VALUE,
                acknowledgement(Bodies.garbage("agent_controlplane.Unheard", garbage))
                        .getCode());
        assertEquals(List.of(), declared());

        acknowledgement(Bodies.withoutSlash(Bodies.configure(install("a", "1"))));

        assertEquals(List.of("plugin/a 1"), declared());
    }

    @Test
    void howTheyGetOnIsKnownAndAReloadThatChangesNothingKeepsTheConnection() throws Exception {
        await().atMost(PATIENCE).until(() -> status().channel().connectedSince() != null);
        assertEquals("", status().channel().lastError());
        var since = status().channel().connectedSince();

        controlPlane.use(config("[a]"));

        assertEquals(since, status().channel().connectedSince());
        acknowledgement(Bodies.configure(install("a", "1"), install("GuestAgentCorePlugin", "1")));
        assertEquals(List.of("plugin/GuestAgentCorePlugin 1"), declared());
    }

    @Test
    void withoutAControlPlaneWhatItDeclaredStaysDeclaredAndEventsAreQueuedNoMore() throws Exception {
        acknowledgement(Bodies.configure(install("a", "1")));
        assertTrue(bench.store().eventQueue().open());

        controlPlane.use(bench.config("protectedPlugins: []"));

        assertTrue(controlPlane.status().isEmpty());
        assertEquals(List.of("plugin/a 1"), declared());
        assertFalse(bench.store().eventQueue().open());
        await().atMost(PATIENCE).until(() -> fake.connection().isEmpty());
    }

    @Test
    void anotherEndpointIsTakenUpAndToldWhatTheFormerOneWasNot() throws Exception {
        await().atMost(PATIENCE).until(() -> status().channel().connectedSince() != null);
        fake.goAway();
        bench.store().record(new Event(Instant.now(), WorkloadId.plugin("b"), "1", EventType.PLUGIN_REMOVED, "untold"));

        try (FakeControlPlane other = FakeControlPlane.onUnixSocket(directory.resolve("t"))) {
            controlPlane.use(config("[]", other.endpoint()));

            other.transcript()
                    .awaitThat(
                            "what the former one was not told",
                            PATIENCE,
                            transcript -> transcript.story("b").equals(List.of("REMOVED 1")));
            assertEquals(other.endpoint(), status().channel().endpoint());
            fake.comeBack();
            assertEquals(
                    Status.getDefaultInstance(),
                    other.send(Bodies.configure(install("a", "1"))).awaitAcknowledgement(PATIENCE));
            assertTrue(fake.connection().isEmpty());
            controlPlane.close();
        }
        Files.deleteIfExists(directory.resolve("t"));
    }

    private ControlPlaneStatus status() {
        return controlPlane.status().orElseThrow();
    }

    private CurrentPluginStates states() throws InterruptedException {
        return Bodies.read(fake.ask(Bodies.listPluginStates()).awaitReply(PATIENCE), CurrentPluginStates.parser());
    }

    private Status acknowledgement(MessageBody body) throws InterruptedException {
        return fake.send(body).awaitAcknowledgement(PATIENCE);
    }

    private List<String> declared() {
        return bench.store().declarations().stream()
                .filter(one -> one.source() == SourceName.CONTROL_PLANE)
                .map(StoredDeclaration::workload)
                .map(one -> one.id() + " " + one.revision())
                .sorted()
                .collect(ImmutableList.toImmutableList());
    }

    private AgentConfig config(String protectedPlugins) {
        return config(protectedPlugins, fake.endpoint());
    }

    private AgentConfig config(String protectedPlugins, String endpoint) {
        return bench.config("""
                protectedPlugins: %s
                sources:
                  local: {directories: []}
                  controlPlane: {endpoint: "%s", identity: none, resource: projects/1/zones/z/instances/1}
                """.formatted(protectedPlugins, endpoint));
    }

    private static ConfigurePlugin install(String name, String revision) {
        ConfigurePlugin.Builder item = named(Action.INSTALL, name);
        item.getPluginBuilder()
                .setRevisionId(revision)
                .setChecksum("0".repeat(64))
                .setGcsSignedUrl("http://127.0.0.1:1/a.tar.gz?X-Goog-Signature=s3cr3t")
                .setEntryPoint("bin/a");
        item.getManifestBuilder().setDownloadAttemptCount(1);
        return item.build();
    }

    private static ConfigurePlugin.Builder named(Action action, String name) {
        ConfigurePlugin.Builder item = ConfigurePlugin.newBuilder().setAction(action);
        item.getPluginBuilder().setName(name);
        return item;
    }
}
