package io.homeostat.reconcile.command;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Maps;
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
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.plan.Situations;
import io.homeostat.reconcile.status.Survey;
import io.homeostat.reconcile.status.WorkloadState;
import io.homeostat.reconcile.status.WorkloadStatus;
import org.jspecify.annotations.Nullable;

/** Says whether workloads run at a revision and are well, asked now; its JSON is a public interface. */
public record VerifyCommand(Selection selection, String revision) implements Command {
    public VerifyCommand {
        if (revision.isBlank()) {
            throw new UsageException("--revision is empty; homeostat history shows the revisions that there are");
        }
    }

    public static VerifyCommand of(VerifyRequest request) {
        return new VerifyCommand(
                Selection.of(request.getWorkload(), request.hasSelection(), request.getSelection()),
                request.getRevision());
    }

    @Override
    public void write(CommandRequest.Builder request) {
        VerifyRequest.Builder fields = VerifyRequest.newBuilder().setRevision(revision);
        selection.write(fields::setWorkload, fields::setSelection);
        request.setVerify(fields);
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        ImmutableList<WorkloadId> ids = workspace
                .remembered(reader -> selection.chosen(reader, workload -> true))
                .orElse(selection.names());
        ImmutableMap<WorkloadId, WorkloadStatus> statuses = workspace
                .survey(StoredState::desired, Workspace.AS_REMEMBERED, Situations.Depth.HEALTH, ids::contains)
                .findings()
                .stream()
                .filter(finding -> ids.contains(finding.id()))
                .collect(ImmutableMap.toImmutableMap(Survey.Finding::id, WorkloadStatus::of));
        ImmutableMap<WorkloadId, String> problems = Maps.toMap(ids, id -> problem(statuses.get(id)));
        Console console = workspace.console();
        if (!console.json()) {
            problems.forEach((id, problem) -> console.out()
                    .println(
                            problem.isEmpty()
                                    ? id + " runs at revision " + Text.oneLine(revision)
                                    : id + " " + Text.oneLine(problem)));
        } else {
            selection.print(problems, this::fields, console);
        }
        if (ids.isEmpty()) {
            return selection.nothing("is declared", workspace);
        }
        return problems.values().stream().allMatch(String::isEmpty) ? ExitStatus.OK : ExitStatus.FAILED;
    }

    private ObjectNode fields(ObjectNode json, WorkloadId id, String problem) {
        return json.put("workload", id.toString())
                .put("revision", revision)
                .put("verified", problem.isEmpty())
                .put("message", problem);
    }

    /** Empty when there is none. */
    private String problem(@Nullable WorkloadStatus status) {
        if (status == null) {
            return "is neither declared nor on this machine";
        }
        if (status.state() != WorkloadState.RUNNING) {
            String why = status.plan().message();
            return "does not run, it is " + status.state().word() + (why.isEmpty() ? "" : ": " + why);
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
