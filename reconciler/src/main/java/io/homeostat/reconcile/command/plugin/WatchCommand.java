package io.homeostat.reconcile.command.plugin;

import com.google.common.base.Strings;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.observe.health.PluginChannel;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.ExitStatus;
import io.homeostat.reconcile.command.Operation;
import io.homeostat.reconcile.command.UsageException;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.OneLine;
import io.homeostat.reconcile.command.output.PlanJson;
import io.homeostat.reconcile.command.plugin.PluginTalks.Talk;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.Collectors;

/** Waits until a plugin answers GetStatus with a certain code; its JSON is a public interface. */
public final class WatchCommand implements Command {
    /** The plugin protocol's limit on GetStatus; as long is waited for what is being done to the plugin. */
    private static final Duration TIMEOUT = Duration.ofSeconds(2);

    private static final Duration PAUSE = Duration.ofSeconds(1);

    private final Workspace workspace;
    private final WorkloadId id;
    private final Operation.Watch watch;

    public WatchCommand(Workspace workspace, Operation.Watch watch) {
        this.workspace = workspace;
        this.id = watch.plugin();
        this.watch = watch;
    }

    /**
     * A workload that is a plugin.
     *
     * @throws UsageException when it is of another kind
     */
    public static WorkloadId plugin(WorkloadId id) {
        if (id.kind() != Kind.PLUGIN) {
            throw new UsageException(id + " is no plugin; write plugin/NAME, such as plugin/ops-agent");
        }
        return id;
    }

    @Override
    public int run() throws InterruptedException {
        long start = System.nanoTime();
        try (PluginChannel plugins = new PluginChannel(workspace.environment().clock())) {
            PluginTalks talks = new PluginTalks(
                    workspace.layout(), new ProcFs(), workspace.enforcer().turns(), workspace::instances);
            while (true) {
                Talk<Health> talk = talks.with(id, TIMEOUT, socket -> ask(plugins, socket));
                if (isIt(talk)) {
                    return print(talk, true);
                }
                Duration left = watch.timeout().minusNanos(System.nanoTime() - start);
                if (!left.isPositive()) {
                    return print(talk, false);
                }
                Thread.sleep(left.compareTo(PAUSE) < 0 ? left : PAUSE);
            }
        }
    }

    private Health ask(PluginChannel plugins, Path socket) {
        String request = watch.request();
        return request == null ? plugins.status(socket, TIMEOUT) : plugins.status(socket, request, TIMEOUT);
    }

    private boolean isIt(Talk<Health> talk) {
        return talk instanceof Talk.Had<Health>(String revision, Health health)
                && health.verdict() == Verdict.HEALTHY
                && health.code() == watch.code();
    }

    private int print(Talk<Health> last, boolean matched) {
        Console console = workspace.console();
        if (console.json()) {
            json(last, matched);
        } else if (matched) {
            console.out().println(id + " " + words(last));
        }
        if (!matched) {
            console.say(id + " did not answer " + watch.code() + " within " + Notation.text(watch.timeout()) + "; it "
                    + words(last));
        }
        return matched ? ExitStatus.OK : ExitStatus.FAILED;
    }

    private void json(Talk<Health> last, boolean matched) {
        Json.print(workspace.console().out(), json -> {
            json.writeStartObject();
            json.writeStringField("formatVersion", PlanJson.FORMAT_VERSION);
            json.writeStringField("workload", id.toString());
            json.writeBooleanField("matched", matched);
            if (last instanceof Talk.Had<Health>(String revision, Health health)
                    && health.verdict() == Verdict.HEALTHY) {
                json.writeStringField("revision", revision);
                json.writeNumberField("code", health.code());
                json.writeArrayFieldStart("results");
                for (String result : health.results()) {
                    json.writeString(result);
                }
                json.writeEndArray();
            }
            json.writeStringField("message", matched ? "" : words(last));
            json.writeEndObject();
        });
    }

    /** "answered 3: still at it". */
    private static String words(Talk<Health> talk) {
        return switch (talk) {
            case Talk.NotRunning<Health>(String why) -> "is " + why;
            case Talk.Had<Health>(String revision, Health health) ->
                health.verdict() == Verdict.HEALTHY
                        ? "answered " + health.code() + results(health)
                        : "gave no answer: " + OneLine.of(health.problem());
        };
    }

    private static String results(Health health) {
        String results = health.results().stream().map(OneLine::of).collect(Collectors.joining("; "));
        return Strings.isNullOrEmpty(results) ? "" : ": " + results;
    }
}
