package io.homeostat.reconcile.sim;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Config;
import io.homeostat.desired.model.ContainerSpec;
import io.homeostat.desired.model.DriverSpec;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.model.Lifecycle.HealthCheck;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.Lifecycle.MaxDisruption;
import io.homeostat.desired.model.Lifecycle.Metrics;
import io.homeostat.desired.model.Lifecycle.Restart;
import io.homeostat.desired.model.Lifecycle.Restart.Policy;
import io.homeostat.desired.model.Lifecycle.Rule;
import io.homeostat.desired.model.Lifecycle.Start;
import io.homeostat.desired.model.Lifecycle.Stop;
import io.homeostat.desired.model.Lifecycle.Triggers;
import io.homeostat.desired.model.MaintenanceWindow;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.ProcessSettings;
import io.homeostat.desired.model.ProcessSpec;
import io.homeostat.desired.model.Program;
import io.homeostat.desired.model.SandboxSpec;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.TaskSpec;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.model.guest.ContainerSettings;
import io.homeostat.desired.model.guest.SandboxSettings;
import io.homeostat.reconcile.runtime.timer.TimerKind;
import io.homeostat.reconcile.runtime.timer.TimerSpec;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What tells one declaration from another; the rest is as by default.
 *
 * @param content SHA-256 of the archive; begins with the revision, so that the fake machine knows what it is like
 * @param giveUpAfter restarts in a row; 0: never
 * @param probe how a process is asked how it is
 * @param order what it has to do with others
 * @param policy after which ends it is launched again; null: after each
 */
public record Wish(
        String revision,
        String content,
        ImmutableList<String> arguments,
        @Nullable String config,
        int giveUpAfter,
        Probing probe,
        Limits limits,
        Execution execution,
        Order order,
        @Nullable Policy policy) {
    /** Of which group all are. */
    static final String LABEL = "group";

    /** By which tasks are run. */
    static final String DRIVER = "epsilon";

    /** What containers are in. */
    static final String SANDBOX = "eta";

    private static final ImmutableSortedMap<String, String> LABELS = ImmutableSortedMap.of(LABEL, "all");

    /** Whether and where a process is asked how it is. */
    public enum Probing {
        NONE,
        WHERE_IT_LISTENS,
        /** A mistake in the declaration: nobody ever answers there. */
        ELSEWHERE
    }

    /** Whom it is started after, with how many it may be down, when it may be changed, and what it is part of. */
    public record Order(
            ImmutableList<String> dependsOn,
            @Nullable MaxDisruption disruption,
            @Nullable MaintenanceWindow window,
            @Nullable WorkloadId parent) {
        public static final Order NONE = new Order(ImmutableList.of(), null, null);

        /** Of what is part of nothing. */
        public Order(
                ImmutableList<String> dependsOn,
                @Nullable MaxDisruption disruption,
                @Nullable MaintenanceWindow window) {
            this(dependsOn, disruption, window, null);
        }
    }

    /** Of what is launched again however it ended. */
    public Wish(
            String revision,
            String content,
            ImmutableList<String> arguments,
            @Nullable String config,
            int giveUpAfter,
            Probing probe,
            Limits limits,
            Execution execution,
            Order order) {
        this(revision, content, arguments, config, giveUpAfter, probe, limits, execution, order, null);
    }

    public static Wish of(String revision, ImmutableList<String> arguments, @Nullable String config) {
        return new Wish(
                revision, revision, arguments, config, 0, Probing.NONE, Limits.NONE, Declarations.DAEMON, Order.NONE);
    }

    public Wish limited(Limits other) {
        return new Wish(revision, content, arguments, config, giveUpAfter, probe, other, execution, order, policy);
    }

    /** To be run to its end, within a minute, whenever one of these fires. */
    public Wish when(Triggers fire) {
        return executed(new Execution(
                Execution.Type.ONE_SHOT,
                false,
                execution.defaultState(),
                execution.onMatch(),
                execution.match(),
                execution.rules(),
                fire,
                Duration.ofMinutes(1)));
    }

    /** Enabled where these rules match, or just there not. */
    Wish ruled(boolean enables, Execution.Match match, ImmutableList<Rule> rules) {
        return executed(new Execution(
                execution.type(),
                false,
                enables ? Execution.State.DISABLED : Execution.State.ENABLED,
                enables ? Execution.State.ENABLED : Execution.State.DISABLED,
                match,
                rules,
                execution.triggers(),
                execution.timeout()));
    }

    Wish executed(Execution other) {
        return new Wish(revision, content, arguments, config, giveUpAfter, probe, limits, other, order, policy);
    }

    public Wish ordered(Order other) {
        return new Wish(revision, content, arguments, config, giveUpAfter, probe, limits, execution, other, policy);
    }

    /** To be launched again after these ends. */
    public Wish restarted(@Nullable Policy other) {
        return new Wish(revision, content, arguments, config, giveUpAfter, probe, limits, execution, order, other);
    }

    /** The same with another revision, which is asked how it is where it listens, if at all. */
    Wish revised(String other) {
        return new Wish(
                other,
                other,
                arguments,
                config,
                giveUpAfter,
                probe == Probing.ELSEWHERE ? Probing.NONE : probe,
                limits,
                execution,
                order,
                policy);
    }

    Workload workload(WorkloadId id) {
        Program program = new Program(
                revision,
                new Source("https://bucket/" + id.name() + "?signature=x", content, Duration.ofSeconds(60), 3),
                "bin/run",
                arguments,
                ImmutableSortedMap.of(),
                readsFile(id) ? ImmutableList.of(FakeDisk.FILE) : null,
                null,
                ProcessSettings.NONE,
                null,
                Program.Install.DYNAMIC);
        Lifecycle lifecycle = new Lifecycle(
                limits(id.kind()),
                new Start(Duration.ofSeconds(30), 3, 2),
                new Stop(Duration.ofSeconds(30)),
                new HealthCheck(Duration.ofSeconds(10), Duration.ofSeconds(2), 3),
                new Restart(Duration.ZERO, Duration.ofMinutes(5), Duration.ofMinutes(10), giveUpAfter, policy),
                new Metrics(Duration.ofSeconds(10), 60),
                execution,
                order.dependsOn(),
                order.disruption(),
                order.window(),
                null);
        return new Workload(id, LABELS, spec(id.kind(), program, lifecycle));
    }

    /** A process has no use for a configuration, but for this. */
    private boolean readsFile(WorkloadId id) {
        return id.kind().equals(Kind.PROCESS) && "config1".equals(config);
    }

    private WorkloadSpec spec(Kind kind, Program program, Lifecycle lifecycle) {
        if (kind.equals(Kind.PLUGIN)) {
            return new PluginSpec(program, lifecycle, config == null ? null : new Config(config, null));
        }
        if (kind.equals(Kind.DRIVER)) {
            return new DriverSpec(program, lifecycle, keys("level", config));
        }
        if (kind.equals(Kind.TASK)) {
            return task(lifecycle);
        }
        if (kind.equals(Kind.SANDBOX)) {
            return sandbox(lifecycle);
        }
        if (kind.equals(Kind.CONTAINER)) {
            return container(lifecycle);
        }
        return kind.equals(TimerKind.TIMER)
                ? new TimerSpec(
                        revision,
                        Duration.ofSeconds(arguments.isEmpty() ? 5 : 7),
                        order.parent() == null ? null : order.parent().toString(),
                        null,
                        null,
                        lifecycle)
                : new ProcessSpec(program, lifecycle, probing());
    }

    private TaskSpec task(Lifecycle lifecycle) {
        return new TaskSpec(
                DRIVER,
                revision,
                null,
                keys("args", arguments.toString()),
                ImmutableSortedMap.of(),
                null,
                ImmutableList.of(),
                null,
                lifecycle,
                null);
    }

    private SandboxSpec sandbox(Lifecycle lifecycle) {
        SandboxSettings settings = new SandboxSettings(
                "unix:///run/guest.sock",
                revision,
                arguments,
                false,
                new SandboxSettings.Network(
                        ImmutableList.of(),
                        config == null
                                ? ImmutableList.of()
                                : ImmutableList.of(new SandboxSettings.Route("0.0.0.0/0", null, config)),
                        ImmutableList.of()),
                ImmutableList.of(),
                ImmutableList.of(),
                null);
        SandboxSpec spec = new SandboxSpec(settings, lifecycle);
        Behaviour.name(spec.revision(), revision);
        return spec;
    }

    private ContainerSpec container(Lifecycle lifecycle) {
        ContainerSettings settings = new ContainerSettings(
                SANDBOX,
                revision,
                new ContainerSettings.RootFs("/rootfs", null, false),
                new ContainerSettings.Program(
                        ImmutableList.<String>builder()
                                .add("/bin/app")
                                .addAll(arguments)
                                .build(),
                        ImmutableSortedMap.of(),
                        "/",
                        new ContainerSettings.User(0, 0, ImmutableList.of()),
                        false,
                        ImmutableList.of(),
                        ImmutableList.of(),
                        ImmutableList.of(),
                        ImmutableSortedMap.of()),
                "config1".equals(config));
        return new ContainerSpec(settings, null, lifecycle, null);
    }

    /** Whom a guest limits, and by what; nobody limits a machine as a whole. */
    private Limits limits(Kind kind) {
        if (kind.equals(Kind.SANDBOX)) {
            return Limits.NONE;
        }
        return kind.equals(Kind.CONTAINER) ? new Limits(limits.memory(), limits.cpu(), false) : limits;
    }

    private static @Nullable ObjectNode keys(String key, @Nullable String value) {
        return value == null ? null : JsonNodeFactory.instance.objectNode().put(key, value);
    }

    private @Nullable Probe probing() {
        return switch (probe) {
            case NONE -> null;
            case WHERE_IT_LISTENS -> tcp(Declarations.address(revision));
            case ELSEWHERE -> tcp("nowhere:80");
        };
    }

    private static Probe tcp(String address) {
        return new Probe(null, new Probe.Tcp(address), null, null);
    }
}
