package io.homeostat.reconcile.command;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.observe.health.Health;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.VerifyRequest;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.plan.Situations;
import io.homeostat.reconcile.status.WorkloadState;
import io.homeostat.reconcile.status.WorkloadStatus;
import org.jspecify.annotations.Nullable;

/** Says whether a workload runs at a revision and is well, asked now; its JSON is a public interface. */
public record VerifyCommand(WorkloadId workload, String revision) implements Command {
    public static VerifyCommand of(VerifyRequest request) {
        if (request.getRevision().isEmpty()) {
            throw new UsageException("revision: none, and one is needed");
        }
        return new VerifyCommand(RequestFields.workload(request.getWorkload()), request.getRevision());
    }

    @Override
    public void write(CommandRequest.Builder request) {
        request.setVerify(
                VerifyRequest.newBuilder().setWorkload(workload.toString()).setRevision(revision));
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        WorkloadStatus status = workspace
                .survey(StoredState::desired, Workspace.AS_REMEMBERED, Situations.Depth.HEALTH, workload::equals)
                .findings()
                .stream()
                .filter(finding -> finding.id().equals(workload))
                .map(WorkloadStatus::of)
                .findFirst()
                .orElse(null);
        String problem = problem(status);
        Console console = workspace.console();
        if (console.json()) {
            Json.print(
                    console.out(),
                    Json.versioned()
                            .put("workload", workload.toString())
                            .put("revision", revision)
                            .put("verified", problem.isEmpty())
                            .put("message", problem));
        } else if (problem.isEmpty()) {
            console.out().println(workload + " runs at revision " + Text.oneLine(revision));
        } else {
            console.out().println(workload + " " + Text.oneLine(problem));
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
            boolean undone = revision.equals(status.pendingRevision())
                    && !status.failure().isEmpty();
            return "runs at revision " + status.currentRevision() + ", not " + revision
                    + (undone ? ": " + status.failure() : "");
        }
        Health health = status.health();
        String why =
                health == null || health.verdict() == Health.Verdict.HEALTHY ? codeReported(status) : health.problem();
        return why.isEmpty() ? "" : "runs at revision " + revision + " and is not well: " + why;
    }

    /** As its status says: the code of a daemon, since by one a one-shot says that it is still at work. */
    private static String codeReported(WorkloadStatus status) {
        return status.conditions().stream()
                .filter(condition ->
                        condition.type() == Condition.Type.HEALTHY && condition.reason() == Reason.CODE_REPORTED)
                .map(Condition::message)
                .findFirst()
                .orElse("");
    }
}
