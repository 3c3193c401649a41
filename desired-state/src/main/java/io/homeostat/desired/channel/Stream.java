package io.homeostat.desired.channel;

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
 * One stream, from its registration to its end. What the control plane sends comes here one at a time, on a thread that may wait;
 * nothing more is asked for before it is done with and the acknowledgement is on its way, so that no control plane can fill our memory.
 */
final class Stream extends ClientCall.Listener<StreamAgentMessagesResponse> implements Outgoing.Way {
    private static final Logger LOG = LoggerFactory.getLogger(Stream.class);
    private static final Metadata.Key<String> MESSAGE_RATE =
            Metadata.Key.of("agent-communication-message-rate-limit", Metadata.ASCII_STRING_MARSHALLER);
    private static final Metadata.Key<String> BANDWIDTH =
            Metadata.Key.of("agent-communication-bandwidth-limit", Metadata.ASCII_STRING_MARSHALLER);
    /** Far more than a UUID. */
    private static final int MAX_ID = 256;
    /** Whoever does not read what we send gets no more than one message heard in this time. */
    private static final Duration UNREAD = Duration.ofSeconds(1);

    private final ClientCall<StreamAgentMessagesRequest, StreamAgentMessagesResponse> call;
    private final Inbox inbox;
    private final Outgoing outgoing;
    private final Vitals vitals;
    private final Caller.Words words;
    private final String registration = UUID.randomUUID().toString();
    private final AtomicBoolean starved = new AtomicBoolean();
    private final CompletableFuture<Ending> ending = new CompletableFuture<>();
    private volatile boolean registered;
    private volatile long registeredAt;
    private volatile boolean worked;
    private volatile @Nullable Ending reason;

    Stream(
            ClientCall<StreamAgentMessagesRequest, StreamAgentMessagesResponse> call,
            Inbox inbox,
            Outgoing outgoing,
            Vitals vitals,
            Caller.Words words) {
        this.call = call;
        this.inbox = inbox;
        this.outgoing = outgoing;
        this.vitals = vitals;
        this.words = words;
    }

    /** Registers; does nothing but end when it was ended before. */
    synchronized void register() {
        Ending why = reason;
        if (why != null) {
            ending.complete(why);
            return;
        }
        call.start(this, words.headers());
        call.request(1);
        send(StreamAgentMessagesRequest.newBuilder()
                .setMessageId(registration)
                .setRegisterConnection(RegisterConnection.newBuilder()
                        .setChannelId(words.channel())
                        .setResourceId(words.resource()))
                .build());
    }

    /** Two threads send: the one that hands out our messages, and the one that acknowledges theirs. */
    synchronized void send(StreamAgentMessagesRequest message) {
        if (!over()) {
            call.sendMessage(message);
        }
    }

    /** Ends the stream; the first reason counts. What has ended by itself is left alone: its transport may be gone. */
    synchronized void end(Ending why) {
        if (!over()) {
            reason = why;
            call.cancel("ended by the agent", null);
        }
    }

    /** Nobody follows it any more, and nothing is to be done with it. */
    void abandon() {
        ending.complete(new Ending.Renewed());
    }

    void endUnlessRegistered(Duration waited) {
        if (!registered) {
            end(new Ending.Broken("no answer to the registration within " + waited.toMillis() + " ms"));
        }
    }

    CompletableFuture<Ending> ending() {
        return ending;
    }

    boolean registered() {
        return registered;
    }

    /** Whether that much time has passed since the registration was accepted. */
    boolean lasted(Duration time) {
        return registered && System.nanoTime() - registeredAt >= time.toNanos();
    }

    /** Whether something came of it: a message was taken, or one of ours answered, and it did not end because that was too much. */
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
        outgoing.limit(perMinute(headers, MESSAGE_RATE), perMinute(headers, BANDWIDTH));
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
        vitals.heard();
        switch (message.getTypeCase()) {
            case MESSAGE_RESPONSE ->
                answered(message.getMessageId(), message.getMessageResponse().getStatus());
            case MESSAGE_BODY -> {
                Status status = received(message.getMessageId(), message.getMessageBody());
                acknowledge(message.getMessageId(), status);
                worked |= registered;
            }
            case TYPE_NOT_SET -> LOG.debug("The control plane sent a message of a type that is not known; ignored");
        }
        more();
    }

    private void answered(String id, Status status) {
        if (registered && !id.equals(registration)) {
            worked = true;
            outgoing.answered(id, status);
        } else if (status.getCode() != Code.OK_VALUE) {
            String said = Ending.shown(Code.forNumber(status.getCode()) + ": " + status.getMessage(), words.token());
            end(new Ending.Refused("the control plane refuses the registration: " + said, false));
        } else if (!registered) {
            registeredAt = System.nanoTime();
            registered = true;
            vitals.connected();
            LOG.info("Connected with the control plane");
            outgoing.look();
        }
    }

    private Status received(String id, MessageBody body) {
        if (id.isEmpty() || id.length() > MAX_ID) {
            return error(Code.INVALID_ARGUMENT, "MISSING_MESSAGE_ID: a message needs an id of 1 to 256 characters");
        }
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

    private void acknowledge(String id, Status status) {
        MessageResponse.Builder response = MessageResponse.newBuilder();
        if (!status.equals(Status.getDefaultInstance())) {
            response.setStatus(status);
        }
        send(StreamAgentMessagesRequest.newBuilder()
                .setMessageId(id)
                .setMessageResponse(response)
                .build());
    }

    /**
     * Asks for the next message, at once or when our acknowledgements are being read again; in the end in any case. A stream that has
     * ended behind a message looks like one that is not read, and its end is told only after that message was asked for.
     */
    private void more() {
        starved.set(true);
        if (call.isReady()) {
            feed();
        } else {
            CompletableFuture.delayedExecutor(UNREAD.toMillis(), TimeUnit.MILLISECONDS)
                    .execute(this::feedInTheEnd);
        }
    }

    private synchronized void feedInTheEnd() {
        if (!over()) {
            feed();
        }
    }

    private void feed() {
        if (starved.getAndSet(false)) {
            call.request(1);
        }
    }

    @Override
    public void onReady() {
        feed();
        outgoing.look();
    }

    @Override
    public void onClose(io.grpc.Status status, Metadata trailers) {
        Ending why = reason;
        worked &= status.getCode() != io.grpc.Status.Code.RESOURCE_EXHAUSTED;
        ending.complete(why == null ? Ending.of(status, words.token()) : why);
        outgoing.look();
    }

    private static Status error(Code code, String message) {
        return Status.newBuilder().setCode(code.getNumber()).setMessage(message).build();
    }
}
