package io.homeostat.desired.channel;

import com.google.common.base.Ticker;
import com.google.rpc.Status;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.homeostat.desired.model.AgentConfig.ControlPlane;
import io.homeostat.desired.platform.MetadataClient;
import io.homeostat.proto.acs.AgentCommunicationGrpc;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.proto.acs.StreamAgentMessagesRequest;
import java.io.IOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The stream to a control plane (google.cloud.agentcommunication.v1), opened again whenever it ended, until it is closed. */
public final class ControlPlaneChannel implements Channel {
    private static final Logger LOG = LoggerFactory.getLogger(ControlPlaneChannel.class);
    /** How long closing waits for a message that is just being taken, and then for it to give way. */
    private static final Duration PATIENCE = Duration.ofSeconds(2);
    /** Up to two seconds: who ends streams on which messages come and go, and be it often, is there and wants us back. */
    private static final int MOST_FAILURES_OF_WHAT_WORKS = 3;

    private final Endpoint endpoint;
    private final Caller caller;
    private final Inbox inbox;
    private final Timing timing;
    private final RandomGenerator random;
    private final Vitals vitals;
    private final Outgoing outgoing;
    private final Posts posts;
    private final CountDownLatch closed = new CountDownLatch(1);
    private final CountDownLatch ended = new CountDownLatch(1);
    /** Threads that wait most of the time, for a store or a network. */
    private final ExecutorService threads = Executors.newThreadPerTaskExecutor(
            Thread.ofVirtual().name("control-plane-", 0).factory());

    private volatile @Nullable Connection current;

    private record Connection(ManagedChannel channel, Stream stream) {}

    /**
     * @param healthy whether it was a stream that lasted
     * @param worked whether something came of it, however long it lasted
     */
    private record Attempt(Ending ending, boolean healthy, boolean worked) {
        Attempt(Ending ending) {
            this(ending, false, false);
        }

        int failuresAfter(int before) {
            if (healthy) {
                return 0;
            }
            return worked ? Math.min(before + 1, MOST_FAILURES_OF_WHAT_WORKS) : before + 1;
        }
    }

    private ControlPlaneChannel(
            ControlPlane config,
            MetadataClient metadata,
            String instance,
            Inbox inbox,
            InstantSource clock,
            Timing timing,
            RandomGenerator random) {
        this.endpoint = new Endpoint(config.endpoint(), config.tls());
        this.caller = new Caller(
                config.channel(),
                new ResourceId(config.resource(), metadata, instance),
                Credential.of(config.identity(), metadata, clock));
        this.inbox = inbox;
        this.timing = timing;
        this.random = random;
        this.vitals = new Vitals(clock);
        this.outgoing = new Outgoing(timing, Ticker.systemTicker());
        this.posts = new Posts(caller, threads);
    }

    /**
     * Starts to connect, and returns.
     *
     * @param metadata for the resource and the identity, as far as the configuration leaves them to it; not closed
     * @param instance the metadata server's id of the instance whose state is used; while that server does not confirm it, nothing is
     *     connected, unless the resource is configured. Empty when it has none
     */
    public static ControlPlaneChannel open(
            ControlPlane config, MetadataClient metadata, String instance, Inbox inbox, InstantSource clock) {
        return open(config, metadata, instance, inbox, clock, Timing.DEFAULT, RandomGenerator.getDefault());
    }

    static ControlPlaneChannel open(
            ControlPlane config,
            MetadataClient metadata,
            String instance,
            Inbox inbox,
            InstantSource clock,
            Timing timing,
            RandomGenerator random) {
        ControlPlaneChannel channel = new ControlPlaneChannel(config, metadata, instance, inbox, clock, timing, random);
        channel.threads.execute(channel::run);
        return channel;
    }

    @Override
    public CompletableFuture<Status> send(String messageId, MessageBody message) {
        return outgoing.add(messageId, message);
    }

    @Override
    public CompletableFuture<Void> post(MessageBody message) {
        Connection connection = current;
        return connection == null || !connection.stream.registered()
                ? CompletableFuture.failedFuture(
                        new IOException("the message was dropped: there is no connection with the control plane"))
                : posts.post(connection.channel, message);
    }

    @Override
    public ChannelStatus status() {
        return vitals.status(endpoint.toString(), outgoing.size());
    }

    private void run() {
        try {
            int failures = 0;
            while (closed.getCount() > 0) {
                Attempt attempt = attempt();
                failures = attempt.failuresAfter(failures);
                Duration pause = pause(attempt.ending, failures);
                learn(attempt.ending, pause);
                boolean _ = closed.await(pause.toMillis(), TimeUnit.MILLISECONDS);
            }
        } catch (InterruptedException e) {
            LOG.debug("The channel was interrupted while it was being closed", e);
        } finally {
            ended.countDown();
        }
    }

    private Duration pause(Ending ending, int failures) {
        return switch (ending) {
            case Ending.Renewed() when failures == 0 -> Duration.ZERO;
            case Ending.Renewed() -> timing.troubled().after(failures, random);
            case Ending.Broken _ -> timing.troubled().after(Math.max(failures, 1), random);
            case Ending.Refused _ -> timing.refused().after(Math.max(failures, 1), random);
        };
    }

    private void learn(Ending ending, Duration pause) {
        switch (ending) {
            case Ending.Renewed() -> {}
            case Ending.Broken(String error) -> tell(error, pause);
            case Ending.Refused(String error, boolean token) -> {
                if (token) {
                    caller.refused();
                }
                tell(error, pause);
            }
        }
    }

    /** Once, however often it happens in a row: a control plane may be away for days. */
    private void tell(String error, Duration pause) {
        if (closed.getCount() > 0 && vitals.failed(error)) {
            LOG.warn("No connection with {}: {}; tried again in {} ms", endpoint, error, pause.toMillis());
        }
    }

    private Attempt attempt() throws InterruptedException {
        try {
            return connect();
        } catch (RuntimeException e) {
            // Whatever it was, without a next attempt there would be no connection until the agent is started again.
            LOG.error("The connection with {} failed in a way that was not expected", endpoint, e);
            return new Attempt(new Ending.Broken("unexpected: " + Ending.shown(e.toString(), "")));
        }
    }

    private Attempt connect() throws InterruptedException {
        ManagedChannel channel;
        Caller.Words words;
        try {
            words = caller.words();
            channel = endpoint.open();
        } catch (IOException e) {
            return new Attempt(new Ending.Broken(Ending.shown(String.valueOf(e.getMessage()), "")));
        }
        try {
            CallOptions options = CallOptions.DEFAULT
                    .withExecutor(threads)
                    .withDeadlineAfter(timing.lifetime(random).toMillis(), TimeUnit.MILLISECONDS);
            Stream stream = new Stream(
                    channel.newCall(AgentCommunicationGrpc.getStreamAgentMessagesMethod(), options),
                    inbox,
                    outgoing,
                    vitals,
                    words);
            current = new Connection(channel, stream);
            try {
                Ending ending = speak(stream);
                return new Attempt(ending, stream.lasted(timing.healthy()), stream.worked());
            } finally {
                stream.abandon();
            }
        } finally {
            current = null;
            vitals.disconnected();
            channel.shutdownNow();
        }
    }

    /** Sends what there is to send until the stream is over. */
    private Ending speak(Stream stream) throws InterruptedException {
        if (closed.getCount() == 0) {
            return new Ending.Renewed();
        }
        outgoing.startOver();
        stream.register();
        CompletableFuture.delayedExecutor(timing.registration().toMillis(), TimeUnit.MILLISECONDS)
                .execute(() -> stream.endUnlessRegistered(timing.registration()));
        for (StreamAgentMessagesRequest next = outgoing.take(stream); next != null; next = outgoing.take(stream)) {
            stream.send(next);
        }
        try {
            return stream.ending().get();
        } catch (ExecutionException e) {
            throw new IllegalStateException("the end of a stream is never exceptional", e);
        }
    }

    @Override
    public void close() {
        closed.countDown();
        Connection connection = current;
        if (connection != null) {
            connection.stream.end(new Ending.Renewed());
        }
        try {
            boolean _ = ended.await(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
            threads.shutdownNow();
            if (!threads.awaitTermination(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)) {
                LOG.warn("A message of the control plane is still being taken while the agent ends");
            }
        } catch (InterruptedException e) {
            threads.shutdownNow();
            Thread.currentThread().interrupt();
        }
        outgoing.close();
        endpoint.close();
    }
}
