package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Change;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.desired.state.history.Told;
import io.homeostat.desired.state.history.ToldFailure;
import io.homeostat.desired.state.history.Trial;
import io.homeostat.desired.state.history.WorkloadHistory;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/** What one look or one step has taught, while it is being written down. */
final class Notes {
    private final WorkloadId id;
    private final WorkloadHistory before;
    private final Instant now;
    private WorkloadHistory history;
    private boolean drop;
    private final List<Instance> instances = new ArrayList<>();
    private final List<String> ended = new ArrayList<>();
    private final List<Event> events = new ArrayList<>();

    Notes(Situation situation) {
        this.id = situation.id();
        this.before = situation.history();
        this.history = situation.history();
        this.now = situation.now();
    }

    WorkloadHistory history() {
        return history;
    }

    void history(WorkloadHistory next) {
        history = next;
    }

    void trial(UnaryOperator<Trial> change) {
        history = history.withTrial(change.apply(history.trial()));
    }

    void run(UnaryOperator<RunRecord> change) {
        history = history.withRun(change.apply(history.run()));
    }

    void drop() {
        drop = true;
    }

    void put(Instance instance) {
        instances.add(instance);
    }

    void ended(Instance instance) {
        ended.add(instance.launchId());
    }

    void event(EventType type, String revision, String message) {
        events.add(new Event(now, id, revision, type, message));
        if (wentWell(type)) {
            told(Told.of(history.trial().told().revision()));
        }
    }

    /** Tells of a failure, unless it has been told since something last went well: it is tried again and again. */
    void failure(EventType type, String revision, FailureCause cause, String message) {
        Told told = history.trial().told();
        ToldFailure failure = new ToldFailure(type, revision, cause);
        if (!told.failures().contains(failure)) {
            event(type, revision, message);
            told(told.and(failure));
        }
    }

    private void told(Told next) {
        trial(trial -> trial.withTold(next));
    }

    private static boolean wentWell(EventType type) {
        return type == EventType.PLUGIN_STARTED
                || type == EventType.PLUGIN_INSTALLED
                || type == EventType.PLUGIN_CONFIG_APPLIED;
    }

    Change change() {
        return new Change(
                id,
                drop || history.equals(before) ? null : history,
                drop,
                ImmutableList.copyOf(instances),
                ImmutableList.copyOf(ended),
                ImmutableList.copyOf(events));
    }
}
