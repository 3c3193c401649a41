package io.homeostat.reconcile.command;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Iterables;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateReader.StoredRevision;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.HistoryRequest;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Ansi.Colour;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Table;
import io.homeostat.reconcile.plan.Work;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Shows the declarations of workloads that were acted on, and how they fared: a row for each time that one took the place of another,
 * as helm has it. Its JSON is a public interface.
 */
public record HistoryCommand(Selection selection) implements Command {
    private static final String NONE = "-";

    /** What became of a declaration, in the words of helm. */
    enum Standing {
        /** It runs, or is to run again as soon as it can. */
        CURRENT,
        /** Declared, and not known to work yet. */
        PENDING,
        /** Worked until another one took its place. */
        SUPERSEDED,
        /** Did not work, and was undone. */
        FAILED,
        /** Worked, and was undone because somebody asked for it. */
        ROLLED_BACK,
        /** Another one was declared, or gone back to, before it was known to work. */
        ABANDONED
    }

    /**
     * One of them.
     *
     * @param until when another one took its place, or when it was undone; null while nothing has
     * @param why it was undone, or does not work so far; empty when there is nothing against it
     */
    record Revision(
            StoredRevision stored,
            Standing standing,
            @Nullable Instant until,
            String why) {
        /** Number, revision, source, since when, until when, what became of it and why. */
        private String[] columns() {
            return new String[] {
                Integer.toString(stored.number()),
                stored.workload().revision(),
                stored.source().map(SourceName::word).orElse(NONE),
                stored.tookPlaceAt()
                        .orElse(stored.triedAt())
                        .truncatedTo(ChronoUnit.SECONDS)
                        .toString(),
                until == null ? NONE : until.truncatedTo(ChronoUnit.SECONDS).toString(),
                standing.name().toLowerCase(Locale.ROOT).replace('_', ' '),
                Stream.of(
                                stored.backTo()
                                        .map(number -> "back to number " + number)
                                        .orElse(""),
                                why)
                        .filter(words -> !words.isEmpty())
                        .collect(Collectors.joining("; "))
            };
        }

        private ObjectNode json() {
            return Json.object()
                    .put("number", stored.number())
                    .put("revision", stored.workload().revision())
                    .put("source", stored.source().map(SourceName::word).orElse(null))
                    .put("triedAt", stored.triedAt().toString())
                    .put(
                            "launchedAt",
                            stored.launchedAt().map(Instant::toString).orElse(null))
                    .put("goodAt", stored.goodAt().map(Instant::toString).orElse(null))
                    .put("until", until == null ? null : until.toString())
                    .put("status", standing.name())
                    .put("backTo", stored.backTo().orElse(null))
                    .put("error", why);
        }
    }

    public static HistoryCommand of(HistoryRequest request) {
        return new HistoryCommand(Selection.of(request.getWorkload(), request.hasSelection(), request.getSelection()));
    }

    @Override
    public void write(CommandRequest.Builder request) {
        HistoryRequest.Builder fields = HistoryRequest.newBuilder();
        selection.write(fields::setWorkload, fields::setSelection);
        request.setHistory(fields);
    }

    @Override
    public int run(Workspace workspace) {
        ImmutableMap<WorkloadId, ImmutableList<Revision>> found =
                workspace.remembered(this::revisions).orElse(ImmutableMap.of());
        ImmutableList<WorkloadId> unknown = selection.names().stream()
                .filter(id -> !found.containsKey(id))
                .distinct()
                .collect(ImmutableList.toImmutableList());
        Console console = workspace.console();
        if (console.json()) {
            selection.print(found, HistoryCommand::fields, console);
        } else {
            text(found, console);
        }
        if (found.isEmpty() && unknown.isEmpty()) {
            return selection.nothing("that was ever launched is declared", workspace);
        }
        unknown.forEach(id -> console.failPart(
                workspace.word(),
                "nothing is remembered of " + id
                        + "; homeostat status shows what is declared, homeostat events --for " + id
                        + " what happened before it was deleted, if it was"));
        return unknown.isEmpty() ? ExitStatus.OK : ExitStatus.NOTHING_DECLARED;
    }

    /** Of those of which anything is remembered. */
    private ImmutableMap<WorkloadId, ImmutableList<Revision>> revisions(StateReader reader) {
        return selection.chosen(reader, workload -> true).stream()
                .filter(id -> !reader.revisions(id).isEmpty())
                .collect(ImmutableMap.toImmutableMap(id -> id, id -> revisions(id, reader)));
    }

    /** Each of several under its name. */
    private void text(ImmutableMap<WorkloadId, ImmutableList<Revision>> found, Console console) {
        boolean first = true;
        for (Map.Entry<WorkloadId, ImmutableList<Revision>> one : found.entrySet()) {
            if (!selection.isOne()) {
                console.out().print(first ? "" : "\n");
                console.out().println(console.ansi().paint(Colour.BOLD, one.getKey() + ":"));
            }
            table(one.getValue()).print(console.out(), console.ansi());
            first = false;
        }
    }

    private static ObjectNode fields(ObjectNode json, WorkloadId id, ImmutableList<Revision> revisions) {
        json.put("workload", id.toString());
        json.set("revisions", json(revisions));
        return json;
    }

    /** Oldest first. */
    static ImmutableList<Revision> revisions(WorkloadId id, StateReader reader) {
        ImmutableList<StoredRevision> stored = reader.revisions(id);
        WorkloadHistory history = reader.history(id);
        String tried = history.attempts().hash();
        LastKnownGood good = history.lastKnownGood();
        String wanted = good == null || history.undone(tried).isEmpty() ? tried : good.hash();
        int lastGood = stored.size() - 1 - Iterables.indexOf(stored.reverse(), StoredRevision::wasGood);
        ImmutableList.Builder<Revision> revisions = ImmutableList.builder();
        for (int i = 0; i < stored.size(); i++) {
            StoredRevision one = stored.get(i);
            ImmutableList<StoredRevision> later = stored.subList(i + 1, stored.size());
            boolean again = later.stream().anyMatch(other -> other.hash().equals(one.hash()));
            boolean replacedByNow =
                    later.stream().anyMatch(other -> other.tookPlaceAt().isPresent());
            boolean current = i == lastGood && !again && !one.wasUndone() && !replacedByNow;
            boolean replaced = !later.isEmpty() || !one.hash().equals(wanted);
            revisions.add(new Revision(
                    one, standing(one, current, replaced), current ? null : until(one, later), one.error()));
        }
        return revisions.build();
    }

    private static Standing standing(StoredRevision one, boolean current, boolean replaced) {
        if (current) {
            return Standing.CURRENT;
        } else if (one.wasUndone()) {
            return one.wasGood() ? Standing.ROLLED_BACK : Standing.FAILED;
        } else if (one.wasGood()) {
            return Standing.SUPERSEDED;
        }
        return replaced ? Standing.ABANDONED : Standing.PENDING;
    }

    /** When it was undone, or another one was launched in its place; of what never ran, when another one was tried. */
    private static @Nullable Instant until(StoredRevision one, ImmutableList<StoredRevision> later) {
        Stream<Instant> next = one.tookPlaceAt().isPresent()
                ? later.stream().map(StoredRevision::tookPlaceAt).flatMap(Optional::stream)
                : later.stream().map(StoredRevision::triedAt);
        return Stream.concat(one.failedAt().stream(), next.limit(1))
                .min(Comparator.naturalOrder())
                .orElse(null);
    }

    static Table table(List<Revision> revisions) {
        Table table = new Table("NUMBER", "REVISION", "SOURCE", "SINCE", "UNTIL", "STATUS", "");
        revisions.forEach(revision -> table.row(revision.columns()));
        return table;
    }

    static ArrayNode json(List<Revision> revisions) {
        return Json.array(revisions, Revision::json);
    }

    /**
     * The one to go back to. One that differs from what runs in nothing that it is launched or configured with is gone back to by its
     * number only: nothing would run in another way.
     *
     * @param declared hash of what is declared now
     * @return the one that worked before what runs now; empty when there is none
     */
    static Optional<StoredRevision> former(String declared, StateReader reader, WorkloadId id) {
        ImmutableList<StoredRevision> stored = reader.revisions(id);
        WorkloadHistory history = reader.history(id);
        LastKnownGood good = history.lastKnownGood();
        String runs = good == null ? "" : good.hash();
        Optional<StoredRevision> running = stored.reversed().stream()
                .filter(one -> one.hash().equals(runs))
                .findFirst();
        int place = running.map(StoredRevision::first).orElse(Integer.MAX_VALUE);
        Optional<StoredRevision> before = stored.stream()
                .filter(one -> !one.hash().equals(declared) && (good == null || !isSameProgram(one, good)))
                .filter(one -> one.wasGood() && !newest(stored, one).wasUndone() && place(one, place) < place)
                .max(Comparator.comparingInt(one -> place(one, place)));
        if (runs.equals(declared)) {
            return before;
        }
        FailedRevision undone = history.undone(declared).orElse(null);
        if (undone == null) {
            // What is declared is new, and not known to work.
            return running;
        } else if (undone.byRequest()) {
            return before;
        }
        // What was undone by itself has been gone back from.
        return history.standInFails() ? before.or(() -> running) : running;
    }

    /** Whether one would run as the other does: it only asks that it be limited, judged or looked after in another way. */
    private static boolean isSameProgram(StoredRevision one, LastKnownGood good) {
        return one.hash().equals(good.hash()) || Work.of(one.workload()).equals(Work.of(good.workload()));
    }

    private static StoredRevision newest(ImmutableList<StoredRevision> stored, StoredRevision one) {
        return Iterables.find(stored.reverse(), other -> other.hash().equals(one.hash()));
    }

    /** Where it stands among what ran before that number; by where it was first, if all that is kept of it came later. */
    private static int place(StoredRevision one, int before) {
        return one.number() < before ? one.number() : one.first();
    }
}
