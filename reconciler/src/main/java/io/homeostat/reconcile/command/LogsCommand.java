package io.homeostat.reconcile.command;

import com.google.common.base.Strings;
import com.google.common.collect.HashMultiset;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import com.google.common.collect.Multiset;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.UserMounts;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.LogsRequest;
import io.homeostat.reconcile.command.environment.AgentFile;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.TerminalLog;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.logs.LogTimes;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Shows what workloads have written to their standard output and error, and to their logs of errors if they have one, and with {@code follow}
 * goes on until interrupted. Of one it is shown byte for byte, one file after the other; of several, with times, and in JSON, line by line in
 * order of time.
 *
 * @param since only lines that may have been written then or later, of what has been written already; {@link Instant#EPOCH}: whenever it was
 * @param tail only so many lines of each workload, the last, of what has been written already
 * @param timestamps whether each line begins with the time by which it had been written; in JSON it always has one
 */
public record LogsCommand(Selection selection, Instant since, OptionalInt tail, boolean timestamps, boolean follow)
        implements Command {
    private static final Duration PAUSE = Duration.ofMillis(250);

    private static final String NOT_STARTED = "has not been started yet, so it has written nothing";

    /** RFC 3339, of one width. */
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSX", Locale.ROOT)
            .withZone(ZoneOffset.UTC);

    public static LogsCommand of(LogsRequest request) {
        Stream<String> first = request.getWorkload().isEmpty() ? Stream.empty() : Stream.of(request.getWorkload());
        return new LogsCommand(
                new Selection(
                        Stream.concat(first, request.getOthersList().stream())
                                .map(RequestFields::workload)
                                .collect(ImmutableList.toImmutableList()),
                        ImmutableMap.copyOf(request.getLabelsMap()),
                        request.getAll()),
                Instant.ofEpochMilli(request.getSinceEpochMillis()),
                RequestFields.count("tail", request.hasTail(), request.getTail()),
                request.getTimestamps(),
                request.getFollow());
    }

    @Override
    public void write(CommandRequest.Builder request) {
        LogsRequest.Builder logs = LogsRequest.newBuilder()
                .putAllLabels(selection.labels())
                .setAll(selection.all())
                .setSinceEpochMillis(since.toEpochMilli())
                .setTimestamps(timestamps)
                .setFollow(follow);
        ImmutableList<String> words = RequestFields.words(selection.names());
        if (!words.isEmpty()) {
            logs.setWorkload(words.getFirst()).addAllOthers(words.subList(1, words.size()));
        }
        tail.ifPresent(logs::setTail);
        request.setLogs(logs);
    }

    @Override
    public boolean goesOn() {
        return follow;
    }

    /** An agent that ends would take with it how far the logs have been shown. */
    @Override
    public boolean needsNoAgent() {
        return follow;
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        Console console = workspace.console();
        ImmutableSet<WorkloadId> workloads = workloads(workspace);
        if (workloads.isEmpty()) {
            return selection.nothing("is declared", workspace);
        }
        // Which lines are the last of several files is a matter of their times.
        boolean severalFiles = tail.isPresent()
                && workloads.stream()
                        .anyMatch(id -> files(id, workspace.layout()).size() > 1);
        boolean bytes = !console.json() && !timestamps && !isMarked() && !severalFiles;
        OptionalInt most = tail;
        List<Source> sources = new ArrayList<>();
        ImmutableSortedSet<WorkloadId> declared = declared(workspace);
        ImmutableSet.Builder<WorkloadId> unknown = ImmutableSet.builder();
        PrintStream out = output(workspace);
        boolean mattersWhen = (timestamps || !since.equals(Instant.EPOCH)) && !isNoting(workspace);
        boolean isAnyHidden = false;
        try {
            for (WorkloadId id : workloads) {
                Optional<String> hidden = hidden(id, workspace.layout());
                if (hidden.isPresent() && workloads.size() == 1) {
                    throw new CommandFailure(hidden.get());
                }
                if (hidden.isPresent()) {
                    console.failPart(workspace.word(), hidden.get());
                    isAnyHidden = true;
                    continue;
                }
                boolean any = false;
                for (Path path : files(id, workspace.layout())) {
                    LogTimes times =
                            LogTimes.of(path, workspace.layout().logTimes(id).resolve(path.getFileName()));
                    Source source = new Source(id, sources.size(), new LogReader(path, times));
                    sources.add(source);
                    any |= source.log().begin(since, tail);
                    if (times.isEmpty() && mattersWhen && path.toFile().length() > 0) {
                        console.say("nobody noted when the lines of " + path
                                + " were written, as an agent does; they count as written when it was last changed");
                    }
                }
                if (!any && (declared.contains(id) || selection.isOpen())) {
                    console.say(id + " "
                            + workspace.remembered(reader -> fate(reader, id)).orElse(NOT_STARTED));
                } else if (!any) {
                    unknown.add(id);
                }
            }
            ImmutableSet<WorkloadId> missing = unknown.build();
            if (!missing.isEmpty()) {
                String why = words(missing) + " not declared; " + Text.declared(declared);
                if (missing.size() == workloads.size()) {
                    throw new CommandFailure(why);
                }
                console.failPart(workspace.word(), why);
            }
            do {
                if (bytes) {
                    for (Source source : sources) {
                        source.log().copyTo(out);
                    }
                } else {
                    print(sources, workloads, most, console, out);
                    most = OptionalInt.empty();
                }
                sources.forEach(source -> tellOfLoss(source, console));
                if (!follow || !console.isRead()) {
                    break;
                }
                Thread.sleep(PAUSE);
                for (Source source : sources) {
                    source.log().goOn();
                }
            } while (true);
            return missing.isEmpty() && !isAnyHidden ? ExitStatus.OK : ExitStatus.FAILED;
        } finally {
            sources.forEach(source -> source.log().close());
            if (!out.equals(console.out())) {
                out.close();
            }
        }
    }

    /** At a terminal nothing that a workload writes makes it do anything. Whoever redirects it gets every byte; JSON has its own escapes. */
    private static PrintStream output(Workspace workspace) {
        Console console = workspace.console();
        return console.json() || !workspace.environment().outIsTerminal()
                ? console.out()
                : new PrintStream(
                        new TerminalLog(console.out(), console.ansi().coloured()), false, StandardCharsets.UTF_8);
    }

    /** Whether an agent runs, this one or another. */
    private static boolean isNoting(Workspace workspace) {
        try {
            return workspace.enforcer().agent().isPresent()
                    || AgentFile.running(workspace.layout(), new ProcFs()).isPresent();
        } catch (IOException e) {
            return false;
        }
    }

    private static void tellOfLoss(Source source, Console console) {
        long bytes = source.log().givenUp();
        if (bytes > 0) {
            console.say(source.id() + " writes faster than limits.logBytesPerWorkload holds; " + Text.bytes(bytes)
                    + " were given up before they could be shown");
        }
    }

    /** Whether each line has to say of whom it is. */
    private boolean isMarked() {
        return selection.isOpen() || selection.names().size() > 1;
    }

    /** Who is declared later is not among them. */
    private ImmutableSet<WorkloadId> workloads(Workspace workspace) {
        if (!selection.isOpen()) {
            return ImmutableSet.copyOf(selection.names());
        }
        return workspace
                .remembered(reader -> ImmutableSet.copyOf(
                        selection.among(StoredState.desired(reader.declarations()), workload -> true)))
                .orElse(ImmutableSet.of());
    }

    /** A log of a workload. */
    private record Source(WorkloadId id, int order, LogReader log) {
        Instant time() {
            return log.next().time();
        }

        Path path() {
            return log.path();
        }
    }

    private record Shown(WorkloadId id, Path file, LogReader.Line line) {}

    /**
     * What there is of all of them, in order of time; the lines of each stay in their order even where the clock was set back.
     *
     * @param most of each workload, the last; empty: all
     */
    private void print(
            List<Source> sources, Set<WorkloadId> workloads, OptionalInt most, Console console, PrintStream out) {
        int width =
                workloads.stream().mapToInt(id -> id.toString().length()).max().orElse(0);
        PriorityQueue<Source> heads =
                new PriorityQueue<>(Comparator.comparing(Source::time).thenComparingInt(Source::order));
        for (Source source : sources) {
            if (source.log().hasNext(follow)) {
                heads.add(source);
            }
        }
        List<Shown> lines = new ArrayList<>();
        Multiset<WorkloadId> left = HashMultiset.create();
        while (!heads.isEmpty()) {
            Source source = heads.remove();
            Shown line = new Shown(source.id(), source.path(), source.log().take());
            if (most.isPresent()) {
                lines.add(line);
                left.add(source.id());
            } else {
                print(line, width, console, out);
            }
            if (source.log().hasNext(follow)) {
                heads.add(source);
            }
        }
        for (Shown line : lines) {
            if (left.count(line.id()) <= most.orElse(0)) {
                print(line, width, console, out);
            }
            left.remove(line.id());
        }
        out.flush();
    }

    private void print(Shown shown, int width, Console console, PrintStream out) {
        WorkloadId id = shown.id();
        LogReader.Line line = shown.line();
        if (console.json()) {
            Json.print(
                    out,
                    Json.versioned()
                            .put("workload", id.toString())
                            .put("file", String.valueOf(shown.file().getFileName()))
                            .put("time", TIME.format(line.time()))
                            .put("line", line.text()));
            return;
        }
        out.println((isMarked() ? Strings.padEnd(id.toString(), width, ' ') + " | " : "")
                + (timestamps ? TIME.format(line.time()) + " " : "")
                + line.text());
    }

    /** What it writes to its standard output and error, then its log of errors if it has one. */
    public static ImmutableList<Path> files(WorkloadId id, Layout layout) {
        Path log = layout.log(id);
        String errors = id.kind().errorLog();
        return errors == null ? ImmutableList.of(log) : ImmutableList.of(log, log.resolveSibling(errors));
    }

    /** Why the logs of a workload are not looked at; others are. */
    private static Optional<String> hidden(WorkloadId id, Layout layout) {
        try {
            UserMounts.check(layout, id);
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of("cannot read the log of " + id + ": " + CommandFailure.reason(e));
        }
    }

    private static ImmutableSortedSet<WorkloadId> declared(Workspace workspace) {
        return workspace
                .remembered(reader -> reader.declarations().stream()
                        .map(declaration -> declaration.workload().id())
                        .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo)))
                .orElse(ImmutableSortedSet.of());
    }

    private static String words(ImmutableSet<WorkloadId> several) {
        return several.stream()
                .map(WorkloadId::toString)
                .collect(Collectors.joining(", ", "", several.size() == 1 ? " is" : " are"));
    }

    /** Why there is no log of what is declared, as the end of a sentence. */
    private static String fate(StateReader reader, WorkloadId workload) {
        Optional<Instant> launched =
                reader.instances(workload).stream().map(Instance::launchedAt).max(Comparator.naturalOrder());
        if (launched.isPresent()) {
            return "was started at " + TIME.format(launched.get()) + " and has written nothing";
        }
        WorkloadHistory history = reader.history(workload);
        Failures starts = history.attempts().start();
        if (starts.count() > 0) {
            // With what was said before it could write to its log.
            return "has written nothing; its last start failed: " + starts.error();
        }
        Exit exit = history.run().lastExit();
        if (exit != null) {
            return "was started and has written nothing; it " + exit.words() + ", at " + TIME.format(exit.at());
        }
        return NOT_STARTED;
    }
}
