package io.homeostat.desired.state.sqlite;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSetMultimap;
import com.google.common.collect.Sets;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateReader.SourceProblem;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Set;

/** What is wrong with a source, within one transaction. */
final class SourceProblemTable {
    private SourceProblemTable() {}

    /**
     * Replaces a source's problems.
     *
     * @return what is to be told of the difference: an event for each origin that has a new problem, and one for each that has
     *     none any more
     */
    static ImmutableList<Event> replace(
            Connection connection, SourceName source, ImmutableList<SourceProblem> problems, Instant now)
            throws SQLException {
        ImmutableSetMultimap<String, String> before = stored(connection, source);
        ImmutableSetMultimap<String, String> after = problems.stream()
                .collect(ImmutableSetMultimap.toImmutableSetMultimap(SourceProblem::origin, SourceProblem::message));
        if (before.equals(after)) {
            return ImmutableList.of();
        }
        Database.update(connection, "DELETE FROM source_problem WHERE source = ?", source.word());
        for (var problem : after.entries()) {
            Database.update(
                    connection,
                    "INSERT INTO source_problem(source, origin, message) VALUES (?, ?, ?)",
                    source.word(),
                    problem.getKey(),
                    problem.getValue());
        }
        ImmutableList.Builder<Event> events = ImmutableList.builder();
        for (String origin : after.keySet()) {
            Set<String> fresh = Sets.difference(after.get(origin), before.get(origin));
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

    private static ImmutableSetMultimap<String, String> stored(Connection connection, SourceName source)
            throws SQLException {
        ImmutableSetMultimap.Builder<String, String> stored = ImmutableSetMultimap.builder();
        Database.query(
                connection,
                "SELECT origin, message FROM source_problem WHERE source = ?",
                row -> stored.put(row.getString(1), row.getString(2)),
                source.word());
        return stored.build();
    }

    /** One event an origin: a file with a thousand mistakes must not push everything else out of the events. */
    private static String words(Set<String> problems) {
        String first = ImmutableSet.copyOf(problems).asList().getFirst();
        int others = problems.size() - 1;
        return others == 0 ? first : first + " (and " + others + " more)";
    }

    private static Event event(Instant now, EventType type, SourceName source, String message) {
        return new Event(now, null, "", type, source.word() + ": " + message);
    }
}
