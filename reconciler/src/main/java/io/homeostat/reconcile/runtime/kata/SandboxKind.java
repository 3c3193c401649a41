package io.homeostat.reconcile.runtime.kata;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Config;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.SandboxSpec;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.model.guest.SandboxSettings.Network;
import io.homeostat.desired.model.guest.SandboxSettings.Policy;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.observe.files.FileContent.Use;
import io.homeostat.reconcile.plan.Readiness;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.plan.Traits.LaunchFile;
import io.homeostat.reconcile.plan.Traits.LaunchInput;
import io.homeostat.reconcile.plan.Traits.Limiting;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.RuntimeProvider;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A sandbox is made once in each boot of its guest; its network can be given anew, all else takes another boot. */
public final class SandboxKind implements RuntimeProvider {
    @Override
    public Kind kind() {
        return Kind.SANDBOX;
    }

    /** Its agent does. */
    @Override
    public boolean isMovedByLaunch() {
        return false;
    }

    /** Our notes, and connections. */
    @Override
    public boolean leavesRemains() {
        return true;
    }

    @Override
    public Traits traits(WorkloadSpec spec) {
        SandboxSpec sandbox = (SandboxSpec) spec;
        return new Traits(inputs(sandbox), null, Limiting.NEVER)
                .withHealth(Readiness.PROBE_SUCCEEDED, Traits.Completion.EXIT)
                .withConfig(network(sandbox.guest().network()))
                .withHosts(hosts(sandbox));
    }

    private static ImmutableList<LaunchInput> inputs(SandboxSpec sandbox) {
        return ImmutableList.of(
                new LaunchInput("endpoint", ImmutableList.of(sandbox.guest().endpoint()), Reason.ENDPOINT_CHANGED),
                new LaunchInput("sandbox", sandbox.guest().parts(), Reason.SANDBOX_CHANGED),
                policy(sandbox.guest().policy()));
    }

    private static LaunchInput policy(@Nullable Policy policy) {
        ImmutableList<String> paths = policy == null
                ? ImmutableList.of()
                : ImmutableList.of(policy.path().toString());
        return new LaunchInput(
                "policy",
                paths,
                Reason.POLICY_CHANGED,
                false,
                paths.stream()
                        .map(path -> new LaunchFile("spec.policy.file", path, Use.BYTES))
                        .collect(ImmutableList.toImmutableList()));
    }

    /** The processes of this host that its guest runs in: to have them launched again boots it anew. */
    static ImmutableList<WorkloadId> hosts(SandboxSpec sandbox) {
        return sandbox.lifecycle().dependsOn().stream()
                .flatMap(text -> WorkloadId.parse(text).stream())
                .filter(id -> id.kind().equals(Kind.PROCESS))
                .collect(ImmutableList.toImmutableList());
    }

    /** In which order it is declared makes no difference. */
    private static Config network(Network network) {
        return new Config(
                String.join("\n", sorted(network.interfaces()), sorted(network.routes()), sorted(network.neighbors())),
                null);
    }

    private static String sorted(List<?> records) {
        return records.stream().map(Object::toString).sorted().toList().toString();
    }

    @Override
    public Access open(Machine machine) {
        Guests guests = new Guests(machine, Kind.SANDBOX);
        return new Access(new SandboxObserver(machine, guests), () -> new SandboxRuntime(machine, guests));
    }
}
