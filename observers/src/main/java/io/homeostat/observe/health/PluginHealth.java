package io.homeostat.observe.health;

import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.ProcessInstances.InstanceHealth;
import io.homeostat.observe.files.UserRights;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.observe.health.PluginChannel.Peer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Health by the plugin protocol. Before Start a plugin must not be called; it is only seen whether it listens. */
public final class PluginHealth implements InstanceHealth {
    /** Where stat(2) tells the type of a file. */
    private static final int TYPE = 0170000;

    private static final int SOCKET = 0140000;

    private final Layout layout;
    private final PluginChannel plugins;
    private final InstantSource clock;

    /** @param plugins closed with this */
    public PluginHealth(Layout layout, PluginChannel plugins, InstantSource clock) {
        this.layout = layout;
        this.plugins = plugins;
        this.clock = clock;
    }

    @Override
    public void close() {
        plugins.close();
    }

    @Override
    public Observation<Running> of(Instance instance, Running running, @Nullable WorkloadSpec spec) {
        Path socket;
        try {
            socket = layout.socket(instance.workload(), instance.revision());
        } catch (IllegalStateException e) {
            return Observation.unseen(String.valueOf(e.getMessage()));
        }
        try {
            return of(socket, instance, running, spec);
        } catch (IOException e) {
            Health silent = Health.failed(
                    Verdict.UNHEALTHY,
                    "its socket " + socket + " can't be looked at: " + IoReason.of(e),
                    clock.instant());
            return Observation.seen(
                    new Running(running.identity(), running.age(), false, spec == null ? null : silent));
        }
    }

    private Observation<Running> of(Path socket, Instance instance, Running running, @Nullable WorkloadSpec spec)
            throws IOException {
        // A link of its user's may lead to a file system that never answers.
        boolean isOthers = spec == null || spec.runsAs() != null;
        Optional<Object> file = instance.phase() == Phase.STARTED
                ? UserRights.ofThisMachine().lookFor(isOthers, socket.toString(), () -> socketFile(socket))
                : Optional.empty();
        if (instance.phase() == Phase.STARTED && file.isEmpty()) {
            Health unknown = Health.failed(Verdict.UNKNOWN, "its socket is gone, nobody can ask it", clock.instant());
            return Observation.seen(new Running(
                    running.identity(),
                    running.age(),
                    false,
                    spec == null ? null : unknown,
                    ImmutableSet.of(ObservedInstance.Loss.SOCKET)));
        }
        if (spec != null && file.isPresent()) {
            Health health = plugins.status(
                    new Peer(socket, instance.launchId(), file.get()),
                    spec.lifecycle().health().timeout());
            return (health.verdict() == Verdict.HEALTHY ? Observation.seen(true) : listening(isOthers, socket))
                    .map(listening -> new Running(running.identity(), running.age(), listening, health));
        }
        return listening(isOthers, socket)
                .map(listening -> new Running(running.identity(), running.age(), listening, null));
    }

    private Observation<Boolean> listening(boolean isOthers, Path socket) throws IOException {
        return UserRights.ofThisMachine().lookFor(isOthers, socket.toString(), () -> plugins.listening(socket));
    }

    /**
     * Tells the socket, also where a link leads to it, from a later one of its name; empty when there is none, and what can't be seen counts
     * as one that stays.
     */
    private static Optional<Object> socketFile(Path socket) {
        try {
            Map<String, Object> facts = Files.readAttributes(socket, "unix:mode,ino,ctime");
            return ((int) Objects.requireNonNull(facts.get("mode")) & TYPE) == SOCKET
                    ? Optional.of(facts.get("ino") + "@" + facts.get("ctime"))
                    : Optional.empty();
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of("");
        }
    }
}
