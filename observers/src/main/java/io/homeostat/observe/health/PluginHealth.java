package io.homeostat.observe.health;

import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.ProcessInstances.InstanceHealth;
import io.homeostat.observe.health.Health.Verdict;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.InstantSource;
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
        if (instance.phase() == Phase.STARTED && !isSocket(socket)) {
            Health unknown = Health.failed(Verdict.UNKNOWN, "its socket is gone, nobody can ask it", clock.instant());
            return Observation.seen(new Running(
                    running.identity(),
                    running.age(),
                    false,
                    spec == null ? null : unknown,
                    ImmutableSet.of(ObservedInstance.Loss.SOCKET)));
        }
        if (spec != null && instance.phase() == Phase.STARTED) {
            Health health = plugins.status(socket, spec.lifecycle().health().timeout());
            return (health.verdict() == Verdict.HEALTHY ? Observation.seen(true) : plugins.listening(socket))
                    .map(listening -> new Running(running.identity(), running.age(), listening, health));
        }
        return plugins.listening(socket)
                .map(listening -> new Running(running.identity(), running.age(), listening, null));
    }

    /** Whether a socket is there; true when that cannot be told. */
    private static boolean isSocket(Path socket) {
        try {
            return ((int) Files.getAttribute(socket, "unix:mode", LinkOption.NOFOLLOW_LINKS) & TYPE) == SOCKET;
        } catch (NoSuchFileException e) {
            return false;
        } catch (IOException e) {
            return true;
        }
    }
}
