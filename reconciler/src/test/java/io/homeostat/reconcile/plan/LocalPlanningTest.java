package io.homeostat.reconcile.plan;

import static io.homeostat.reconcile.plan.Example.process;
import static io.homeostat.reconcile.plan.PlanningRow.row;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.SourceName;
import io.homeostat.reconcile.Written;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** What is planned when a program that is on the disk already takes the place of one that was installed, and the other way round. */
class LocalPlanningTest {
    private static final Declaration LOCAL =
            new Declaration(Written.workload("""
                    apiVersion: homeostat.io/v1
                    kind: Process
                    metadata: {name: p}
                    spec: {install: local, entryPoint: /usr/bin/p}
                    """), SourceName.LOCAL, 1, "local", ImmutableList.of());

    @TestFactory
    Stream<DynamicTest> howALocalProgramTakesThePlaceOfAnInstalledOne() {
        return PlanningRow.tests(List.of(
                row(
                        "the symlink goes before the local program is launched, and what was installed when that is well",
                        "upgrade REVISION_CHANGED: stop activate launch",
                        () -> process()
                                .knownGood("A")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .wants(LOCAL)),
                row(
                        "without a symlink there is none to remove",
                        "upgrade REVISION_CHANGED: stop launch",
                        () -> process().knownGood("A").installed("A").runs("A").wants(LOCAL)),
                row(
                        "the installed one takes its place again",
                        "upgrade REVISION_CHANGED: stop activate launch",
                        () -> process()
                                .wants(LOCAL)
                                .provenAsDeclared()
                                .runs("local")
                                .wants("A")
                                .installed("A"))));
    }

    @Test
    void theSymlinkIsRemovedAndNotPointedElsewhere() {
        WorkloadPlan plan = process()
                .knownGood("A")
                .installed("A")
                .active("A")
                .runs("A")
                .wants(LOCAL)
                .plan();

        assertEquals(
                List.of(new Step.Activate(LOCAL.id(), null)),
                plan.steps().stream().filter(Step.Activate.class::isInstance).toList());
    }
}
