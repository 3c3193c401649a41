package io.homeostat.controlplane;

import io.grpc.Status;
import io.homeostat.proto.acp.PluginEventMessage;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.proto.acs.SendAgentMessageRequest;
import io.homeostat.proto.acs.StreamAgentMessagesRequest;
import io.homeostat.proto.acs.StreamAgentMessagesResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;

/** Everything that happened, in the order in which it did; and a way to wait for what is yet to happen. */
public final class Transcript {
    private static final int LAST_WORDS = 20;
    private static final long NANOS_PER_MILLI = 1_000_000;

    private final long began = System.nanoTime();
    private final List<Entry> entries = new ArrayList<>();

    Transcript() {}

    /** All entries so far. */
    public synchronized List<Entry> entries() {
        return List.copyOf(entries);
    }

    /** The time of the entries that are added now, since the control plane was made. */
    public Duration now() {
        return Duration.ofNanos(System.nanoTime() - began);
    }

    /** What agents did against the protocol so far. */
    public List<String> violations() {
        return ProtocolRules.violations(entries(), now());
    }

    /** All entries of one kind so far. */
    public <E extends Entry> List<E> entries(Class<E> kind) {
        return entries().stream().filter(kind::isInstance).map(kind::cast).toList();
    }

    /** What agents said, repetitions included. */
    public List<StreamAgentMessagesRequest> heard() {
        return entries(Entry.Heard.class).stream().map(Entry.Heard::message).toList();
    }

    /** The message bodies that came over streams, each once however often it was sent, in the order of their first arrivals. */
    public List<MessageBody> bodies() {
        Map<String, MessageBody> byId = new LinkedHashMap<>();
        heard().stream()
                .filter(StreamAgentMessagesRequest::hasMessageBody)
                .forEach(message -> byId.putIfAbsent(message.getMessageId(), message.getMessageBody()));
        return List.copyOf(byId.values());
    }

    /** The bodies of one type, such as {@code PluginEventMessage}. */
    public List<MessageBody> bodies(String type) {
        return bodies().stream().filter(body -> Bodies.type(body).equals(type)).toList();
    }

    /** The events of all plugins, each once: one that a killed agent told again has another id but the same timestamp. */
    public List<PluginEventMessage> events() {
        return bodies(Bodies.EVENT).stream().map(Bodies::event).distinct().toList();
    }

    /** The events of one plugin. */
    public List<PluginEventMessage> events(String plugin) {
        return events().stream()
                .filter(event -> event.getPluginName().equals(plugin))
                .toList();
    }

    /** The types of a plugin's events without the {@code PLUGIN_} in front, with the revision: {@code STARTED 2}. */
    public List<String> story(String plugin) {
        return events(plugin).stream()
                .map(event -> event.getEventType().name().substring("PLUGIN_".length()) + " " + event.getRevisionId())
                .toList();
    }

    /**
     * Waits until something is there, or throws an AssertionError that tells what happened last.
     *
     * @param what was awaited, for the error
     * @param look finds it; called again whenever something happened
     */
    public <T> T await(String what, Duration patience, Function<Transcript, Optional<T>> look)
            throws InterruptedException {
        long deadline = System.nanoTime() + patience.toNanos();
        while (true) {
            int seen = size();
            Optional<T> found = look.apply(this);
            if (found.isPresent()) {
                return found.get();
            }
            if (!moreThan(seen, deadline)) {
                throw new AssertionError(
                        "waited " + patience + " in vain for " + what + "; what happened last:\n" + this);
            }
        }
    }

    /** Waits until a condition holds, see {@link #await}. */
    public void awaitThat(String what, Duration patience, Predicate<Transcript> condition) throws InterruptedException {
        boolean _ =
                await(what, patience, transcript -> condition.test(transcript) ? Optional.of(true) : Optional.empty());
    }

    /** The last entries, one a line. Identity tokens are in there. */
    @Override
    public synchronized String toString() {
        StringBuilder text = new StringBuilder();
        entries.subList(Math.max(0, entries.size() - LAST_WORDS), entries.size())
                .forEach(entry ->
                        text.append(entry.toString().replace('\n', ' ')).append('\n'));
        return text.toString();
    }

    synchronized void add(Function<Duration, Entry> entry) {
        entries.add(entry.apply(now()));
        notifyAll();
    }

    private synchronized int size() {
        return entries.size();
    }

    private synchronized boolean moreThan(int seen, long deadline) throws InterruptedException {
        while (entries.size() == seen) {
            long left = deadline - System.nanoTime();
            if (left <= 0) {
                return false;
            }
            wait(left / NANOS_PER_MILLI + 1);
        }
        return true;
    }

    /** One thing that happened between the control plane and an agent. */
    public sealed interface Entry {
        /** Which stream, counted from 1; 0 for calls beside the streams. */
        int connection();

        /** When, since the control plane was made. */
        Duration at();

        /** A stream was opened, and taken. */
        record Opened(int connection, Duration at, Caller caller) implements Entry {}

        /** The agent's registration was accepted; from now on it is sent messages. */
        record Registered(int connection, Duration at) implements Entry {}

        /** The agent said something. */
        record Heard(int connection, Duration at, StreamAgentMessagesRequest message) implements Entry {}

        /** The control plane said something; recorded just before it is sent. Raw bytes and floods are not recorded. */
        record Said(int connection, Duration at, StreamAgentMessagesResponse message) implements Entry {}

        /** A stream ended, by whichever side. */
        record Ended(int connection, Duration at, Status status) implements Entry {}

        /** SendAgentMessage was called. */
        record Posted(int connection, Duration at, Caller caller, SendAgentMessageRequest message) implements Entry {}

        /** A stream or call was refused for what its request metadata said. */
        record Refused(int connection, Duration at, Caller caller, Status status) implements Entry {}
    }
}
