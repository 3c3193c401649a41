package io.homeostat.reconcile.plan;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.Example.failed;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.Iterables;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.RunRecord.Completed;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.plan.Relations.Need;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** How what a workload depends on is thought to fare, by what is remembered of it: well, on its way, or stuck. */
class NeedTest {
    private static final WorkloadId DB = WorkloadId.process("db");
    private static final WorkloadId WEB = WorkloadId.process("web");
    private static final String DAEMON = "{type: daemon}";
    private static final String ON_FAILURE = DAEMON + "\n  restart: {policy: onFailure}";
    private static final Condition HEALTHY =
            new Condition(Condition.Type.HEALTHY, Condition.Status.TRUE, Reason.HEALTHY, "", NOW);

    private record Row(String situation, Need.State state, String execution, Supplier<Remembered> db) {}

    @TestFactory
    Stream<DynamicTest> whatIsRememberedTells() {
        return Stream.of(
                        row("started and healthy", Need.State.WELL, () -> runs(Phase.STARTED)),
                        row(
                                "healthy by its last look, and not started since",
                                Need.State.COMING,
                                () -> runs(Phase.CREATED)),
                        row("not looked at yet", Need.State.COMING, () -> neighbour(WorkloadHistory.NONE)),
                        row(
                                "failures of another declaration count for nothing",
                                Need.State.COMING,
                                () -> neighbour(acted(7, attempts -> attempts.withStart(failed(9, NOW))))),
                        row(
                                "a start that another try can't help",
                                Need.State.STUCK,
                                () -> neighbour(acted(
                                        1,
                                        attempts ->
                                                attempts.withStart(new Failures(1, NOW, "no such program", true))))),
                        row(
                                "running what was declared before and never well, by the new probe",
                                Need.State.COMING,
                                () -> runs(Phase.STARTED, "another")),
                        row(
                                "in a crash loop",
                                Need.State.STUCK,
                                () -> neighbour(crashed(2, not(Condition.Type.CONVERGED, Reason.CRASH_LOOP)))),
                        row(
                                "crashed, and launched again already",
                                Need.State.COMING,
                                () -> neighbour(crashed(2, not(Condition.Type.CONVERGED, Reason.PROCESS_EXITED)))),
                        row(
                                "said to be in a crash loop that is over",
                                Need.State.COMING,
                                () -> neighbour(crashed(0, not(Condition.Type.CONVERGED, Reason.CRASH_LOOP)))),
                        row(
                                "held for a reason that time alone does not remove",
                                Need.State.STUCK,
                                () -> neighbour(crashed(2, not(Condition.Type.CONVERGED, Reason.GIVEN_UP)))),
                        row(
                                "said to be given up, and somebody wants it tried again",
                                Need.State.COMING,
                                () -> neighbour(crashed(0, not(Condition.Type.CONVERGED, Reason.GIVEN_UP)))),
                        row(
                                "that reason said of something else",
                                Need.State.COMING,
                                () -> neighbour(crashed(0, not(Condition.Type.LIMITS_NOT_ENFORCED, Reason.GIVEN_UP)))),
                        row(
                                "disabled",
                                Need.State.STUCK,
                                () -> neighbour(crashed(
                                        0,
                                        new Condition(
                                                Condition.Type.DISABLED,
                                                Condition.Status.TRUE,
                                                Reason.DISABLED,
                                                "",
                                                NOW)))),
                        row(
                                "enabled by its rules",
                                Need.State.COMING,
                                () -> neighbour(crashed(0, not(Condition.Type.DISABLED, Reason.ENABLED)))),
                        new Row(
                                "what is to run at each boot ran in the one before",
                                Need.State.COMING,
                                "{type: oneShot, triggers: {startup: true}}",
                                () -> ran("last-boot")),
                        new Row(
                                "its run failed, and it is run again at once",
                                Need.State.COMING,
                                "{type: oneShot, triggers: {startup: true}}",
                                () -> neighbour(crashed(0, not(Condition.Type.CONVERGED, Reason.RUN_FAILED)))),
                        new Row(
                                "its run failed, and only its calendar runs it again",
                                Need.State.STUCK,
                                "{type: oneShot, triggers: {startup: false, schedule: {cron: \"0 2 * * *\"}}}",
                                () -> neighbour(crashed(0, not(Condition.Type.CONVERGED, Reason.RUN_FAILED)))),
                        new Row(
                                "what is to run once ran in a boot before",
                                Need.State.WELL,
                                "{type: oneShot, triggers: {firstBoot: true}}",
                                () -> ran("last-boot")),
                        new Row(
                                "what need not go on has completed",
                                Need.State.WELL,
                                ON_FAILURE,
                                () -> completed("this-boot")),
                        new Row(
                                "what need not go on has completed in a boot before",
                                Need.State.COMING,
                                ON_FAILURE,
                                () -> completed("last-boot")),
                        new Row(
                                "what need not go on has completed, and nobody knows in which boot",
                                Need.State.WELL,
                                ON_FAILURE,
                                () -> completed("")),
                        new Row(
                                "the last good revision has completed, and what is declared was undone",
                                Need.State.WELL,
                                ON_FAILURE,
                                () -> completedBefore(history ->
                                        history.withFailed(new FailedRevision("hash", "local", 1, NOW, "it says no")))),
                        new Row(
                                "the last good revision has completed, and what is declared can't be fetched",
                                Need.State.WELL,
                                ON_FAILURE,
                                () -> completedBefore(history ->
                                        history.withAttempts(history.attempts().withInstall(failed(1, NOW))))),
                        new Row(
                                "the last good revision has completed, and what is declared was tried",
                                Need.State.COMING,
                                ON_FAILURE,
                                () -> completedBefore(history ->
                                        history.withAttempts(history.attempts().withStart(failed(1, NOW))))),
                        row("what is to run always has completed", Need.State.COMING, () -> completed("this-boot")),
                        new Row(
                                "what is to run once was a daemon before, and has not run",
                                Need.State.COMING,
                                "{type: oneShot, triggers: {firstBoot: true}}",
                                () -> neighbour(
                                        acted(1, attempts -> attempts).withConditions(ImmutableList.of(HEALTHY)))))
                .map(row -> DynamicTest.dynamicTest(
                        row.situation(),
                        () -> assertEquals(
                                row.state(), state(row.execution(), row.db().get()))));
    }

    @Test
    void howItFaresConcernsWhatDependsOnIt() {
        assertEquals(ImmutableSet.of(WEB), dependencies(DAEMON).concernedBy(DB));
        assertEquals(ImmutableSet.of(), dependencies(DAEMON).concernedBy(WEB));
    }

    private static Row row(String situation, Need.State state, Supplier<Remembered> db) {
        return new Row(situation, state, DAEMON, db);
    }

    private static Need.State state(String execution, Remembered db) {
        Remembered other = neighbour(WorkloadHistory.NONE);
        Relations relations = dependencies(execution)
                .of(
                        WEB,
                        HostFacts.of("this-boot", "instance"),
                        WorkloadHistory.NONE,
                        new Neighbours(id -> id.equals(DB) ? db : other, instance -> false, id -> false, id -> false),
                        id -> false);
        return Iterables.getOnlyElement(relations.needs()).state();
    }

    private static DependencyGraph dependencies(String execution) {
        ImmutableSortedMap<WorkloadId, Declaration> declared = ImmutableSortedMap.of(
                DB, declaration("db", "execution: " + execution), WEB, declaration("web", "dependsOn: [process/db]"));
        return new DependencyGraph(new DesiredState(declared), ImmutableMap::of);
    }

    private static Declaration declaration(String name, String more) {
        Workload workload = Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: %s}
                spec:
                  install: local
                  entryPoint: /bin/a
                  %s
                """.formatted(name, more));
        return new Declaration(workload, SourceName.FILES, 1, "hash", ImmutableList.of());
    }

    private static WorkloadHistory acted(long generation, UnaryOperator<Attempts> attempts) {
        return WorkloadHistory.NONE.withAttempts(generation, attempts.apply(Attempts.of("hash")));
    }

    private static Remembered completed(String bootId) {
        WorkloadHistory history = acted(1, attempts -> attempts).withConditions(ImmutableList.of(HEALTHY));
        Exit exit = new Exit(0, null, Exit.Reason.EXITED, NOW);
        String work = Work.of(declaration("db", "").workload());
        return neighbour(history.withRun(history.run().withCompleted(new Completed(work, "launch", bootId, exit))));
    }

    /** Another revision than is declared, in this boot. */
    private static Remembered completedBefore(UnaryOperator<WorkloadHistory> change) {
        Workload good = declaration("db", "execution: " + ON_FAILURE + "\n  arguments: [former]")
                .workload();
        Exit exit = new Exit(0, null, Exit.Reason.EXITED, NOW);
        WorkloadHistory history = acted(1, attempts -> attempts)
                .withConditions(ImmutableList.of(HEALTHY))
                .withLastKnownGood(new LastKnownGood(good, "former", null));
        return neighbour(change.apply(history.withRun(
                history.run().withCompleted(new Completed(Work.of(good), "launch", "this-boot", exit)))));
    }

    private static WorkloadHistory crashed(int times, Condition condition) {
        WorkloadHistory history = acted(1, attempts -> attempts).withConditions(ImmutableList.of(condition));
        return times == 0 ? history : history.withRun(history.run().withCrashes(failed(times, NOW)));
    }

    private static Condition not(Condition.Type type, Reason reason) {
        return new Condition(type, Condition.Status.FALSE, reason, "", NOW);
    }

    private static Remembered runs(Phase start) {
        return runs(start, "local");
    }

    private static Remembered runs(Phase start, String revision) {
        Instance instance = new Instance(
                "launch",
                DB,
                "hash",
                revision,
                null,
                LaunchInputs.of(declaration("db", "").workload()),
                NOW,
                new ProcessIdentity(4711, 1, "this-boot"),
                start,
                "");
        return new Remembered(
                acted(1, attempts -> attempts).withConditions(ImmutableList.of(HEALTHY)),
                ImmutableList.of(instance),
                null);
    }

    private static Remembered ran(String bootId) {
        WorkloadHistory history = acted(1, attempts -> attempts).withConditions(ImmutableList.of(HEALTHY));
        OneShotRun run =
                OneShotRun.begun("work", "launch", bootId, "instance", NOW).completed(NOW, null);
        return neighbour(history.withRun(history.run().withOneShot(run)));
    }

    private static Remembered neighbour(WorkloadHistory history) {
        return new Remembered(history, ImmutableList.of(), null);
    }
}
