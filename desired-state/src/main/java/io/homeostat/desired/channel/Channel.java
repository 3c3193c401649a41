package io.homeostat.desired.channel;

import com.google.rpc.Status;
import io.homeostat.proto.acs.MessageBody;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/** Connects the agent with a control plane, and goes on doing so whatever happens to the connection. */
public interface Channel extends AutoCloseable {
    /**
     * How many messages may be on their way at once, those that were given first; the others wait, so that what a stream has to send
     * anew stays bounded. Whoever has many keeps some of it free for others.
     */
    int WINDOW = 32;

    /**
     * Sends a message until it is acknowledged, over as many connections as that takes.
     *
     * @return completed with the acknowledgement; the default instance says that all is well. A message of more than 4 MiB is
     *     answered with INVALID_ARGUMENT and not sent. Cancelling takes back what was not sent yet. Completed exceptionally only when
     *     the channel is closed. What is done with it, unless asynchronously, keeps the channel from hearing more.
     */
    default CompletableFuture<Status> send(MessageBody message) {
        return send(UUID.randomUUID().toString(), message);
    }

    /**
     * Sends a message that may have been sent before, by this channel or another one.
     *
     * @param messageId a UUID by which the control plane can recognise it; no other message has it, and none that waits for its
     *     acknowledgement
     * @return as above
     */
    CompletableFuture<Status> send(String messageId, MessageBody message);

    /**
     * Sends a message of which no harm is done when it is lost, beside the stream (SendAgentMessage): once, when there is a connection.
     *
     * @return fails with an IOException that says why the message was lost
     */
    CompletableFuture<Void> post(MessageBody message);

    /** How the channel fares, for people. */
    ChannelStatus status();

    /** Ends the connection. What was not acknowledged is not sent any more. */
    @Override
    void close();
}
