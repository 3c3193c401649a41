package io.homeostat.reconcile.controlplane;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.protobuf.Any;
import io.homeostat.desired.channel.Channel;
import io.homeostat.desired.channel.ChannelStatus;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.BriefText;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateReader.EventQueue;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.yaml.CanonicalDocument;
import io.homeostat.observe.host.Kernel;
import io.homeostat.observe.host.OsRelease;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.reconcile.controlplane.ConfigureEvents.RefusalLimit;
import io.homeostat.reconcile.status.Survey.Finding;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The agent's side of the connection to a control plane, kept up as long as one is configured. Nothing here can hold up the loop.
 */
public final class ControlPlane implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ControlPlane.class);
    /** Between two reports on our modules. */
    public static final Duration REPORT_INTERVAL = Duration.ofSeconds(60);

    private final Host host;
    private final Connector connector;
    private final PluginStates.Source states;
    private final StateStore store;
    private final Modules modules;
    private final InstantSource clock;
    private final SystemInfo info;
    private final RefusalLimit refusals = new RefusalLimit();
    private final EventTrimmer events;
    private final ScheduledExecutorService reporting = Executors.newSingleThreadScheduledExecutor(
            Thread.ofVirtual().name("control-plane").factory());

    private volatile ImmutableSet<String> protectedPlugins = ImmutableSet.of();
    /** How many withheld refusals have been reported; used by the reporting thread. */
    private long withheldReported;

    private AgentConfig.@Nullable ControlPlane configured;
    private @Nullable Connection connection;

    /** What serves one configured control plane, until another one or none is configured. */
    private record Connection(Channel channel, PluginStatesResponder states, EventDelivery delivery) {
        void close() {
            states.close();
            delivery.close();
            channel.close();
        }
    }

    /**
     * Not connected before {@link #use}.
     *
     * @param store of the agent; not closed
     * @param version of this program
     * @param reportInterval between two reports on our modules
     */
    public ControlPlane(
            Host host,
            Connector connector,
            PluginStates.Source states,
            StateStore store,
            Modules modules,
            String version,
            InstantSource clock,
            Duration reportInterval) {
        this.host = host;
        this.connector = connector;
        this.states = states;
        this.store = store;
        this.modules = modules;
        this.clock = clock;
        this.info = new SystemInfo(version, new OsRelease(), new Kernel(), System.getProperty("os.arch", ""));
        this.events = new EventTrimmer(store);
        this.withheldReported = store.eventQueue().withheld();
        // It ends when this is closed, and logs what it throws.
        ScheduledFuture<?> _ = reporting.scheduleAtFixedRate(
                this::report, reportInterval.toMillis(), reportInterval.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** Applies a configuration; a connection that it does not change stays open. */
    public synchronized void use(AgentConfig config) {
        protectedPlugins = ImmutableSet.copyOf(config.protectedPlugins());
        events.limit(config.limits().events());
        AgentConfig.ControlPlane wanted = config.sources().controlPlane();
        if (connection != null && Objects.equals(wanted, configured)) {
            return;
        }
        disconnect();
        configured = wanted;
        if (wanted == null) {
            forgetEvents();
        } else {
            connection = connect(wanted);
            LOG.info("the control plane is {}", wanted.endpoint());
        }
    }

    private Connection connect(AgentConfig.ControlPlane wanted) {
        CompletableFuture<Channel> opened = new CompletableFuture<>();
        ReplySender replies = new ReplySender(opened);
        PluginStatesResponder answers =
                new PluginStatesResponder(host::plugins, states, replies, PluginStatesResponder.BETWEEN_LOOKS);
        Requests requests = new Requests(
                info,
                replies,
                answers,
                items -> accept(items, wanted.endpoint()),
                () -> new ConfigureItem.Rules(protectedPlugins, wanted.allowUnverified()),
                clock);
        Channel channel = connector.open(wanted, requests);
        opened.complete(channel);
        return new Connection(channel, answers, EventDelivery.start(store.outbox(), channel));
    }

    /** There is nobody left to report to. Declarations stay: a line lost from agent.yaml must not stop what runs. */
    private void forgetEvents() {
        if (store.eventQueue().open()) {
            int forgotten = store.outbox().discard();
            LOG.info(
                    "no control plane is configured any more; what it declared stays declared, {} events for it are forgotten",
                    forgotten);
        }
    }

    private void accept(ImmutableList<ConfigureItem> items, String endpoint) {
        host.declare(store -> {
            Instant now = clock.instant();
            ConfigureHandler.Outcome outcome = ConfigureHandler.handle(
                    items,
                    new ConfigureHandler.Known(
                            store.declarations(),
                            store::history,
                            endpoint,
                            now,
                            refusals.available(now),
                            CanonicalDocument::of));
            store.receive(outcome.change());
            refusals.told(outcome.refusals());
            outcome.refused()
                    .forEach(event -> LOG.warn(
                            "[{}] {}: {}",
                            BriefText.of(String.valueOf(event.workload())),
                            event.type().words(),
                            event.message()));
            events.stored(outcome.change().events(), now);
            return outcome.change().histories().keySet();
        });
    }

    /** The state of the connection; empty if no control plane is configured. */
    public synchronized Optional<ControlPlaneStatus> status() {
        return Optional.ofNullable(connection).map(open -> {
            EventQueue queue = store.eventQueue();
            return new ControlPlaneStatus(
                    open.channel().status(), queue.queued(), queue.dropped(), queue.refused(), queue.withheld());
        });
    }

    private void report() {
        try {
            tellWithheld();
            post();
        } catch (RuntimeException e) {
            // Thrown on, it would end the reports.
            LOG.warn("how our modules fare could not be told: {}", e.getMessage(), e);
        }
    }

    /** Not for each message, or there would be as many events as were withheld. */
    private void tellWithheld() {
        long all = store.eventQueue().withheld();
        long more = all - withheldReported;
        if (more > 0) {
            String words = more
                    + " refused items of the control plane were not told one by one: it sends more of them than "
                    + RefusalLimit.MOST + " at once and then one in " + RefusalLimit.INTERVAL.toMillis() + " ms; " + all
                    + " altogether";
            store.record(new Event(clock.instant(), null, "", EventType.AGENT_REFUSALS_WITHHELD, words));
            withheldReported = all;
            LOG.warn("{}", words);
        }
    }

    private synchronized void post() {
        if (connection != null) {
            CompletableFuture<Void> _ = connection
                    .channel()
                    .post(MessageBody.newBuilder()
                            .putLabels(Protocol.MESSAGE_TYPE, Protocol.MODULE_METRICS)
                            .setBody(Any.pack(modules.report()))
                            .build())
                    .exceptionally(failure -> {
                        LOG.debug("the control plane did not take how our modules fare", failure);
                        return null;
                    });
        }
    }

    private void disconnect() {
        if (connection != null) {
            connection.close();
            connection = null;
        }
    }

    @Override
    public synchronized void close() {
        reporting.shutdownNow();
        disconnect();
    }

    /** What a control plane can ask of this machine; provided by the agent. */
    public interface Host {
        /**
         * Changes what is declared and has it enforced, without waiting for that.
         *
         * @param change applied to the store at once, while no pass can write; returns the workloads that need a pass beside those
         *     whose declaration changes. If it throws, nothing else happens
         */
        void declare(Function<StateStore, ImmutableSet<WorkloadId>> change);

        /** Looks at all plugins after the loop has had a pass over each; waits a bounded time for that. */
        ImmutableList<Finding> plugins() throws InterruptedException;
    }

    /** Opens channels. */
    @FunctionalInterface
    public interface Connector {
        /** Starts to connect and returns at once: no answer is a state of the channel, not a failure. */
        Channel open(AgentConfig.ControlPlane endpoint, Channel.Inbox inbox);
    }

    /**
     * The state of the connection to the control plane.
     *
     * @param queuedEvents not acknowledged yet
     * @param droppedEvents dropped because there were too many
     * @param refusedEvents refused by the control plane
     * @param withheldRefusals refused items of its messages that got no event, because there were too many
     */
    public record ControlPlaneStatus(
            ChannelStatus channel, long queuedEvents, long droppedEvents, long refusedEvents, long withheldRefusals) {}

    /**
     * Enforces {@code limits.events} while messages come. For what happens on the machine periodic trimming is enough, but a control plane
     * that repeats its requests could fill the disk in between; acknowledgements wait for the trimming.
     */
    static final class EventTrimmer {
        private final StateStore store;
        private int limit = Integer.MAX_VALUE;
        private int stored;
        private long bytes;

        EventTrimmer(StateStore store) {
            this.store = store;
        }

        synchronized void limit(int events) {
            limit = events;
        }

        /** Trims, if as many events, or as long ones, as are kept were stored because of messages. */
        synchronized void stored(ImmutableList<Event> events, Instant now) {
            stored += events.size();
            bytes += events.stream().mapToLong(Event::bytes).sum();
            if (stored < limit && bytes < StateStore.MOST_EVENT_BYTES) {
                return;
            }
            try {
                int dropped = store.trimEvents(limit, now);
                stored = 0;
                bytes = 0;
                if (dropped > 0) {
                    LOG.warn("{} events were dropped: the control plane causes more than it acknowledges", dropped);
                }
            } catch (StoreException e) {
                LOG.warn("{}; events are trimmed later", e.getMessage());
            }
        }
    }
}
