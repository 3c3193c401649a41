package io.homeostat.controlplane;

import com.google.rpc.Status;
import io.homeostat.proto.acs.MessageBody;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A message on its way to an agent, with its first acknowledgement, and the first body that carries its request_id back. */
public record Sent(
        String id, MessageBody body, CompletableFuture<Status> acknowledgement, CompletableFuture<MessageBody> reply) {
    static Sent of(String id, MessageBody body) {
        return new Sent(id, body, new CompletableFuture<>(), new CompletableFuture<>());
    }

    /** Waits for the acknowledgement, or throws an AssertionError. */
    public Status awaitAcknowledgement(Duration patience) throws InterruptedException {
        return await("an acknowledgement", acknowledgement, patience);
    }

    /** Waits for the reply, or throws an AssertionError. */
    public MessageBody awaitReply(Duration patience) throws InterruptedException {
        return await("a reply", reply, patience);
    }

    private <T> T await(String what, CompletableFuture<T> future, Duration patience) throws InterruptedException {
        try {
            return future.get(patience.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new AssertionError(
                    "waited " + patience + " in vain for " + what + " of " + Bodies.type(body) + " " + id, e);
        } catch (ExecutionException e) {
            throw new AssertionError("waiting for " + what + " of " + Bodies.type(body) + " " + id + " failed", e);
        }
    }
}
