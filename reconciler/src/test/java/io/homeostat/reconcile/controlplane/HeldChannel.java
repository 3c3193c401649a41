package io.homeostat.reconcile.controlplane;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.Code;
import com.google.rpc.Status;
import io.homeostat.desired.channel.Channel;
import io.homeostat.desired.channel.ChannelStatus;
import io.homeostat.proto.acp.PluginEventMessage;
import io.homeostat.proto.acs.MessageBody;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;

/** A channel whose messages are acknowledged when a test says so, in whatever order it likes; or all at once. */
final class HeldChannel implements Channel {
    /** A message that waits to be acknowledged. */
    record Sent(String id, PluginEventMessage event, CompletableFuture<Status> answer) {
        String words() {
            return event.getPluginName() + " " + event.getEventDetails().toStringUtf8();
        }
    }

    private final List<Sent> held = new ArrayList<>();
    private final List<String> sent = new ArrayList<>();
    private boolean prompt;
    private int most;

    @Override
    public CompletableFuture<Status> send(String messageId, MessageBody message) {
        Sent one = new Sent(messageId, event(message), new CompletableFuture<>());
        synchronized (this) {
            sent.add(one.words());
            if (!prompt) {
                held.add(one);
                most = Math.max(most, held.size());
                return one.answer();
            }
        }
        one.answer().complete(Status.getDefaultInstance());
        return one.answer();
    }

    private static PluginEventMessage event(MessageBody message) {
        try {
            return PluginEventMessage.parseFrom(message.getBody().getValue());
        } catch (InvalidProtocolBufferException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** All that was ever sent, in order, as "plugin details". */
    synchronized List<String> sent() {
        return List.copyOf(sent);
    }

    synchronized List<Sent> held() {
        return List.copyOf(held);
    }

    /** How many were under way at the same time. */
    synchronized int most() {
        return most;
    }

    /** Answers what is held and chosen. */
    void answer(Code code, Predicate<Sent> chosen) {
        List<Sent> now;
        synchronized (this) {
            now = held.stream().filter(chosen).toList();
            held.removeAll(now);
        }
        now.forEach(one -> one.answer()
                .complete(Status.newBuilder().setCode(code.getNumber()).build()));
    }

    /** Acknowledges what is held and all that comes. */
    void acknowledgeAll() {
        synchronized (this) {
            prompt = true;
        }
        answer(Code.OK, one -> true);
    }

    @Override
    public CompletableFuture<Void> post(MessageBody message) {
        throw new UnsupportedOperationException("events are never posted");
    }

    @Override
    public ChannelStatus status() {
        throw new UnsupportedOperationException("nobody asks");
    }

    @Override
    public void close() {
        List<Sent> now;
        synchronized (this) {
            now = List.copyOf(held);
            held.clear();
        }
        now.forEach(one -> one.answer().completeExceptionally(new IllegalStateException("the channel is closed")));
    }
}
