package io.homeostat.reconcile.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;

/**
 * A row of a table of situations.
 *
 * @param planned as {@link Example#planned} says it: "upgrade REVISION_CHANGED: download unpack stop activate launch start"
 */
record PlanningRow(String situation, String planned, Supplier<Example> example) {
    static PlanningRow row(String situation, String planned, Supplier<Example> example) {
        return new PlanningRow(situation, planned, example);
    }

    static Stream<DynamicTest> tests(List<PlanningRow> table) {
        return table.stream()
                .map(row -> DynamicTest.dynamicTest(
                        row.situation(),
                        () -> assertEquals(row.planned(), row.example().get().planned())));
    }
}
