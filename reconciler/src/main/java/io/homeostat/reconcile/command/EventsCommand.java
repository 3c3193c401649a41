package io.homeostat.reconcile.command;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
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
import java.util.Iterator;

/** Shows what happened, and with {@code follow} goes on until interrupted. */
public record EventsCommand(boolean follow) implements Command {
    private static final int PAGE = 1000;
    private static final String INDENT = "    ";
    private static final Duration PAUSE = Duration.ofSeconds(1);

    public static EventsCommand of(EventsRequest request) {
        return new EventsCommand(request.getFollow());
    }

    @Override
    public void write(CommandRequest.Builder request) {
        request.setEvents(EventsRequest.newBuilder().setFollow(follow));
    }

    @Override
    public boolean goesOn() {
        return follow;
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        long last = printAfter(0, workspace);
        while (follow && workspace.console().isRead()) {
            Thread.sleep(PAUSE);
            // Another database has taken the place of the one that was being read, and counts from the beginning.
            boolean another = last > 0 && after(last - 1, workspace).isEmpty();
            last = printAfter(another ? 0 : last, workspace);
        }
        return ExitStatus.OK;
    }

    private static long printAfter(long id, Workspace workspace) {
        long last = id;
        ImmutableList<StoredEvent> page = after(last, workspace);
        while (!page.isEmpty()) {
            page.forEach(event -> print(event, workspace.console()));
            last = page.getLast().id();
            page = after(last, workspace);
        }
        return last;
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

    private static ObjectNode json(StoredEvent stored) {
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
