package io.homeostat.reconcile.command;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Maps;
import com.google.common.collect.Multimaps;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateReader.StoredEvent;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.desired.yaml.DocumentReader.NotHere;
import io.homeostat.observe.SelfDescription;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.DescribeRequest;
import io.homeostat.reconcile.command.HistoryCommand.Revision;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Ansi.Colour;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Declared;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.LeftOut;
import io.homeostat.reconcile.command.output.PlanJson;
import io.homeostat.reconcile.command.output.PlanText;
import io.homeostat.reconcile.command.output.StatusJson;
import io.homeostat.reconcile.command.output.StatusText;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.logs.LogFiles;
import io.homeostat.reconcile.logs.LogTails.MaskedTails;
import io.homeostat.reconcile.plan.Situations;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.runtime.InstanceObservers;
import io.homeostat.reconcile.status.Survey.Finding;
import io.homeostat.reconcile.status.WorkloadStatus;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Shows all that is known of workloads, one after the other; its JSON is a public interface. */
public record DescribeCommand(Selection selection) implements Command {
    private static final int EVENTS = 10;
    private static final int PAGE = 1000;
    private static final String INDENT = "  ";

    /** What is remembered of it, read at once. */
    private record Memory(
            Optional<Declared> declared,
            WorkloadHistory history,
            ImmutableList<Revision> revisions,
            ImmutableList<Instance> instances,
            ImmutableList<StoredEvent> events,
            ImmutableList<String> log,
            ImmutableList<WorkloadId> children,
            UnaryOperator<String> mask) {
        static final Memory NONE = new Memory(
                Optional.empty(),
                WorkloadHistory.NONE,
                ImmutableList.of(),
                ImmutableList.of(),
                ImmutableList.of(),
                ImmutableList.of(),
                ImmutableList.of(),
                UnaryOperator.identity());
    }

    public static DescribeCommand of(DescribeRequest request) {
        return new DescribeCommand(Selection.of(request.getWorkload(), request.hasSelection(), request.getSelection()));
    }

    @Override
    public void write(CommandRequest.Builder request) {
        DescribeRequest.Builder fields = DescribeRequest.newBuilder();
        selection.write(fields::setWorkload, fields::setSelection);
        request.setDescribe(fields);
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        Console console = workspace.console();
        ImmutableSet<WorkloadId> ids = chosen(workspace);
        ImmutableMap<WorkloadId, Finding> findings = workspace
                .survey(StoredState::desired, Workspace.AS_REMEMBERED, Situations.Depth.HEALTH, ids::contains)
                .findings()
                .stream()
                .filter(finding -> ids.contains(finding.id()))
                .collect(ImmutableMap.toImmutableMap(Finding::id, finding -> finding));
        ImmutableMap<WorkloadId, Memory> memories = workspace
                .remembered(reader -> remembered(ids, reader, workspace))
                .orElse(ImmutableMap.of());
        ImmutableMap<WorkloadId, WorkloadPlan> plans =
                workspace.plansOfNextApply(findings.values().asList());
        ImmutableListMultimap<WorkloadId, NotHere> notHere = Multimaps.index(
                workspace.notHere(), one -> one.read().workload().id());
        Function<Workload, ImmutableList<String>> reasons = workspace.reasons();
        List<ObjectNode> described = new ArrayList<>();
        boolean first = true;
        ImmutableMap<WorkloadId, SelfDescription> own = own(findings.keySet(), memories, workspace);
        for (WorkloadId id : ids) {
            Finding finding = findings.get(id);
            if (finding == null) {
                console.failPart(
                        workspace.word(),
                        notHere.get(id).isEmpty()
                                ? id + " is neither declared nor on this machine; homeostat status shows what is"
                                : "not for this machine: "
                                        + notHere.get(id).stream()
                                                .map(LeftOut::line)
                                                .collect(Collectors.joining("; ")));
                continue;
            }
            WorkloadStatus status = WorkloadStatus.of(
                            finding, workspace.enforcer().usage(id).orElse(null), workspace.isEnforced())
                    .withPlan(plans.get(id));
            Memory memory = Objects.requireNonNullElse(memories.get(id), Memory.NONE);
            ImmutableList<String> here = memory.declared()
                    .map(declared -> reasons.apply(declared.declaration().workload()))
                    .orElse(ImmutableList.of());
            if (console.json()) {
                ObjectNode json = json(status, memory, own.get(id));
                if (!here.isEmpty()) {
                    json.set("here", Json.texts(here));
                }
                if (notHere.containsKey(id)) {
                    json.set("notHere", LeftOut.json(notHere.get(id)));
                }
                described.add(json);
            } else {
                console.out().print(first ? "" : "\n\n");
                text(
                        status,
                        memory,
                        own.get(id),
                        workspace.environment().clock().instant(),
                        console);
                section("For this machine", here, console);
                section(
                        "Not for this machine",
                        notHere.get(id).stream().map(LeftOut::line).toList(),
                        console);
            }
            first = false;
        }
        if (console.json() && selection.isOne()) {
            described.forEach(one -> Json.print(console.out(), one));
        } else if (console.json()) {
            ObjectNode json = Json.versioned();
            json.set("workloads", Json.array(described, one -> one));
            Json.print(console.out(), json);
        }
        if (ids.isEmpty()) {
            return selection.nothing("is declared", workspace);
        }
        return findings.size() == ids.size() ? ExitStatus.OK : ExitStatus.NOTHING_DECLARED;
    }

    /** What workloads say of themselves, with what is secret to them masked. */
    private static ImmutableMap<WorkloadId, SelfDescription> own(
            Set<WorkloadId> ids, ImmutableMap<WorkloadId, Memory> memories, Workspace workspace) {
        ImmutableMap.Builder<WorkloadId, SelfDescription> described = ImmutableMap.builder();
        try (InstanceObservers observers = workspace.observers(
                id -> Objects.requireNonNullElse(memories.get(id), Memory.NONE).instances())) {
            for (WorkloadId id : ids) {
                UnaryOperator<String> mask = Objects.requireNonNullElse(memories.get(id), Memory.NONE)
                        .mask();
                observers.describe(id).ifPresent(own -> described.put(id, own.map(mask)));
            }
        }
        return described.build();
    }

    private ImmutableSet<WorkloadId> chosen(Workspace workspace) {
        return selection.isOpen()
                ? workspace
                        .remembered(reader -> ImmutableSet.copyOf(
                                selection.among(StoredState.desired(reader.declarations()), workload -> true)))
                        .orElse(ImmutableSet.of())
                : ImmutableSet.copyOf(selection.names());
    }

    private static ImmutableMap<WorkloadId, Memory> remembered(
            ImmutableSet<WorkloadId> ids, StateReader reader, Workspace workspace) {
        ImmutableList<StoredDeclaration> declarations = reader.declarations();
        MaskedTails logs = new MaskedTails(
                new LogFiles(workspace.layout())::newestLines,
                StoredState.desired(declarations)::get,
                reader,
                workspace.enforcer().launched());
        ImmutableMap<WorkloadId, EventsCommand.Newest> events = lastEvents(ids, reader);
        return Maps.toMap(
                ids,
                id -> new Memory(
                        Declared.of(id, declarations),
                        reader.history(id),
                        HistoryCommand.revisions(id, reader),
                        reader.instances(id),
                        Objects.requireNonNull(events.get(id)).events(),
                        ImmutableList.copyOf(
                                Splitter.on('\n').omitEmptyStrings().split(logs.lastLines(id))),
                        children(id, declarations),
                        MaskedFindings.mask(id, reader)::mask));
    }

    /** The workloads that are parts of one. */
    private static ImmutableList<WorkloadId> children(WorkloadId id, ImmutableList<StoredDeclaration> declarations) {
        return StoredState.desired(declarations).declarations().values().stream()
                .filter(declared -> Traits.of(declared.workload())
                        .parent()
                        .filter(id::equals)
                        .isPresent())
                .map(Declaration::id)
                .collect(ImmutableList.toImmutableList());
    }

    /** All events are looked through once, whatever the number of workloads. */
    private static ImmutableMap<WorkloadId, EventsCommand.Newest> lastEvents(
            ImmutableSet<WorkloadId> ids, StateReader reader) {
        ImmutableMap<WorkloadId, EventsCommand.Newest> last = Maps.toMap(ids, id -> new EventsCommand.Newest(EVENTS));
        ImmutableList<StoredEvent> page = reader.events(0, PAGE);
        while (!page.isEmpty()) {
            page.forEach(event -> {
                WorkloadId about = event.event().workload();
                EventsCommand.Newest newest = about == null ? null : last.get(about);
                if (newest != null) {
                    newest.accept(event);
                }
            });
            page = reader.events(page.getLast().id(), PAGE);
        }
        return last;
    }

    private static void text(
            WorkloadStatus status, Memory memory, @Nullable SelfDescription own, Instant now, Console console) {
        StatusText.details(status, now, console);
        if (own != null) {
            own.sections().forEach(part -> section(part.title(), part.lines(), console));
        }
        Multimaps.index(memory.children(), WorkloadId::kind)
                .asMap()
                .forEach((kind, children) -> section(
                        kind.title() + "s",
                        children.stream().map(WorkloadId::brief).toList(),
                        console));
        section("Plan", PlanText.changes(status.plan()), console);
        section(
                "Instances",
                memory.instances().stream().map(DescribeCommand::words).toList(),
                console);
        section(
                "Revisions",
                memory.revisions().isEmpty()
                        ? ImmutableList.of()
                        : HistoryCommand.table(memory.revisions()).lines(),
                console);
        memory.declared()
                .ifPresent(declared -> section(
                        "Declaration", Splitter.on('\n').omitEmptyStrings().splitToList(declared.yaml()), console));
        section(
                "Events",
                memory.events().stream()
                        .flatMap(stored -> (stored.event().time() + "  "
                                        + stored.event().type().name() + "  "
                                        + stored.event().message().replace("\n", "\n" + INDENT))
                                .lines())
                        .toList(),
                console);
        section("Log", memory.log(), console);
    }

    private static void section(String title, Iterable<String> lines, Console console) {
        if (lines.iterator().hasNext()) {
            console.out().println();
            console.out().println(console.ansi().paint(Colour.BOLD, title + ":"));
            lines.forEach(line -> console.out().println(INDENT + Text.printable(line)));
        }
    }

    private static String words(Instance instance) {
        Identity identity = instance.identity();
        return instance.launchId() + "  revision " + instance.revision() + ", " + instance.phase() + ", "
                + (identity == null ? "not known yet" : identity.words()) + ", launched at " + instance.launchedAt();
    }

    private static ObjectNode json(WorkloadStatus status, Memory memory, @Nullable SelfDescription own) {
        ObjectNode json = Json.versioned().put("workload", status.id().toString());
        json.set("declaration", memory.declared().map(Declared::json).orElse(null));
        json.set("status", StatusJson.workload(status));
        json.set("plan", PlanJson.change(status.plan()));
        json.set("instances", Json.array(memory.instances(), DescribeCommand::json));
        ObjectNode revisions = json(memory.history());
        revisions.set("history", HistoryCommand.json(memory.revisions()));
        json.set("revisions", revisions);
        json.set("events", Json.array(memory.events(), EventsCommand::json));
        json.set("log", Json.texts(memory.log()));
        json.set(
                "children",
                Json.texts(memory.children().stream().map(WorkloadId::toString).toList()));
        if (own != null) {
            json.set(own.name(), own.json());
        }
        return json;
    }

    private static ObjectNode json(Instance instance) {
        Identity identity = instance.identity();
        return Json.object()
                .put("launchId", instance.launchId())
                .put("revision", instance.revision())
                .put("phase", instance.phase().name())
                .put("identity", identity == null ? null : identity.words())
                .put("launchedAt", instance.launchedAt().toString());
    }

    private static ObjectNode json(WorkloadHistory history) {
        ObjectNode json = Json.object();
        LastKnownGood good = history.lastKnownGood();
        if (good == null) {
            json.putNull("lastKnownGood");
        } else {
            json.putObject("lastKnownGood")
                    .put("revision", good.workload().revision())
                    .put("directory", good.directory());
        }
        FailedRevision failed = history.failed();
        if (failed == null) {
            json.putNull("failed");
        } else {
            json.putObject("failed")
                    .put("revision", failed.revision())
                    .put("times", failed.times())
                    .put("at", failed.at().toString())
                    .put("error", failed.error());
        }
        return json;
    }
}
