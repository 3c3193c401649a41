package io.homeostat.reconcile.command.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Action;
import io.homeostat.reconcile.plan.Example;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.plan.WorkloadPlan.Facts;
import io.homeostat.reconcile.record.Outcome;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class PassSummaryTest {
    private static final String DOWNLOADING =
            "failed: not done within 4s, it was at: downloading, 8.0 MiB of 40.0 MiB, 2.0 MiB a second";
    private static final String ELSE = " meanwhile, by somebody else";

    private static final WorkloadId A = WorkloadId.process("a");
    private static final WorkloadId B = WorkloadId.process("b");
    private static final WorkloadPlan STAYS = plan(Action.NONE, Reason.AT_DESIRED_STATE);

    private final ByteArrayOutputStream written = new ByteArrayOutputStream();
    private final PrintStream out = new PrintStream(written, true, StandardCharsets.UTF_8);
    private final AtomicLong now = new AtomicLong(1);
    private final PassSummary summary = summary(A, Overtaken.NEVER);

    private PassSummary summary(WorkloadId id, Overtaken overtaken) {
        return summary(id, Set.of(), overtaken);
    }

    private PassSummary summary(WorkloadId id, Set<WorkloadId> asked, Overtaken overtaken) {
        return summary(id, asked, overtaken, ImmutableSet.of());
    }

    private PassSummary summary(WorkloadId id, Set<WorkloadId> asked, Overtaken overtaken, ImmutableSet<Reason> rest) {
        return new PassSummary(
                Set.of(id), Set.of(id), asked, any -> ImmutableList.of(), display(), overtaken, rest, () -> now.get());
    }

    private ProgressDisplay display() {
        return new ProgressDisplay.Plain(
                new Console(out, out, OutputFormat.TEXT, new Ansi(false)),
                "apply",
                9,
                ProgressDisplay.Plain.SILENCE,
                Ticker.systemTicker());
    }

    /** As plan counts it. */
    @Test
    void whatNobodyDeclaresAndNoStateKnowsIsRepairedByItsStopAndNotRemoved() {
        for (Map.Entry<WorkloadPlan, String> told : Map.of(
                        plan(Action.STOP, Reason.PROCESS_UNKNOWN), "1 repaired, 0 removed",
                        plan(Action.REMOVE, Reason.NO_LONGER_DECLARED), "0 repaired, 1 removed",
                        plan(Action.REMOVE, Reason.PROCESS_UNKNOWN), "0 repaired, 1 removed")
                .entrySet()) {
            PassSummary all = new PassSummary(
                    Set.of(A),
                    Set.of(),
                    Set.of(),
                    any -> ImmutableList.of(),
                    display(),
                    Overtaken.NEVER,
                    ImmutableSet.of(),
                    () -> now.get());
            all.finished(A, new PassResult.Again(told.getKey(), new Step.Activate(A, null), Outcome.done()));
            all.finished(A, new PassResult.Settled(STAYS));
            String words = WorkloadResult.summary("apply", all.results("", Set.of()));
            assertTrue(words.contains(told.getValue()), words);
        }
    }

    @Test
    void whatIsBeingDownloadedWhenTheTimeIsOverSaysHowFarItIsAndHowFast() {
        summary.starting(
                new Step.Download(A, "key", new Source("https://bucket/a.tar.gz", null, Duration.ofSeconds(60), 3)));
        Progress progress = summary.download(A);
        progress.bytes(0, 40L << 20);
        now.addAndGet(Duration.ofSeconds(4).toNanos());
        progress.bytes(8L << 20, 40L << 20);

        assertEquals(
                DOWNLOADING,
                summary.results("not done within 4s", Set.of()).getFirst().words());
    }

    @Test
    void howFarADownloadIsIsKnownOverSeveralPasses() {
        Step.Download download =
                new Step.Download(A, "key", new Source("https://bucket/a.tar.gz", null, Duration.ofSeconds(60), 3));
        WorkloadPlan plan = new WorkloadPlan(
                A, Action.INSTALL, Reason.NOT_INSTALLED, "not installed", ImmutableList.of(download), null, null);
        summary.finished(A, new PassResult.UnderWay(plan, download));
        Progress progress = summary.download(A);
        progress.bytes(0, 40L << 20);
        now.addAndGet(Duration.ofSeconds(4).toNanos());
        progress.bytes(8L << 20, 40L << 20);
        summary.finished(A, new PassResult.UnderWay(plan, download));

        assertEquals(
                DOWNLOADING,
                summary.results("not done within 4s", Set.of()).getFirst().words());
    }

    @Test
    void aDownloadThatStandsStillIsWhatTheTimeWentTo() {
        Step.Download download =
                new Step.Download(A, "key", new Source("https://bucket/a.tar.gz", null, Duration.ofSeconds(60), 3));
        WorkloadPlan plan = new WorkloadPlan(
                A, Action.INSTALL, Reason.NOT_INSTALLED, "not installed", ImmutableList.of(download), null, null);
        summary.finished(A, new PassResult.Later(plan, new Step.Wait(A, Instant.MAX, Step.Wait.Kind.PROGRESS, "")));

        assertEquals(
                "failed: not done within 4s, it was at: downloading, and nothing has come yet",
                summary.results("not done within 4s", Set.of()).getFirst().words());
    }

    @Test
    void whatCrashesAfterItWasDoneIsToldWithWhatWasDoneThen() {
        WorkloadPlan install = plan(Action.INSTALL, Reason.NOT_INSTALLED);
        WorkloadPlan crashed = plan(Action.RESTART, Reason.PROCESS_EXITED);
        Step.Activate step = new Step.Activate(A, null);
        summary.finished(A, new PassResult.Again(install, step, Outcome.done()));
        summary.finished(A, new PassResult.Settled(STAYS));
        summary.finished(A, new PassResult.Again(crashed, step, Outcome.done()));
        summary.finished(
                A,
                new PassResult.Later(
                        plan(Action.WAIT, Reason.START_NOT_FINISHED),
                        new Step.Wait(A, Instant.MAX, Step.Wait.Kind.PROGRESS, "starting")));
        summary.finished(A, new PassResult.Settled(STAYS));

        assertEquals(
                crashed,
                summary.results("not done in time", Set.of()).getFirst().plan());
    }

    @Test
    void anUpgradeIsToldAndNotTheRepairBeforeIt() {
        WorkloadPlan upgrade = plan(Action.UPGRADE, Reason.REVISION_CHANGED);
        Step.Activate step = new Step.Activate(A, null);
        summary.finished(A, new PassResult.Again(plan(Action.RESTART, Reason.PROCESS_EXITED), step, Outcome.done()));
        summary.finished(A, new PassResult.Again(upgrade, step, Outcome.done()));
        summary.finished(A, new PassResult.Settled(STAYS));

        assertEquals(
                upgrade,
                summary.results("not done in time", Set.of()).getFirst().plan());
    }

    @Test
    void aRestartIsNotDoneAsLongAsWhatIsToBeReplacedRuns() {
        Situation before = Example.process().wants("A").runs("A").situation();
        String launch = before.instances().getFirst().instance().launchId();
        Situation asked = before.withHistory(
                before.history().withRun(before.history().run().withAgain(launch)));
        WorkloadId id = before.id();
        PassSummary restart = summary(id, Set.of(), Overtaken.NEVER, ImmutableSet.of(Reason.RESTART_REQUESTED));
        WorkloadPlan requested = plan(Action.RESTART, Reason.RESTART_REQUESTED);
        Step.Download download =
                new Step.Download(id, "key", new Source("https://bucket/b.tar.gz", null, Duration.ofSeconds(60), 3));
        PassResult fetching = new PassResult.UnderWay(plan(Action.UPGRADE, Reason.REVISION_CHANGED), download);

        restart.looked(asked, requested);
        restart.finished(
                id,
                new PassResult.Again(
                        requested,
                        new Step.Activate(id, null),
                        new Outcome.Failed(FailureCause.of(FailureCause.Kind.UNKILLABLE), "still there", false)));
        restart.looked(asked, requested);
        restart.finished(id, fetching);
        assertFalse(restart.isRestarted(id));

        restart.looked(before, requested);
        restart.finished(id, fetching);
        assertTrue(restart.isRestarted(id));
    }

    @Test
    void whatSomebodyElseTakesBackMeanwhileHasNotComeAbout() {
        Situation asked = Example.process().wants("A").situation();
        DesiredState wanted = desired(asked);
        Situation other = Example.process().wants("B").situation();
        PassResult.Settled done = new PassResult.Settled(plan(Action.NONE, Reason.AT_DESIRED_STATE));

        PassSummary late = summary(asked.id(), Overtaken.declared(wanted));
        late.looked(other, plan(Action.INSTALL, Reason.NOT_INSTALLED));
        late.finished(asked.id(), done);
        WorkloadResult result = late.results("not done in time", Set.of()).getFirst();
        assertTrue(result.isLeftUndone());
        assertTrue(result.words().startsWith("failed: something else "), result.words());

        PassSummary back = summary(asked.id(), Overtaken.declared(wanted));
        back.looked(other, plan(Action.INSTALL, Reason.NOT_INSTALLED));
        back.looked(asked, plan(Action.INSTALL, Reason.NOT_INSTALLED));
        back.finished(asked.id(), done);
        assertFalse(back.results("not done in time", Set.of()).getFirst().isLeftUndone());
    }

    @Test
    void whatSomebodyElseDeclaresMeanwhileOfWhatNobodyAskedForIsNotTold() {
        Situation before = Example.process().wants("A").situation();
        WorkloadPlan upgrade = plan(Action.UPGRADE, Reason.REVISION_CHANGED);
        PassSummary mine = summary(before.id(), Set.of(B), Overtaken.declared(desired(before)));

        mine.looked(before, upgrade);
        mine.finished(before.id(), new PassResult.Again(upgrade, new Step.Activate(before.id(), null), Outcome.done()));
        mine.looked(Example.process().wants("B").situation(), upgrade);
        mine.finished(before.id(), new PassResult.Settled(STAYS));

        assertEquals(
                WorkloadResult.Kind.UNCHANGED,
                mine.results("", Set.of()).getFirst().kind());
        assertEquals("", written.toString(StandardCharsets.UTF_8));
    }

    @Test
    void aStopThatSomebodyEndsHasNotComeAbout() {
        assertEquals("", Overtaken.started().by(process("A").stopped("").situation(), STAYS));
        assertEquals("", Overtaken.started().by(Example.process().situation(), STAYS), "deleted, so it is stopped");
        assertEquals(
                "it was started" + ELSE, Overtaken.started().by(process("A").situation(), STAYS));
    }

    @Test
    void whatIsToRunNeedOnlyStayDeclared() {
        Overtaken start = Overtaken.withdrawn(desired(process("A").situation()));

        assertEquals("", start.by(process("B").situation(), STAYS));
        assertEquals("it was withdrawn" + ELSE, start.by(Example.process().situation(), STAYS));
        assertEquals(
                "",
                Overtaken.withdrawn(DesiredState.EMPTY).by(Example.process().situation(), STAYS),
                "it was not declared before");
    }

    @Test
    void aRollbackHoldsUntilSomebodyTakesItBackOrChoosesAnotherOne() {
        Situation before = process("B").knownGood("A").situation();
        String back = Objects.requireNonNull(before.history().lastKnownGood()).hash();
        Overtaken rollback = Overtaken.rolledBack(desired(before), Map.of(before.id(), back));

        assertEquals("", rollback.by(rolledBackTo("A"), STAYS));
        assertEquals("it was rolled back to another revision" + ELSE, rollback.by(rolledBackTo("0"), STAYS));
        assertEquals("the rollback was taken back" + ELSE, rollback.by(before, STAYS));
        assertEquals(
                "something else was declared" + ELSE,
                rollback.by(process("C").knownGood("A").situation(), STAYS));
        assertEquals(
                "it is not to run here: disabled",
                rollback.by(
                        rolledBackTo("A"),
                        new WorkloadPlan(A, Action.NONE, Reason.DISABLED, "disabled", ImmutableList.of(), null, null)));
    }

    private static Example process(String revision) {
        return Example.process().wants(revision);
    }

    private static Situation rolledBackTo(String revision) {
        Situation now = process("B").knownGood(revision).situation();
        String hash = Objects.requireNonNull(now.declared()).hash();
        return now.withHistory(
                now.history().withFailed(FailedRevision.byRequest(hash, "B", now.now(), "by request", null)));
    }

    private static DesiredState desired(Situation situation) {
        return new DesiredState(
                ImmutableSortedMap.of(situation.id(), Objects.requireNonNull(situation.declared())),
                DesiredState.EMPTY.policy());
    }

    @Test
    void whatIsDoneIsToldWithoutWhatItWaitedFor() {
        Step.Wait wait = new Step.Wait(A, Instant.EPOCH, Step.Wait.Kind.PROGRESS, "after process/b");
        WorkloadPlan waiting = new WorkloadPlan(
                A, Action.RESTART, Reason.STOPPED, "asked for; after process/b", ImmutableList.of(wait), null, null);
        WorkloadPlan doing = new WorkloadPlan(
                A,
                Action.RESTART,
                Reason.STOPPED,
                "asked for",
                ImmutableList.of(new Step.Activate(A, null)),
                null,
                null);

        summary.finished(A, new PassResult.Later(waiting, wait));
        summary.finished(A, new PassResult.Again(doing, new Step.Activate(A, null), Outcome.done()));
        summary.finished(A, new PassResult.Settled(STAYS));

        assertEquals("process/a  restarted (asked for)\n", written.toString(StandardCharsets.UTF_8));
    }

    @Test
    void whatIsLookedAtAgainBecauseOfOthersIsToldOnce() {
        WorkloadPlan install = plan(Action.INSTALL, Reason.NOT_INSTALLED);
        PassResult.Settled done = new PassResult.Settled(plan(Action.NONE, Reason.AT_DESIRED_STATE));

        summary.finished(A, new PassResult.Again(install, new Step.Activate(A, null), Outcome.done()));
        summary.finished(A, done);
        summary.finished(A, done);

        assertEquals("process/a  installed 7\n", written.toString(StandardCharsets.UTF_8));
    }

    @Test
    void anotherEndIsToldAnew() {
        WorkloadPlan install = plan(Action.INSTALL, Reason.NOT_INSTALLED);
        Step.Wait wait = new Step.Wait(A, Instant.EPOCH, Step.Wait.Kind.RETRY, "no luck");

        summary.finished(A, new PassResult.Later(install, wait));
        summary.finished(A, new PassResult.Settled(plan(Action.NONE, Reason.AT_DESIRED_STATE)));

        assertEquals("process/a  failed: no luck\nprocess/a  installed 7\n", written.toString(StandardCharsets.UTF_8));
    }

    @Test
    void aDefectIsToldInALineAndIsAFailureWhateverFollows() {
        summary.broken(A, new IllegalStateException("a bug"));
        summary.finished(A, new PassResult.Settled(plan(Action.NONE, Reason.AT_DESIRED_STATE)));

        ImmutableList<WorkloadResult> results = summary.results("not done in time", Set.of());

        assertTrue(results.getFirst().isLeftUndone());
        String told =
                written.toString(StandardCharsets.UTF_8).lines().findFirst().orElse("");
        assertTrue(
                told.startsWith("process/a  failed: internal error, a defect of homeostat:"
                        + " java.lang.IllegalStateException: a bug (PassSummaryTest.java:"),
                told);
    }

    private static WorkloadPlan plan(Action action, Reason reason) {
        return new WorkloadPlan(A, action, reason, "", ImmutableList.of(), null, new Facts("7"));
    }
}
