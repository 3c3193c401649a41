package io.homeostat.reconcile.controlplane;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.state.Event;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What is told of all items of a message, in their order: of items that are refused alike once, of items that repeat the one before for
 * the same name once, and of refused ones only as many as may be told. The others are counted.
 */
final class Telling {
    private final List<Event> events = new ArrayList<>();
    private final Set<Answer> refused = new HashSet<>();
    private final Map<String, ImmutableList<Event>> last = new HashMap<>();
    private Refusals.Left left;
    private int withheld;

    private record Answer(String name, ImmutableList<Event> events) {}

    Telling(Refusals.Left left) {
        this.left = left;
    }

    /** @param declared whether somebody declares a plugin of this name */
    void add(Said said, boolean declared) {
        ImmutableList<Event> answer = said.events();
        if (answer.isEmpty()) {
            // What becomes of it the loop tells: the same item again is news.
            last.remove(said.name());
        } else if (said.isRefused()) {
            refused(said.name(), answer, declared);
        } else if (!answer.equals(last.put(said.name(), answer))) {
            events.addAll(answer);
        }
    }

    private void refused(String name, ImmutableList<Event> answer, boolean declared) {
        if (!refused.add(new Answer(name, answer))) {
            return;
        }
        if ((declared ? left.ofDeclared() : left.ofOthers()) == 0) {
            withheld++;
            return;
        }
        left = declared
                ? new Refusals.Left(left.ofDeclared() - 1, left.ofOthers())
                : new Refusals.Left(left.ofDeclared(), left.ofOthers() - 1);
        events.addAll(answer);
    }

    ImmutableList<Event> events() {
        return ImmutableList.copyOf(events);
    }

    /** Refused items of which no event tells. */
    int withheld() {
        return withheld;
    }

    /** How many refused items may still be told of. */
    Refusals.Left left() {
        return left;
    }
}
