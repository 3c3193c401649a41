package io.homeostat.reconcile.agent.hooks;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import io.homeostat.reconcile.agent.hooks.HookWorker.Retries;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells those whom {@code notify} in agent.yaml names of what happens to workloads. They read the stored events, so the loop neither waits
 * for them nor knows of them, and nothing is queued in memory. At least once: how far all of them are is stored after each event that one
 * was told of.
 */
public final class Hooks implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Hooks.class);

    /** About ten minutes in all. */
    private static final Retries RETRIES =
            new Retries(Backoff.doubling(Duration.ofSeconds(1), Duration.ofMinutes(2)), 12);

    private final StateStore store;
    private final String machine;
    private final Path directory;
    private final Retries retries;
    private ImmutableList<AgentConfig.Hook> configured = ImmutableList.of();
    private ImmutableList<HookWorker> workers = ImmutableList.of();
    private long stored;
    private long newestTold;

    /** @param layout of the machine whose events these are */
    public Hooks(StateStore store, Layout layout) {
        this(store, layout, RETRIES);
    }

    Hooks(StateStore store, Layout layout, Retries retries) {
        this.store = store;
        this.machine = layout.instanceId();
        this.directory = layout.runDir();
        this.retries = retries;
    }

    /** Applies a configuration. What happened while there was no hook is told to nobody. */
    public void use(AgentConfig config) {
        ImmutableList<AgentConfig.Hook> wanted = config.hooks();
        if (!wanted.isEmpty() && wanted.equals(configured)) {
            return;
        }
        close();
        try {
            begin(wanted);
        } catch (StoreException e) {
            LOG.error("{}; hooks are told nothing until the configuration is read again", e.getMessage());
        }
    }

    private synchronized void begin(ImmutableList<AgentConfig.Hook> wanted) {
        if (wanted.isEmpty()) {
            store.forgetHooks();
        } else {
            stored = store.hooksTold();
            newestTold = stored;
            workers = wanted.stream().flatMap(hook -> worker(hook).stream()).collect(ImmutableList.toImmutableList());
            workers.forEach(HookWorker::start);
        }
        // One that could not be made is tried again when the configuration is read again, though it is the same.
        configured = workers.size() == wanted.size() ? wanted : ImmutableList.of();
    }

    private Optional<HookWorker> worker(AgentConfig.Hook hook) {
        try {
            return Optional.of(
                    new HookWorker(hook, HookCall.of(hook, directory), store, machine, stored, retries, this::passed));
        } catch (RuntimeException e) {
            LOG.error(
                    "{}; one of the hooks in agent.yaml is told nothing until the configuration is read again",
                    HookWorker.unexpected(e));
            return Optional.empty();
        }
    }

    /** Only what was told has to be remembered: the rest is passed over again in no time. */
    private synchronized void passed(long event, boolean told) {
        newestTold = told ? Math.max(newestTold, event) : newestTold;
        long all = workers.stream().mapToLong(HookWorker::position).min().orElse(stored);
        if (stored < newestTold && stored < all) {
            store.hooksTold(all);
            stored = all;
        }
    }

    @Override
    public void close() {
        ImmutableList<HookWorker> ending;
        synchronized (this) {
            ending = workers;
        }
        // Not under the lock, which they need to come to an end.
        ending.forEach(HookWorker::close);
        synchronized (this) {
            workers = ImmutableList.of();
            configured = ImmutableList.of();
        }
    }
}
