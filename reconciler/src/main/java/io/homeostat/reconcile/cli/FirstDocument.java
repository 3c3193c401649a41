package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.environment.UserDirectories;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.start.Draft;
import io.homeostat.reconcile.command.start.Drafts;
import io.homeostat.reconcile.command.start.LocalProgram;
import io.homeostat.reconcile.command.start.PackedProgram;
import io.homeostat.reconcile.command.start.WholeFile;
import java.nio.file.Path;
import java.util.Optional;

/** Writes a first document for what there is. */
record FirstDocument(Invocation typed) {
    static final ImmutableList<String> FORMS = ImmutableList.of("binary", "archive");
    static final String FORMS_IN_WORDS = "binary or archive";

    private static final ImmutableSet<String> OF_SOME = ImmutableSet.of(
            Syntax.NAME,
            Syntax.ARGUMENT,
            Syntax.ENTRY_POINT,
            Syntax.REVISION,
            Syntax.AS_PLUGIN,
            Syntax.FROM_PROGRAM,
            Syntax.FROM_TASK,
            Syntax.ENVIRONMENT);

    /** For what is removed again; TMPDIR names another place. */
    static Path temporary(Environment environment) {
        String named = environment.variable("TMPDIR");
        return named.startsWith("/") ? Path.of(named) : Path.of("/tmp");
    }

    int run() throws InterruptedException {
        Arguments arguments = typed.arguments();
        if (arguments.words().size() < 2) {
            throw new UsageException("needs WHAT and FILE; WHAT is " + FORMS_IN_WORDS
                    + ", as in: homeostat init binary /usr/bin/node_exporter");
        }
        Optional<WholeFile> file =
                arguments.text(Syntax.TO).map(to -> new WholeFile(path(Syntax.TO, to), arguments.flag(Syntax.FORCE)));
        file.ifPresent(WholeFile::require);
        try (Interrupts.Guard _ = typed.environment().interrupts().guard()) {
            Drafts drafts = drafts(arguments.words().get(0), arguments.words().get(1));
            Path directory = file.map(whole -> whole.path().getParent())
                    .orElse(typed.environment().workingDirectory());
            String text = drafts.text(typed.environment().documents(), directory);
            file.ifPresent(whole -> whole.write(text));
            print(drafts, text, file);
        }
        return ExitStatus.OK;
    }

    private Drafts drafts(String what, String from) throws InterruptedException {
        Arguments arguments = typed.arguments();
        Optional<String> name = arguments.text(Syntax.NAME);
        return switch (what) {
            case "binary" -> {
                allow(what, Syntax.NAME, Syntax.ARGUMENT);
                yield LocalProgram.draft(path("FILE", from), name, arguments.texts(Syntax.ARGUMENT));
            }
            case "archive" -> {
                allow(what, Syntax.NAME, Syntax.ARGUMENT, Syntax.ENTRY_POINT, Syntax.REVISION, Syntax.AS_PLUGIN);
                yield new PackedProgram(
                                from.contains("://") ? from : path("FILE", from).toString(),
                                name,
                                arguments.text(Syntax.ENTRY_POINT),
                                arguments.text(Syntax.REVISION),
                                arguments.texts(Syntax.ARGUMENT),
                                arguments.flag(Syntax.AS_PLUGIN))
                        .draft(temporary(typed.environment()));
            }
            default -> throw new UsageException("nothing can be made from a '" + what + "'; write " + FORMS_IN_WORDS);
        };
    }

    /** Whoever types an option that means nothing here means something else. */
    private void allow(String what, String... options) {
        for (String option : Sets.difference(OF_SOME, ImmutableSet.copyOf(options))) {
            if (typed.arguments().command().options().containsKey(option)) {
                throw new UsageException(option + " means nothing for " + what + "; leave it out");
            }
        }
    }

    private Path path(String option, String typedPath) {
        return new UserDirectories(typed.environment()).absolute(option, typedPath);
    }

    private void print(Drafts drafts, String text, Optional<WholeFile> file) {
        Console console = typed.console();
        drafts.remarks().stream().map(Draft.Remark::problem).forEach(console::warn);
        if (console.json()) {
            Json.print(
                    console.out(),
                    Json.versioned()
                            .put(
                                    "file",
                                    file.map(whole -> whole.path().toString()).orElse(null))
                            .put("text", text));
        } else if (file.isEmpty()) {
            console.out().print(text);
        } else {
            console.say("wrote " + file.get().path() + "; look through it, then: homeostat apply -f "
                    + file.get().path());
        }
    }
}
