package io.homeostat.reconcile.record;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.RunRecord.Completed;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.install.Installation;
import io.homeostat.reconcile.plan.CleanEnd;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Target;
import io.homeostat.reconcile.plan.Work;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;

/** What is learned of the clean ends of daemons that are launched again only after a failure, see {@link CleanEnd}. */
final class CompletionRecorder {
    private CompletionRecorder() {}

    /**
     * Writes down an end, if it is one that completes something.
     *
     * @return false when it is one like any other
     */
    static boolean ended(Situation situation, Notes notes, Instance instance, Exit exit) {
        Optional<Workload> done = CleanEnd.completes(situation, instance, exit);
        if (done.isEmpty()) {
            return false;
        }
        if (instance.phase() != Phase.STARTED) {
            notes.event(EventType.PLUGIN_STARTED, instance.revision(), "");
        }
        Completed completed =
                new Completed(Work.of(done.get()), instance.launchId(), bootId(situation, instance), exit);
        notes.run(run -> run.withCompleted(completed));
        prove(situation, notes);
        Duration took = Duration.between(instance.launchedAt(), exit.at()).truncatedTo(ChronoUnit.MILLIS);
        notes.event(
                EventType.PLUGIN_EXECUTION_COMPLETED,
                instance.revision(),
                exit.sentence() + ", after " + Notation.text(took.isNegative() ? Duration.ZERO : took));
        return true;
    }

    private static String bootId(Situation situation, Instance instance) {
        Identity identity = instance.identity();
        String boot = identity == null ? null : identity.bootId();
        if (boot != null) {
            return boot;
        }
        return situation.host().bootId() instanceof Observation.Seen<String>(String id) ? id : "";
    }

    /** What has completed is good, and what is declared otherwise without being another work is, too. */
    static void prove(Situation situation, Notes notes) {
        Declaration declared = situation.declared();
        if (declared == null
                || !(situation.seen().installations()
                        instanceof Observation.Seen<ImmutableList<Installation>>(var installations))) {
            return;
        }
        Target wanted = Target.of(declared.workload(), declared.hash(), installations);
        if (hasCompleted(notes, wanted)) {
            notes.knownGood(declared, wanted);
        }
        notes.standIn(installations)
                .filter(target -> hasCompleted(notes, target))
                .ifPresent(target -> {
                    // What has completed takes no launch.
                    notes.launched(target.hash());
                    notes.replaced(target);
                });
    }

    private static boolean hasCompleted(Notes notes, Target target) {
        return target.installed()
                && CleanEnd.hasCompleted(target.workload(), notes.history().run());
    }

    /**
     * A completion counts as long as its work is what is declared, or what would be gone back to, and was not begun again. What was
     * tried in its place and undone does not make it run again.
     */
    static void forget(Situation situation, Notes notes, List<ObservedInstance> instances) {
        Completed completed = notes.history().run().completed();
        if (completed != null
                && (!CleanEnd.isWanted(situation, completed)
                        || instances.stream()
                                .anyMatch(process -> CleanEnd.isDoneAgain(situation, process.instance(), completed)))) {
            notes.run(books -> books.withoutCompleted());
        }
    }
}
