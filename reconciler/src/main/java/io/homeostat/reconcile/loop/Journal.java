package io.homeostat.reconcile.loop;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import java.util.Objects;

/** Writes down what passes learn. Events that tell of an end get the last lines that the workload has logged. */
final class Journal {
    private final StateStore store;
    private final LogTails logs;

    Journal(StateStore store, LogTails logs) {
        this.store = store;
        this.logs = logs;
    }

    /** Stores a change as a whole, unless there is none. */
    void write(Change change) {
        boolean nothing = change.history() == null
                && !change.dropHistory()
                && change.instances().isEmpty()
                && change.ended().isEmpty()
                && change.events().isEmpty();
        if (!nothing) {
            store.commit(withLogTails(change));
        }
    }

    private Change withLogTails(Change change) {
        ImmutableList<Event> events = change.events().stream()
                .map(event -> tellsOfAnEnd(event.type()) ? withLogTail(event) : event)
                .collect(ImmutableList.toImmutableList());
        return new Change(
                change.workload(), change.history(), change.dropHistory(), change.instances(), change.ended(), events);
    }

    private Event withLogTail(Event event) {
        String lines = logs.lastLines(Objects.requireNonNull(event.workload()));
        return lines.isEmpty()
                ? event
                : new Event(
                        event.time(), event.workload(), event.revision(), event.type(), event.message() + "\n" + lines);
    }

    private static boolean tellsOfAnEnd(EventType type) {
        return type == EventType.PLUGIN_CRASHED
                || type == EventType.PLUGIN_START_FAILED
                || type == EventType.PLUGIN_EXECUTION_FAILED
                || type == EventType.AGENT_ROLLED_BACK;
    }
}
