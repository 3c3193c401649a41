package io.homeostat.reconcile.command;

import com.fasterxml.jackson.core.JsonGenerator;
import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.StoredEvent;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Ink;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.OneLine;
import java.io.IOException;
import java.time.Duration;
import java.util.Iterator;

/** Shows what happened. */
final class EventsCommand implements Command {
    private static final int PAGE = 1000;
    private static final String INDENT = "    ";

    private static final Duration PAUSE = Duration.ofSeconds(1);

    private final Workspace workspace;
    private final boolean follow;

    /** @param follow goes on with what happens from now on, until interrupted */
    EventsCommand(Workspace workspace, boolean follow) {
        this.workspace = workspace;
        this.follow = follow;
    }

    @Override
    public int run() throws InterruptedException {
        long last = printAfter(0);
        while (follow && workspace.console().isRead()) {
            Thread.sleep(PAUSE);
            // Another database has taken the place of the one that was being read, and counts from the beginning.
            boolean another = last > 0 && after(last - 1).isEmpty();
            last = printAfter(another ? 0 : last);
        }
        return ExitStatus.OK;
    }

    private long printAfter(long id) {
        long last = id;
        ImmutableList<StoredEvent> page = after(last);
        while (!page.isEmpty()) {
            page.forEach(this::print);
            last = page.getLast().id();
            page = after(last);
        }
        return last;
    }

    /** A page each time it is read: nothing may keep the database from being tidied while somebody reads slowly. */
    private ImmutableList<StoredEvent> after(long id) {
        return workspace.remembered(reader -> reader.events(id, PAGE)).orElse(ImmutableList.of());
    }

    private void print(StoredEvent event) {
        Console console = workspace.console();
        if (console.json()) {
            Json.print(console.out(), json -> write(event, json));
        } else {
            text(event.event(), console);
        }
    }

    private static void text(Event event, Console console) {
        WorkloadId workload = event.workload();
        Iterator<String> lines = Splitter.on('\n').split(event.message()).iterator();
        console.out()
                .println((event.time() + "  " + (workload == null ? "homeostat" : workload)
                                + (event.revision().isEmpty() ? "" : "  " + event.revision())
                                + "  "
                                + console.ink()
                                        .paint(Ink.Colour.BOLD, event.type().name())
                                + "  " + OneLine.of(lines.next()))
                        .stripTrailing());
        lines.forEachRemaining(line -> console.out().println(INDENT + OneLine.of(line)));
    }

    private static void write(StoredEvent stored, JsonGenerator json) throws IOException {
        Event event = stored.event();
        WorkloadId workload = event.workload();
        json.writeStartObject();
        json.writeNumberField("id", stored.id());
        json.writeStringField("time", event.time().toString());
        json.writeFieldName("workload");
        if (workload == null) {
            json.writeNull();
        } else {
            json.writeString(workload.toString());
        }
        json.writeStringField("revision", event.revision());
        json.writeStringField("type", event.type().name());
        json.writeStringField("message", event.message());
        json.writeEndObject();
    }
}
