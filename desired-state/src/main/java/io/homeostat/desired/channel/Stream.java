package io.homeostat.desired.channel;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.rpc.Code;
import com.google.rpc.Status;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.proto.acs.MessageResponse;
import io.homeostat.proto.acs.RegisterConnection;
import io.homeostat.proto.acs.StreamAgentMessagesRequest;
import io.homeostat.proto.acs.StreamAgentMessagesResponse;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One stream, from its registration to its end. Messages arrive one at a time, on a thread that may block; the next one is requested
 * only when this one's acknowledgement is on its way, so that no control plane can fill our memory.
 */
public final class Stream extends ClientCall.Listener<StreamAgentMessagesResponse> implements SendQueue.Link {
    private static final Logger LOG = LoggerFactory.getLogger(Stream.class);
    private static final Metadata.Key<String> MESSAGE_RATE =
            Metadata.Key.of("agent-communication-message-rate-limit", Metadata.ASCII_STRING_MARSHALLER);
    private static final Metadata.Key<String> BANDWIDTH =
            Metadata.Key.of("agent-communication-bandwidth-limit", Metadata.ASCII_STRING_MARSHALLER);
    /** Characters of the id of a message. It is in our acknowledgement, and of these some wait when they are not read. */
    private static final int LONGEST_ID = 1000;

    /** A control plane that does not read our acknowledgements gets one message received in this time. */
    private static final Duration UNREAD_INTERVAL = Duration.ofSeconds(1);

    private final ClientCall<StreamAgentMessagesRequest, StreamAgentMessagesResponse> call;
    private final Channel.Inbox inbox;
    private final SendQueue queue;
    private final ChannelStatus.Tracker status;
    private final CallerIdentity.Credentials credentials;
    private final Ticker ticker;
    private final String registration = UUID.randomUUID().toString();
    private final AtomicBoolean waiting = new AtomicBoolean();
    private final CompletableFuture<StreamOutcome> ending = new CompletableFuture<>();
    private volatile boolean registered;
    private volatile long registeredAt;
    private volatile boolean worked;
    private volatile @Nullable StreamOutcome reason;

    Stream(
            ClientCall<StreamAgentMessagesRequest, StreamAgentMessagesResponse> call,
            Channel.Inbox inbox,
            SendQueue queue,
            ChannelStatus.Tracker status,
            CallerIdentity.Credentials credentials,
            Ticker ticker) {
        this.call = call;
        this.inbox = inbox;
        this.queue = queue;
        this.status = status;
        this.credentials = credentials;
        this.ticker = ticker;
    }

    /** Registers, unless the stream was ended before. */
    synchronized void register() {
        StreamOutcome why = reason;
        if (why != null) {
            ending.complete(why);
            return;
        }
        call.start(this, credentials.headers());
        call.request(1);
        send(StreamAgentMessagesRequest.newBuilder()
                .setMessageId(registration)
                .setRegisterConnection(RegisterConnection.newBuilder()
                        .setChannelId(credentials.channel())
                        .setResourceId(credentials.resource()))
                .build());
    }

    /** Called by two threads: one sends our messages, the other acknowledges those of the control plane. */
    synchronized void send(StreamAgentMessagesRequest message) {
        if (!over()) {
            call.sendMessage(message);
        }
    }

    /** Ends the stream; the first reason counts. If it has ended by itself its transport may be gone, and is left alone. */
    synchronized void end(StreamOutcome why) {
        if (!over()) {
            reason = why;
            call.cancel("ended by the agent", null);
        }
    }

    /** Completes {@link #ending} although the call may not have ended: nobody follows the stream any more. */
    void abandon() {
        ending.complete(new StreamOutcome.Renewed());
    }

    void endUnlessRegistered(Duration waited) {
        if (!registered) {
            end(new StreamOutcome.Failed(
                    StreamOutcome.Cause.NO_ANSWER,
                    "no answer to the registration within " + waited.toMillis() + " ms"));
        }
    }

    CompletableFuture<StreamOutcome> ending() {
        return ending;
    }

    boolean registered() {
        return registered;
    }

    /** Whether the registration was accepted that long ago. */
    boolean lasted(Duration time) {
        return registered && ticker.read() - registeredAt >= time.toNanos();
    }

    /** Whether it was of use: a message was taken or one of ours answered, and it did not end because that was too much. */
    boolean worked() {
        return worked;
    }

    @Override
    public boolean over() {
        return ending.isDone() || reason != null;
    }

    @Override
    public boolean open() {
        return registered && call.isReady();
    }

    @Override
    public void onHeaders(Metadata headers) {
        queue.limit(perMinute(headers, MESSAGE_RATE), perMinute(headers, BANDWIDTH));
    }

    private static long perMinute(Metadata headers, Metadata.Key<String> key) {
        String value = headers.get(key);
        if (value == null) {
            return 0;
        }
        try {
            return Math.max(0, Long.parseLong(value.strip()));
        } catch (NumberFormatException e) {
            LOG.warn("The control plane's header {} is not a number; nothing is limited by it", key.name());
            return 0;
        }
    }

    @Override
    public void onMessage(StreamAgentMessagesResponse message) {
        status.received();
        switch (message.getTypeCase()) {
            case MESSAGE_RESPONSE ->
                answered(message.getMessageId(), message.getMessageResponse().getStatus());
            case MESSAGE_BODY -> {
                if (message.getMessageId().length() > LONGEST_ID) {
                    end(new StreamOutcome.Failed(
                            StreamOutcome.Cause.ENDED,
                            "the agent ended the stream: the id of a message of the control plane has more than "
                                    + LONGEST_ID + " characters"));
                    return;
                }
                Status acknowledgement = received(message.getMessageId(), message.getMessageBody());
                acknowledge(message.getMessageId(), acknowledgement);
                worked |= registered;
            }
            case TYPE_NOT_SET -> LOG.debug("The control plane sent a message of a type that is not known; ignored");
        }
        requestNext();
    }

    private void answered(String id, Status answer) {
        if (registered && !id.equals(registration)) {
            worked = true;
            queue.answered(id, answer);
        } else if (answer.getCode() != Code.OK_VALUE) {
            String said = StreamOutcome.shown(
                    Code.forNumber(answer.getCode()) + ": " + answer.getMessage(), credentials.token());
            end(new StreamOutcome.Failed(
                    StreamOutcome.Cause.REFUSED, "the control plane refuses the registration: " + said));
        } else if (!registered) {
            registeredAt = ticker.read();
            registered = true;
            status.connected();
            LOG.info("Connected with the control plane");
            queue.wakeUp();
        }
    }

    private Status received(String id, MessageBody body) {
        try {
            return inbox.receive(id, body);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return error(Code.UNAVAILABLE, "the agent is ending");
        } catch (RuntimeException e) {
            LOG.error("A message of the control plane could not be taken; it is told so, and may send it again", e);
            return error(Code.INTERNAL, "the agent could not take the message; its log says why");
        }
    }

    private void acknowledge(String id, Status result) {
        MessageResponse.Builder response = MessageResponse.newBuilder();
        if (!result.equals(Status.getDefaultInstance())) {
            response.setStatus(result);
        }
        send(StreamAgentMessagesRequest.newBuilder()
                .setMessageId(id)
                .setMessageResponse(response)
                .build());
    }

    /**
     * Requests the next message: at once, when our acknowledgements are being read again, or in the end after a while. A stream that has
     * ended behind a message looks like one that is not read, and gRPC reports its end only after that message was requested.
     */
    private void requestNext() {
        waiting.set(true);
        if (call.isReady()) {
            requestIfWaiting();
        } else {
            CompletableFuture.delayedExecutor(UNREAD_INTERVAL.toMillis(), TimeUnit.MILLISECONDS)
                    .execute(this::requestInTheEnd);
        }
    }

    private synchronized void requestInTheEnd() {
        if (!over()) {
            requestIfWaiting();
        }
    }

    private void requestIfWaiting() {
        if (waiting.getAndSet(false)) {
            call.request(1);
        }
    }

    @Override
    public void onReady() {
        requestIfWaiting();
        queue.wakeUp();
    }

    @Override
    public void onClose(io.grpc.Status closed, Metadata trailers) {
        StreamOutcome why = reason;
        worked &= closed.getCode() != io.grpc.Status.Code.RESOURCE_EXHAUSTED;
        ending.complete(why == null ? StreamOutcome.of(closed, credentials.token()) : why);
        queue.wakeUp();
    }

    private static Status error(Code code, String message) {
        return Status.newBuilder().setCode(code.getNumber()).setMessage(message).build();
    }
}
