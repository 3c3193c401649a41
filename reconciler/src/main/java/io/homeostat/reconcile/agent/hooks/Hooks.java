package io.homeostat.reconcile.agent.hooks;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableMap;
import com.google.common.hash.Hashing;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import io.homeostat.observe.process.UserSwitch;
import io.homeostat.reconcile.agent.hooks.HookWorker.Retries;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.Comparator;
import java.util.Optional;
import java.util.function.Consumer;
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
    private ImmutableListMultimap<String, HookWorker> workers = ImmutableListMultimap.of();

    private ImmutableList<String> unusable = ImmutableList.of();
    private long stored;
    private ImmutableMap<String, Long> ahead = ImmutableMap.of();
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
            ahead = store.hooksAhead();
            newestTold = stored;
            ImmutableListMultimap.Builder<String, HookWorker> usable = ImmutableListMultimap.builder();
            for (int index = 0; index < wanted.size(); index++) {
                AgentConfig.Hook hook = wanted.get(index);
                String key = key(hook);
                worker("notify[" + index + "]", hook, ahead.getOrDefault(key, stored))
                        .ifPresent(worker -> usable.put(key, worker));
            }
            workers = usable.build();
            // Who is not wanted any more begins anew when he is.
            remember(true);
            workers.values().forEach(HookWorker::start);
        }
        // One that could not be made is tried again when the configuration is read again, though it is the same.
        configured = workers.size() == wanted.size() ? wanted : ImmutableList.of();
    }

    private synchronized void noteUnusable(String why) {
        unusable = ImmutableList.<String>builder().addAll(unusable).add(why).build();
    }

    /** What hooks could not be told last, for people. */
    public synchronized ImmutableList<String> problems() {
        return Stream.concat(unusable.stream(), workers.values().stream().flatMap(worker -> worker.problem().stream()))
                .collect(ImmutableList.toImmutableList());
    }

    /** A digest of whom it tells, since that may be secret. */
    private static String key(AgentConfig.Hook hook) {
        String whom = hook.exec().isEmpty() ? String.valueOf(hook.webhook()) : String.join("\0", hook.exec());
        return Hashing.sha256().hashString(whom, StandardCharsets.UTF_8).toString();
    }

    /**
     * @param name where it stands in the configuration
     * @param told the newest event that it need not be told of any more
     */
    private Optional<HookWorker> worker(String name, AgentConfig.Hook hook, long told) {
        // Said again when it is to be told, which may be too late.
        UserSwitch.problem(hook.exec()).ifPresent(problem -> LOG.warn("{}: {}", name, problem));
        try {
            return Optional.of(new HookWorker(
                    name, hook, HookCall.of(hook, directory), store, machine, told, retries, this::passed, deliveries));
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
        if (told || stored < newestTold) {
            remember(told);
        }
    }

    /**
     * What all of them have passed over is over: another configuration must not tell it after all.
     *
     * @param each whether it matters how far each of them is
     */
    private void remember(boolean each) {
        long all = slowest(workers.values()).orElse(stored);
        ImmutableMap.Builder<String, Long> further = ImmutableMap.builder();
        // Of several that tell the same what counts is the slowest: rather twice than never.
        workers.asMap()
                .forEach((key, same) -> slowest(same)
                        .filter(position -> position > all)
                        .ifPresent(position -> further.put(key, position)));
        ImmutableMap<String, Long> now = further.build();
        try {
            if (stored < all || (each && !now.equals(ahead))) {
                store.hooksTold(Math.max(all, stored), now);
                stored = Math.max(all, stored);
                ahead = now;
            }
        } catch (StoreException e) {
            LOG.warn("how far hooks have been told is not stored, so they may be told again: {}", e.getMessage());
        }
    }

    private static Optional<Long> slowest(Collection<HookWorker> several) {
        return several.stream().map(HookWorker::position).min(Comparator.naturalOrder());
    }

    @Override
    public void close() {
        ImmutableCollection<HookWorker> ending;
        synchronized (this) {
            ending = workers.values();
        }
        // Not under the lock, which they need to come to an end.
        ending.forEach(HookWorker::close);
        synchronized (this) {
            remember(true);
            workers = ImmutableListMultimap.of();
            configured = ImmutableList.of();
            unusable = ImmutableList.of();
        }
    }
}
