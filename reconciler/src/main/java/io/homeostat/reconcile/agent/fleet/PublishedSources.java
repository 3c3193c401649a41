package io.homeostat.reconcile.agent.fleet;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.etcd.EtcdKeyValues;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.remote.HttpsFetcher;
import io.homeostat.desired.remote.SetFetcher;
import io.homeostat.desired.signature.KeyFailure;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The sources of published sets of an agent, each followed by a thread of its own. What they have given before counts until they answer. */
public final class PublishedSources implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PublishedSources.class);

    /** Those that sets are published to. */
    public static final ImmutableList<SourceName> NAMES =
            ImmutableList.of(SourceName.ETCD, SourceName.BUCKET, SourceName.HTTPS, SourceName.GIT);

    private final StateStore store;
    private final InstantSource clock;
    private final Lock declaring;
    private final Runnable changed;
    private final Function<AgentConfig.Etcd, KeyValues> etcd;
    private final List<PublishedSource> sources = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private boolean following;

    /**
     * @param declaring held while something is stored
     * @param changed is called when something may be declared otherwise
     */
    public PublishedSources(StateStore store, InstantSource clock, Lock declaring, Runnable changed) {
        this(store, clock, declaring, changed, EtcdKeyValues::new);
    }

    PublishedSources(
            StateStore store,
            InstantSource clock,
            Lock declaring,
            Runnable changed,
            Function<AgentConfig.Etcd, KeyValues> etcd) {
        this.store = store;
        this.clock = clock;
        this.declaring = declaring;
        this.changed = changed;
        this.etcd = etcd;
    }

    /**
     * From here on the sources of this configuration count, with what they have given before; what others have given is withdrawn.
     *
     * @throws KeyFailure when the keys can't be read that sets have to be signed with; nothing has changed then
     */
    public synchronized void use(AgentConfig config) throws KeyFailure {
        SetRules rules = SetRules.of(config);
        end();
        for (SourceName name : NAMES) {
            try {
                use(name, config.sources(), rules);
            } catch (StoreException e) {
                LOG.error("{}: what it has given before could not be stored: {}", name.word(), e.getMessage());
            }
        }
        if (following) {
            threads.forEach(Thread::start);
        }
    }

    private void use(SourceName name, AgentConfig.Sources config, SetRules rules) {
        Optional<Followed> followed = switch (name) {
            case ETCD -> Optional.ofNullable(config.etcd()).map(this::etcd);
            case HTTPS ->
                Optional.ofNullable(config.https()).map(https -> polled(new HttpsFetcher(https), https.interval()));
            default -> Optional.empty();
        };
        if (followed.isEmpty()) {
            withdraw(name);
            return;
        }
        PublishedSource source =
                new PublishedSource(name, followed.get().name(), rules, store, clock, declaring, changed);
        sources.add(source);
        threads.add(Thread.ofVirtual()
                .name("source-" + name.word())
                .unstarted(followed.get().thread().apply(source)));
        source.refresh();
    }

    /** @param thread follows the source that it is given */
    private record Followed(String name, Function<PublishedSource, Runnable> thread) {}

    private Followed etcd(AgentConfig.Etcd config) {
        FleetKeys keys = new FleetKeys(config.prefix());
        return new Followed(
                "etcd:" + keys.set(),
                source -> new EtcdFollower(
                        () -> etcd.apply(config),
                        keys,
                        source,
                        states -> rollouts(source, states),
                        EtcdFollower.LOOK,
                        new SplittableRandom()));
    }

    private Followed polled(SetFetcher fetcher, Duration interval) {
        return new Followed(fetcher.name(), source -> new SetPoller(fetcher, source, interval, new SplittableRandom()));
    }

    /** What a source that is not configured has given. */
    private void withdraw(SourceName name) {
        boolean known = store.publishedSets().stream().anyMatch(one -> one.source() == name)
                || store.problems().stream().anyMatch(problem -> problem.source() == name);
        if (known) {
            declaring.lock();
            try {
                store.withdrawSet(name, clock.instant());
            } finally {
                declaring.unlock();
            }
        }
    }

    /** @param teller that may have been ended meanwhile */
    private synchronized void rollouts(PublishedSource teller, ImmutableSortedMap<String, String> states) {
        if (sources.contains(teller) && !states.equals(store.rolloutStates())) {
            store.storeRolloutStates(states);
        }
    }

    /** Begins to follow them. */
    public synchronized void start() {
        following = true;
        threads.forEach(Thread::start);
    }

    private void end() {
        sources.forEach(PublishedSource::end);
        threads.forEach(Thread::interrupt);
        sources.clear();
        threads.clear();
    }

    @Override
    public synchronized void close() {
        following = false;
        end();
    }
}
