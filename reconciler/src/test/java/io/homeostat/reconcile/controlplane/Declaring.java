package io.homeostat.reconcile.controlplane;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.source.ManifestReader;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.StateReader.StoredEvent;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.StateStore.ControlPlaneChange;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.desired.yaml.CanonicalDocument;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import io.homeostat.reconcile.controlplane.ConfigureEvents.RefusalLimit;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.stream.Stream;

/** A state directory whose control plane sends messages, without a loop that does anything about them. */
final class Declaring implements AutoCloseable {
    static final Instant NOW = Instant.parse("2026-11-20T12:00:00Z");
    static final String ENDPOINT = "unix:/run/acs.sock";

    private final StateStore store;
    private final RefusalLimit refusals = new RefusalLimit();
    private Instant now = NOW;
    private boolean allowUnverified;
    private int printed;
    private long told;

    Declaring(Path directory) {
        Layout layout = new Layout(directory.resolve("state"), directory.resolve("run"), "1");
        store = StateStores.openForWriting(layout, Clock.fixed(NOW, ZoneOffset.UTC))
                .store();
    }

    StateStore store() {
        return store;
    }

    /** Receives a message. */
    Declaring receive(ConfigurePlugin... items) {
        ConfigureHandler.Outcome outcome = outcome(items);
        store.receive(outcome.change());
        refusals.told(outcome.refusals());
        return this;
    }

    ControlPlaneChange translated(ConfigurePlugin... items) {
        return outcome(items).change();
    }

    private ConfigureHandler.Outcome outcome(ConfigurePlugin... items) {
        return ConfigureHandler.handle(
                ConfigureItem.of(
                        Messages.configure(items),
                        new ConfigureItem.Rules(ImmutableSet.of("GuestAgentCorePlugin"), allowUnverified)),
                new ConfigureHandler.Known(
                        store.declarations(), store::history, ENDPOINT, now, refusals.available(now), this::print));
    }

    private CanonicalDocument print(Workload workload) {
        printed++;
        return CanonicalDocument.of(workload);
    }

    /** As agent.yaml may say. */
    Declaring allowUnverified() {
        allowUnverified = true;
        return this;
    }

    /** How many documents were printed for messages. */
    int printed() {
        return printed;
    }

    Declaring pass(Duration time) {
        now = now.plus(time);
        return this;
    }

    /** Another source declares what an INSTALL would. */
    Declaring declaredBy(SourceName source, ConfigurePlugin item) {
        Workload workload = ManifestReader.sent(item).workload().orElseThrow();
        store.replace(
                new SourceContent(
                        source,
                        ImmutableList.of(new ToApply(workload, "/etc/" + source.word() + ".yaml")),
                        ImmutableSet.of(),
                        ImmutableList.of()),
                NOW);
        return this;
    }

    /** The loop has looked at it. */
    Declaring looked(String name) {
        Declaration declaration = declaration(name);
        remember(name, history(name).withAttempts(declaration.generation(), Attempts.of(declaration.hash())));
        return converged(name, Condition.Status.FALSE, Reason.REVISION_CHANGED);
    }

    /** The loop has brought it about and seen it well. */
    Declaring knownGood(String name) {
        looked(name);
        converged(name, Condition.Status.TRUE, Reason.AT_DESIRED_STATE);
        Declaration declaration = declaration(name);
        return remember(
                name,
                history(name)
                        .withLastKnownGood(
                                new LastKnownGood(declaration.workload(), declaration.hash(), "/installed")));
    }

    /** How the loop has found it. */
    Declaring converged(String name, Condition.Status status, Reason reason) {
        Condition converged = new Condition(Condition.Type.CONVERGED, status, reason, "", NOW);
        return remember(name, history(name).withConditions(ImmutableList.of(converged)));
    }

    Declaring remember(String name, WorkloadHistory history) {
        store.commit(new Change(
                WorkloadId.plugin(name), history, false, ImmutableList.of(), ImmutableList.of(), ImmutableList.of()));
        return this;
    }

    WorkloadHistory history(String name) {
        return store.history(WorkloadId.plugin(name));
    }

    /** What is in force. */
    Declaration declaration(String name) {
        return StoredState.desired(store.declarations())
                .get(WorkloadId.plugin(name))
                .orElseThrow();
    }

    /** What is in force, each as "name revision source generation". */
    ImmutableList<String> inForce() {
        return StoredState.desired(store.declarations()).declarations().values().stream()
                .map(one -> one.id().name() + " " + one.workload().revision() + " "
                        + one.source().word() + " " + one.generation())
                .collect(ImmutableList.toImmutableList());
    }

    /** What was told since this was last asked, each as "TYPE name revision". */
    ImmutableList<String> told() {
        return newEvents()
                .map(stored -> stored.event().type().name().substring("PLUGIN_".length()) + " "
                        + (stored.event().workload() == null
                                ? "?"
                                : stored.event().workload().name())
                        + " " + stored.event().revision())
                .map(String::strip)
                .collect(ImmutableList.toImmutableList());
    }

    /** The words of the newest event. */
    String lastWords() {
        return store.events(0, 10_000).getLast().event().message();
    }

    private Stream<StoredEvent> newEvents() {
        ImmutableList<StoredEvent> fresh = store.events(told, 10_000);
        told = fresh.isEmpty() ? told : fresh.getLast().id();
        return fresh.stream();
    }

    @Override
    public void close() {
        store.close();
    }
}
