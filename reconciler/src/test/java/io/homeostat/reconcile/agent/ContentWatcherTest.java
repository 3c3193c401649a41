package io.homeostat.reconcile.agent;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.files.FileContents;
import io.homeostat.reconcile.plan.Example;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Situation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real files, and passes that only say what they have seen. */
class ContentWatcherTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    Path root;

    private final FileContents contents = new FileContents(InstantSource.system());
    private final Queue<WorkloadId> told = new ConcurrentLinkedQueue<>();
    private final ContentWatcher watcher = new ContentWatcher(contents::look, told::add);
    private Path file;

    @BeforeEach
    void setUp() throws Exception {
        file = Files.writeString(root.resolve("f"), "one");
    }

    @AfterEach
    void tearDown() {
        watcher.close();
    }

    private WorkloadId pass(ImmutableMap<String, FileContent> seen) {
        Situation any = Example.process().wants("1").situation();
        Situation situation = any.withSeen(any.seen().withFiles(seen));
        watcher.looked(situation, Planner.plan(situation));
        return situation.id();
    }

    private ImmutableMap<String, FileContent> now() {
        return contents.look(null, ImmutableSet.of(file.toString()));
    }

    private void awaitTold(WorkloadId id) {
        await().atMost(PATIENCE).untilAsserted(() -> assertEquals(id, told.peek()));
    }

    @Test
    void aChangeIsToldAtOnce() throws Exception {
        WorkloadId id = pass(now());
        Files.writeString(file, "two");

        awaitTold(id);
    }

    @Test
    void aChangeBetweenTheLookAndTheWatchingIsTold() throws Exception {
        ImmutableMap<String, FileContent> before = now();
        Files.writeString(file, "two");

        awaitTold(pass(before));
    }

    @Test
    void aFileThatAppearsIsTold() throws Exception {
        Files.delete(file);
        WorkloadId id = pass(now());
        Files.writeString(file, "one");

        awaitTold(id);
    }
}
