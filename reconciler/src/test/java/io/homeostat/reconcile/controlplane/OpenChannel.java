package io.homeostat.reconcile.controlplane;

import com.google.common.collect.ImmutableList;
import com.google.rpc.Status;
import io.homeostat.desired.channel.Channel;
import io.homeostat.desired.channel.ChannelStatus;
import io.homeostat.proto.acs.MessageBody;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** A channel to nobody, whose messages the test acknowledges. */
final class OpenChannel implements Channel {
    private final List<MessageBody> sent = new CopyOnWriteArrayList<>();
    private final List<CompletableFuture<Status>> acknowledgements = new CopyOnWriteArrayList<>();
    private final List<MessageBody> posted = new CopyOnWriteArrayList<>();
    private final AtomicInteger refusals = new AtomicInteger();
    private volatile boolean closed;

    @Override
    public synchronized CompletableFuture<Status> send(String messageId, MessageBody message) {
        CompletableFuture<Status> acknowledgement = new CompletableFuture<>();
        acknowledgements.add(acknowledgement);
        sent.add(message);
        return acknowledgement;
    }

    @Override
    public CompletableFuture<Void> post(MessageBody message) {
        if (refusals.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
            throw new IllegalStateException("a defect of the channel");
        }
        posted.add(message);
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public ChannelStatus status() {
        return new ChannelStatus("unix:/nowhere", null, null, acknowledgements.size(), "");
    }

    @Override
    public void close() {
        closed = true;
    }

    ImmutableList<MessageBody> sent() {
        return ImmutableList.copyOf(sent);
    }

    ImmutableList<MessageBody> posted() {
        return ImmutableList.copyOf(posted);
    }

    /** The next so many posts throw. */
    void refusePosts(int number) {
        refusals.set(number);
    }

    boolean isClosed() {
        return closed;
    }

    void acknowledge(int index, Status status) {
        acknowledgements.get(index).complete(status);
    }

    /** Which messages the agent has taken back. */
    ImmutableList<Integer> cancelled() {
        List<Integer> cancelled = new ArrayList<>();
        for (int i = 0; i < acknowledgements.size(); i++) {
            if (acknowledgements.get(i).isCancelled()) {
                cancelled.add(i);
            }
        }
        return ImmutableList.copyOf(cancelled);
    }
}
