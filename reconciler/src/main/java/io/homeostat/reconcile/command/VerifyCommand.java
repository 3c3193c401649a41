package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.StoredState;
import io.homeostat.observe.health.Health;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.OneLine;
import io.homeostat.reconcile.command.output.PlanJson;
import io.homeostat.reconcile.plan.Situations;
import io.homeostat.reconcile.status.WorkloadState;
import io.homeostat.reconcile.status.WorkloadStatus;
import org.jspecify.annotations.Nullable;

/** Says whether a workload runs at a revision, asked now; its JSON is a public interface. */
final class VerifyCommand implements Command {
    private final Workspace workspace;
    private final WorkloadId id;
    private final String revision;

    VerifyCommand(Workspace workspace, WorkloadId id, String revision) {
        this.workspace = workspace;
        this.id = id;
        this.revision = revision;
    }

    @Override
    public int run() throws InterruptedException {
        WorkloadStatus status = workspace
                .survey(StoredState::desired, ImmutableList.of(), Situations.Depth.HEALTH, id::equals)
                .findings()
                .stream()
                .filter(finding -> finding.id().equals(id))
                .map(WorkloadStatus::of)
                .findFirst()
                .orElse(null);
        String problem = problem(status);
        Console console = workspace.console();
        if (console.json()) {
            Json.print(console.out(), json -> {
                json.writeStartObject();
                json.writeStringField("formatVersion", PlanJson.FORMAT_VERSION);
                json.writeStringField("workload", id.toString());
                json.writeStringField("revision", revision);
                json.writeBooleanField("verified", problem.isEmpty());
                json.writeStringField("message", problem);
                json.writeEndObject();
            });
        } else if (problem.isEmpty()) {
            console.out().println(id + " runs at revision " + revision);
        } else {
            console.out().println(id + " " + OneLine.of(problem));
        }
        return problem.isEmpty() ? ExitStatus.OK : ExitStatus.FAILED;
    }

    /** Empty when there is none. */
    private String problem(@Nullable WorkloadStatus status) {
        if (status == null) {
            return "is neither declared nor on this machine";
        }
        if (status.state() != WorkloadState.RUNNING) {
            String why = status.plan().message();
            return "does not run, it is " + status.state() + (why.isEmpty() ? "" : ": " + why);
        }
        if (!revision.equals(status.currentRevision())) {
            return "runs at revision " + status.currentRevision() + ", not " + revision;
        }
        Health health = status.health();
        return health == null || health.verdict() == Health.Verdict.HEALTHY
                ? ""
                : "runs at revision " + revision + " and is not well: " + health.problem();
    }
}
