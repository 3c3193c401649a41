package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.rpc.Code;
import io.homeostat.controlplane.Bodies;
import io.homeostat.controlplane.FakeControlPlane;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import io.homeostat.proto.acp.CurrentPluginStates;
import io.homeostat.proto.acp.CurrentPluginStates.DaemonPluginState;
import io.homeostat.proto.acp.CurrentPluginStates.StatusValue;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * An agent under a control plane, for all tests of a class, so that it is started once: each test has plugins of its own. What
 * is waited for is what the control plane is told. Afterwards all plugins are removed, and nothing may have been told of any that no
 * test expected.
 */
final class Commanded implements BeforeAllCallback, AfterAllCallback {
    private static final String RESOURCE = "projects/1/zones/z/instances/1";

    private final boolean inProcesses;
    private final Homeostat homeostat = new Homeostat();
    private final Bucket bucket = new Bucket();
    private final Map<String, List<String>> stories = new TreeMap<>();
    private @Nullable FakeControlPlane plane;
    private @Nullable Agent agent;

    private Commanded(boolean inProcesses) {
        this.inProcesses = inProcesses;
    }

    /** One in this JVM. */
    static Commanded here() {
        return new Commanded(false);
    }

    /** One that is a process, for tests that kill or measure it. */
    static Commanded inProcess() {
        return new Commanded(true);
    }

    @Override
    public void beforeAll(ExtensionContext context) throws IOException {
        homeostat.beforeEach(context);
        bucket.beforeEach(context);
        plane = FakeControlPlane.onUnixSocket(homeostat.directory().resolve("acs.sock"));
        startAgent();
    }

    Homeostat homeostat() {
        return homeostat;
    }

    Bucket bucket() {
        return bucket;
    }

    FakeControlPlane plane() {
        return Objects.requireNonNull(plane, "there is one while tests run");
    }

    Agent agent() {
        return Objects.requireNonNull(agent, "there is one while tests run");
    }

    /** The agent when it is a process. */
    AgentProcess process() {
        return (AgentProcess) agent();
    }

    /** The agent's agent.yaml: nothing but the control plane declares anything. */
    AgentConfig config() {
        return AgentConfig.of(homeostat.desired())
                .with("sources.controlPlane.endpoint", plane().endpoint())
                .with("sources.controlPlane.resource", RESOURCE)
                .with("sources.controlPlane.identity", "none");
    }

    /** Starts one in the place of the former one, which has ended, and does not wait for it. */
    @CanIgnoreReturnValue
    Agent startAgent() {
        agent = inProcesses ? homeostat.startAgentProcess(config()) : homeostat.startAgent(config());
        return agent();
    }

    /** Sends items in one message and waits until it is acknowledged. */
    void configure(ConfigurePlugin... items) throws InterruptedException {
        assertEquals(
                Code.OK_VALUE,
                plane().send(Bodies.configure(items))
                        .awaitAcknowledgement(Patience.LONGEST)
                        .getCode());
    }

    /** How the agent says that its plugins are. */
    CurrentPluginStates states() throws InterruptedException {
        return Bodies.read(
                plane().ask(Bodies.listPluginStates()).awaitReply(Patience.LONGEST), CurrentPluginStates.parser());
    }

    Optional<DaemonPluginState> state(String plugin) throws InterruptedException {
        return states().getDaemonPluginStatesList().stream()
                .filter(state -> state.getName().equals(plugin))
                .findFirst();
    }

    /** Waits until a plugin is as wanted by the states that the agent replies. */
    DaemonPluginState awaitState(String plugin, Predicate<DaemonPluginState> wanted) throws InterruptedException {
        long deadline = System.nanoTime() + Patience.LONGEST.toNanos();
        while (true) {
            // Asks again when the answer is there: the agent answers once a second.
            Optional<DaemonPluginState> seen = state(plugin);
            if (seen.filter(wanted).isPresent()) {
                return seen.get();
            }
            assertTrue(System.nanoTime() < deadline, () -> plugin + " never is as wanted, but " + seen);
        }
    }

    void awaitRunning(String plugin, String revision) throws InterruptedException {
        DaemonPluginState _ = awaitState(
                plugin,
                state -> state.getCurrentRevisionId().equals(revision)
                        && state.getCurrentPluginStatus().getStatus() == StatusValue.RUNNING);
    }

    /**
     * Waits for the next events of a plugin, in this order and no others.
     *
     * @param next each {@code STARTED 1}: the type without PLUGIN_ and the revision
     */
    void awaitEvents(String plugin, String... next) throws InterruptedException {
        List<String> story = stories.computeIfAbsent(plugin, name -> new ArrayList<>());
        story.addAll(List.of(next));
        plane().transcript()
                .awaitThat(
                        "the events " + story + " of " + plugin,
                        Patience.LONGEST,
                        transcript -> transcript.story(plugin).size() >= story.size());
        assertEquals(story, plane().transcript().story(plugin));
    }

    @Override
    public void afterAll(ExtensionContext context) throws Exception {
        List<Throwable> wrong = new ArrayList<>();
        attempt(
                wrong,
                () -> stories.forEach((plugin, story) ->
                        assertEquals(story, plane().transcript().story(plugin), plugin)));
        attempt(wrong, this::removeAll);
        attempt(wrong, () -> plane().close());
        attempt(wrong, () -> bucket.afterEach(context));
        attempt(wrong, () -> homeostat.afterEach(context));
        if (!wrong.isEmpty()) {
            AssertionError all =
                    new AssertionError("after all tests: " + wrong.getFirst().getMessage());
            wrong.forEach(all::addSuppressed);
            throw all;
        }
    }

    /** Only the control plane can withdraw what it declared. */
    private void removeAll() throws InterruptedException, IOException {
        plane().comeBack();
        if (!agent().isRunning()) {
            startAgent();
        }
        CurrentPluginStates last = states();
        List<ConfigurePlugin> removals = new ArrayList<>();
        last.getDaemonPluginStatesList()
                .forEach(state -> removals.add(Items.remove(state.getName(), state.getCurrentRevisionId())));
        last.getOneShotPluginStatesList()
                .forEach(state -> removals.add(Items.remove(state.getName(), state.getCurrentRevisionId())));
        if (!removals.isEmpty()) {
            configure(removals.toArray(ConfigurePlugin[]::new));
        }
        long deadline = System.nanoTime() + Patience.LONGEST.toNanos();
        while (!states().equals(CurrentPluginStates.getDefaultInstance())) {
            assertTrue(System.nanoTime() < deadline, "plugins are left that were removed");
        }
        agent().terminate().exits(0);
    }

    private static void attempt(List<Throwable> wrong, Attempt attempt) {
        try {
            attempt.run();
        } catch (Exception | AssertionError e) {
            wrong.add(e);
        }
    }

    private interface Attempt {
        void run() throws Exception;
    }
}
