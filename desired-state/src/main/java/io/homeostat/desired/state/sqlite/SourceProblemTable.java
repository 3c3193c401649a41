package io.homeostat.desired.state.sqlite;

import com.google.common.base.Enums;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Multimaps;
import com.google.common.collect.Sets;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.yaml.Problem;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Set;

/** What is wrong with a source, within one transaction. */
final class SourceProblemTable {
    /** What makes two problems of an origin the same one. */
    private record Key(Problem.Kind kind, String place) {
        static Key of(SourceProblem problem) {
            return new Key(problem.kind(), problem.place());
        }
    }

    private SourceProblemTable() {}

    static SourceProblem read(SourceName source, ResultSet row) throws SQLException {
        return new SourceProblem(
                source,
                row.getString("origin"),
                // A later program may know more kinds.
                Enums.getIfPresent(Problem.Kind.class, row.getString("kind")).or(Problem.Kind.UNSPECIFIED),
                row.getString("place"),
                row.getString("message"));
    }

    /** Replaces a source's problems; returns an event for each origin that has a new one, and for each that has none any more. */
    static ImmutableList<Event> replace(
            Connection connection, SourceName source, ImmutableList<SourceProblem> problems, Instant now)
            throws SQLException {
        ImmutableSet<SourceProblem> stored = ImmutableSet.copyOf(Database.list(
                connection, "SELECT * FROM source_problem WHERE source = ?", row -> read(source, row), source.word()));
        if (stored.equals(ImmutableSet.copyOf(problems))) {
            return ImmutableList.of();
        }
        Database.update(connection, "DELETE FROM source_problem WHERE source = ?", source.word());
        for (SourceProblem problem : ImmutableSet.copyOf(problems)) {
            Database.update(
                    connection,
                    "INSERT INTO source_problem(source, origin, kind, place, message) VALUES (?, ?, ?, ?, ?)",
                    source.word(),
                    problem.origin(),
                    problem.kind().name(),
                    problem.place(),
                    problem.message());
        }
        ImmutableListMultimap<String, SourceProblem> before = Multimaps.index(stored, SourceProblem::origin);
        ImmutableListMultimap<String, SourceProblem> after = Multimaps.index(problems, SourceProblem::origin);
        ImmutableList.Builder<Event> events = ImmutableList.builder();
        for (String origin : after.keySet()) {
            ImmutableList<String> fresh = fresh(before.get(origin), after.get(origin));
            if (!fresh.isEmpty()) {
                events.add(event(now, EventType.AGENT_SOURCE_INVALID, source, words(fresh)));
            }
        }
        for (String origin : Sets.difference(before.keySet(), after.keySet())) {
            events.add(
                    event(now, EventType.AGENT_SOURCE_VALID, source, "nothing is wrong with " + origin + " any more"));
        }
        return events.build();
    }

    /** The messages of those problems of an origin that it did not have before. */
    private static ImmutableList<String> fresh(
            ImmutableList<SourceProblem> before, ImmutableList<SourceProblem> after) {
        Set<Key> known = before.stream().map(Key::of).collect(ImmutableSet.toImmutableSet());
        // Which problem an earlier version reported is not known, so it is not reported again.
        boolean mayBeKnown = before.stream().anyMatch(problem -> problem.kind() == Problem.Kind.UNSPECIFIED);
        return after.stream()
                .filter(problem -> !mayBeKnown && !known.contains(Key.of(problem)))
                .map(SourceProblem::message)
                .distinct()
                .collect(ImmutableList.toImmutableList());
    }

    /** One event an origin: a file with a thousand mistakes must not push everything else out of the events. */
    private static String words(ImmutableList<String> problems) {
        int others = problems.size() - 1;
        return others == 0 ? problems.getFirst() : problems.getFirst() + " (and " + others + " more)";
    }

    private static Event event(Instant now, EventType type, SourceName source, String message) {
        return new Event(now, null, "", type, source.word() + ": " + message);
    }
}
