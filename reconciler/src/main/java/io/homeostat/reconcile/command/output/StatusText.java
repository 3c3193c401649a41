package io.homeostat.reconcile.command.output;

import com.google.common.base.Joiner;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.channel.ChannelStatus;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.VisibleText;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StoredSet;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.usage.UsageReport.Usage;
import io.homeostat.reconcile.command.environment.AgentIdentity;
import io.homeostat.reconcile.command.output.Ansi.Colour;
import io.homeostat.reconcile.controlplane.ControlPlane.ControlPlaneStatus;
import io.homeostat.reconcile.status.WorkloadStatus;
import io.homeostat.reconcile.status.WorkloadStatus.LastRun;
import java.io.PrintStream;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Status for people. */
public final class StatusText {
    private static final String NONE = "-";

    private StatusText() {}

    /** All workloads, one a line, with what is not as it should be. */
    public static void table(List<WorkloadStatus> workloads, Instant now, Console console) {
        Table table = new Table("WORKLOAD", "STATE", "REVISION", "PID", "UP", "RESTARTS", "CONVERGED", "HEALTHY", "");
        for (WorkloadStatus workload : workloads) {
            table.row(
                    workload.id().toString(),
                    workload.state().word(),
                    revisions(workload),
                    found(workload),
                    up(workload, now),
                    Integer.toString(workload.restarts()),
                    condition(workload, Condition.Type.CONVERGED),
                    condition(workload, Condition.Type.HEALTHY),
                    Text.oneLine(what(workload)));
        }
        table.print(console.out(), console.ansi());
    }

    /** What is to be done and why; while nothing is done about a failure, that is the better half of it. */
    private static String what(WorkloadStatus workload) {
        String message = workload.plan().message();
        String failure = workload.failure();
        return message.isEmpty() || failure.isEmpty() || message.contains(failure)
                ? message
                : message + "; last error: " + failure;
    }

    /** Who enforces. A message, so that results are the same whoever found them. */
    public static void agent(AgentIdentity agent, Instant now, Console console) {
        console.err()
                .println("agent: pid " + agent.pid() + ", up " + Text.duration(agent.uptime(now)) + ", version "
                        + agent.version());
        console.err().flush();
    }

    /** How the agent and its control plane get on. A message, as who enforces is. */
    public static void controlPlane(ControlPlaneStatus status, Instant now, Console console) {
        ChannelStatus channel = status.channel();
        Instant since = channel.connectedSince();
        Instant heard = channel.lastMessage();
        String dropped = status.droppedEvents() == 0 ? "" : ", " + status.droppedEvents() + " dropped";
        String refused = status.refusedEvents() == 0 ? "" : ", " + status.refusedEvents() + " refused";
        String withheld = status.withheldRefusals() == 0 ? "" : ", " + status.withheldRefusals() + " refusals withheld";
        console.err()
                .println("control plane: " + Text.oneLine(channel.endpoint())
                        + (since == null
                                ? ", not connected"
                                : ", connected for " + Text.duration(Duration.between(since, now)))
                        + (heard == null ? "" : ", last heard " + Text.ago(Duration.between(heard, now)))
                        + ", " + channel.unacknowledged() + " unacknowledged, " + status.queuedEvents()
                        + " events queued" + dropped + refused + withheld
                        + (since == null && !channel.lastError().isEmpty()
                                ? ": " + Text.oneLine(channel.lastError())
                                : ""));
        console.err().flush();
    }

    /** One workload with all that is known of it. */
    public static void details(WorkloadStatus workload, Instant now, Console console) {
        PrintStream out = console.out();
        out.println(console.ansi().paint(Colour.BOLD, workload.id().toString()));
        field(out, "State", workload.state().word());
        field(out, "Source", source(workload));
        field(out, "Generation", workload.generation() + " (acted on: " + workload.observedGeneration() + ")");
        field(
                out,
                "Revision",
                Text.oneLine("wanted " + or(workload.desiredRevision()) + ", current " + or(workload.currentRevision())
                        + (workload.pendingRevision() == null ? "" : ", pending " + workload.pendingRevision())));
        field(
                out,
                workload.identity() == null || workload.pid() != null ? "Process" : "Instance",
                instance(workload, now));
        field(out, "Uses", usage(workload.usage()));
        field(out, "Restarts", Integer.toString(workload.restarts()));
        field(out, "Last exit", lastExit(workload.lastExit()));
        LastRun execution = workload.execution();
        if (execution != null) {
            field(out, "Last run", lastRun(execution.run()));
            field(out, "Next run", execution.nextDue() == null ? NONE : "due " + execution.nextDue());
        }
        field(out, "Health", health(workload.health()));
        field(out, "Config", workload.configHash().isEmpty() ? NONE : workload.configHash());
        boolean isToDo = !workload.plan().steps().isEmpty();
        field(
                out,
                "To do",
                isToDo
                        ? PlanText.toDo(workload.plan()) + " ("
                                + Text.oneLine(workload.plan().message()) + ")"
                        : NONE);
        if (!workload.failure().isEmpty()) {
            field(out, "Last error", console.ansi().paint(Colour.RED, Text.oneLine(workload.failure())));
        }
        out.println();
        Table conditions = new Table("CONDITION", "STATUS", "SINCE", "REASON", "MESSAGE");
        for (Condition condition : workload.conditions()) {
            conditions.row(
                    condition.type().word(),
                    condition.status().word(),
                    Text.ago(Duration.between(condition.lastTransitionTime(), now)),
                    condition.reason().word(),
                    isToDo && condition.message().equals(workload.plan().message())
                            // It has been said.
                            ? ""
                            : Text.oneLine(condition.message()));
        }
        conditions.print(out, console.ansi());
    }

    /** How a source of published sets stands, in one line. */
    public static void set(StoredSet.Standing standing, Instant now, Console console) {
        String taken = standing.set()
                .map(set -> ", version " + Text.oneLine(set.version())
                        + (set.sequence() == 0 ? "" : ", sequence " + set.sequence())
                        + ", taken " + Text.ago(Duration.between(set.takenAt(), now)))
                .orElse(", nothing was taken yet");
        String answered = standing.answeredAt()
                .map(at -> ", last answered " + Text.ago(Duration.between(at, now)))
                .orElse(", has not answered yet");
        console.err()
                .println(
                        "set of " + standing.source().word() + ": " + Text.oneLine(standing.name()) + taken + answered);
        console.err().flush();
    }

    /**
     * Something that a source reads is wrong, in one line.
     *
     * @param declarations what is in force
     */
    public static String problem(SourceProblem problem, ImmutableList<StoredDeclaration> declarations) {
        return problem.source().word() + ": " + Text.oneLine(problem.message()) + "; "
                + (problem.isNew(declarations)
                        ? "nothing in it is in force until that is corrected"
                        : "what it declared before stays in force");
    }

    private static void field(PrintStream out, String name, String value) {
        out.printf("  %-11s %s%n", name + ":", VisibleText.lines(value));
    }

    private static String revisions(WorkloadStatus workload) {
        String current = workload.currentRevision();
        String pending = workload.pendingRevision();
        return current == null || pending == null || pending.equals(current)
                ? or(current == null ? pending : current)
                : current + " -> " + pending;
    }

    private static String source(WorkloadStatus workload) {
        SourceName source = workload.source();
        if (source == null) {
            return "no longer declared";
        }
        return workload.overruled().isEmpty()
                ? source.word()
                : source.word() + ", overrules "
                        + Joiner.on(", ")
                                .join(workload.overruled().stream()
                                        .map(SourceName::word)
                                        .iterator());
    }

    /** In the column of pids, other instances by what they are. */
    private static String found(WorkloadStatus workload) {
        Identity identity = workload.identity();
        return identity == null || workload.pid() != null ? or(workload.pid()) : Text.oneLine(identity.words());
    }

    private static String instance(WorkloadStatus workload, Instant now) {
        Identity identity = workload.identity();
        return identity == null ? NONE : Text.oneLine(identity.words()) + ", up " + up(workload, now);
    }

    private static String usage(@Nullable Usage usage) {
        return usage == null
                ? NONE
                : String.format(Locale.ROOT, "%.1f%% of one core, ", usage.cpuPercent())
                        + Text.bytes(usage.memoryBytes());
    }

    private static String up(WorkloadStatus workload, Instant now) {
        Instant startedAt = workload.startedAt();
        return startedAt == null ? NONE : Text.duration(Duration.between(startedAt, now));
    }

    private static String lastExit(@Nullable Exit exit) {
        return exit == null ? NONE : exit.words() + ", at " + exit.at().truncatedTo(ChronoUnit.SECONDS);
    }

    private static String lastRun(@Nullable OneShotRun run) {
        if (run == null) {
            return NONE;
        }
        Duration took = run.duration();
        String result = run.result().name().toLowerCase(Locale.ROOT)
                + (took == null ? "" : " after " + Notation.text(took.truncatedTo(ChronoUnit.MILLIS)));
        return result + ", begun at " + run.startedAt()
                + (run.error().isEmpty() ? "" : ": " + Text.oneLine(run.error()));
    }

    private static String health(@Nullable Health health) {
        if (health == null) {
            return NONE;
        }
        if (health.verdict() != Health.Verdict.HEALTHY) {
            return health.verdict() + ": " + Text.oneLine(health.problem());
        }
        String results = Text.oneLine(String.join("; ", health.results()));
        return "code " + health.code() + (results.isEmpty() ? "" : ": " + results);
    }

    private static String condition(WorkloadStatus workload, Condition.Type type) {
        return workload.conditions().stream()
                .filter(condition -> condition.type() == type)
                .map(condition -> condition.status().word())
                .findFirst()
                .orElse(NONE);
    }

    private static String or(@Nullable Object value) {
        return value == null ? NONE : value.toString();
    }
}
