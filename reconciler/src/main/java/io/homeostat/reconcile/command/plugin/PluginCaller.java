package io.homeostat.reconcile.command.plugin;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.loop.Turns;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Function;

/** Calls plugins that run: never before Start, which some don't survive, nor while one is being started, changed or stopped. */
public final class PluginCaller {
    private final Layout layout;
    private final ProcFs procFs;
    private final Turns turns;
    private final Function<WorkloadId, ImmutableList<Instance>> instances;

    /**
     * @param turns shared with the steps of passes
     * @param instances what is remembered of a workload's launches, now
     */
    public PluginCaller(
            Layout layout, ProcFs procFs, Turns turns, Function<WorkloadId, ImmutableList<Instance>> instances) {
        this.layout = layout;
        this.procFs = procFs;
        this.turns = turns;
        this.instances = instances;
    }

    /** The outcome of trying to call a plugin. */
    public sealed interface Result<T> {
        /** It answered, at the revision that runs. */
        record Answered<T>(String revision, T answer) implements Result<T> {}

        /** It was not called; {@code why} begins with "not running". */
        record NotRunning<T>(String why) implements Result<T> {}
    }

    @FunctionalInterface
    public interface Call<T> {
        T on(Path socket) throws InterruptedException;
    }

    /** Calls a plugin if it runs, after waiting up to {@code patience} for what is being done to it. */
    public <T> Result<T> with(WorkloadId id, Duration patience, Call<T> call) throws InterruptedException {
        Optional<Result<T>> result = turns.within(id, patience, () -> now(id, call));
        return result.orElseGet(
                () -> new Result.NotRunning<>("not running: it is being started, changed or stopped just now"));
    }

    private <T> Result<T> now(WorkloadId id, Call<T> call) throws InterruptedException {
        ImmutableList<Instance> alive =
                instances.apply(id).stream().filter(this::mayLive).collect(ImmutableList.toImmutableList());
        if (alive.isEmpty()) {
            return new Result.NotRunning<>("not running");
        }
        // Beside another launch nobody knows whose the socket is.
        if (alive.size() > 1 || alive.getFirst().phase() != Phase.STARTED) {
            return new Result.NotRunning<>("not running: it has not been started yet");
        }
        Instance instance = alive.getFirst();
        return new Result.Answered<>(instance.revision(), call.on(layout.socket(id, instance.revision())));
    }

    private boolean mayLive(Instance instance) {
        ProcessIdentity identity = instance.process();
        try {
            return identity == null || procFs.runs(identity);
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "cannot look at process " + identity.pid() + " of " + instance.workload(), e);
        }
    }
}
