package io.homeostat.reconcile.command.plugin;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.base.Strings;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.observe.health.PluginChannel;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.WatchRequest;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.MaskedFindings;
import io.homeostat.reconcile.command.RequestFields;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.command.plugin.PluginCaller.Result;
import io.homeostat.reconcile.secrets.MaskedHealth;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Waits up to {@code timeout} until a plugin answers GetStatus with a certain code; its JSON is a public interface.
 *
 * @param request what it is asked about; null: its health
 */
public record WatchCommand(WorkloadId plugin, @Nullable String request, int code, Duration timeout) implements Command {
    /** The plugin protocol's limit on GetStatus; as long is waited for what is being done to the plugin. */
    private static final Duration TIMEOUT = Duration.ofSeconds(2);

    private static final Duration PAUSE = Duration.ofSeconds(1);

    public WatchCommand {
        if (!plugin.kind().equals(Kind.PLUGIN)) {
            throw new UsageException(plugin + " is no plugin; write plugin/NAME, such as plugin/ops-agent");
        }
    }

    public static WatchCommand of(WatchRequest request) {
        return new WatchCommand(
                RequestFields.workload(request.getWorkload()),
                request.hasRequest() ? request.getRequest() : null,
                request.getCode(),
                RequestFields.timeout(request.hasTimeout(), request.getTimeout()));
    }

    @Override
    public void write(CommandRequest.Builder request) {
        WatchRequest.Builder watch = WatchRequest.newBuilder()
                .setWorkload(plugin.toString())
                .setCode(code)
                .setTimeout(RequestFields.timeout(timeout));
        if (this.request != null) {
            watch.setRequest(this.request);
        }
        request.setWatch(watch);
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        Ticker ticker = workspace.environment().ticker();
        long start = ticker.read();
        try (PluginChannel plugins = new PluginChannel(workspace.environment().clock())) {
            PluginCaller caller = new PluginCaller(
                    workspace.layout(), new ProcFs(), workspace.enforcer().turns(), workspace::instances);
            while (true) {
                Result<Health> result = caller.with(plugin, TIMEOUT, socket -> ask(plugins, socket));
                if (isIt(result)) {
                    return print(masked(result, workspace), true, workspace.console());
                }
                Duration left = timeout.minusNanos(ticker.read() - start);
                if (!left.isPositive()) {
                    return print(masked(result, workspace), false, workspace.console());
                }
                Thread.sleep(left.compareTo(PAUSE) < 0 ? left : PAUSE);
            }
        }
    }

    private Health ask(PluginChannel plugins, Path socket) {
        return request == null ? plugins.status(socket, TIMEOUT) : plugins.status(socket, request, TIMEOUT);
    }

    private boolean isIt(Result<Health> result) {
        return result instanceof Result.Answered<Health>(String revision, Health health)
                && health.verdict() == Verdict.HEALTHY
                && health.code() == code;
    }

    /** A plugin may answer with what it was given, such as a password. */
    private Result<Health> masked(Result<Health> result, Workspace workspace) {
        return result instanceof Result.Answered<Health>(String revision, Health health)
                ? new Result.Answered<>(
                        revision,
                        workspace
                                .remembered(reader -> MaskedHealth.masked(health, MaskedFindings.mask(plugin, reader)))
                                .orElse(health))
                : result;
    }

    private int print(Result<Health> last, boolean matched, Console console) {
        if (console.json()) {
            Json.print(console.out(), json(last, matched));
        } else if (matched) {
            console.out().println(plugin + " " + words(last));
        }
        if (!matched) {
            console.say(
                    plugin + " did not answer " + code + " within " + Notation.text(timeout) + "; it " + words(last));
        }
        return matched ? ExitStatus.OK : ExitStatus.FAILED;
    }

    private ObjectNode json(Result<Health> last, boolean matched) {
        ObjectNode json = Json.versioned().put("workload", plugin.toString()).put("matched", matched);
        if (last instanceof Result.Answered<Health>(String revision, Health health)
                && health.verdict() == Verdict.HEALTHY) {
            json.put("revision", revision).put("code", health.code());
            json.set("results", Json.texts(health.results()));
        }
        return json.put("message", matched ? "" : words(last));
    }

    /** "answered 3: still at it". */
    private static String words(Result<Health> result) {
        return switch (result) {
            case Result.NotRunning<Health>(String why) -> "is " + why;
            case Result.Answered<Health>(String revision, Health health) ->
                health.verdict() == Verdict.HEALTHY
                        ? "answered " + health.code() + results(health)
                        : "gave no answer: " + Text.oneLine(health.problem());
        };
    }

    private static String results(Health health) {
        String results = health.results().stream().map(Text::oneLine).collect(Collectors.joining("; "));
        return Strings.isNullOrEmpty(results) ? "" : ": " + results;
    }
}
