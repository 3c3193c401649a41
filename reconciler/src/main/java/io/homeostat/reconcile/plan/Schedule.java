package io.homeostat.reconcile.plan;

import io.homeostat.desired.model.Calendar;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.model.Lifecycle.Triggers;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.desired.state.history.RunRecord.CalendarSince;
import io.homeostat.observe.Observation;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * When a one-shot is to run. Goes by its last run alone, which answers for all triggers that had fired by then: however many
 * intervals were missed and however the clock was set, at most one run is due.
 */
public final class Schedule {
    private final Triggers triggers;
    private final Observation<String> bootId;
    private final String instanceId;
    private final Instant now;
    private final @Nullable OneShotRun last;

    /** The last run, unless it failed and somebody wants it tried again. */
    private final @Nullable OneShotRun answering;

    /** Whether somebody wants a run, whatever the triggers say. */
    private final boolean asked;

    /** Since when the declared calendar counts; empty when there is none. */
    private final Optional<CalendarSince> calendar;

    /** @throws NullPointerException when what is declared is no one-shot */
    public Schedule(Situation situation, Declaration declared) {
        this.triggers = Objects.requireNonNull(
                declared.workload().lifecycle().execution().triggers(), "a one-shot has triggers");
        this.bootId = situation.host().bootId();
        this.instanceId = situation.host().instanceId();
        this.now = situation.now();
        this.last = lastRun(situation, declared).orElse(null);
        this.answering = last == null || last.retried() ? null : last;
        this.calendar = calendar(situation, declared);
        OneShotRun any = situation.history().run().oneShot();
        this.asked = (any == null ? "" : any.launchId())
                .equals(situation.history().run().again());
    }

    /** The declared calendar, counting from now if it is another one than is remembered, or remembered from a time to come. */
    public static Optional<CalendarSince> calendar(Situation situation, Declaration declared) {
        Triggers triggers = declared.workload().lifecycle().execution().triggers();
        Calendar times = triggers == null ? null : triggers.schedule();
        if (times == null) {
            return Optional.empty();
        }
        String key = Work.of(declared.workload()) + " " + times;
        return Optional.ofNullable(situation.history().run().calendar())
                .filter(known -> known.key().equals(key))
                .filter(known -> !isTooFarAhead(known.since(), times, situation.now()))
                .or(() -> Optional.of(new CalendarSince(key, situation.now())));
    }

    /** The last run of what is declared now; none when something else ran last. */
    public static Optional<OneShotRun> lastRun(Situation situation, Declaration declared) {
        return Optional.ofNullable(situation.history().run().oneShot())
                .filter(run -> run.work().equals(Work.of(declared.workload())));
    }

    /** How long a run may take, from its launch. */
    public static Duration timeout(Declaration declared) {
        Duration timeout = declared.workload().lifecycle().execution().timeout();
        return timeout == null ? Execution.DEFAULT_TIMEOUT : timeout;
    }

    /** Why it is to run now: "startup", "first boot", "every 1h"; empty when it is not. */
    Optional<String> due() {
        List<String> fired = new ArrayList<>();
        if (asked) {
            fired.add("somebody asked for it");
        }
        if (triggers.startup() && isAnotherBoot()) {
            fired.add("startup");
        }
        if (triggers.firstBoot()
                && (answering == null || !answering.instanceId().equals(instanceId))) {
            fired.add("first boot");
        }
        Duration every = triggers.every();
        if (every != null && isOver(every)) {
            fired.add("every " + Notation.text(every));
        }
        Calendar times = triggers.schedule();
        if (times != null
                && (nextByCalendar().filter(at -> !now.isBefore(at)).isPresent()
                        || (last != null && isTooFarAhead(last.startedAt(), times, now)))) {
            fired.add("schedule " + times);
        }
        return fired.isEmpty() ? Optional.empty() : Optional.of(String.join(", ", fired));
    }

    /** What of the machine has to be known to tell whether it is to run, and is not. */
    Optional<String> unknown() {
        return triggers.startup() && bootId instanceof Observation.Unseen<String>(String why)
                ? Optional.of(why)
                : Optional.empty();
    }

    /** When it is due next, if time alone makes it so. */
    public Optional<Instant> next() {
        Duration every = triggers.every();
        Optional<Instant> byInterval =
                every == null || last == null ? Optional.empty() : Optional.of(after(last.startedAt(), every));
        return Stream.of(byInterval, nextByCalendar()).flatMap(Optional::stream).min(Comparator.naturalOrder());
    }

    /** The first time by the calendar that the last run does not answer for. */
    private Optional<Instant> nextByCalendar() {
        Calendar times = triggers.schedule();
        return times == null
                ? Optional.empty()
                : calendar.map(this::countedFrom).flatMap(times::next);
    }

    private Instant countedFrom(CalendarSince counted) {
        return last == null || last.startedAt().isBefore(counted.since()) ? counted.since() : last.startedAt();
    }

    /** The clock was set back since, by more than one turn of the calendar: it is not waited for until it has caught up. */
    private static boolean isTooFarAhead(Instant then, Calendar times, Instant now) {
        return times.next(now).filter(then::isAfter).isPresent();
    }

    /** What makes it run again, for people. */
    String whatIsNext() {
        List<String> words = new ArrayList<>();
        next().ifPresent(at -> words.add("at " + at.truncatedTo(ChronoUnit.SECONDS)));
        if (triggers.startup()) {
            words.add("at the next boot");
        }
        words.add("when its declaration changes");
        return "runs again " + String.join(" or ", words);
    }

    /** What makes it run again where no agent does, for people. */
    String whatIsNextByHand(WorkloadId id) {
        boolean onlyByCalendar = !triggers.startup() && !triggers.firstBoot() && triggers.every() == null;
        return onlyByCalendar
                ? "an agent would run it again"
                        + next().map(at -> " at " + at.truncatedTo(ChronoUnit.SECONDS))
                                .orElse("")
                        + ", none runs; homeostat trigger " + id.brief() + " does it now"
                : "no agent runs that would run it again, the next homeostat apply of it does";
    }

    private boolean isAnotherBoot() {
        return bootId instanceof Observation.Seen<String>(String id)
                && (answering == null || !answering.bootId().equals(id));
    }

    /**
     * A run that began in the future was before the clock was set back: how much of the interval is over can't be told. It is waited
     * for as if nothing had happened, which takes two intervals at most; but not for years, when the clock was wrong by years.
     */
    private boolean isOver(Duration every) {
        return answering == null
                || answering.startedAt().isAfter(after(now, every))
                || !now.isBefore(after(answering.startedAt(), every));
    }

    private static Instant after(Instant start, Duration every) {
        try {
            return start.plus(every);
        } catch (DateTimeException | ArithmeticException e) {
            return Instant.MAX;
        }
    }
}
