package io.homeostat.reconcile.command.plugin;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.Config;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader;
import io.homeostat.observe.health.PluginChannel;
import io.homeostat.observe.health.PluginChannel.PluginReply;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.VmEventRequest;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.MaskedFindings;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Table;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.command.plugin.PluginCaller.Result;
import io.homeostat.reconcile.loop.Turns;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Tells every running plugin of a VM event, all at once; its JSON is a public interface. Their answers change nothing that is remembered,
 * neither configuration nor hash, and a plugin without Apply is not restarted.
 */
public record VmEventCommand(Event event) implements Command {
    /** The plugin protocol's limit on Apply; as long is waited for what is being done to a plugin. */
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    private static final int TOLD = 0;
    private static final int NOT_RUNNING = 501;
    private static final int FAILED = 502;

    /** What happens to the machine, of which plugins may want to know. */
    public enum Event {
        STARTUP,
        SHUTDOWN,
        /** The phase of that name when Windows is generalised. */
        SPECIALIZE;

        /** As it is typed, and as plugins know it. */
        public String word() {
            return name().toLowerCase(Locale.ROOT);
        }

        public static Optional<Event> ofWord(String word) {
            return Arrays.stream(values())
                    .filter(event -> event.word().equals(word))
                    .findFirst();
        }

        /** "startup, shutdown, specialize". */
        public static String words() {
            return Arrays.stream(values()).map(Event::word).collect(Collectors.joining(", "));
        }

        /** What plugins are told by Apply, letter for letter as those expect it that were written for Google's guest agent. */
        Config message() {
            return new Config("{\"Command\":\"VmEvent\",\"Event\":\"" + word() + "\"}", null);
        }
    }

    /**
     * What one plugin made of it; {@code revision} and {@code message} are empty where there is none.
     *
     * @param code {@link #TOLD}, {@link #NOT_RUNNING} or {@link #FAILED}, as Google's guest agent answers
     */
    private record Delivery(WorkloadId plugin, String revision, int code, String message) {
        ObjectNode json() {
            return Json.object()
                    .put("workload", plugin.toString())
                    .put("revision", revision)
                    .put("code", code)
                    .put("message", message);
        }
    }

    public static VmEventCommand of(String word) {
        return new VmEventCommand(Event.ofWord(word)
                .orElseThrow(() -> new UsageException("'" + Text.oneLine(word) + "' is none of " + Event.words())));
    }

    @Override
    public void write(CommandRequest.Builder request) {
        request.setVmEvent(VmEventRequest.newBuilder().setEvent(event.word()));
    }

    @Override
    public boolean onlyLooks() {
        return false;
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        if (workspace.remembered(StateReader::everDeclared).isEmpty()) {
            // No state directory: nothing to lock, and nobody to tell.
            return print(ImmutableList.of(), workspace.console());
        }
        return workspace.enforcer().undisturbed(workspace, turns -> tell(workspace, turns));
    }

    private int tell(Workspace workspace, Turns turns) throws InterruptedException {
        ImmutableSortedSet<WorkloadId> known =
                workspace.remembered(VmEventCommand::plugins).orElse(ImmutableSortedSet.of());
        try (PluginChannel plugins = new PluginChannel(workspace.environment().clock())) {
            PluginCaller caller = new PluginCaller(workspace.layout(), new ProcFs(), turns, workspace::instances);
            ImmutableList<Delivery> told = tell(known, caller, plugins).stream()
                    .map(delivery -> masked(delivery, workspace))
                    .collect(ImmutableList.toImmutableList());
            return print(told, workspace.console());
        }
    }

    /** Tells these plugins; returns the outcomes in their order. */
    private ImmutableList<Delivery> tell(
            ImmutableCollection<WorkloadId> ids, PluginCaller caller, PluginChannel plugins)
            throws InterruptedException {
        ImmutableList<Callable<Delivery>> all = ids.stream()
                .<Callable<Delivery>>map(id -> () -> tell(id, caller, plugins))
                .collect(ImmutableList.toImmutableList());
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            ImmutableList.Builder<Delivery> told = ImmutableList.builder();
            // Ends them when it is interrupted.
            for (Future<Delivery> one : threads.invokeAll(all)) {
                told.add(one.get());
            }
            return told.build();
        } catch (ExecutionException e) {
            throw new IllegalStateException("a plugin could not be told: " + e.getCause(), e.getCause());
        }
    }

    private Delivery tell(WorkloadId id, PluginCaller caller, PluginChannel plugins) throws InterruptedException {
        return switch (caller.with(id, TIMEOUT, socket -> plugins.apply(socket, event.message(), TIMEOUT))) {
            case Result.NotRunning<PluginReply>(String why) -> new Delivery(id, "", NOT_RUNNING, why);
            case Result.Answered<PluginReply>(String revision, PluginReply reply) ->
                reply instanceof PluginReply.Done
                        ? new Delivery(id, revision, TOLD, "")
                        : new Delivery(id, revision, FAILED, reply.words());
        };
    }

    /** A plugin may say of why it refused what it was given, such as a password. */
    private static Delivery masked(Delivery delivery, Workspace workspace) {
        return delivery.code() == FAILED
                ? workspace
                        .remembered(reader -> MaskedFindings.mask(delivery.plugin(), reader))
                        .map(mask -> new Delivery(
                                delivery.plugin(), delivery.revision(), FAILED, mask.mask(delivery.message())))
                        .orElse(delivery)
                : delivery;
    }

    private static ImmutableSortedSet<WorkloadId> plugins(StateReader reader) {
        return Stream.concat(
                        reader.declarations().stream()
                                .map(declaration -> declaration.workload().id()),
                        reader.instances().stream().map(Instance::workload))
                .filter(id -> id.kind().equals(Kind.PLUGIN))
                .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo));
    }

    private int print(ImmutableList<Delivery> told, Console console) {
        if (console.json()) {
            ObjectNode json = Json.versioned().put("event", event.word());
            json.set("plugins", Json.array(told, Delivery::json));
            Json.print(console.out(), json);
        } else if (told.isEmpty()) {
            console.say("no plugin is declared here, so nobody was told");
        } else {
            table(told, console);
        }
        return told.stream().anyMatch(one -> one.code() == FAILED) ? ExitStatus.FAILED : ExitStatus.OK;
    }

    private static void table(List<Delivery> told, Console console) {
        Table table = new Table("PLUGIN", "REVISION", "CODE", "RESULT");
        for (Delivery one : told) {
            table.row(
                    one.plugin().toString(),
                    one.revision().isEmpty() ? "-" : one.revision(),
                    Integer.toString(one.code()),
                    one.message().isEmpty() ? "told" : Text.oneLine(one.message()));
        }
        table.print(console.out(), console.ansi());
    }
}
