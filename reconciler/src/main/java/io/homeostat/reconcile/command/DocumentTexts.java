package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.NotHere;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.DocumentReader.ReadWorkload;
import io.homeostat.desired.yaml.DocumentReader.Texts;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.proto.agent.AppliedDocuments;
import io.homeostat.proto.agent.DocumentFile;
import io.homeostat.reconcile.command.Workspace.Known;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.DocumentFormat;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Text;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The texts of documents that are to be applied, as they were read where the command was typed. Whoever runs the command parses them.
 *
 * @param read each text with the origin that led to it as its input
 * @param origins the absolute paths that were given, or {@link #STANDARD_INPUT}; empty when none was
 * @param prune whether to withdraw what an earlier apply of these origins declared and this one doesn't
 * @param allowEmpty whether that is meant where there is no document at all, which withdraws everything
 */
public record DocumentTexts(Texts read, ImmutableSet<String> origins, boolean prune, boolean allowEmpty) {
    public DocumentTexts {
        if (allowEmpty && !prune) {
            throw new UsageException("--allow-empty is about --prune, which is missing");
        }
    }

    /** The origin of what was read from standard input. */
    public static final String STANDARD_INPUT = "-";

    /** Nothing was given. */
    public static final DocumentTexts NONE = new DocumentTexts(Texts.NONE, ImmutableSet.of(), false, false);

    /** @throws UsageException when the request makes no sense; its texts are not parsed yet */
    static DocumentTexts of(AppliedDocuments request) {
        ImmutableSet<String> origins =
                request.getOriginsList().stream().map(DocumentTexts::origin).collect(ImmutableSet.toImmutableSet());
        if (request.getPrune() && (origins.isEmpty() || origins.contains(STANDARD_INPUT))) {
            throw new UsageException(
                    "prune: goes by the origins, and needs absolute paths among them and nothing else");
        }
        Texts read = DocumentReader.collect(
                request.getFilesList().stream().map(file -> text(file, origins)).toList());
        if (!read.errors().isEmpty()) {
            throw new UsageException(
                    read.errors().stream().map(Problem::toString).collect(Collectors.joining("\n")));
        }
        return new DocumentTexts(read, origins, request.getPrune(), request.getAllowEmpty());
    }

    private static Input.Text text(DocumentFile file, ImmutableSet<String> origins) {
        if (!origins.contains(file.getOrigin())) {
            throw new UsageException(Text.oneLine(file.getName()) + ": its origin is none of the origins");
        }
        return new Input.Text(
                file.getName(),
                file.getOrigin(),
                file.getDirectory().isEmpty() ? null : absolute("directory", file.getDirectory()),
                file.getText());
    }

    private static String origin(String origin) {
        return origin.equals(STANDARD_INPUT)
                ? origin
                : absolute("origins", origin).toString();
    }

    private static Path absolute(String field, String path) {
        try {
            if (path.startsWith("/") && Path.of(path).normalize().toString().equals(path)) {
                return Path.of(path);
            }
        } catch (InvalidPathException e) {
            throw new UsageException(field + ": one is no path");
        }
        throw new UsageException(field + ": '" + Text.oneLine(path) + "' is no absolute path"
                + (field.equals("origins") ? " and not -" : ""));
    }

    AppliedDocuments request() {
        AppliedDocuments.Builder request = AppliedDocuments.newBuilder()
                .addAllOrigins(origins)
                .setPrune(prune)
                .setAllowEmpty(allowEmpty);
        for (Input.Text text : read.texts()) {
            Path directory = text.directory();
            request.addFiles(DocumentFile.newBuilder()
                    .setName(text.name())
                    .setOrigin(text.input())
                    // As the origins are: what was typed may have dots in it.
                    .setDirectory(directory == null ? "" : directory.normalize().toString())
                    .setText(text.text()));
        }
        return request.build();
    }

    boolean isNone() {
        return origins.isEmpty();
    }

    /** As below, where the workspace says what is known, and its machine has a say in what is wrong. */
    DocumentSet parse(Workspace workspace, String consequence) {
        return parse(
                workspace.environment().documents(),
                workspace.console(),
                consequence,
                workspace.beside(this),
                isNone() ? Choice.ALL : workspace.labels(),
                parsed -> MachineCheck.of(() -> workspace, read, parsed).errors());
    }

    /**
     * Parses them and tells people what is wrong.
     *
     * @param consequence of errors, in words that follow their number
     * @param known what may be depended on, and would be pruned
     * @throws CommandFailure when something is wrong with them, which was said
     */
    public DocumentSet parse(DocumentFormat format, Console console, String consequence, Known known) {
        return parse(format, console, consequence, known, Choice.ALL, parsed -> ImmutableList.of());
    }

    private DocumentSet parse(
            DocumentFormat format,
            Console console,
            String consequence,
            Known known,
            Choice choice,
            Function<ReadResult, ImmutableList<Problem>> check) {
        if (isNone()) {
            return new DocumentSet(ImmutableList.of(), ImmutableList.of(), origins, prune);
        }
        ReadResult written = format.parse(read, choice);
        ReadResult parsed = written.with(check.apply(written));
        print(parsed, known.declared(), console);
        if (!parsed.valid()) {
            int errors = parsed.errors().size();
            throw new CommandFailure(
                    (errors == 1 ? "1 error" : errors + " errors") + consequence + "; correct the files",
                    parsed.errors());
        }
        Set<String> filled = Stream.concat(
                        parsed.workloads().stream(), parsed.notHere().stream().map(NotHere::read))
                .map(ReadWorkload::input)
                .collect(Collectors.toSet());
        // With prune an empty directory would withdraw all that it had declared, and may be a checkout that went wrong.
        Set<String> empty = filled.isEmpty() || !prune
                ? origins
                : Sets.intersection(Sets.difference(origins, filled), known.origins());
        if (!allowEmpty && (filled.isEmpty() || (prune && !empty.isEmpty()))) {
            throw new CommandFailure(noDocument(empty)
                    + consequence
                    + (prune ? "; if all that was applied from there is to be removed, add --allow-empty" : ""));
        }
        return new DocumentSet(
                parsed.workloads().stream()
                        .map(found -> new ToApply(format.print(found.workload()), found.input()))
                        .collect(ImmutableList.toImmutableList()),
                parsed.notHere(),
                origins,
                prune);
    }

    /** For people who gave paths and mean what stands there. */
    public static String noDocument(Collection<String> paths) {
        return "there is no document in "
                + paths.stream()
                        .map(path -> path.equals(STANDARD_INPUT) ? "standard input" : path)
                        .collect(Collectors.joining(", "));
    }

    /** One line a problem: {@code file:line:column: message}. In JSON the errors are part of the failure that they lead to. */
    private static void print(ReadResult read, Set<WorkloadId> declared, Console console) {
        read.warningsBeside(declared).forEach(console::warn);
        if (!console.json()) {
            read.errors().forEach(console.err()::println);
            console.err().flush();
        }
    }
}
