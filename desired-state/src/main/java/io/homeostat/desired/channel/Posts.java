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

/** Messages beside the stream (SendAgentMessage): tried once. */
final class Posts {
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    /** At once; more are dropped, since each waits in memory. */
    private static final int MOST = 4;

    private final Caller caller;
    private final ExecutorService threads;
    private final Semaphore free = new Semaphore(MOST);

    Posts(Caller caller, ExecutorService threads) {
        this.caller = caller;
        this.threads = threads;
    }

    /** Sends over this connection; the future fails with an IOException. */
    CompletableFuture<Void> post(Channel connection, MessageBody message) {
        if (!free.tryAcquire()) {
            return CompletableFuture.failedFuture(new IOException(
                    "the message was dropped: the control plane has not taken " + MOST + " others yet"));
        }
        CompletableFuture<Void> posted = new CompletableFuture<>();
        var _ = posted.whenComplete((done, failure) -> free.release());
        try {
            threads.execute(() -> {
                try {
                    call(connection, message);
                    posted.complete(null);
                } catch (IOException | InterruptedException | RuntimeException e) {
                    posted.completeExceptionally(e);
                }
            });
        } catch (RejectedExecutionException e) {
            posted.completeExceptionally(new IOException("the message was dropped: the channel was closed", e));
        }
        return posted;
    }

    private void call(Channel connection, MessageBody message) throws IOException, InterruptedException {
        Caller.Words words = caller.words();
        SendAgentMessageRequest request = SendAgentMessageRequest.newBuilder()
                .setChannelId(words.channel())
                .setResourceId(words.resource())
                .setMessageBody(message)
                .build();
        try {
            var _ = ClientCalls.blockingUnaryCall(
                    ClientInterceptors.intercept(
                            connection, MetadataUtils.newAttachHeadersInterceptor(words.headers())),
                    AgentCommunicationGrpc.getSendAgentMessageMethod(),
                    CallOptions.DEFAULT.withDeadlineAfter(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS),
                    request);
        } catch (StatusRuntimeException e) {
            throw new IOException(
                    "the control plane did not take the message: " + Ending.words(e.getStatus(), words.token()));
        }
    }
}
