package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.ProcessSpec;
import io.homeostat.desired.model.Program;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.plan.Traits.LaunchInput;
import java.util.Optional;

/** The traits of the kinds that are programs on this host. */
final class ProgramTraits {
    private ProgramTraits() {}

    /** A plugin listens, is told to start, and answers for itself from then on. */
    static final class OfPlugin implements KindTraits {
        @Override
        public Kind kind() {
            return Kind.PLUGIN;
        }

        @Override
        public Traits.Start start() {
            return Traits.Start.EXPLICIT;
        }

        @Override
        public Traits traits(WorkloadSpec spec) {
            PluginSpec plugin = (PluginSpec) spec;
            return new Traits(
                    start(),
                    Readiness.START_ANSWERED,
                    Traits.Completion.STATUS,
                    plugin.config(),
                    true,
                    inputs(plugin.program()),
                    plugin.program().entryPoint(),
                    Optional.empty(),
                    false);
        }
    }

    /** A process runs once it is launched; how it is only a probe can tell. */
    static final class OfProcess implements KindTraits {
        @Override
        public Kind kind() {
            return Kind.PROCESS;
        }

        @Override
        public Traits.Start start() {
            return Traits.Start.IMPLICIT;
        }

        @Override
        public Traits traits(WorkloadSpec spec) {
            ProcessSpec process = (ProcessSpec) spec;
            return new Traits(
                    start(),
                    process.probe() == null ? Readiness.STAYED_ALIVE : Readiness.PROBE_SUCCEEDED,
                    Traits.Completion.EXIT,
                    null,
                    true,
                    inputs(process.program()),
                    process.program().entryPoint(),
                    Optional.empty(),
                    false);
        }
    }

    private static ImmutableList<LaunchInput> inputs(Program program) {
        String user = program.user();
        return ImmutableList.of(
                new LaunchInput("arguments", program.arguments(), Reason.ARGUMENTS_CHANGED),
                new LaunchInput("entryPoint", ImmutableList.of(program.entryPoint()), Reason.ENTRY_POINT_CHANGED),
                new LaunchInput(
                        "environment",
                        program.env().entrySet().stream()
                                .map(variable -> variable.getKey() + "=" + variable.getValue())
                                .collect(ImmutableList.toImmutableList()),
                        Reason.ENVIRONMENT_CHANGED),
                new LaunchInput(
                        "user", user == null ? ImmutableList.of() : ImmutableList.of(user), Reason.USER_CHANGED));
    }
}
