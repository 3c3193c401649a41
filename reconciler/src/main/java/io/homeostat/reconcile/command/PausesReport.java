package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Maps;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Pause;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.OneLine;
import io.homeostat.reconcile.command.output.PlanJson;
import org.jspecify.annotations.Nullable;

/** Whether workloads are paused after a command that concerned that; its JSON is a public interface. */
final class PausesReport {
    private PausesReport() {}

    static void print(ImmutableList<WorkloadId> ids, Workspace workspace) {
        ImmutableMap<WorkloadId, Pause> pauses = workspace
                .remembered(reader -> Maps.uniqueIndex(reader.pauses(), Pause::workload))
                .orElse(ImmutableMap.of());
        Console console = workspace.console();
        if (console.json()) {
            Json.print(console.out(), json -> {
                json.writeStartObject();
                json.writeStringField("formatVersion", PlanJson.FORMAT_VERSION);
                json.writeArrayFieldStart("workloads");
                for (WorkloadId id : ids) {
                    @Nullable Pause pause = pauses.get(id);
                    json.writeStartObject();
                    json.writeStringField("workload", id.toString());
                    json.writeBooleanField("paused", pause != null);
                    if (pause != null && pause.stopped()) {
                        json.writeBooleanField("stopped", true);
                    }
                    if (pause != null) {
                        json.writeStringField("reason", pause.reason());
                        json.writeStringField("since", pause.since().toString());
                    }
                    json.writeEndObject();
                }
                json.writeEndArray();
                json.writeEndObject();
            });
            return;
        }
        for (WorkloadId id : ids) {
            @Nullable Pause pause = pauses.get(id);
            console.out().println(pause == null ? id + " is enforced" : id + " is " + OneLine.of(pause.words()));
        }
    }
}
