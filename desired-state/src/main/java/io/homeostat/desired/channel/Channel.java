package io.homeostat.desired.channel;

import com.google.rpc.Status;
import io.homeostat.proto.acs.MessageBody;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/** The connection with a control plane, restored whenever it breaks. */
public interface Channel extends AutoCloseable {
    /**
     * How many messages may be in flight at once, in the order in which they were given; the others wait, which bounds what a new stream
     * has to send again. Whoever has many messages should leave room for others.
     */
    int WINDOW = 32;

    /**
     * Sends a message, over as many streams as it takes, until it is acknowledged.
     *
     * @return completed with the acknowledgement; the default instance means success. A message of more than 4 MiB is not sent but
     *     answered with INVALID_ARGUMENT. Cancelling withdraws a message that was not sent yet. Fails only when the channel is closed.
     *     Dependents that are not asynchronous run on the receiving thread and hold it up
     */
    default CompletableFuture<Status> send(MessageBody message) {
        return send(UUID.randomUUID().toString(), message);
    }

    /**
     * Sends a message that may have been sent before, by this channel or another one.
     *
     * @param messageId a UUID by which the control plane recognises a repetition; no other pending message may have it
     */
    CompletableFuture<Status> send(String messageId, MessageBody message);

    /**
     * Sends a message that may get lost outside the stream (SendAgentMessage), once, if there is a connection; fails with an IOException.
     */
    CompletableFuture<Void> post(MessageBody message);

    /** How the channel is doing, for people. */
    ChannelStatus status();

    /** Ends the connection. What is not acknowledged is no longer sent. */
    @Override
    void close();

    /** Takes what the control plane sends. */
    @FunctionalInterface
    interface Inbox {
        /**
         * Takes one message, and decides about its acknowledgement. Messages come one at a time, in their order. Until this method
         * returns nothing else is received, acknowledgements of our own messages included, so it must not wait for one; and it should do
         * no more than make durable what has to be, and leave the rest for later.
         *
         * <p>A message may come again, even after others and on another stream, because its acknowledgement was lost.
         *
         * @param messageId as the control plane gave it; empty when it gave none
         * @return the acknowledgement; the default instance means success
         */
        Status receive(String messageId, MessageBody message) throws InterruptedException;
    }
}
