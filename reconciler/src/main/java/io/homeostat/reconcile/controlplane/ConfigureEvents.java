package io.homeostat.reconcile.controlplane;

import com.google.common.base.Utf8;
import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.TokenBucket;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.reconcile.controlplane.ConfigureItem.Refusal;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The events for the items of a message, in their order. Items that are refused alike, or repeat the previous one for the same name, get
 * one event. Refused ones get an event only as far as the {@link RefusalLimit} allows; the others are counted.
 */
final class ConfigureEvents {
    /** The longest message of an event, in characters: what is wrong with an item may be as long as the item. */
    private static final int LONGEST = 2_000;

    /** In bytes, so that an event about it can be sent; no plugin can have a longer one. */
    private static final int LONGEST_NAME = ConfigureHandler.Quota.MOST_NAMES;

    private static final int LONGEST_REVISION = LONGEST_NAME / 2;

    /** An event about a longer name and revision counts as several. */
    private static final int CHARACTERS_OF_ONE = 16_384;

    private final RefusalLimit.Count available;
    private final List<Event> events = new ArrayList<>();
    private final List<Event> refusals = new ArrayList<>();
    private final Set<Answer> refused = new HashSet<>();
    private final Map<String, Answer> last = new HashMap<>();
    private RefusalLimit.Count told = RefusalLimit.Count.NONE;
    private int withheld;

    /** @param available how many refused items may get an event */
    ConfigureEvents(RefusalLimit.Count available) {
        this.available = available;
    }

    /** What makes two answers alike, whatever their wording. */
    private record Answer(String name, ImmutableList<Said> events, ImmutableList<Reason> reasons) {
        record Said(EventType type, String revision) {}

        record Reason(Refusal.Reason reason, String field) {}
    }

    /** The answer to one item, as far as it is known at once. */
    static final class OfItem {
        private final ConfigureItem item;
        private final Instant now;
        private final List<Event> events = new ArrayList<>();
        private ImmutableList<Refusal> refusals = ImmutableList.of();

        OfItem(ConfigureItem item, Instant now) {
            this.item = item;
            this.now = now;
        }

        void refuse(EventType type, List<Refusal> why) {
            refusals = ImmutableList.copyOf(why);
            tell(type, "refused: " + why.stream().map(Refusal::toString).collect(Collectors.joining("; ")));
        }

        void tell(EventType type, String message) {
            tell(item.sent().getPlugin().getRevisionId(), type, message);
        }

        void tell(String revision, EventType type, String message) {
            String words = message.length() <= LONGEST ? message : message.substring(0, LONGEST) + "...";
            events.add(new Event(now, WorkloadId.plugin(name()), cut(revision, LONGEST_REVISION), type, words));
        }

        /** As it was sent; one that no plugin can have is cut so that it still is none. */
        private String name() {
            return cut(item.sent().getPlugin().getName(), LONGEST_NAME);
        }

        /** Of how many events of usual names this one takes the room. */
        private int room() {
            return 1
                    + (name().length() + item.sent().getPlugin().getRevisionId().length()) / CHARACTERS_OF_ONE;
        }

        private Answer answer() {
            return new Answer(
                    name(),
                    events.stream()
                            .map(event -> new Answer.Said(event.type(), event.revision()))
                            .collect(ImmutableList.toImmutableList()),
                    refusals.stream()
                            .map(refusal -> new Answer.Reason(refusal.reason(), refusal.field()))
                            .collect(ImmutableList.toImmutableList()));
        }

        private static String cut(String text, int bytes) {
            return Utf8.encodedLength(text) <= bytes
                    ? text
                    : ByteString.copyFromUtf8(text).substring(0, bytes).toStringUtf8() + "...";
        }
    }

    /** @param declared whether somebody declares a plugin of this name */
    void add(OfItem item, boolean declared) {
        Answer answer = item.answer();
        if (answer.events().isEmpty()) {
            // The loop reports on this one, so the same item after it is news.
            last.remove(answer.name());
        } else if (!item.refusals.isEmpty()) {
            addRefused(answer, item, declared);
        } else if (!answer.equals(last.put(answer.name(), answer))) {
            events.addAll(item.events);
        }
    }

    private void addRefused(Answer answer, OfItem item, boolean declared) {
        if (!refused.add(answer)) {
            return;
        }
        boolean exhausted = declared ? told.declared() >= available.declared() : told.others() >= available.others();
        if (exhausted) {
            withheld++;
            return;
        }
        told = declared
                ? new RefusalLimit.Count(told.declared() + item.room(), told.others())
                : new RefusalLimit.Count(told.declared(), told.others() + item.room());
        events.addAll(item.events);
        refusals.add(item.events.getLast());
    }

    /** Those of refused items that say why. */
    ImmutableList<Event> refusals() {
        return ImmutableList.copyOf(refusals);
    }

    ImmutableList<Event> events() {
        return ImmutableList.copyOf(events);
    }

    /** How many refused items got an event, those of long names counted as several. */
    RefusalLimit.Count told() {
        return told;
    }

    /** How many refused items got none. */
    int withheld() {
        return withheld;
    }

    /**
     * How many refused items get an event of their own: as many at once as a message can hold, then a hundred a minute. More would tell the
     * control plane nothing new and push events of other plugins out of the queue. Items for declared plugins and for other names are
     * counted separately, since the latter are unlimited.
     */
    static final class RefusalLimit {
        /** At once, of each of the two. */
        static final int MOST = Requests.MOST_ITEMS;

        /** After which one more is allowed. */
        static final Duration INTERVAL = Duration.ofMillis(600);

        private final TokenBucket declared = new TokenBucket(MOST, INTERVAL.toNanos(), 0);
        private final TokenBucket others = new TokenBucket(MOST, INTERVAL.toNanos(), 0);

        /**
         * A number of refused items.
         *
         * @param declared for plugins that somebody declares
         * @param others for all other names
         */
        record Count(int declared, int others) {
            static final Count NONE = new Count(0, 0);
        }

        /** How many are allowed now. */
        synchronized Count available(Instant now) {
            long nanos = TokenBucket.nanos(now);
            return new Count((int) declared.available(nanos), (int) others.available(nanos));
        }

        /** Counts those that got an event. */
        synchronized void told(Count count) {
            declared.take(count.declared());
            others.take(count.others());
        }
    }
}
