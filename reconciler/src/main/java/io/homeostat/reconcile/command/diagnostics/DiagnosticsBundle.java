package io.homeostat.reconcile.command.diagnostics;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.UserMounts;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.DocumentTexts;
import io.homeostat.reconcile.command.EventsCommand;
import io.homeostat.reconcile.command.InspectCommand;
import io.homeostat.reconcile.command.PlanCommand;
import io.homeostat.reconcile.command.StatusCommand;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.environment.AgentFile;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.command.environment.Version;
import io.homeostat.reconcile.command.output.Ansi;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.secrets.DeclaredSecrets;
import io.homeostat.reconcile.secrets.SecretMask;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Brings into an archive what is to be known about a state directory, its agent and its host. */
public final class DiagnosticsBundle {
    private static final int MOST_OUTPUT = 8 << 20;
    private static final int MOST_LOG = 256 << 10;

    private final Workspace workspace;
    private final Layout layout;
    private final DiagnosticsArchive archive;
    private final SecretMask mask;
    private final Session session;

    /** Has a command run by the agent when one runs, else here. */
    @FunctionalInterface
    public interface Session {
        int ask(Workspace workspace, Command command) throws InterruptedException;
    }

    /** @param mask learns what is secret as soon as that is known */
    public DiagnosticsBundle(Workspace workspace, DiagnosticsArchive archive, SecretMask mask, Session session) {
        this.workspace = workspace;
        this.layout = workspace.layout();
        this.archive = archive;
        this.mask = mask;
        this.session = session;
    }

    private record Memory(
            ImmutableList<StoredDeclaration> declarations,
            Map<WorkloadId, WorkloadHistory> histories,
            ImmutableList<Instance> instances) {}

    /** What the database knows, and the logs of the workloads whose secrets are known by it. */
    public void remembered() throws IOException, InterruptedException {
        Memory memory;
        try {
            Optional<StateReader> opened = StateStores.openForReading(layout);
            if (opened.isEmpty()) {
                archive.note("database", "there is none in " + layout.stateDir());
                return;
            }
            try (StateReader reader = opened.get()) {
                memory = new Memory(reader.declarations(), reader.histories(), reader.instances());
            }
        } catch (StoreException e) {
            archive.note("database", String.valueOf(e.getMessage()));
            archive.note("logs", "not included: what is secret in them is only known by the database");
            return;
        }
        TreeSet<WorkloadId> known = new TreeSet<>();
        memory.declarations().forEach(declared -> {
            DeclaredSecrets.learn(declared.workload(), mask);
            DeclaredSecrets.learnFiles(declared.workload(), mask);
            known.add(declared.workload().id());
        });
        memory.histories().forEach((id, history) -> {
            history.standIns().forEach(good -> {
                DeclaredSecrets.learn(good.workload(), mask);
                DeclaredSecrets.learnFiles(good.workload(), mask);
                known.add(id);
            });
        });
        for (StoredDeclaration declared : memory.declarations()) {
            archive.add(
                    "declarations/" + declared.source().word() + "/"
                            + name(declared.workload().id()) + ".json",
                    () -> DeclaredSecrets.without(declared.workload()));
        }
        archive.add(
                "declarations.txt",
                () -> lines(memory.declarations().stream()
                        .map(declared -> declared.workload().id() + " of "
                                + declared.source().word() + " from " + declared.origin() + ", generation "
                                + declared.generation())));
        archive.add(
                "histories.txt",
                () -> lines(
                        memory.histories().entrySet().stream().map(entry -> words(entry.getKey(), entry.getValue()))));
        archive.add("processes.txt", () -> lines(memory.instances().stream().map(DiagnosticsBundle::words)));
        for (WorkloadId id : known) {
            logs(id);
        }
        memory.histories().keySet().stream()
                .filter(id -> !known.contains(id))
                .forEach(id -> archive.note(
                        "logs/" + name(id),
                        "not included: it is no longer declared, so what is secret in it is not known"));
    }

    private static String name(WorkloadId id) {
        return id.kind().word() + "-" + Layout.directoryName(id);
    }

    private static String lines(Stream<String> lines) {
        return lines.map(line -> line + "\n").collect(Collectors.joining());
    }

    /** Without the declarations that were good. */
    private static String words(WorkloadId id, WorkloadHistory history) {
        FailedRevision failed = history.failed();
        return id + "\n  observed generation: " + history.observedGeneration() + "\n  run: " + history.run()
                + "\n  attempts: " + history.attempts() + "\n  failed: " + (failed == null ? null : failed.launched())
                + "\n  conditions: "
                + history.conditions();
    }

    /** Without hashes: what somebody can guess could be checked against them. */
    private static String words(Instance instance) {
        return instance.workload() + " " + instance.revision() + " launched " + instance.launchedAt() + " as "
                + instance.launchId() + ", " + instance.phase() + ", " + instance.identity();
    }

    private void logs(WorkloadId id) throws IOException, InterruptedException {
        try {
            UserMounts.check(layout, id);
        } catch (IOException e) {
            archive.note("logs/" + name(id), CommandFailure.reason(e));
            return;
        }
        Path log = layout.log(id);
        log(id, log);
        String errors = id.kind().errorLog();
        if (errors != null) {
            log(id, log.resolveSibling(errors));
        }
    }

    /** With its newest copy: it may have been rotated a moment ago. */
    private void log(WorkloadId id, Path log) throws IOException, InterruptedException {
        for (Path file : List.of(log.resolveSibling(log.getFileName() + ".1"), log)) {
            if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
                archive.add("logs/" + name(id) + "/" + file.getFileName(), () -> TailBuffer.of(file, MOST_LOG));
            }
        }
    }

    /** What commands say: those of the agent when one runs. */
    public void asked() throws IOException, InterruptedException {
        archive.add(
                "status.json",
                () -> answer("status.json", new StatusCommand(ImmutableList.of(), ImmutableMap.of(), false)));
        archive.add("plan.json", () -> answer("plan.json", new PlanCommand(DocumentTexts.NONE, false, false)));
        archive.add("events.json", () -> answer("events.json", EventsCommand.ALL));
        Optional<AgentFile> agent = agent();
        if (agent.isEmpty()) {
            archive.note("agent", "none is running on " + layout.stateDir());
            return;
        }
        Path process = Path.of("/proc", Long.toString(agent.get().identity().pid()));
        archive.add("agent/threads.txt", () -> answer("agent/threads.txt", new InspectCommand()));
        archive.add("agent/about.txt", () -> agent.get() + "\n");
        for (String name : List.of("status", "limits", "cgroup", "io")) {
            archive.add("agent/" + name, () -> Files.readString(process.resolve(name)));
        }
    }

    private Optional<AgentFile> agent() {
        try {
            return AgentFile.running(layout, new ProcFs());
        } catch (IOException e) {
            archive.note("agent", "whether one is running is not known: " + CommandFailure.reason(e));
            return Optional.empty();
        }
    }

    private String answer(String name, Command command) throws InterruptedException {
        TailBuffer out = new TailBuffer(MOST_OUTPUT);
        TailBuffer err = new TailBuffer(MOST_LOG);
        try (PrintStream results = new PrintStream(out, false, StandardCharsets.UTF_8);
                PrintStream messages = new PrintStream(err, false, StandardCharsets.UTF_8)) {
            Console quiet = new Console(results, messages, OutputFormat.JSON, new Ansi(false));
            Workspace there =
                    new Workspace(workspace.word(), workspace.environment(), quiet, layout, workspace.enforcer());
            session.ask(there, command);
            results.flush();
            messages.flush();
        } finally {
            if (!err.text().isEmpty()) {
                archive.note(name, err.text());
            }
        }
        return out.text();
    }

    /** The machine that all this happens on. */
    public void host() throws IOException, InterruptedException {
        archive.add("version.txt", () -> "homeostat " + Version.current() + "\nJava " + Runtime.version() + "\n");
        for (String name : List.of("version", "uptime", "loadavg", "meminfo", "self/mounts", "pressure/memory")) {
            Path file = Path.of("/proc", name);
            if (Files.exists(file)) {
                archive.add("host/" + file.getFileName(), () -> Files.readString(file));
            }
        }
        Path release = Path.of("/etc/os-release");
        if (Files.exists(release)) {
            archive.add("host/os-release", () -> Files.readString(release));
        }
    }
}
