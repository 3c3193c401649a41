package io.homeostat.reconcile.command;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.StateReader.StoredEvent;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.EventsRequest;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Ansi;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Text;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Shows what happened, and with {@code follow} goes on until interrupted.
 *
 * @param selection only of these; all: of the agent itself, and of what is not declared any more, too
 * @param since only what happened then or later; {@link Instant#EPOCH}: whenever it did
 * @param limit only so many, the newest, of what has happened already
 */
public record EventsCommand(Selection selection, Instant since, OptionalInt limit, boolean follow) implements Command {
    private static final Selection EVERYTHING = new Selection(ImmutableList.of(), ImmutableMap.of(), true);

    /** All that is known of. */
    public static final EventsCommand ALL = new EventsCommand(EVERYTHING, Instant.EPOCH, OptionalInt.empty(), false);

    private static final int PAGE = 1000;
    private static final String INDENT = "    ";
    private static final Duration PAUSE = Duration.ofSeconds(1);

    public static EventsCommand of(EventsRequest request) {
        return new EventsCommand(
                selection(
                        RequestFields.workloads(request.getWorkloadsList()),
                        ImmutableMap.copyOf(request.getLabelsMap())),
                Instant.ofEpochMilli(request.getSinceEpochMillis()),
                RequestFields.count("limit", request.hasLimit(), request.getLimit()),
                request.getFollow());
    }

    /** Of all when it is not said of which. */
    public static Selection selection(ImmutableList<WorkloadId> names, ImmutableMap<String, String> labels) {
        return new Selection(names, labels, names.isEmpty() && labels.isEmpty());
    }

    @Override
    public void write(CommandRequest.Builder request) {
        EventsRequest.Builder events = EventsRequest.newBuilder()
                .addAllWorkloads(RequestFields.words(selection.names()))
                .putAllLabels(selection.labels())
                .setSinceEpochMillis(since.toEpochMilli())
                .setFollow(follow);
        limit.ifPresent(events::setLimit);
        request.setEvents(events);
    }

    @Override
    public boolean goesOn() {
        return follow;
    }

    @Override
    public Command from(Instant now) {
        return new EventsCommand(selection, now, OptionalInt.empty(), follow);
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        Console console = workspace.console();
        Set<WorkloadId> seen = new HashSet<>();
        Set<WorkloadId> about = new HashSet<>(selection.names());
        about.addAll(labelled(workspace));
        if (!selection.labels().isEmpty() && about.isEmpty()) {
            return selection.nothing("is declared", workspace);
        }
        long last;
        if (limit.isPresent()) {
            Newest newest = new Newest(limit.getAsInt());
            last = readAfter(0, workspace, seen, about, newest);
            newest.events().forEach(event -> print(event, console));
        } else {
            last = readAfter(0, workspace, seen, about, event -> print(event, console));
        }
        while (follow && workspace.console().isRead()) {
            Thread.sleep(PAUSE);
            // Another database has taken the place of the one that was being read, and counts from the beginning.
            boolean another = last > 0 && after(last - 1, workspace).isEmpty();
            // Who is withdrawn meanwhile has been one of them.
            about.addAll(labelled(workspace));
            last = readAfter(another ? 0 : last, workspace, seen, about, event -> print(event, console));
        }
        return follow ? ExitStatus.OK : tellOfUnknown(workspace, seen);
    }

    /** Silence about a name that is mistyped would be taken for "nothing has happened". */
    private int tellOfUnknown(Workspace workspace, Set<WorkloadId> seen) {
        ImmutableSortedSet<WorkloadId> declared = workspace
                .remembered(reader -> reader.declarations().stream()
                        .map(one -> one.workload().id())
                        .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo)))
                .orElse(ImmutableSortedSet.of());
        ImmutableList<WorkloadId> unknown = selection.names().stream()
                .filter(id -> !seen.contains(id) && !declared.contains(id))
                .collect(ImmutableList.toImmutableList());
        unknown.forEach(id -> workspace
                .console()
                .failPart(
                        workspace.word(),
                        id + " is not declared, and no event of it is kept; " + Text.declared(declared)));
        return unknown.isEmpty() ? ExitStatus.OK : ExitStatus.FAILED;
    }

    /** Keeps the last of the events that it is given. */
    static final class Newest implements Consumer<StoredEvent> {
        private final Deque<StoredEvent> events = new ArrayDeque<>();
        private final int most;

        Newest(int most) {
            this.most = most;
        }

        @Override
        public void accept(StoredEvent event) {
            events.add(event);
            if (events.size() > most) {
                events.remove();
            }
        }

        /** Oldest first. */
        ImmutableList<StoredEvent> events() {
            return ImmutableList.copyOf(events);
        }
    }

    /**
     * Returns the number of the last one, asked for or not.
     *
     * @param seen gets each workload that has an event
     * @param about the chosen ones
     */
    private long readAfter(
            long id, Workspace workspace, Set<WorkloadId> seen, Set<WorkloadId> about, Consumer<StoredEvent> asked) {
        long last = id;
        ImmutableList<StoredEvent> page = after(last, workspace);
        while (!page.isEmpty()) {
            page.stream()
                    .map(one -> one.event().workload())
                    .filter(Objects::nonNull)
                    .forEach(seen::add);
            page.stream().filter(one -> isAsked(one.event(), about)).forEach(asked);
            last = page.getLast().id();
            page = after(last, workspace);
        }
        return last;
    }

    private boolean isAsked(Event event, Set<WorkloadId> about) {
        return (selection.all() || (event.workload() != null && about.contains(event.workload())))
                && !event.time().isBefore(since);
    }

    private ImmutableSet<WorkloadId> labelled(Workspace workspace) {
        return selection.labels().isEmpty()
                ? ImmutableSet.of()
                : workspace
                        .remembered(reader -> ImmutableSet.copyOf(selection.chosen(reader, workload -> true)))
                        .orElse(ImmutableSet.of());
    }

    /** A page each time it is read: nothing may keep the database from being tidied while somebody reads slowly. */
    private static ImmutableList<StoredEvent> after(long id, Workspace workspace) {
        return workspace.remembered(reader -> reader.events(id, PAGE)).orElse(ImmutableList.of());
    }

    private static void print(StoredEvent event, Console console) {
        if (console.json()) {
            Json.print(console.out(), json(event));
        } else {
            text(event.event(), console);
        }
    }

    private static void text(Event event, Console console) {
        WorkloadId workload = event.workload();
        Iterator<String> lines = Splitter.on('\n').split(event.message()).iterator();
        console.out()
                .println((event.time() + "  " + (workload == null ? "homeostat" : workload)
                                + (event.revision().isEmpty() ? "" : "  " + Text.oneLine(event.revision()))
                                + "  "
                                + console.ansi()
                                        .paint(Ansi.Colour.BOLD, event.type().name())
                                + "  " + Text.oneLine(lines.next()))
                        .stripTrailing());
        lines.forEachRemaining(line -> console.out().println(INDENT + Text.oneLine(line)));
    }

    static ObjectNode json(StoredEvent stored) {
        Event event = stored.event();
        return Json.versioned()
                .put("id", stored.id())
                .put("time", event.time().toString())
                .put(
                        "workload",
                        event.workload() == null ? null : event.workload().toString())
                .put("revision", event.revision())
                .put("type", event.type().name())
                .put("message", event.message());
    }
}
