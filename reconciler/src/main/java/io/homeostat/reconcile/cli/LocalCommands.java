package io.homeostat.reconcile.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.Streams;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.source.MachineSources;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.DocumentReader.Texts;
import io.homeostat.desired.yaml.Explain;
import io.homeostat.desired.yaml.Explain.Explanation;
import io.homeostat.desired.yaml.JsonSchema;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.observe.Observation;
import io.homeostat.observe.process.UserSwitch;
import io.homeostat.reconcile.command.DocumentTexts;
import io.homeostat.reconcile.command.MachineCheck;
import io.homeostat.reconcile.command.SignatureProblems;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.environment.UserDirectories;
import io.homeostat.reconcile.command.environment.Version;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Text;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Commands that need no agent, and at most look into a state directory and ask what runs. Each returns the exit status. */
final class LocalCommands {
    private LocalCommands() {}

    static int validate(Invocation typed) {
        Console console = typed.console();
        Optional<Path> config = typed.arguments().config().map(Path::of);
        ImmutableList<String> files = typed.arguments().files();
        if (files.isEmpty() && config.isEmpty()) {
            throw new UsageException(
                    "needs " + Syntax.FILES + " PATH, or " + Syntax.CONFIG + " FILE for the configuration of an agent");
        }
        Optional<AgentConfigReader.Result> configured = config.map(AgentConfigReader::read);
        boolean root = typed.environment().isRoot();
        Texts texts = typed.paths().read();
        ReadResult written = typed.environment().documents().parse(texts);
        MachineCheck machine = MachineCheck.of(typed::workspace, texts, written);
        ReadResult read = written.with(machine.errors());
        ImmutableList<Problem> errors = Stream.concat(
                        read.errors().stream(),
                        configured.stream().flatMap(result -> refused(config.orElseThrow(), result, texts, written)))
                .collect(ImmutableList.toImmutableList());
        ImmutableList<Problem> warnings = Stream.concat(
                        read.warnings().stream(),
                        configured.stream()
                                .flatMap(result -> doubtful(
                                        config.orElseThrow(),
                                        result,
                                        root,
                                        typed.environment().clock())))
                .collect(ImmutableList.toImmutableList());
        boolean empty = errors.isEmpty() && read.workloads().isEmpty() && !files.isEmpty();
        boolean valid = errors.isEmpty() && !empty;
        String nothing = DocumentTexts.noDocument(files);
        if (console.json()) {
            ObjectNode json = Json.versioned().put("valid", valid).put("documents", read.count());
            json.set(
                    "errors",
                    empty ? Json.array(List.of(nothing), LocalCommands::withoutPlace) : Json.array(errors, Json::of));
            json.set("warnings", Json.array(warnings, Json::of));
            json.set("unchecked", Json.array(machine.unchecked(), Json::of));
            Json.print(console.out(), json);
        } else {
            warnings.forEach(console::warn);
            machine.unchecked().forEach(console.err()::println);
            errors.forEach(console.err()::println);
            console.err().flush();
            if (empty) {
                console.say(typed.word() + ": " + nothing);
            } else if (valid) {
                int count = read.count();
                String documents = count == 1 ? "1 document valid" : count + " documents valid";
                console.out()
                        .println(config.map(path -> path + " is valid" + (files.isEmpty() ? "" : "; " + documents))
                                .orElse(documents));
            }
        }
        return valid ? ExitStatus.OK : ExitStatus.FAILED;
    }

    /** What is wrong with the configuration of an agent, or with documents in its eyes. */
    private static Stream<Problem> refused(
            Path path, AgentConfigReader.Result read, Texts texts, ReadResult documents) {
        AgentConfig config = read.config();
        if (config == null) {
            return read.errors().stream();
        }
        try {
            return SignatureProblems.of(config, texts, documents).stream();
        } catch (ActuationFailure e) {
            return Stream.of(new Problem(
                    Problem.Kind.UNREADABLE, "", path.toString(), 0, 0, "", String.valueOf(e.getMessage())));
        }
    }

    /** What an agent would not obey where this configuration is now, which may be only a checkout of it; and what its log says, too. */
    private static Stream<Problem> doubtful(
            Path path, AgentConfigReader.Result read, boolean root, InstantSource clock) {
        Stream<Problem> open = AgentConfigReader.read(path, TrustedPath.of(root, ImmutableList.of())).errors().stream()
                .filter(problem -> problem.kind() == Problem.Kind.UNTRUSTED);
        AgentConfig config = read.config();
        if (config == null) {
            return open;
        }
        Stream<Problem> untrusted = new MachineSources(config, ImmutableList::of, Choice.ALL, root)
                .untrusted(clock).stream().map(LocalCommands::problem);
        Stream<Problem> hooks = config.hooks().stream()
                .flatMap(hook -> UserSwitch.problem(hook.exec()).stream())
                .map(why -> new Problem(Problem.Kind.UNTRUSTED, "", path.toString(), 0, 0, "notify", why));
        return Streams.concat(
                config
                        .metrics()
                        .warning()
                        .map(warning ->
                                new Problem(Problem.Kind.VALUE, "", path.toString(), 0, 0, "metrics.listen", warning))
                        .stream(),
                open,
                untrusted,
                hooks);
    }

    /** Its message begins with its place. */
    private static Problem problem(SourceProblem source) {
        String message = source.message();
        String place = source.origin() + ": ";
        return new Problem(
                source.kind(),
                "",
                source.origin(),
                0,
                0,
                "",
                message.startsWith(place) ? message.substring(place.length()) : message);
    }

    private static ObjectNode withoutPlace(String message) {
        return Json.object().put("file", "").put("line", 0).put("column", 0).put("message", message);
    }

    static int schema(Invocation typed) {
        String what = typed.arguments().word().orElse("document");
        return typed.print(
                switch (what) {
                    case "document" -> JsonSchema.generate();
                    case "agent" -> JsonSchema.agent();
                    default ->
                        throw new UsageException("there is no schema of '" + what + "'; write document or agent");
                });
    }

    static int manual(Invocation typed) {
        String directory = typed.arguments().word().orElse("");
        ManualPages.write(new UserDirectories(typed.environment()).absolute("DIR", directory));
        return ExitStatus.OK;
    }

    /** Explains the field of documents that was typed; without one, says which kinds there are. */
    static int explain(Invocation typed) {
        String path = typed.arguments().word().orElse("");
        Optional<WorkloadId> workload = WorkloadId.parse(path);
        if (workload.isPresent()) {
            return explain(typed, workload.get());
        }
        try {
            if (typed.console().json()) {
                Json.print(typed.console().out(), path.isEmpty() ? kinds() : json(Explain.explanation(path)));
                return ExitStatus.OK;
            }
            return typed.print(path.isEmpty() ? String.join("\n", Explain.tops()) : Explain.text(path));
        } catch (IllegalArgumentException e) {
            throw new CommandFailure(String.valueOf(e.getMessage()), e);
        }
    }

    /** Explains what a workload that runs takes by rules of its own. */
    private static int explain(Invocation typed, WorkloadId workload) {
        Console console = typed.console();
        switch (typed.workspace().explain(workload)) {
            case Observation.Unseen<ImmutableList<Explanation>>(String why) -> {
                console.failPart(typed.word(), Text.oneLine(why));
                return ExitStatus.NOTHING_DECLARED;
            }
            case Observation.Seen<ImmutableList<Explanation>>(ImmutableList<Explanation> fields) -> {
                if (console.json()) {
                    ObjectNode json = Json.versioned().put("workload", workload.toString());
                    json.set("explanations", Json.array(fields, each -> explanation(Json.object(), each)));
                    Json.print(console.out(), json);
                } else {
                    // It has named its keys itself.
                    Explain.text(workload.brief(), fields)
                            .lines()
                            .forEach(line -> console.out().println(Text.printable(line)));
                }
                return ExitStatus.OK;
            }
        }
    }

    private static ObjectNode kinds() {
        ObjectNode json = Json.versioned();
        json.set("kinds", Json.texts(Explain.tops()));
        return json;
    }

    private static ObjectNode json(Explanation explanation) {
        return explanation(Json.versioned(), explanation);
    }

    private static ObjectNode explanation(ObjectNode json, Explanation explanation) {
        json.put("path", explanation.path())
                .put("kind", explanation.kind())
                .put("type", explanation.type())
                .put("description", explanation.description());
        json.set("fields", Json.array(explanation.fields(), LocalCommands::json));
        return json;
    }

    private static ObjectNode json(Explanation.Member field) {
        return Json.object()
                .put("name", field.name())
                .put("type", field.type())
                .put("required", field.required())
                // A string in the notation of a document; null where there is none.
                .put("default", field.defaultText())
                .put("description", field.description());
    }

    static int version(Invocation typed) {
        String version = Version.current();
        String java = Runtime.version().toString();
        if (typed.console().json()) {
            Json.print(
                    typed.console().out(),
                    Json.versioned().put("version", version).put("java", java));
            return ExitStatus.OK;
        }
        return typed.print("homeostat " + version + " (Java " + java + ")");
    }
}
