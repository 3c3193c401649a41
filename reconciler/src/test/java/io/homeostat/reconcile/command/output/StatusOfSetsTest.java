package io.homeostat.reconcile.command.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StoredSet;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What status says of sources of published sets. */
final class StatusOfSetsTest {
    private static final Instant NOW = Instant.parse("2026-11-20T12:00:00Z");
    private static final String NAME = "etcd:/homeostat/set";

    @Test
    void aSetIsShownWithItsAgeAndThatOfTheLastAnswer() {
        assertEquals(
                "set of etcd: etcd:/homeostat/set, version 12, sequence 42, taken 5m0s ago, last answered 2s ago",
                line(standing(42)));
        assertEquals(
                "set of etcd: etcd:/homeostat/set, version 12, taken 5m0s ago, last answered 2s ago",
                line(standing(0)));
    }

    @Test
    void aSourceThatNeverAnsweredSaysSo() {
        assertEquals(
                "set of git: file:///r, nothing was taken yet, has not answered yet",
                line(new StoredSet.Standing(SourceName.GIT, "file:///r", Optional.empty(), Optional.empty())));
    }

    @Test
    void programsReadAllOfIt() {
        SourceProblem problem = new SourceProblem(SourceName.ETCD, NAME, Problem.Kind.UNREADABLE, "", "away");

        JsonNode set = json(List.of(problem), List.of(standing(42))).at("/sets/0");

        assertEquals(
                "{\"source\":\"etcd\",\"name\":\"etcd:/homeostat/set\",\"version\":\"12\",\"sequence\":42,"
                        + "\"publishedAt\":\"2026-11-20T11:50:00Z\",\"takenAt\":\"2026-11-20T11:55:00Z\","
                        + "\"answeredAt\":\"2026-11-20T11:59:58Z\",\"lastFailure\":\"away\"}",
                set.toString());
    }

    @Test
    void withoutSourcesOfSetsThereIsNothingOfThem() {
        assertFalse(json(List.of(), List.of()).has("sets"));
    }

    private static ObjectNode json(List<SourceProblem> problems, List<StoredSet.Standing> sets) {
        return StatusJson.of(Optional.empty(), Optional.empty(), NOW, List.of(), problems, sets, List.of());
    }

    private static StoredSet.Standing standing(long sequence) {
        StoredSet set = new StoredSet(
                SourceName.ETCD, NAME, "12", sequence, Optional.of(NOW.minusSeconds(600)), "d", NOW.minusSeconds(300));
        return new StoredSet.Standing(SourceName.ETCD, NAME, Optional.of(set), Optional.of(NOW.minusSeconds(2)));
    }

    private static String line(StoredSet.Standing standing) {
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        StatusText.set(
                standing,
                NOW,
                new Console(
                        new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8),
                        new PrintStream(err, false, StandardCharsets.UTF_8),
                        OutputFormat.TEXT,
                        new Ansi(false)));
        return err.toString(StandardCharsets.UTF_8).strip();
    }
}
