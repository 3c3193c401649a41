package io.homeostat.reconcile.controlplane;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Maps;
import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.Code;
import com.google.rpc.Status;
import io.homeostat.desired.channel.Channel;
import io.homeostat.desired.platform.BoundedMessages;
import io.homeostat.desired.platform.TokenBucket;
import io.homeostat.desired.state.StoreException;
import io.homeostat.proto.acp.ConfigurePluginStates;
import io.homeostat.proto.acp.GetAgentInfo;
import io.homeostat.proto.acp.GetOSInfo;
import io.homeostat.proto.acp.ListPluginStates;
import io.homeostat.proto.acs.MessageBody;
import java.time.Duration;
import java.time.InstantSource;
import java.util.EnumSet;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes what the control plane sends. The label says what a message is; the type URL is ignored, since some servers send invalid ones.
 * What can't be read or stored is refused and changes nothing; it may be sent again. The id of a message only serves its acknowledgement:
 * what is declared is taken as often as it comes, since some control planes send all messages under one id.
 */
final class Requests implements Channel.Inbox {
    private static final Logger LOG = LoggerFactory.getLogger(Requests.class);
    private static final Duration BETWEEN_WARNINGS = Duration.ofMinutes(1);

    /** More than any machine has plugins; each could cause an event. */
    static final int MOST_ITEMS = 1_000;

    /** In characters, in all: a reply has to carry them. */
    private static final int LONGEST_LABELS = 1 << 16;

    private static final int LONGEST_SHOWN = 100;

    private final SystemInfo info;
    private final ReplySender replies;
    private final PluginStatesResponder states;
    private final Acceptance acceptance;
    private final Supplier<ConfigureItem.Rules> rules;
    private final ImmutableMap<Odd, LogThrottle> warnings;

    /** @param rules asked for each message, since the configuration can change */
    Requests(
            SystemInfo info,
            ReplySender replies,
            PluginStatesResponder states,
            Acceptance acceptance,
            Supplier<ConfigureItem.Rules> rules,
            InstantSource clock) {
        this.info = info;
        this.replies = replies;
        this.states = states;
        this.acceptance = acceptance;
        this.rules = rules;
        this.warnings = Maps.toMap(EnumSet.allOf(Odd.class), odd -> new LogThrottle(clock, BETWEEN_WARNINGS));
    }

    /** What may be wrong with a message; of each kind a line is logged from time to time, whatever there is of the others. */
    private enum Odd {
        WITHOUT_ID,
        OF_UNKNOWN_TYPE,
        LONG_LABELS,
        BROKEN_BODY,
        MANY_ITEMS
    }

    /** Stores what a message declares. */
    @FunctionalInterface
    interface Acceptance {
        /**
         * Returns when it is durable.
         *
         * @throws StoreException when it could not be stored; then nothing of it was
         */
        void accept(ImmutableList<ConfigureItem> items);
    }

    @Override
    public Status receive(String messageId, MessageBody message) {
        String type = message.getLabelsOrDefault(Protocol.MESSAGE_TYPE, "");
        if (messageId.isEmpty()) {
            return refused(Odd.WITHOUT_ID, "MISSING_MESSAGE_ID: a message needs an id, by which it is acknowledged");
        }
        if (length(message.getLabelsMap()) > LONGEST_LABELS) {
            return refused(Odd.LONG_LABELS, "labels: longer than " + LONGEST_LABELS + " characters; send fewer");
        }
        try {
            return take(type, message);
        } catch (InvalidProtocolBufferException e) {
            return refused(
                    Odd.BROKEN_BODY,
                    "body: not a serialized " + shown(type) + " that can be taken: " + e.getMessage()
                            + "; send it again, whole, or what it has in several messages");
        } catch (StoreException e) {
            LOG.error("a message of the control plane could not be stored, and was refused: {}", e.getMessage());
            return status(Code.UNAVAILABLE, "it could not be stored, and nothing of it takes effect; send it again");
        }
    }

    private Status take(String type, MessageBody message) throws InvalidProtocolBufferException {
        // For whoever has read the message these were bytes: no bound was applied to what is in them.
        ByteString value = message.getBody().getValue();
        switch (type) {
            case Protocol.GET_AGENT_INFO -> {
                GetAgentInfo _ = BoundedMessages.parse(GetAgentInfo.getDefaultInstance(), value);
                replies.send(message, Protocol.AGENT_INFO, Any.pack(info.agent()), () -> {});
            }
            case Protocol.GET_OS_INFO -> {
                GetOSInfo _ = BoundedMessages.parse(GetOSInfo.getDefaultInstance(), value);
                replies.send(message, Protocol.OS_INFO, Any.pack(info.os()), () -> {});
            }
            case Protocol.LIST_PLUGIN_STATES -> {
                ListPluginStates _ = BoundedMessages.parse(ListPluginStates.getDefaultInstance(), value);
                states.asked(message);
            }
            case Protocol.CONFIGURE_PLUGIN_STATES -> {
                ConfigurePluginStates sent = BoundedMessages.parse(ConfigurePluginStates.getDefaultInstance(), value);
                if (sent.getConfigurePluginsCount() > MOST_ITEMS) {
                    return refused(
                            Odd.MANY_ITEMS,
                            "configure_plugins: " + sent.getConfigurePluginsCount() + " items, at most " + MOST_ITEMS
                                    + " are possible; send them in several messages");
                }
                acceptance.accept(ConfigureItem.of(sent, rules.get()));
            }
            default ->
                warn(Odd.OF_UNKNOWN_TYPE, "a message of type '{}' is not known here and was ignored{}", shown(type));
        }
        return Status.getDefaultInstance();
    }

    private Status refused(Odd odd, String why) {
        warn(odd, "a message of the control plane was refused: {}{}", why);
        return status(Code.INVALID_ARGUMENT, why);
    }

    private void warn(Odd odd, String what, String detail) {
        OptionalLong suppressed = Objects.requireNonNull(warnings.get(odd)).permit();
        if (suppressed.isPresent()) {
            LOG.warn(
                    what,
                    detail,
                    suppressed.getAsLong() == 0
                            ? ""
                            : " (and " + suppressed.getAsLong() + " like it since the last warning)");
        }
    }

    private static Status status(Code code, String why) {
        return Status.newBuilder().setCode(code.getNumber()).setMessage(why).build();
    }

    /** Untrusted, so it must not be logged as it is. */
    private static String shown(String type) {
        String cut = type.length() > LONGEST_SHOWN ? type.substring(0, LONGEST_SHOWN) + "..." : type;
        return cut.replaceAll("[^\\x20-\\x7e]", "?");
    }

    private static long length(Map<String, String> labels) {
        return labels.entrySet().stream()
                .mapToLong(label -> label.getKey().length() + label.getValue().length())
                .sum();
    }

    /** Lets one line through per interval, and counts those that it holds back. */
    private static final class LogThrottle {
        private final InstantSource clock;
        private final TokenBucket lines;
        private long suppressed;

        LogThrottle(InstantSource clock, Duration interval) {
            this.clock = clock;
            this.lines = new TokenBucket(1, interval.toNanos(), TokenBucket.nanos(clock.instant()));
        }

        /** How many lines were held back since the last one, if another may be written now; empty if not. */
        synchronized OptionalLong permit() {
            if (lines.available(TokenBucket.nanos(clock.instant())) < 1) {
                suppressed++;
                return OptionalLong.empty();
            }
            lines.take(1);
            long before = suppressed;
            suppressed = 0;
            return OptionalLong.of(before);
        }
    }
}
