package io.homeostat.reconcile.command.plugin;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.base.Strings;
import com.google.common.base.Throwables;
import com.google.common.collect.ImmutableList;
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
import io.homeostat.reconcile.command.Selection;
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
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Waits up to {@code timeout} until plugins answer GetStatus with a certain code, each of them once; its JSON is a public interface.
 *
 * @param request what they are asked about; null: their health
 */
public record WatchCommand(Selection selection, @Nullable String request, int code, Duration timeout)
        implements Command {
    /** The plugin protocol's limit on GetStatus; as long is waited for what is being done to the plugin. */
    private static final Duration TIMEOUT = Duration.ofSeconds(2);

    private static final Duration PAUSE = Duration.ofSeconds(1);

    public WatchCommand {
        for (WorkloadId id : selection.names()) {
            if (!id.kind().equals(Kind.PLUGIN)) {
                throw new UsageException(id + " is no plugin; write plugin/NAME, such as plugin/ops-agent");
            }
        }
    }

    public static WatchCommand of(WatchRequest request) {
        return new WatchCommand(
                Selection.of(request.getWorkload(), request.hasSelection(), request.getSelection()),
                request.hasRequest() ? request.getRequest() : null,
                request.getCode(),
                RequestFields.timeout(request.hasTimeout(), request.getTimeout()));
    }

    @Override
    public void write(CommandRequest.Builder request) {
        WatchRequest.Builder watch = WatchRequest.newBuilder().setCode(code).setTimeout(RequestFields.timeout(timeout));
        selection.write(watch::setWorkload, watch::setSelection);
        if (this.request != null) {
            watch.setRequest(this.request);
        }
        request.setWatch(watch);
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        Ticker ticker = workspace.environment().ticker();
        long start = ticker.read();
        ImmutableList<WorkloadId> ids = workspace
                .remembered(reader -> selection.chosen(
                        reader, workload -> workload.id().kind().equals(Kind.PLUGIN)))
                .orElse(selection.names());
        Map<WorkloadId, Result<Health>> last = new LinkedHashMap<>();
        try (PluginChannel plugins = new PluginChannel(workspace.environment().clock())) {
            PluginCaller caller = new PluginCaller(
                    workspace.layout(), new ProcFs(), workspace.enforcer().turns(), workspace::instances);
            while (true) {
                ask(ids, last, id -> caller.with(id, TIMEOUT, socket -> ask(plugins, socket)));
                Duration left = timeout.minusNanos(ticker.read() - start);
                if (last.values().stream().allMatch(this::isIt) || !left.isPositive()) {
                    last.replaceAll((id, result) -> masked(id, result, workspace));
                    return print(last, workspace);
                }
                Thread.sleep(left.compareTo(PAUSE) < 0 ? left : PAUSE);
            }
        }
    }

    /** Asks all that have not answered yet, at the same time: one that hangs keeps nobody else from being asked. */
    private void ask(ImmutableList<WorkloadId> ids, Map<WorkloadId, Result<Health>> last, Question question)
            throws InterruptedException {
        Map<WorkloadId, Future<Result<Health>>> asked = new LinkedHashMap<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (WorkloadId id : ids) {
                if (!isIt(last.get(id))) {
                    asked.put(id, threads.submit(() -> question.to(id)));
                }
            }
            try {
                for (Map.Entry<WorkloadId, Future<Result<Health>>> one : asked.entrySet()) {
                    last.put(one.getKey(), one.getValue().get());
                }
            } finally {
                // Who is interrupted does not wait for the others.
                threads.shutdownNow();
            }
        } catch (ExecutionException e) {
            Throwable cause = Objects.requireNonNull(e.getCause());
            Throwables.throwIfUnchecked(cause);
            throw new IllegalStateException(cause);
        }
    }

    /** What a plugin is asked. */
    @FunctionalInterface
    private interface Question {
        Result<Health> to(WorkloadId plugin) throws InterruptedException;
    }

    private Health ask(PluginChannel plugins, Path socket) {
        return request == null ? plugins.status(socket, TIMEOUT) : plugins.status(socket, request, TIMEOUT);
    }

    private boolean isIt(@Nullable Result<Health> result) {
        return result instanceof Result.Answered<Health>(String revision, Health health)
                && health.verdict() == Verdict.HEALTHY
                && health.code() == code;
    }

    /** A plugin may answer with what it was given, such as a password. */
    private static Result<Health> masked(WorkloadId plugin, Result<Health> result, Workspace workspace) {
        return result instanceof Result.Answered<Health>(String revision, Health health)
                ? new Result.Answered<>(
                        revision,
                        workspace
                                .remembered(reader -> MaskedHealth.masked(health, MaskedFindings.mask(plugin, reader)))
                                .orElse(health))
                : result;
    }

    private int print(Map<WorkloadId, Result<Health>> last, Workspace workspace) {
        Console console = workspace.console();
        if (!console.json()) {
            last.forEach((id, result) -> {
                if (isIt(result)) {
                    console.out().println(id + " " + words(result));
                }
            });
        } else {
            selection.print(last, this::fields, console);
        }
        if (last.isEmpty()) {
            return selection.nothing("that is a plugin is declared", workspace);
        }
        boolean all = true;
        for (Map.Entry<WorkloadId, Result<Health>> one : last.entrySet()) {
            if (!isIt(one.getValue())) {
                all = false;
                console.say(one.getKey() + " did not answer " + code + " within " + Notation.text(timeout) + "; it "
                        + words(one.getValue()));
            }
        }
        return all ? ExitStatus.OK : ExitStatus.FAILED;
    }

    private ObjectNode fields(ObjectNode json, WorkloadId plugin, Result<Health> last) {
        boolean matched = isIt(last);
        json.put("workload", plugin.toString()).put("matched", matched);
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
