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
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
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
    private final Consumer<Delivery> deliveries;
    private ImmutableList<AgentConfig.Hook> configured = ImmutableList.of();
    private ImmutableList<HookWorker> workers = ImmutableList.of();
    private ImmutableList<String> unusable = ImmutableList.of();
    private long stored;
    private long newestTold;

    /** How an attempt to tell a hook of an event ended. */
    public enum Delivery {
        TOLD,
        FAILED,
        GIVEN_UP
    }

    /**
     * Nobody is told before {@link #use}.
     *
     * @param layout of the machine whose events these are
     * @param deliveries hears how each attempt ended, on any thread
     */
    public Hooks(StateStore store, Layout layout, Consumer<Delivery> deliveries) {
        this(store, layout, RETRIES, deliveries);
    }

    Hooks(StateStore store, Layout layout, Retries retries, Consumer<Delivery> deliveries) {
        this.store = store;
        this.machine = layout.instanceId();
        this.directory = layout.runDir();
        this.retries = retries;
        this.deliveries = deliveries;
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
            noteUnusable("hooks can't be told anything: " + e.getMessage());
        }
    }

    private synchronized void begin(ImmutableList<AgentConfig.Hook> wanted) {
        if (wanted.isEmpty()) {
            store.forgetHooks();
        } else {
            stored = store.hooksTold();
            newestTold = stored;
            workers = IntStream.range(0, wanted.size())
                    .boxed()
                    .flatMap(index -> worker("notify[" + index + "]", wanted.get(index)).stream())
                    .collect(ImmutableList.toImmutableList());
            workers.forEach(HookWorker::start);
        }
        // One that could not be made is tried again when the configuration is read again, though it is the same.
        configured = workers.size() == wanted.size() ? wanted : ImmutableList.of();
    }

    private synchronized void noteUnusable(String why) {
        unusable = ImmutableList.<String>builder().addAll(unusable).add(why).build();
    }

    /** What hooks could not be told last, for people. */
    public synchronized ImmutableList<String> problems() {
        return Stream.concat(unusable.stream(), workers.stream().flatMap(worker -> worker.problem().stream()))
                .collect(ImmutableList.toImmutableList());
    }

    /** @param name where it stands in the configuration */
    private Optional<HookWorker> worker(String name, AgentConfig.Hook hook) {
        try {
            return Optional.of(new HookWorker(
                    name,
                    hook,
                    HookCall.of(hook, directory),
                    store,
                    machine,
                    stored,
                    retries,
                    this::passed,
                    deliveries));
        } catch (RuntimeException e) {
            LOG.error(
                    "{}: {}; it is told nothing until the configuration is read again", name, HookWorker.unexpected(e));
            noteUnusable(name + " of the configuration is told nothing: " + HookWorker.unexpected(e));
            return Optional.empty();
        }
    }

    /** Only what was told has to be remembered: the rest is passed over again in no time. */
    private synchronized void passed(long event, boolean told) {
        newestTold = told ? Math.max(newestTold, event) : newestTold;
        if (stored < newestTold) {
            remember();
        }
    }

    /** What all of them have passed over is over: another configuration must not tell it after all. */
    private void remember() {
        long all = workers.stream().mapToLong(HookWorker::position).min().orElse(stored);
        try {
            if (stored < all) {
                store.hooksTold(all);
                stored = all;
            }
        } catch (StoreException e) {
            LOG.warn("how far hooks have been told is not stored, so they may be told again: {}", e.getMessage());
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
            remember();
            workers = ImmutableList.of();
            configured = ImmutableList.of();
            unusable = ImmutableList.of();
        }
    }
}
