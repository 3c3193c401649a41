package io.homeostat.reconcile.runtime.task;

import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A driver and its tasks in memory. */
abstract class TaskTestBed {
    @TempDir
    Path root;

    TaskBench bench;

    @BeforeEach
    void openBench() throws Exception {
        bench = new TaskBench(root);
    }

    @AfterEach
    void closeBench() throws Exception {
        bench.close();
    }
}
