package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Limits are declared, and not enforced yet: nobody may be left to believe that they are. */
class LimitsTest {
    @TempDir
    Path directory;

    private Shell shell;

    @BeforeEach
    void openShell() {
        shell = new Shell(directory);
    }

    @AfterEach
    void leaveNothingBehind() {
        shell.close();
    }

    @Test
    void whatMustNotRunWithoutLimitsIsNotStartedAndPlanSaysSo() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 600) + "  limits: {memory: 64Mi, required: true}\n");

        Result plan = shell.run("plan", "-f", directory + "/a.yaml");
        Result apply = shell.run("apply", "-f", directory + "/a.yaml");

        assertTrue(plan.out().contains(". process/a"), plan.out());
        assertTrue(plan.out().contains("limits.required is true, and this version can't enforce limits"), plan.out());
        assertEquals(1, apply.status(), apply.out());
        assertTrue(apply.out().contains("limits.required is true"), apply.out());
    }

    @Test
    void whatRunsWithoutItsLimitsSaysSoInItsCondition() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 600) + "  limits: {memory: 64Mi}\n");
        assertEquals(0, shell.run("apply", "-f", directory + "/a.yaml").status());

        Result status = shell.run("status", "process/a");

        assertTrue(status.out().contains("its limits are not enforced by this version"), status.out());
    }
}
