package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.hash.Hashing;
import io.homeostat.desired.model.Config;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.Execution;
import io.homeostat.desired.model.HealthCheck;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Limits;
import io.homeostat.desired.model.Metrics;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.ProcessSpec;
import io.homeostat.desired.model.Program;
import io.homeostat.desired.model.Restart;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Start;
import io.homeostat.desired.model.Stop;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.reconcile.loop.DesiredSource;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** What is wanted in a simulation or an example; builds declarations without YAML. */
public final class Declarations implements DesiredSource {
    private final Map<WorkloadId, Declaration> declared = new TreeMap<>();
    private long generation;

    /** Declares a workload, unless it is declared just so already. */
    public Declaration declare(
            WorkloadId id, String revision, ImmutableList<String> arguments, @Nullable String config) {
        Workload workload = workload(id, revision, arguments, config);
        // A config never shows in its own text.
        String hash = Hashing.sha256()
                .hashString(workload + "/" + config, StandardCharsets.UTF_8)
                .toString()
                .substring(0, 8);
        Declaration known = declared.get(id);
        if (known != null && known.hash().equals(hash)) {
            return known;
        }
        Declaration declaration = new Declaration(workload, SourceName.APPLIED, ++generation, hash, ImmutableList.of());
        declared.put(id, declaration);
        return declaration;
    }

    public void withdraw(WorkloadId id) {
        declared.remove(id);
    }

    @Override
    public Optional<Declaration> declaration(WorkloadId id) {
        return Optional.ofNullable(declared.get(id));
    }

    public DesiredState state() {
        return new DesiredState(ImmutableSortedMap.copyOf(declared));
    }

    /** A workload with every default; its archive's key begins with its revision, so that the fake machine knows it. */
    public static Workload workload(
            WorkloadId id, String revision, ImmutableList<String> arguments, @Nullable String config) {
        Program program = new Program(
                revision,
                new Source("https://bucket/" + id.name() + "?signature=x", revision, Duration.ofSeconds(60), 3),
                "bin/run",
                arguments,
                ImmutableSortedMap.of(),
                null,
                Program.Install.DYNAMIC,
                Limits.NONE,
                new Start(Duration.ofSeconds(30), 3, 2),
                new Stop(Duration.ofSeconds(30)),
                new HealthCheck(Duration.ofSeconds(10), Duration.ofSeconds(2), 3),
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
                        null));
        WorkloadSpec spec = id.kind() == Kind.PLUGIN
                ? new PluginSpec(program, config == null ? null : new Config(config, null))
                : new ProcessSpec(program, null);
        return new Workload(id, ImmutableSortedMap.of(), spec);
    }
}
