package io.homeostat.reconcile.controlplane;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateReader.StoredEvent;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.ControlPlaneChange;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.proto.acp.CurrentPluginStates;
import io.homeostat.proto.acp.GuestAgentModuleMetric;
import io.homeostat.proto.acp.GuestAgentModuleMetric.Metric;
import io.homeostat.proto.acp.GuestAgentModuleMetric.ModuleStatus;
import io.homeostat.proto.acp.GuestAgentModuleMetrics;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.reconcile.status.Survey.Finding;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How our modules fare is posted again and again, to whoever is connected. */
class ModuleReportsTest {
    private static final String CONNECTED = "sources: {controlPlane: {endpoint: 'unix:/nowhere', identity: none}}";
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    Path directory;

    private final Modules modules = new Modules();
    private final OpenChannel channel = new OpenChannel();
    private StateStore store;
    private ControlPlane controlPlane;

    @BeforeEach
    void begin() {
        store = StateStores.openForWriting(new Layout(directory, directory, "i"), Clock.systemUTC())
                .store();
        controlPlane = new ControlPlane(
                new NothingDeclared(),
                (endpoint, inbox) -> channel,
                findings -> new PluginStates.Answer(CurrentPluginStates.getDefaultInstance(), () -> {}),
                store,
                modules,
                "1.2.3",
                Clock.systemUTC(),
                Duration.ofMillis(10));
    }

    @AfterEach
    void end() {
        controlPlane.close();
        store.close();
    }

    @Test
    void eachReportSaysHowEveryModuleFaredLast() throws Exception {
        modules.ran(Modules.Part.LOOP, Instant.EPOCH, Instant.EPOCH.plusSeconds(2), Optional.empty());
        modules.ran(Modules.Part.CLEANING, Instant.EPOCH, Instant.EPOCH, Optional.of("no space left"));
        modules.skipped(Modules.Part.TELEMETRY, Instant.EPOCH);
        controlPlane.use(config(CONNECTED));

        GuestAgentModuleMetrics report = report(0);
        assertEquals(
                ImmutableList.of(
                        Metric.CORE_PLUGIN_INITIALIZATION, Metric.TELEMETRY_INITIALIZATION, Metric.PLUGIN_CLEANUP),
                report.getMetricsList().stream()
                        .map(GuestAgentModuleMetric::getMetricName)
                        .toList());
        assertEquals(ModuleStatus.STATUS_SUCCEEDED, report.getMetrics(0).getModuleStatus());
        assertEquals(2, report.getMetrics(0).getEndTime().getSeconds());
        assertEquals(ModuleStatus.STATUS_SKIPPED, report.getMetrics(1).getModuleStatus());
        assertEquals(ModuleStatus.STATUS_FAILED, report.getMetrics(2).getModuleStatus());
        assertEquals("no space left", report.getMetrics(2).getError());

        modules.ran(Modules.Part.CLEANING, Instant.EPOCH, Instant.EPOCH, Optional.empty());
        int later = channel.posted().size() + 1;
        assertEquals(ModuleStatus.STATUS_SUCCEEDED, report(later).getMetrics(2).getModuleStatus());
    }

    @Test
    void aReportThatFailsIsNotTheLast() throws Exception {
        channel.refusePosts(2);
        controlPlane.use(config(CONNECTED));

        await().atMost(PATIENCE).until(() -> !channel.posted().isEmpty());
    }

    @Test
    void refusalsThatWereNotToldOneByOneAreToldAsANumber() throws Exception {
        controlPlane.use(config(CONNECTED));
        withhold(5);
        await().atMost(PATIENCE).until(() -> told().size() == 1);
        withhold(2);

        await().atMost(PATIENCE).until(() -> told().size() == 2);
        assertTrue(told().getFirst().startsWith("5 refused items"), told()::toString);
        assertTrue(told().getLast().startsWith("2 refused items"), told()::toString);
        assertTrue(told().getLast().endsWith("; 7 altogether"), told()::toString);
    }

    private void withhold(int refusals) {
        store.receive(new ControlPlaneChange(
                ImmutableList.of(), ImmutableSet.of(), ImmutableMap.of(), ImmutableList.of(), refusals));
    }

    private ImmutableList<String> told() {
        return store.events(0, 100).stream()
                .map(StoredEvent::event)
                .filter(event -> event.type() == EventType.AGENT_REFUSALS_WITHHELD)
                .map(Event::message)
                .collect(ImmutableList.toImmutableList());
    }

    @Test
    void nothingIsPostedOnceNoControlPlaneIsConfigured() throws Exception {
        controlPlane.use(config(CONNECTED));
        await().atMost(PATIENCE).until(() -> !channel.posted().isEmpty());

        controlPlane.use(config("{}"));
        assertTrue(channel.isClosed());
        int posted = channel.posted().size();
        await().during(Duration.ofMillis(200)).until(() -> channel.posted().size() == posted);
    }

    private GuestAgentModuleMetrics report(int index) throws IOException {
        await().atMost(PATIENCE).until(() -> channel.posted().size() > index);
        MessageBody message = channel.posted().get(index);
        assertEquals(Protocol.MODULE_METRICS, message.getLabelsOrThrow(Protocol.MESSAGE_TYPE));
        return message.getBody().unpack(GuestAgentModuleMetrics.class);
    }

    private AgentConfig config(String text) throws IOException {
        AgentConfigReader.Result read =
                AgentConfigReader.read(Files.writeString(directory.resolve("agent.yaml"), text));
        assertEquals(ImmutableList.of(), read.errors());
        return Objects.requireNonNull(read.config());
    }

    private static final class NothingDeclared implements ControlPlane.Host {
        @Override
        public void declare(Function<StateStore, ImmutableSet<WorkloadId>> change) {
            throw new UnsupportedOperationException("nobody declares anything");
        }

        @Override
        public ImmutableList<Finding> plugins() {
            return ImmutableList.of();
        }
    }
}
