package io.homeostat.desired.channel;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.homeostat.proto.acs.AgentCommunicationGrpc;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.proto.acs.SendAgentMessageRequest;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** Sends messages outside the stream (SendAgentMessage), each once. */
final class UnarySender {
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    /** How many may be in flight; more are dropped, since each occupies memory. */
    private static final int MOST_PENDING = 4;

    private final CallerIdentity caller;
    private final ExecutorService threads;
    private final Semaphore free = new Semaphore(MOST_PENDING);

    UnarySender(CallerIdentity caller, ExecutorService threads) {
        this.caller = caller;
        this.threads = threads;
    }

    /** Sends a message over this connection; fails with an IOException. */
    CompletableFuture<Void> send(Channel connection, MessageBody message) {
        if (!free.tryAcquire()) {
            return CompletableFuture.failedFuture(new IOException(
                    "the message was dropped: the control plane has not taken " + MOST_PENDING + " others yet"));
        }
        CompletableFuture<Void> sent = new CompletableFuture<>();
        var _ = sent.whenComplete((done, failure) -> free.release());
        try {
            threads.execute(() -> {
                try {
                    call(connection, message);
                    sent.complete(null);
                } catch (IOException | InterruptedException | RuntimeException e) {
                    sent.completeExceptionally(e);
                }
            });
        } catch (RejectedExecutionException e) {
            sent.completeExceptionally(new IOException("the message was dropped: the channel was closed", e));
        }
        return sent;
    }

    private void call(Channel connection, MessageBody message) throws IOException, InterruptedException {
        CallerIdentity.Credentials credentials = caller.credentials();
        SendAgentMessageRequest request = SendAgentMessageRequest.newBuilder()
                .setChannelId(credentials.channel())
                .setResourceId(credentials.resource())
                .setMessageBody(message)
                .build();
        try {
            var _ = ClientCalls.blockingUnaryCall(
                    ClientInterceptors.intercept(
                            connection, MetadataUtils.newAttachHeadersInterceptor(credentials.headers())),
                    AgentCommunicationGrpc.getSendAgentMessageMethod(),
                    CallOptions.DEFAULT.withDeadlineAfter(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS),
                    request);
        } catch (StatusRuntimeException e) {
            throw new IOException("the control plane did not take the message: "
                    + StreamOutcome.describe(e.getStatus(), credentials.token()));
        }
    }
}
