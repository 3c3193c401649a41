package io.homeostat.reconcile.command.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.BriefText;
import org.junit.jupiter.api.Test;

class TableTest {
    @Test
    void oneLongNameDoesNotMakeEveryRowAsWideAsItself() {
        Table table = new Table("NAME", "STATE", "");
        table.row("plugin/" + "n".repeat(100_000), "RUNNING", "why ".repeat(1_000));
        table.row("plugin/a", "RUNNING", "");

        ImmutableList<String> lines = table.lines();

        assertTrue(lines.get(2).length() <= BriefText.LONGEST + "  RUNNING".length(), lines.get(2));
        assertTrue(lines.get(1).endsWith("why"), "the last column is as long as it likes");
        assertEquals(lines.getFirst().indexOf("STATE"), lines.get(2).indexOf("RUNNING"));
    }
}
