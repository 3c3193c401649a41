package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.homeostat.proto.plugin.GetStatusRequest;
import io.homeostat.proto.plugin.Status;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneOffset;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a plugin is asked, and how often, when somebody waits for its answer. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class WatchTest {
    @TempDir
    Path directory;

    private Shell shell;
    private FakePlugin plugin;

    @BeforeEach
    void declareOne() throws IOException {
        shell = new Shell(directory);
        plugin = new FakePlugin(shell, "a");
        shell.write("a.yaml", plugin.document());
    }

    @AfterEach
    void leaveNothingBehind() throws Exception {
        try (FakePlugin _ = plugin) {
            shell.close();
        }
    }

    @Test
    void itAsksUntilTheAnswerIsTheOneThatIsWaitedFor() {
        apply();
        AtomicInteger answers = new AtomicInteger();
        plugin.status = request -> request.getData().equals("task 4")
                ? answer(answers.incrementAndGet() < 3 ? 1 : 7, "done")
                : answer(0, "");

        Result watched = watch("--request", "task 4", "--code", "7", "--timeout", "1m");

        assertEquals(0, watched.status(), watched.err());
        assertEquals("plugin/a answered 7: done\n", watched.out());
        assertEquals(3, answers.get());
    }

    @Test
    void withoutARequestItAsksForTheHealthAndWaitsForZero() {
        apply();
        int before = plugin.asked.size();

        assertEquals(0, watch().status());

        GetStatusRequest asked = plugin.asked.get(before);
        assertFalse(asked.hasData());
    }

    @Test
    void aClockThatIsSetMeanwhileIsNoTimeThatPasses() {
        apply();
        AtomicInteger answers = new AtomicInteger();
        plugin.status = request -> answer(answers.incrementAndGet() < 2 ? 1 : 0, "");
        InstantSource jumps = () -> Instant.EPOCH.plus(Duration.ofDays(answers.get()));
        shell.at(jumps.withZone(ZoneOffset.UTC));

        assertEquals(0, watch("--timeout", "1m").status());
        assertEquals(2, answers.get());
    }

    private void apply() {
        Result applied = shell.run("apply", "-f", directory + "/a.yaml");
        assertEquals(0, applied.status(), applied.out());
    }

    private Result watch(String... options) {
        String[] words = new String[options.length + 2];
        words[0] = "watch";
        words[1] = "plugin/a";
        System.arraycopy(options, 0, words, 2, options.length);
        return shell.run(words);
    }

    private static Status answer(int code, String result) {
        Status.Builder status = Status.newBuilder().setCode(code);
        return result.isEmpty() ? status.build() : status.addResults(result).build();
    }
}
