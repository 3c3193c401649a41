package io.homeostat.reconcile.controlplane;

import com.google.common.base.CharMatcher;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** What one item is answered: the events that tell what becomes of it, as far as that is known when it comes. */
final class Said {
    /** The longest message of an event, in characters: what a control plane gets wrong may be as long as its message. */
    private static final int LONGEST = 2_000;

    private static final int LONGEST_REVISION = 64;

    private static final CharMatcher UNPRINTABLE = CharMatcher.inRange(' ', '~').negate();

    private final Item item;
    private final Instant now;
    private final List<Event> events = new ArrayList<>();
    private boolean refused;

    Said(Item item, Instant now) {
        this.item = item;
        this.now = now;
    }

    void refuse(EventType type, List<String> refusals) {
        refused = true;
        tell(type, "refused: " + String.join("; ", refusals));
    }

    void tell(EventType type, String message) {
        tell(item.sent().getPlugin().getRevisionId(), type, message);
    }

    void tell(String revision, EventType type, String message) {
        events.add(new Event(now, item.plugin().orElse(null), shown(revision), type, cut(message, LONGEST)));
    }

    boolean isRefused() {
        return refused;
    }

    /** The name as it was sent, which no plugin may be able to have. */
    String name() {
        return item.sent().getPlugin().getName();
    }

    ImmutableList<Event> events() {
        return ImmutableList.copyOf(events);
    }

    /** A refused one may be anything, and ends up on terminals. */
    private static String shown(String revision) {
        return UNPRINTABLE.replaceFrom(cut(revision, LONGEST_REVISION), '?');
    }

    private static String cut(String text, int longest) {
        return text.length() <= longest ? text : text.substring(0, longest) + "...";
    }
}
