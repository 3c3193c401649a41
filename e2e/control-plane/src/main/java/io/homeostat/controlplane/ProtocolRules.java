package io.homeostat.controlplane;

import com.google.rpc.Code;
import io.homeostat.controlplane.Transcript.Entry;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.proto.acs.RegisterConnection;
import io.homeostat.proto.acs.StreamAgentMessagesRequest;
import io.homeostat.proto.acs.StreamAgentMessagesResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Checks what agents said against the protocol: registration first and once, each message of ours acknowledged, each of theirs repeated
 * with the same id and content until it is acknowledged, 2 s apart and not afterwards. Times are those of arrival, so each bound has
 * some room for a busy machine. Floods and raw bytes are not in a transcript, so a stream that had some can't be judged.
 */
public final class ProtocolRules {
    private static final double NANOS_PER_MINUTE = Duration.ofMinutes(1).toNanos();
    private static final Duration REPEAT = Duration.ofSeconds(2);
    private static final Duration REPEAT_AFTER_EXHAUSTED = Duration.ofMillis(250);

    private final Duration early;
    private final Duration late;
    private final List<String> violations = new ArrayList<>();
    private final Map<Integer, Stream> streams = new HashMap<>();
    private final Map<String, Message> messages = new HashMap<>();
    private final Set<String> registrations = new HashSet<>();

    private ProtocolRules(Duration early, Duration late) {
        this.early = early;
        this.late = late;
    }

    /** One stream, as far as it was read. */
    private static final class Stream {
        private final Caller caller;
        private final Map<String, Integer> unacknowledged = new HashMap<>();
        private final Map<String, Duration> saidAt = new HashMap<>();
        private @Nullable String registration;
        private boolean accepted;

        Stream(Caller caller) {
            this.caller = caller;
        }
    }

    /** One message of an agent's, as far as the transcript was read. */
    private static final class Message {
        private final MessageBody body;
        private int connection;
        private Duration heardAt;

        /** When the next one is due at the earliest, if those before have come when they were sent. */
        private Duration earliest;

        private @Nullable Duration acknowledgedAt;
        private @Nullable Duration exhaustedAt;
        private boolean refused;

        Message(MessageBody body, int connection, Duration heardAt) {
            this.body = body;
            this.connection = connection;
            this.heardAt = heardAt;
            this.earliest = heardAt.plus(REPEAT);
        }
    }

    /**
     * What was done against the protocol, in order.
     *
     * @param now until when entries are judged: what is missing then was due or not
     */
    public static List<String> violations(List<Entry> entries, Duration now) {
        // Entries have the time at which this program came to hear: on a busy machine seconds after they were sent. So
        // one
        // repetition may seem to follow at once, but not several.
        return violations(entries, now, Duration.ofSeconds(3), Duration.ofSeconds(10));
    }

    /** The same with other bounds. */
    static List<String> violations(List<Entry> entries, Duration now, Duration early, Duration late) {
        ProtocolRules rules = new ProtocolRules(early, late);
        entries.forEach(rules::read);
        rules.streams.keySet().stream().sorted().toList().forEach(open -> rules.end(open, now));
        return List.copyOf(rules.violations);
    }

    private void read(Entry entry) {
        switch (entry) {
            case Entry.Opened(int connection, var _, Caller caller) -> streams.put(connection, new Stream(caller));
            case Entry.Heard(int connection, Duration at, StreamAgentMessagesRequest message) -> {
                Stream stream = streams.get(connection);
                if (stream != null) {
                    hear(connection, stream, at, message);
                }
            }
            case Entry.Said(int connection, Duration at, StreamAgentMessagesResponse message) -> {
                Stream stream = streams.get(connection);
                if (stream != null) {
                    say(stream, at, message);
                }
            }
            case Entry.Ended(int connection, Duration at, var _) -> end(connection, at);
            case Entry.Registered _, Entry.Posted _, Entry.Refused _ -> {}
        }
    }

    private void hear(int connection, Stream stream, Duration at, StreamAgentMessagesRequest message) {
        if (message.hasRegisterConnection()) {
            register(connection, stream, message.getMessageId(), message.getRegisterConnection());
            return;
        }
        check(stream.accepted, connection, message.getMessageId(), "came before the registration was accepted");
        if (message.hasMessageResponse()) {
            acknowledge(connection, stream, message.getMessageId());
        } else {
            hearBody(connection, at, message.getMessageId(), message.getMessageBody());
        }
    }

    private void register(int connection, Stream stream, String id, RegisterConnection registration) {
        check(stream.registration == null, connection, id, "is a second registration");
        check(isUuid(id) && registrations.add(id), connection, id, "is no fresh UUID, and registers");
        check(registration.getProtocolVersion() == 0, connection, id, "has another protocol version than 0");
        check(
                registration.getChannelId().equals(stream.caller.channel())
                        && registration.getResourceId().equals(stream.caller.resource()),
                connection,
                id,
                "registers another channel or resource than the request metadata say");
        stream.registration = id;
    }

    private void acknowledge(int connection, Stream stream, String id) {
        int left = stream.unacknowledged.getOrDefault(id, 0);
        check(left > 0, connection, id, "is acknowledged more often than it was sent over this stream");
        stream.unacknowledged.put(id, left - 1);
    }

    private void hearBody(int connection, Duration at, String id, MessageBody body) {
        Message known = messages.get(id);
        if (known == null) {
            check(isUuid(id), connection, id, "is no UUID");
            messages.put(id, new Message(body, connection, at));
            return;
        }
        check(known.body.equals(body), connection, id, "was repeated with another content");
        if (known.connection == connection) {
            Duration exhausted = known.exhaustedAt;
            Duration earliest = exhausted == null ? known.earliest : exhausted.plus(REPEAT_AFTER_EXHAUSTED);
            check(!at.plus(early).minus(earliest).isNegative(), connection, id, "was repeated too early, at " + at);
            known.earliest = (at.compareTo(earliest) < 0 ? earliest : at).plus(REPEAT);
        } else {
            known.earliest = at.plus(REPEAT);
        }
        Duration acknowledged = known.acknowledgedAt;
        check(
                acknowledged == null || known.refused || at.minus(acknowledged).compareTo(late) <= 0,
                connection,
                id,
                "was repeated although it was acknowledged, at " + at);
        known.connection = connection;
        known.heardAt = at;
        known.exhaustedAt = null;
        if (known.refused) {
            known.refused = false;
            known.acknowledgedAt = null;
        }
    }

    private void say(Stream stream, Duration at, StreamAgentMessagesResponse message) {
        String id = message.getMessageId();
        if (message.hasMessageBody()) {
            stream.unacknowledged.merge(id, 1, Integer::sum);
            stream.saidAt.put(id, at);
            return;
        }
        int code = message.getMessageResponse().getStatus().getCode();
        if (id.equals(stream.registration)) {
            stream.accepted = code == Code.OK_VALUE;
        }
        Message answered = messages.get(id);
        if (answered != null && code == Code.RESOURCE_EXHAUSTED_VALUE) {
            answered.exhaustedAt = at;
        } else if (answered != null) {
            // An error is an answer; whether it is worth another try is for the agent to know.
            answered.refused = code != Code.OK_VALUE;
            answered.exhaustedAt = answered.refused ? at : null;
            answered.acknowledgedAt = at;
        }
    }

    /** An acknowledgement that was said shortly before the end may have got lost, so the message may come again. */
    private void end(int connection, Duration at) {
        Stream stream = streams.remove(connection);
        if (stream == null) {
            return;
        }
        stream.unacknowledged.forEach((id, left) -> check(
                left == 0 || at.minus(stream.saidAt.getOrDefault(id, at)).compareTo(late) <= 0,
                connection,
                id,
                "was not acknowledged"));
        messages.forEach((id, message) -> {
            if (message.connection != connection) {
                return;
            }
            Duration acknowledged = message.acknowledgedAt;
            if (acknowledged == null) {
                Duration due = message.heardAt.plus(REPEAT).plus(late);
                check(at.compareTo(due) <= 0, connection, id, "was not repeated, nor acknowledged");
            } else if (at.minus(acknowledged).compareTo(late) <= 0) {
                message.acknowledgedAt = null;
            }
        });
    }

    private void check(boolean kept, int connection, String id, String otherwise) {
        if (!kept) {
            violations.add("stream " + connection + ": message '" + id + "' " + otherwise);
        }
    }

    private static boolean isUuid(String id) {
        try {
            return UUID.fromString(id).toString().equals(id);
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    /**
     * Checks the messages of one stream against a limit per minute; returns where it was exceeded.
     *
     * @param burst how many may come at once after a pause
     */
    public static Optional<String> messagesAbove(List<Entry> entries, int connection, int perMinute, int burst) {
        return above(bodies(entries, connection), perMinute, burst, heard -> 1);
    }

    /** Checks the bytes of messages of one stream against a limit per minute; returns where it was exceeded. */
    public static Optional<String> bytesAbove(List<Entry> entries, int connection, int perMinute, int burst) {
        return above(
                bodies(entries, connection),
                perMinute,
                burst,
                heard -> heard.message().getSerializedSize());
    }

    private static List<Entry.Heard> bodies(List<Entry> entries, int connection) {
        return entries.stream()
                .filter(Entry.Heard.class::isInstance)
                .map(Entry.Heard.class::cast)
                .filter(heard ->
                        heard.connection() == connection && heard.message().hasMessageBody())
                .toList();
    }

    /** A bucket that holds the burst and fills at the rate never runs empty. */
    private static Optional<String> above(
            List<Entry.Heard> heard, int perMinute, int burst, ToLongFunction<Entry.Heard> weight) {
        double left = burst;
        Duration last = Duration.ZERO;
        for (Entry.Heard next : heard) {
            double gained = next.at().minus(last).toNanos() / NANOS_PER_MINUTE * perMinute;
            left = Math.min(burst, left + gained) - weight.applyAsLong(next);
            last = next.at();
            if (left < 0) {
                return Optional.of("more than " + perMinute + " a minute, and " + burst + " at once, at " + last);
            }
        }
        return Optional.empty();
    }
}
