package io.homeostat.reconcile.command.plugin;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.health.PluginChannel;
import io.homeostat.observe.health.PluginReply;
import io.homeostat.reconcile.command.plugin.PluginTalks.Talk;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Tells plugins of an event, all at once. What they answer changes nothing of what is remembered: neither their configuration nor its
 * hash, and who does not implement Apply is not restarted for it.
 */
public final class VmEventRound {
    /** The plugin protocol's limit on Apply; as long is waited for what is being done to a plugin. */
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    private final PluginTalks talks;
    private final PluginChannel plugins;

    public VmEventRound(PluginTalks talks, PluginChannel plugins) {
        this.talks = talks;
        this.plugins = plugins;
    }

    /**
     * What one plugin made of it.
     *
     * @param revision that was told; empty when none runs
     * @param code {@link #TOLD}, {@link #NOT_RUNNING} or {@link #FAILED}, as Google's guest agent answers
     * @param message why not; empty when it was told
     */
    public record Told(WorkloadId plugin, String revision, int code, String message) {
        public static final int TOLD = 0;
        public static final int NOT_RUNNING = 501;
        public static final int FAILED = 502;
    }

    /** Tells these; in their order what came of it. */
    public ImmutableList<Told> tell(VmEvent event, ImmutableCollection<WorkloadId> ids) throws InterruptedException {
        ImmutableList<Callable<Told>> all =
                ids.stream().<Callable<Told>>map(id -> () -> tell(event, id)).collect(ImmutableList.toImmutableList());
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            ImmutableList.Builder<Told> told = ImmutableList.builder();
            // Ends them when it is interrupted.
            for (Future<Told> one : threads.invokeAll(all)) {
                told.add(one.get());
            }
            return told.build();
        } catch (ExecutionException e) {
            throw new IllegalStateException("a plugin could not be told: " + e.getCause(), e.getCause());
        }
    }

    private Told tell(VmEvent event, WorkloadId id) throws InterruptedException {
        return switch (talks.with(id, TIMEOUT, socket -> plugins.apply(socket, event.message(), TIMEOUT))) {
            case Talk.NotRunning<PluginReply>(String why) -> new Told(id, "", Told.NOT_RUNNING, why);
            case Talk.Had<PluginReply>(String revision, PluginReply reply) ->
                reply instanceof PluginReply.Done
                        ? new Told(id, revision, Told.TOLD, "")
                        : new Told(id, revision, Told.FAILED, reply.words());
        };
    }
}
