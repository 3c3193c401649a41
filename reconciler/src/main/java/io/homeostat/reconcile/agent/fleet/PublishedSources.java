package io.homeostat.reconcile.agent.fleet;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.etcd.EtcdKeyValues;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.MachineLabels;
import io.homeostat.desired.fleet.SetReader;
import io.homeostat.desired.fleet.SetSelection;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.platform.LargeWork;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.remote.BucketClient;
import io.homeostat.desired.remote.BucketFetcher;
import io.homeostat.desired.remote.GitFetcher;
import io.homeostat.desired.remote.HttpsFetcher;
import io.homeostat.desired.remote.LargeSetLock;
import io.homeostat.desired.remote.SetFetcher;
import io.homeostat.desired.signature.KeyFailure;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.StoredSet;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The sources of published sets of an agent, each followed by a thread of its own. What they have given before counts until they answer. */
public final class PublishedSources implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PublishedSources.class);

    /** Those that sets are published to. */
    public static final ImmutableList<SourceName> NAMES =
            ImmutableList.of(SourceName.ETCD, SourceName.BUCKET, SourceName.HTTPS, SourceName.GIT);

    private final Layout layout;
    private final MetadataServer metadata;
    private final StateStore store;
    private final InstantSource clock;
    private final Lock declaring;
    private final Runnable changed;
    private final Member member;
    private final Function<AgentConfig.Etcd, KeyValues> etcd;
    /** Of all sources, also of those that are not configured any more and not ended yet. */
    private final LargeSetLock large = new LargeSetLock(LargeWork.LOCK);

    private final RolloutStates rolloutStates;

    private final List<Thread> threads = new ArrayList<>();
    /** What agent.yaml names, also while {@link #sources} does not have all of it yet. */
    private volatile ImmutableSet<SourceName> configured = ImmutableSet.of();

    /** Whether nothing is left of those that it does not name. */
    private volatile boolean othersWithdrawn;

    private volatile ImmutableList<PublishedSource> sources = ImmutableList.of();
    private AgentConfig.@Nullable Etcd fleet;
    private AgentConfig.@Nullable Bucket bucket;
    private @Nullable KeyValues connection;
    private volatile ImmutableList<Reporter> reporters = ImmutableList.of();
    private boolean following;

    /**
     * This machine as one of a fleet.
     *
     * @param version of the agent
     * @param labels what placement goes by, as of now
     */
    public record Member(
            String instanceId, String version, Supplier<MachineLabels> labels, ReportedWorkloads workloads) {}

    /**
     * @param metadata asked for credentials for buckets
     * @param declaring held while something is stored
     * @param changed is called when something may be declared otherwise
     */
    public PublishedSources(
            Layout layout,
            MetadataServer metadata,
            StateStore store,
            InstantSource clock,
            Lock declaring,
            Runnable changed,
            Member member) {
        this(layout, metadata, store, clock, declaring, changed, member, EtcdKeyValues::new);
    }

    PublishedSources(
            Layout layout,
            MetadataServer metadata,
            StateStore store,
            InstantSource clock,
            Lock declaring,
            Runnable changed,
            Member member,
            Function<AgentConfig.Etcd, KeyValues> etcd) {
        this.layout = layout;
        this.metadata = metadata;
        this.store = store;
        this.rolloutStates = new RolloutStates(store);
        this.clock = clock;
        this.declaring = declaring;
        this.changed = () -> {
            withdrawTheOthers();
            changed.run();
            report();
        };
        this.member = member;
        this.etcd = etcd;
    }

    /**
     * From here on the sources of this configuration count, with what they have given before. What others have given is withdrawn, once each
     * of these has given something: one source may take the place of another.
     *
     * @throws KeyFailure when the keys can't be read that sets have to be signed with; nothing has changed then
     */
    public synchronized void use(AgentConfig config) throws KeyFailure {
        SetReader reader = SetReader.of(config.signatures().documents());
        end();
        // Not before: what was followed until now may have given something until then.
        othersWithdrawn = false;
        configured = NAMES.stream()
                .filter(name -> isConfigured(name, config.sources()))
                .collect(ImmutableSet.toImmutableSet());
        fleet = config.sources().etcd();
        bucket = config.sources().bucket();
        connection = fleet == null ? null : etcd.apply(fleet);
        for (SourceName name : NAMES) {
            try {
                use(name, config.sources(), reader);
            } catch (StoreException e) {
                LOG.error("{}: what it has given before could not be stored: {}", name.word(), e.getMessage());
            }
        }
        withdrawTheOthers();
        if (following) {
            follow();
        }
    }

    private static boolean isConfigured(SourceName name, AgentConfig.Sources config) {
        return switch (name) {
            case ETCD -> config.etcd() != null;
            case HTTPS -> config.https() != null;
            case GIT -> config.git() != null;
            case BUCKET -> config.bucket() != null;
            default -> false;
        };
    }

    private void use(SourceName name, AgentConfig.Sources config, SetReader reader) {
        Optional<Followed> followed = switch (name) {
            case ETCD ->
                Optional.ofNullable(connection)
                        .map(open -> followed(open, keys(Objects.requireNonNull(config.etcd()))));
            case HTTPS ->
                Optional.ofNullable(config.https())
                        .map(https -> polled(new HttpsFetcher(https, large), https.interval()));
            case GIT ->
                Optional.ofNullable(config.git())
                        .map(git -> polled(new GitFetcher(git, layout.repositories(), large), git.interval()));
            case BUCKET ->
                Optional.ofNullable(config.bucket())
                        .map(bucket -> polled(BucketFetcher.of(bucket, metadata, clock, large), bucket.interval()));
            default -> Optional.empty();
        };
        if (followed.isEmpty()) {
            return;
        }
        PublishedSource source = new PublishedSource(
                name, followed.get().name(), reader, () -> choice(name), store, clock, declaring, changed);
        sources = ImmutableList.<PublishedSource>builder()
                .addAll(sources)
                .add(source)
                .build();
        threads.add(Thread.ofVirtual()
                .name("source-" + name.word())
                .unstarted(followed.get().thread().apply(source)));
        source.refresh();
    }

    /** @param thread follows the source that it is given */
    private record Followed(String name, Function<PublishedSource, Runnable> thread) {}

    private Followed followed(KeyValues open, FleetKeys keys) {
        return new Followed(
                "etcd:" + keys.set(),
                source -> new EtcdFollower(
                        open,
                        keys,
                        source,
                        large,
                        states -> rollouts(source, states),
                        EtcdFollower.LOOK,
                        clock,
                        new SplittableRandom()));
    }

    private static FleetKeys keys(AgentConfig.Etcd config) {
        return new FleetKeys(config.prefix());
    }

    private SetSelection choice(SourceName name) {
        return SetSelection.of(store, rolloutStates.now(), name, member.labels().get(), member.instanceId());
    }

    private Followed polled(SetFetcher fetcher, Duration interval) {
        return new Followed(
                fetcher.name(), source -> new SetPoller(fetcher, source, large, interval, new SplittableRandom()));
    }

    /** What sources have given that are not configured. What fails is tried again after the next answer. */
    private void withdrawTheOthers() {
        if (othersWithdrawn) {
            return;
        }
        ImmutableSet<SourceName> named = configured;
        ImmutableList<StoredSet.Standing> standings = store.publishedSets();
        ImmutableSet<SourceName> giving = standings.stream()
                .filter(standing -> standing.set().isPresent())
                .map(StoredSet.Standing::source)
                .collect(ImmutableSet.toImmutableSet());
        if (!giving.containsAll(named)) {
            return;
        }
        ImmutableSet<SourceName> others = Stream.concat(
                        standings.stream().map(StoredSet.Standing::source),
                        store.problems().stream().map(SourceProblem::source))
                .filter(name -> NAMES.contains(name) && !named.contains(name))
                .collect(ImmutableSet.toImmutableSet());
        boolean withdrawn = true;
        for (SourceName name : others) {
            declaring.lock();
            try {
                store.withdrawSet(name, clock.instant());
            } catch (StoreException e) {
                withdrawn = false;
                LOG.error("{}: what it has given could not be withdrawn: {}", name.word(), e.getMessage());
            } finally {
                declaring.unlock();
            }
        }
        othersWithdrawn = withdrawn;
    }

    /**
     * How rollouts stand now.
     *
     * @param teller that may have been ended meanwhile
     */
    private void rollouts(PublishedSource teller, ImmutableSortedMap<String, String> states) {
        synchronized (this) {
            if (!sources.contains(teller)) {
                return;
            }
            rolloutStates.heard(
                    states,
                    sources.stream()
                            .flatMap(source -> source.rollouts().stream())
                            .collect(ImmutableSet.toImmutableSet()));
        }
        refreshWhatMoved();
    }

    private void registered(ImmutableSortedMap<String, String> labels, long revision) {
        if (!store.registeredAt(labels).equals(OptionalLong.of(revision))) {
            store.storeRegistration(revision, labels);
            refreshWhatMoved();
        }
    }

    /** Labels, facts of the host, or how rollouts stand may be others: then other documents may be for this machine. */
    public void refreshWhatMoved() {
        sources.forEach(PublishedSource::refreshIfMoved);
        report();
    }

    private void report() {
        reporters.forEach(Reporter::changed);
    }

    private Reporter.About about() {
        Optional<StoredSet> set = store.publishedSets().stream()
                .flatMap(standing -> standing.set().stream())
                .findFirst();
        return new Reporter.About(
                member.version(),
                member.labels().get().labels(),
                set.map(one -> one.source().word()).orElse(""),
                set.map(StoredSet::version).orElse(""),
                set.map(StoredSet::sequence).orElse(0L),
                store.problems().size());
    }

    /** Begins to follow them, and to report. */
    public synchronized void start() {
        following = true;
        follow();
    }

    private void follow() {
        threads.forEach(Thread::start);
        ImmutableList.Builder<Reporter> told = ImmutableList.builder();
        if (connection != null && fleet != null) {
            told.add(new FleetReporter(
                    connection,
                    keys(fleet),
                    member.instanceId(),
                    member.workloads(),
                    this::about,
                    clock,
                    new SplittableRandom(),
                    Reporter.INTERVAL,
                    FleetReporter.LEASE,
                    this::registered));
        }
        if (bucket != null && bucket.reports() != null) {
            told.add(new BucketReporter(
                    new BucketClient(bucket, metadata, clock),
                    bucket.reports(),
                    member.instanceId(),
                    member.workloads(),
                    this::about,
                    clock,
                    new SplittableRandom(),
                    Reporter.INTERVAL,
                    BucketReporter.RENEWAL));
        }
        reporters = told.build();
        member.workloads().onChange(this::report);
        reporters.forEach(Reporter::start);
    }

    /** Why the fleet hears nothing of this machine; empty when it does, or there is none. */
    public String problem() {
        return reporters.stream()
                .map(Reporter::problem)
                .filter(problem -> !problem.isEmpty())
                .collect(Collectors.joining("; "));
    }

    private void end() {
        sources.forEach(PublishedSource::end);
        sources = ImmutableList.of();
        threads.forEach(Thread::interrupt);
        threads.clear();
        reporters.forEach(Reporter::close);
        reporters = ImmutableList.of();
        if (connection != null) {
            connection.close();
            connection = null;
        }
    }

    @Override
    public synchronized void close() {
        following = false;
        end();
    }
}
