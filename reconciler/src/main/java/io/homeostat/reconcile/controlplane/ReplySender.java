package io.homeostat.reconcile.controlplane;

import com.google.protobuf.Any;
import com.google.rpc.Code;
import com.google.rpc.Status;
import io.homeostat.desired.channel.Channel;
import io.homeostat.desired.model.Redaction;
import io.homeostat.proto.acs.MessageBody;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sends replies to requests of the control plane, each until it is acknowledged; of too many the oldest are given up. */
final class ReplySender {
    private static final Logger LOG = LoggerFactory.getLogger(ReplySender.class);

    /** How many wait for their acknowledgement; a control plane that asks more often gets the newest. */
    static final int MOST_PENDING = 8;

    private final CompletableFuture<Channel> channel;
    /** The oldest first. */
    private final Deque<CompletableFuture<Status>> pending = new ArrayDeque<>();

    /** @param channel completed once there is one: the first message may come before */
    ReplySender(CompletableFuture<Channel> channel) {
        this.channel = channel;
    }

    /**
     * Replies to a request, with its labels.
     *
     * @param acknowledged run when the control plane has accepted the reply
     */
    void send(MessageBody request, String type, Any answer, Runnable acknowledged) {
        MessageBody message = MessageBody.newBuilder()
                .putAllLabels(request.getLabelsMap())
                .putLabels(Protocol.MESSAGE_TYPE, type)
                .setBody(answer)
                .build();
        CompletableFuture<Void> _ = channel.thenAccept(open -> {
            CompletableFuture<Status> sent = open.send(message);
            keep(sent);
            CompletableFuture<Void> _ = sent.handle((status, failure) -> {
                ended(type, status, failure, acknowledged);
                return null;
            });
        });
    }

    private static void ended(
            String type, @Nullable Status status, @Nullable Throwable failure, Runnable acknowledged) {
        if (status == null) {
            LOG.debug("an answer {} was given up", type, failure);
        } else if (status.getCode() == Code.OK_VALUE) {
            acknowledged.run();
        } else {
            LOG.warn(
                    "the control plane refused the answer {} with code {}: {}",
                    type,
                    status.getCode(),
                    Redaction.text(status.getMessage()));
        }
    }

    private void keep(CompletableFuture<Status> sent) {
        CompletableFuture<Status> oldest = null;
        synchronized (pending) {
            pending.removeIf(CompletableFuture::isDone);
            pending.addLast(sent);
            if (pending.size() > MOST_PENDING) {
                oldest = pending.removeFirst();
            }
        }
        if (oldest != null) {
            oldest.cancel(false);
        }
    }
}
