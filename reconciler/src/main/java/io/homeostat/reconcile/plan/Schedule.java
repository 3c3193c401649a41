package io.homeostat.reconcile.plan;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.model.Lifecycle.Triggers;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.observe.Observation;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
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

    /** @throws NullPointerException when what is declared is no one-shot */
    public Schedule(Situation situation, Declaration declared) {
        this.triggers = Objects.requireNonNull(
                declared.workload().lifecycle().execution().triggers(), "a one-shot has triggers");
        this.bootId = situation.host().bootId();
        this.instanceId = situation.host().instanceId();
        this.now = situation.now();
        this.last = lastRun(situation, declared).orElse(null);
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
        if (triggers.startup() && isAnotherBoot()) {
            fired.add("startup");
        }
        if (triggers.firstBoot() && (last == null || !last.instanceId().equals(instanceId))) {
            fired.add("first boot");
        }
        Duration every = triggers.every();
        if (every != null && isOver(every)) {
            fired.add("every " + Notation.text(every));
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
        return every == null || last == null ? Optional.empty() : Optional.of(after(last.startedAt(), every));
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

    private boolean isAnotherBoot() {
        return bootId instanceof Observation.Seen<String>(String id)
                && (last == null || !last.bootId().equals(id));
    }

    /**
     * A run that began in the future was before the clock was set back: how much of the interval is over can't be told. It is waited
     * for as if nothing had happened, which takes two intervals at most; but not for years, when the clock was wrong by years.
     */
    private boolean isOver(Duration every) {
        return last == null
                || last.startedAt().isAfter(after(now, every))
                || !now.isBefore(after(last.startedAt(), every));
    }

    private static Instant after(Instant start, Duration every) {
        try {
            return start.plus(every);
        } catch (DateTimeException | ArithmeticException e) {
            return Instant.MAX;
        }
    }
}
