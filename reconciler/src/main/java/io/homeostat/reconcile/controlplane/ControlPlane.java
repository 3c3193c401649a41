package io.homeostat.reconcile.controlplane;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.protobuf.Any;
import io.homeostat.desired.channel.Channel;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventQueue;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateStore;
import io.homeostat.observe.host.Kernel;
import io.homeostat.observe.host.OsRelease;
import io.homeostat.proto.acs.MessageBody;
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
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The agent's side of its control plane: connected as long as one is configured, whatever that one does. Nothing here can keep the
 * loop from its work.
 */
public final class ControlPlane implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ControlPlane.class);
    private static final Duration BETWEEN_REPORTS = Duration.ofSeconds(60);

    private final Enforcement enforcement;
    private final Connector connector;
    private final States states;
    private final StateStore store;
    private final Modules modules;
    private final InstantSource clock;
    private final Peer peer;
    private final Refusals refusals = new Refusals();
    private final EventBound events;
    private final ScheduledExecutorService reporting = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().name("control-plane").daemon(true).factory());

    private volatile ImmutableSet<String> protectedPlugins = ImmutableSet.of();
    /** How many refusals were withheld when that was last told; of the reporting thread. */
    private long withheld;

    private AgentConfig.@Nullable ControlPlane configured;
    private @Nullable Connection connection;

    /** One configured control plane, from the moment in which it was configured until it is no longer. */
    private record Connection(Channel channel, StatesReplies states, EventDelivery delivery) {
        void close() {
            states.close();
            delivery.close();
            channel.close();
        }
    }

    /**
     * Makes the side of an agent that is connected with nobody yet.
     *
     * @param store of the agent; used, not closed
     * @param version of this program, for the control plane to know
     */
    public ControlPlane(
            Enforcement enforcement,
            Connector connector,
            States states,
            StateStore store,
            Modules modules,
            String version,
            InstantSource clock) {
        this(enforcement, connector, states, store, modules, version, clock, BETWEEN_REPORTS);
    }

    /** @param betweenReports how long from one report on our modules to the next */
    ControlPlane(
            Enforcement enforcement,
            Connector connector,
            States states,
            StateStore store,
            Modules modules,
            String version,
            InstantSource clock,
            Duration betweenReports) {
        this.enforcement = enforcement;
        this.connector = connector;
        this.states = states;
        this.store = store;
        this.modules = modules;
        this.clock = clock;
        this.peer = new Peer(version, new OsRelease(), new Kernel(), System.getProperty("os.arch", ""));
        this.events = new EventBound(store);
        this.withheld = store.eventQueue().withheld();
        // It ends with this, and what it throws it logs.
        ScheduledFuture<?> _ = reporting.scheduleAtFixedRate(
                this::report, betweenReports.toMillis(), betweenReports.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** From here on this configuration holds; a connection that it does not change goes on. */
    public synchronized void use(AgentConfig config) {
        protectedPlugins = ImmutableSet.copyOf(config.protectedPlugins());
        events.keep(config.limits().events());
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
        Replies replies = new Replies(opened);
        StatesReplies answers = new StatesReplies(enforcement::plugins, states, replies);
        Requests requests = new Requests(
                peer,
                replies,
                answers,
                (messageId, items) -> accept(messageId, items, wanted.endpoint()),
                () -> protectedPlugins,
                clock);
        Channel channel = connector.open(wanted, requests);
        opened.complete(channel);
        return new Connection(channel, answers, EventDelivery.start(store.outbox(), channel));
    }

    /** There is nobody to tell them. What was declared stays declared: a lost line in agent.yaml must not end what runs. */
    private void forgetEvents() {
        if (store.eventQueue().open()) {
            int forgotten = store.outbox().discard();
            LOG.info(
                    "no control plane is configured any more; what it declared stays declared, {} events for it are forgotten",
                    forgotten);
        }
    }

    private void accept(String messageId, ImmutableList<Item> items, String endpoint) {
        enforcement.declare(store -> {
            Instant now = clock.instant();
            Translation.Outcome outcome = Translation.of(
                    messageId,
                    items,
                    new Translation.Known(store.declarations(), store::history, endpoint, now, refusals.left(now)));
            if (!store.receive(outcome.change())) {
                return ImmutableSet.of();
            }
            refusals.leave(outcome.refusals());
            events.stored(outcome.change().events().size(), now);
            return outcome.change().histories().keySet();
        });
    }

    /** How things stand; empty when no control plane is configured. */
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
            // Thrown on, it would be the last report.
            LOG.warn("how our modules fare could not be told: {}", e.getMessage(), e);
        }
    }

    /** Not with each message: that would be as many events as were spared. */
    private void tellWithheld() {
        long all = store.eventQueue().withheld();
        long more = all - withheld;
        if (more > 0) {
            String words = more
                    + " refused items of the control plane were not told one by one: it sends more of them than "
                    + Refusals.MOST + " at once and then one in " + Refusals.FOR_ONE_MORE.toMillis() + " ms; " + all
                    + " altogether";
            store.record(new Event(clock.instant(), null, "", EventType.AGENT_REFUSALS_WITHHELD, words));
            withheld = all;
            LOG.warn("{}", words);
        }
    }

    private synchronized void post() {
        if (connection != null) {
            CompletableFuture<Void> _ = connection
                    .channel()
                    .post(MessageBody.newBuilder()
                            .putLabels(MessageType.LABEL, MessageType.MODULE_METRICS)
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
}
