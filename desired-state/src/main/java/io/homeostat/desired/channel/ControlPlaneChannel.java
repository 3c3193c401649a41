package io.homeostat.desired.channel;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.rpc.Status;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.homeostat.desired.model.AgentConfig.ControlPlane;
import io.homeostat.desired.platform.MetadataClient;
import io.homeostat.desired.platform.VirtualThreads;
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

/** A channel over streams of google.cloud.agentcommunication.v1: one after the other, until it is closed. */
public final class ControlPlaneChannel implements Channel {
    private static final Logger LOG = LoggerFactory.getLogger(ControlPlaneChannel.class);
    /** How long closing waits for a message that is being taken, and then for it to give way to an interruption. */
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(2);
    /** Limits the delay to two seconds: a control plane with which messages are exchanged is there, however often it ends streams. */
    private static final int MOST_FAILURES_OF_WHAT_WORKS = 3;

    private final Endpoint endpoint;
    private final CallerIdentity caller;
    private final Inbox inbox;
    private final ChannelTiming timing;
    private final RandomGenerator random;
    private final ChannelStatus.Tracker status;
    private final SendQueue queue;
    private final UnarySender unary;
    private final Ticker ticker = Ticker.systemTicker();
    private final CountDownLatch closed = new CountDownLatch(1);
    private final CountDownLatch ended = new CountDownLatch(1);
    /** They wait most of the time, for the store or the network. */
    private final ExecutorService threads =
            Executors.newThreadPerTaskExecutor(VirtualThreads.factory("control-plane-"));

    private volatile @Nullable Connection current;

    private record Connection(ManagedChannel channel, Stream stream) {}

    /** @param worked whether it was of use, however long it lasted */
    private record Attempt(StreamOutcome end, boolean healthy, boolean worked) {
        Attempt(StreamOutcome.Cause cause, String error) {
            this(new StreamOutcome.Failed(cause, StreamOutcome.shown(error, "")), false, false);
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
            ChannelTiming timing,
            RandomGenerator random) {
        this.endpoint = new Endpoint(config.endpoint(), config.tls());
        this.caller = new CallerIdentity(config, metadata, instance, clock);
        this.inbox = inbox;
        this.timing = timing;
        this.random = random;
        this.status = new ChannelStatus.Tracker(clock);
        this.queue = new SendQueue(timing, ticker);
        this.unary = new UnarySender(caller, threads);
    }

    /**
     * Starts to connect, and returns.
     *
     * @param metadata for the resource and the identity, as far as they are not configured; not closed
     * @param instance the metadata server's id of the instance whose state is used. Unless the resource is configured, nothing is
     *     connected before that server has confirmed it. Empty if it has none
     */
    public static ControlPlaneChannel open(
            ControlPlane config, MetadataClient metadata, String instance, Inbox inbox, InstantSource clock) {
        return open(config, metadata, instance, inbox, clock, ChannelTiming.DEFAULT, RandomGenerator.getDefault());
    }

    static ControlPlaneChannel open(
            ControlPlane config,
            MetadataClient metadata,
            String instance,
            Inbox inbox,
            InstantSource clock,
            ChannelTiming timing,
            RandomGenerator random) {
        ControlPlaneChannel channel = new ControlPlaneChannel(config, metadata, instance, inbox, clock, timing, random);
        channel.threads.execute(channel::run);
        return channel;
    }

    @Override
    public CompletableFuture<Status> send(String messageId, MessageBody message) {
        return queue.add(messageId, message);
    }

    @Override
    public CompletableFuture<Void> post(MessageBody message) {
        Connection connection = current;
        return connection == null || !connection.stream.registered()
                ? CompletableFuture.failedFuture(
                        new IOException("the message was dropped: there is no connection with the control plane"))
                : unary.send(connection.channel, message);
    }

    @Override
    public ChannelStatus status() {
        return status.status(endpoint.toString(), queue.size());
    }

    private void run() {
        try {
            int failures = 0;
            while (closed.getCount() > 0) {
                Attempt attempt = attempt();
                failures = attempt.failuresAfter(failures);
                Duration delay = timing.delay(attempt.end, failures, random);
                conclude(attempt.end, delay);
                boolean _ = closed.await(delay.toMillis(), TimeUnit.MILLISECONDS);
            }
        } catch (InterruptedException e) {
            LOG.debug("The channel was interrupted while it was being closed", e);
        } finally {
            ended.countDown();
        }
    }

    private void conclude(StreamOutcome end, Duration delay) {
        if (end instanceof StreamOutcome.Failed failed) {
            if (failed.cause() == StreamOutcome.Cause.UNAUTHENTICATED) {
                caller.refused();
            }
            // Once for each cause in a row: a control plane may be away for days.
            if (closed.getCount() > 0 && status.failed(failed)) {
                LOG.warn("No connection with {}: {}; tried again in {} ms", endpoint, failed.error(), delay.toMillis());
            }
        }
    }

    private Attempt attempt() throws InterruptedException {
        try {
            return connect();
        } catch (RuntimeException e) {
            // Without a next attempt there would be no connection until the agent is restarted.
            LOG.error("The connection with {} failed in a way that was not expected", endpoint, e);
            return new Attempt(StreamOutcome.Cause.UNEXPECTED, "unexpected: " + e);
        }
    }

    private Attempt connect() throws InterruptedException {
        CallerIdentity.Credentials credentials;
        try {
            credentials = caller.credentials();
        } catch (IOException e) {
            return new Attempt(StreamOutcome.Cause.NO_IDENTITY, String.valueOf(e.getMessage()));
        }
        ManagedChannel channel;
        try {
            channel = endpoint.open();
        } catch (IOException | StatusRuntimeException e) {
            // The latter when the agent is ending.
            return new Attempt(StreamOutcome.Cause.BAD_ENDPOINT, String.valueOf(e.getMessage()));
        }
        try {
            CallOptions options = CallOptions.DEFAULT
                    .withExecutor(threads)
                    .withDeadlineAfter(timing.lifetime(random).toMillis(), TimeUnit.MILLISECONDS);
            Stream stream = new Stream(
                    channel.newCall(AgentCommunicationGrpc.getStreamAgentMessagesMethod(), options),
                    inbox,
                    queue,
                    status,
                    credentials,
                    ticker);
            current = new Connection(channel, stream);
            try {
                StreamOutcome end = exchange(stream);
                return new Attempt(end, stream.lasted(timing.healthy()), stream.worked());
            } finally {
                stream.abandon();
            }
        } finally {
            current = null;
            status.disconnected();
            channel.shutdownNow();
        }
    }

    /** Registers, and sends what there is to send until the stream is over. */
    private StreamOutcome exchange(Stream stream) throws InterruptedException {
        if (closed.getCount() == 0) {
            return new StreamOutcome.Renewed();
        }
        queue.startOver();
        stream.register();
        CompletableFuture.delayedExecutor(timing.registration().toMillis(), TimeUnit.MILLISECONDS)
                .execute(() -> stream.endUnlessRegistered(timing.registration()));
        for (StreamAgentMessagesRequest next = queue.take(stream); next != null; next = queue.take(stream)) {
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
            connection.stream.end(new StreamOutcome.Renewed());
        }
        try {
            boolean _ = ended.await(CLOSE_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
            threads.shutdownNow();
            if (!threads.awaitTermination(CLOSE_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)) {
                LOG.warn("A message of the control plane is still being taken while the agent ends");
            }
        } catch (InterruptedException e) {
            threads.shutdownNow();
            Thread.currentThread().interrupt();
        }
        queue.close();
        endpoint.close();
    }
}
