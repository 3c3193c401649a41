package io.homeostat.observe;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.DriverSpec;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.model.Lifecycle.HealthCheck;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.Lifecycle.Metrics;
import io.homeostat.desired.model.Lifecycle.Restart;
import io.homeostat.desired.model.Lifecycle.Start;
import io.homeostat.desired.model.Lifecycle.Stop;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.ProcessSettings;
import io.homeostat.desired.model.ProcessSpec;
import io.homeostat.desired.model.Program;
import io.homeostat.observe.Observer.Checks;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Declarations, as far as a look depends on them: the kind, the probe, and how long an answer may take. */
public final class Specs {
    static final Duration LONG = Duration.ofSeconds(30);

    private Specs() {}

    private static Lifecycle lifecycle(Duration timeout) {
        return new Lifecycle(
                Limits.NONE,
                new Start(Duration.ofSeconds(30), 3, 2),
                new Stop(Duration.ofSeconds(30)),
                new HealthCheck(Duration.ofSeconds(10), timeout, 3),
                new Restart(Duration.ZERO, Duration.ofMinutes(5), Duration.ofMinutes(10), 0),
                new Metrics(Duration.ofSeconds(10), 60),
                new Execution(
                        Execution.Type.DAEMON,
                        false,
                        Execution.State.ENABLED,
                        Execution.State.ENABLED,
                        Execution.Match.ALL,
                        ImmutableList.of(),
                        null,
                        null),
                ImmutableList.of(),
                null,
                null,
                null);
    }

    /** @param timeout of a health check */
    public static DriverSpec driver(Duration timeout) {
        return new DriverSpec(program(null, ProcessSettings.NONE), lifecycle(timeout), null);
    }

    static Checks plugin() {
        return plugin(LONG);
    }

    /** @param timeout of a health check */
    static Checks plugin(Duration timeout) {
        return instance -> new PluginSpec(program(null, ProcessSettings.NONE), lifecycle(timeout), null);
    }

    private static Program program(@Nullable String user, ProcessSettings settings) {
        return new Program(
                "r1",
                null,
                "/bin/program",
                ImmutableList.of(),
                ImmutableSortedMap.of(),
                null,
                user,
                settings,
                null,
                Program.Install.LOCAL);
    }

    public static Checks process(@Nullable Probe probe) {
        return process(probe, ProcessSettings.NONE);
    }

    public static Checks process(@Nullable Probe probe, ProcessSettings settings) {
        return process(probe, null, settings);
    }

    public static Checks process(@Nullable Probe probe, @Nullable String user, ProcessSettings settings) {
        return instance -> new ProcessSpec(program(user, settings), lifecycle(LONG), probe);
    }
}
